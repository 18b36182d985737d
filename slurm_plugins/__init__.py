"""What Slurm itself loads or runs: the SPANK plugin, job_submit.lua, and the tools that build and install them.

Nothing here imports the rest of Tierwise while a job is submitted or launched: the plugin is C, job_submit.lua is
Lua, both made from the table of options beforehand.
"""
