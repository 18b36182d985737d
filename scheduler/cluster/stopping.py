"""`down`: end what runs of a cluster, in an order in which each still has what it needs to end well."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from scheduler.cluster import home, processes, record
from scheduler.cluster.errors import ClusterError
from scheduler.cluster.options import chosen_directory
from scheduler.cluster.processes import Identity
from traces.errors import InputError

_GRACE_OF_SLURM, _GRACE_OF_JOBS, _GRACE = 3.0, 2.0, 10.0
"""How long the processes may take after SIGTERM [s].

A slurmd that cannot reach its slurmctld does not hear it for long, and has nothing to lose; for jobs it is the KillWait
of their slurm.conf; slurmdbd and MariaDB have data to put in order.
"""

_ROUNDS = 5
# A slurmd that ends may just have started a step, and a job that ends another process: look again until none is left.


def down(directory: Path | None = None, *, remove: bool = False) -> int:
    """Stop the cluster in a directory: all that `up` started there, the steps of its jobs, and nothing else.

    It may be called again at any time, also after a start that died half-way.

    Parameters
    ----------
    directory : Path, optional
        The cluster's directory; by default the user's.
    remove : bool
        Whether to remove the files too; by default they stay, and with them the logs.

    Returns
    -------
    int
        How many processes there were to end.

    Raises
    ------
    InputError
        Where the directory is none of ours.
    ClusterError
        Where a process does not go away.
    """
    chosen = chosen_directory(directory)
    if home.is_empty(chosen):
        return 0
    with home.held(chosen):
        known = record.read(chosen)
        if known is None and any(entry.name != home.LOCK for entry in chosen.iterdir()):
            raise InputError(f"--dir {chosen}: holds no cluster of ours; give the directory that `up` was given")
        ended = end_all(chosen, known)
        if remove:
            home.remove(chosen)
    return ended


def end_all(directory: Path, known: record.Record | None) -> int:
    """End every process of the cluster and wait until they are gone.

    Parameters
    ----------
    directory : Path
        The cluster's directory; it is held.
    known : Record or None
        What `up` wrote down.

    Returns
    -------
    int
        How many there were.

    Raises
    ------
    ClusterError
        Where some do not go away.
    """
    seen: set[Identity] = set()

    def end(find: Callable[[], Sequence[Identity]], grace: float) -> None:
        for _ in range(_ROUNDS):
            found = find()
            if not found:
                return
            seen.update(found)
            processes.end(found, grace)

    def named(*names: str) -> list[Identity]:
        return [one for one in home.running(directory, known) if processes.daemon_name(one.pid) in names]

    # The controller and the nodes go first: it must not start another job, nor requeue those that end now. Then
    # the jobs; then slurmdbd, which still takes what slurmctld had to say, and what it writes to and speaks through.
    end(lambda: named("slurmctld", "slurmd"), _GRACE_OF_SLURM)
    end(lambda: processes.steps_of(directory), _GRACE_OF_JOBS)
    end(lambda: named("slurmdbd"), _GRACE)
    end(lambda: named("mariadbd", "mysqld"), _GRACE)
    end(lambda: home.running(directory, known), _GRACE)
    left = home.running(directory, known)
    if left:
        pids = ", ".join(str(process.pid) for process in left)
        raise ClusterError(f"{directory}: processes {pids} do not end, not even killed; see what they wait for")
    return len(seen)
