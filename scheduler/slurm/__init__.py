"""The one place that touches Slurm: what Tierwise asks of it (`seam`), and the ways in.

Nothing outside this folder runs a Slurm command or reads its output, and nothing in it parses text made for people.
`opening` opens a way, `commands` and `pyslurm_way` are those that there are, `fake` is the one for tests; `observe`
turns what they show into the snapshot that a decision looks at, `history` fetches the accounting for a replay.
"""

from scheduler.slurm.opening import open_slurm
from scheduler.slurm.seam import Job, Node, Reservation, Slurm, SlurmError, SlurmUnreachableError, Submission

__all__ = [
    "Job",
    "Node",
    "Reservation",
    "Slurm",
    "SlurmError",
    "SlurmUnreachableError",
    "Submission",
    "open_slurm",
]
