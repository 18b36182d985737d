"""Processes of a cluster: told apart from all others for certain, signalled, waited for.

A process id says little, since ids are used again; with the time at which the process started, and the boot that this
time counts from, it names one process and no other. Signals go through a pidfd, so that nothing can come in between
looking and signalling.
"""

from __future__ import annotations

import os
import re
import select
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_DAEMON = re.compile(r"(munged|slurmctld|slurmdbd|slurmd|slurmstepd|mariadbd|mysqld)(?![a-z])")
# The file that runs may have something behind the daemon's name, such as slurmd-wlm on Debian.

_GONE = ("Z", "X")  # states of proc(5): a zombie has ended, whoever forgets to ask for its exit status


@dataclass(frozen=True)
class Identity:
    """One process, and no other that ever gets its id.

    Attributes
    ----------
    pid : int
        Its id.
    started : int
        When it started [clock ticks since the boot]: field 22 of `/proc/PID/stat`, proc(5).
    boot : str
        Which boot that was: `/proc/sys/kernel/random/boot_id`.
    """

    pid: int
    started: int
    boot: str


def boot() -> str:
    """Return the id of this boot."""
    return (_PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()


def identity(pid: int) -> Identity | None:
    """Return who has this process id now.

    Parameters
    ----------
    pid : int
        A process id.

    Returns
    -------
    Identity or None
        None where no process has it, or only one that has ended.
    """
    found = _stat(pid)
    return None if found is None else Identity(pid, found[1], boot())


def alive(process: Identity) -> bool:
    """Return whether this very process still runs."""
    return identity(process.pid) == process


def parent(pid: int) -> int | None:
    """Return the id of a process's parent, None where it does not run."""
    found = _stat(pid)
    return None if found is None else found[0]


def _stat(pid: int) -> tuple[int, int] | None:
    """Return the parent and the start time of a running process."""
    try:
        text = (_PROC / str(pid) / "stat").read_text("utf-8", errors="replace")
    except OSError:
        return None
    # The name, the second field, is in parentheses and may hold anything; the state follows the last one.
    fields = text[text.rindex(")") + 2 :].split()
    return None if fields[0] in _GONE else (int(fields[1]), int(fields[19]))


def daemons_of(directory: Path) -> list[Identity]:
    """Find the daemons of a cluster: those of their names that hold a file below its directory open.

    It needs no record, so it also finds what a start that died half-way left, steps of jobs (slurmstepd keeps its
    node's log open), and daemons that somebody started again by hand.

    Parameters
    ----------
    directory : Path
        The cluster's directory, without links.

    Returns
    -------
    list of Identity
        Those that this user may look at.
    """
    return [process for pid, process in _running() if daemon_name(pid) and _holds_open(pid, f"{directory}/")]


def steps_of(directory: Path) -> list[Identity]:
    """Find the slurmstepds of a cluster, and all that runs in its jobs.

    Those are the slurmstepds' descendants, and what has left them: a process whose environment names this cluster's
    configuration, a job and a node, which Slurm sets for the processes of jobs and for no client.

    Parameters
    ----------
    directory : Path
        The cluster's directory, without links.

    Returns
    -------
    list of Identity
        Those that this user may look at.
    """
    running = dict(_running())
    found = {
        pid
        for pid in running
        if (daemon_name(pid) == "slurmstepd" and _holds_open(pid, f"{directory}/")) or _is_in_a_job(pid, directory)
    }
    parents = {pid: parent(pid) for pid in running}
    while True:
        more = {pid for pid, above in parents.items() if above in found} - found
        if not more:
            break
        found |= more
    return [running[pid] for pid in found]


def _running() -> Iterator[tuple[int, Identity]]:
    now = boot()
    me = os.getpid()
    for entry in os.scandir(_PROC):
        if entry.name.isdecimal() and int(entry.name) != me:
            found = _stat(int(entry.name))
            if found:
                yield int(entry.name), Identity(int(entry.name), found[1], now)


def daemon_name(pid: int) -> str:
    """Return which of the daemons that a cluster consists of a process runs, by its executable file.

    Parameters
    ----------
    pid : int
        A process id.

    Returns
    -------
    str
        Such as `slurmd`; empty for any other program, and where this user may not look.
    """
    try:
        found = _DAEMON.match((_PROC / str(pid) / "exe").readlink().name)
    except OSError:
        return ""
    return found[1] if found else ""


def _holds_open(pid: int, prefix: str) -> bool:
    with suppress(OSError):
        for entry in os.scandir(_PROC / str(pid) / "fd"):
            with suppress(OSError):
                if os.readlink(entry.path).startswith(prefix):  # noqa: PTH115 - a Path for each costs twice the scan
                    return True
    return False


def _is_in_a_job(pid: int, directory: Path) -> bool:
    try:
        environment = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return False
    if b"SLURMD_NODENAME=" not in environment:
        return False
    variables = environment.split(b"\0")
    named = {variable.partition(b"=")[0] for variable in variables}
    return b"SLURM_CONF=" + os.fsencode(directory / "slurm.conf") in variables and b"SLURM_JOB_ID" in named


def end(processes: Iterable[Identity], grace: float, *, forced: float = 5.0) -> list[Identity]:
    """End processes: ask with SIGTERM, after a while insist with SIGKILL, and wait until they are gone.

    Parameters
    ----------
    processes : iterable of Identity
        Whom; those that are gone already are passed over.
    grace : float
        How long they may take to end by themselves [s].
    forced : float
        How long the kernel may take after that [s].

    Returns
    -------
    list of Identity
        Those that are still there, such as processes that wait for a dead file server.
    """
    left = _signal(processes, signal.SIGTERM)
    left = _wait(left, grace)
    return _wait(_signal(left, signal.SIGKILL), forced)


def kill(processes: Iterable[Identity]) -> None:
    """Send SIGKILL to these very processes, without waiting."""
    _signal(processes, signal.SIGKILL)


def _signal(processes: Iterable[Identity], number: signal.Signals) -> list[Identity]:
    """Signal each process that is still there; return those."""
    reached = []
    for process in processes:
        with _pidfd(process) as handle:
            if handle is None:
                continue
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, number)
                reached.append(process)
    return reached


def _wait(processes: Iterable[Identity], seconds: float) -> list[Identity]:
    """Wait until the processes are gone, at most so long; return those that are left."""
    until = time.monotonic() + seconds
    left = [process for process in processes if alive(process)]
    while left and (remaining := until - time.monotonic()) > 0:
        with _pidfd(left[0]) as handle:
            if handle is not None:
                # A pidfd becomes readable when the process ends, zombie or not (pidfd_open(2)).
                waiting = select.poll()
                waiting.register(handle, select.POLLIN)
                waiting.poll(remaining * 1000)
        left = [process for process in left if alive(process)]
    return left


@contextmanager
def _pidfd(process: Identity) -> Iterator[int | None]:
    """Open a descriptor for this very process (pidfd_open(2)); None where it is gone, or another has its id."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        yield None
        return
    try:
        yield handle if alive(process) else None
    finally:
        os.close(handle)
