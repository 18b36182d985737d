"""A real Slurm cluster on one machine, in a directory of its own, for tests, the demo and trying Tierwise out.

`up` starts it and returns a `Cluster`, `status` looks at it, and `down` ends exactly what `up` started. It writes
nothing outside the directory and leaves a Slurm that is already there alone.
"""

from scheduler.cluster.errors import ClusterError
from scheduler.cluster.handle import Cluster
from scheduler.cluster.options import Options, chosen_directory, default_directory, parse_size
from scheduler.cluster.starting import up
from scheduler.cluster.status import DaemonStatus, Status, status
from scheduler.cluster.stopping import down

__all__ = [
    "Cluster",
    "ClusterError",
    "DaemonStatus",
    "Options",
    "Status",
    "chosen_directory",
    "default_directory",
    "down",
    "parse_size",
    "status",
    "up",
]
