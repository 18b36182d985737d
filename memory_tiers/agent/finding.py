"""Which processes are a job's: those of its control group, or the tree of its slurmstepd; each verified."""

from __future__ import annotations

from pathlib import Path

from memory_tiers.agent.watched import WatchedJob
from memory_tiers.kernel.processes import descendants
from memory_tiers.kernel.seam import Kernel

_LAYOUTS = ("slurm/uid_{uid}/job_{job}", "slurm_{node}/uid_{uid}/job_{job}", "job_{job}")
"""Below the memory controller of version 1, for every node name."""

_SCOPES = ("system.slice/slurmstepd.scope/job_{job}", "system.slice/{node}_slurmstepd.scope/job_{job}")
"""On version 2, before Slurm names groups by SLUID."""


def find_group(root: Path, job: int, uid: int | None, node: str | None) -> Path | None:
    """Look for a job's control group where Slurm makes it.

    Parameters
    ----------
    root : Path
        Where memory is controlled.
    job : int
        Its id.
    uid : int or None
        Its user.
    node : str or None
        The node's name in Slurm.

    Returns
    -------
    Path or None
        None where there is no such folder (yet).
    """
    for form in (*_LAYOUTS, *_SCOPES):
        folder = root / form.format(uid=uid, job=job, node=node)
        if folder.is_dir():
            return folder
    return None


def step_daemons(job: int, command_lines: dict[int, str]) -> set[int]:
    """Find the slurmstepds of a job among root's: they title themselves `slurmstepd: [JOB.STEP]`.

    Examples
    --------
    >>> sorted(step_daemons(12, {5: "slurmstepd: [12.batch]", 6: "slurmstepd: [12.0]", 7: "slurmstepd: [123.0]"}))
    [5, 6]
    """
    return {pid for pid, line in command_lines.items() if line.startswith(f"slurmstepd: [{job}.")}


def refresh(watched: WatchedJob, kernel: Kernel, parent_of: dict[int, int] | None) -> None:
    """Bring the list of a job's processes up to date.

    A process counts as the job's where it is in the job's control group, or descends from one of its roots; and has
    the job's uid, where that is known. Each is taken hold of before it is asked who it is, so that a process id that
    was used anew is never mistaken.

    Parameters
    ----------
    watched : WatchedJob
        Changed in place.
    kernel : Kernel
        The seam.
    parent_of : dict of int to int or None
        Everybody's parents; needed for jobs without a group.
    """
    for pid, process in list(watched.processes.items()):
        if not kernel.is_alive(process):
            _forget(watched, kernel, pid)
    for pid in candidates(watched, kernel, parent_of or {}) - watched.processes.keys():
        found = kernel.open_process(pid)
        if found is None:
            continue
        if watched.uid is not None and found.uid != watched.uid:
            kernel.close_process(found)
            continue
        watched.processes[pid] = found


def candidates(watched: WatchedJob, kernel: Kernel, parent_of: dict[int, int]) -> set[int]:
    """Return the ids of what may be a job's processes now."""
    if watched.group is not None:
        return set(kernel.group_processes(watched.group))
    _verify_roots(watched, kernel)
    # Those that we hold stay the job's when what started them has ended, and so does what they start.
    return descendants(watched.roots.keys() | watched.processes.keys(), parent_of)


def add_roots(watched: WatchedJob, pids: set[int], kernel: Kernel) -> None:
    """Take processes as roots of a job's tree, each by its id and its start time."""
    for pid in pids - watched.roots.keys():
        process = kernel.open_process(pid)
        if process is not None:
            watched.roots[pid] = process.started
            kernel.close_process(process)


def _verify_roots(watched: WatchedJob, kernel: Kernel) -> None:
    for pid, started in list(watched.roots.items()):
        process = kernel.open_process(pid)
        if process is None or process.started != started:
            del watched.roots[pid]
        if process is not None:
            kernel.close_process(process)


def release(watched: WatchedJob, kernel: Kernel) -> None:
    """Let go of all of a job's processes."""
    for pid in list(watched.processes):
        _forget(watched, kernel, pid)


def _forget(watched: WatchedJob, kernel: Kernel, pid: int) -> None:
    kernel.close_process(watched.processes.pop(pid))
    for key in [key for key in watched.regions if key[0] == pid]:
        del watched.regions[key]
