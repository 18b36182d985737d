"""Workflows: task graphs read from files, looked at, placed on nodes with tiered memory, played and submitted.

Reading, analysis and placement are pure: files in, plans out, no clock (the exact solver's time budget apart) and no
Slurm. `engine` plays a placement off line, `running` turns one into batch jobs through `scheduler.slurm`.
"""
