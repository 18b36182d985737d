"""The one place that touches Slurm: what Tierwise asks of it (`seam`), and the ways in.

Nothing outside this folder runs a Slurm command or reads its output, and nothing in it parses text made for people.
"""
