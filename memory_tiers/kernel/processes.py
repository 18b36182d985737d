"""Processes, each verified and held by a pidfd; and who descends from whom."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Set
from dataclasses import dataclass
from pathlib import Path

from memory_tiers.kernel.madvise import is_alive
from memory_tiers.kernel.types import Process

_PROC = Path("/proc")


@dataclass(frozen=True)
class Identity:
    """Who a process is.

    Attributes
    ----------
    parent : int
        Its parent's id.
    started : int
        Its start time [clock ticks since boot].
    uid : int
        Its real user.
    name : str
        Its short name.
    """

    parent: int
    started: int
    uid: int
    name: str


def identity(pid: int) -> Identity | None:
    """Read who a process is; None where there is none."""
    folder = _PROC / str(pid)
    try:
        stat = (folder / "stat").read_bytes()
        status = (folder / "status").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name may hold spaces and brackets: the fields start after the last bracket.
    opening, closing = stat.index(b"("), stat.rindex(b")")
    fields = stat[closing + 2 :].split()
    uid = int(status.split(b"\nUid:", 1)[1].split(maxsplit=1)[0])
    return Identity(int(fields[1]), int(fields[19]), uid, stat[opening + 1 : closing].decode(errors="replace"))


def open_process(pid: int) -> Process | None:
    """Take hold of a process by a pidfd.

    Returns
    -------
    Process or None
        None where it has ended. Close it with `close_process`.
    """
    try:
        pidfd = os.pidfd_open(pid)
    except (ProcessLookupError, OSError):
        return None
    found = identity(pid)
    process = Process(pid, pidfd, -1 if found is None else found.uid, -1 if found is None else found.started)
    # Only what was read while the process still ran is about it.
    if found is None or not is_alive(process):
        os.close(pidfd)
        return None
    return process


def close_process(process: Process) -> None:
    """Let go of a process."""
    os.close(process.pidfd)


def parents() -> dict[int, int]:
    """Return the parent of every process of the machine."""
    found = {}
    for entry in _PROC.iterdir():
        if entry.name.isdigit() and (one := _parent(entry)) is not None:
            found[int(entry.name)] = one
    return found


def _parent(folder: Path) -> int | None:
    try:
        stat = (folder / "stat").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(stat[stat.rindex(b")") + 2 :].split()[1])


def descendants(roots: Set[int], parent_of: dict[int, int]) -> set[int]:
    """Return the roots and everything that descends from them.

    Parameters
    ----------
    roots : set of int
        Process ids.
    parent_of : dict of int to int
        As `parents` returns it.

    Examples
    --------
    >>> sorted(descendants({2}, {2: 1, 3: 2, 4: 3, 5: 1}))
    [2, 3, 4]
    """
    children: dict[int, list[int]] = {}
    for pid, parent in parent_of.items():
        children.setdefault(parent, []).append(pid)
    found, waiting = set(), [pid for pid in roots if pid in parent_of]
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting.extend(children.get(pid, ()))
    return found


def command_lines(name: str) -> dict[int, str]:
    """Return the command lines of root's processes of that name, by process id.

    Only root's: others may call themselves what they like.
    """
    found = {}
    for entry in _PROC.iterdir():
        if not entry.name.isdigit():
            continue
        who = identity(int(entry.name))
        if who is not None and who.name == name and who.uid == 0:
            try:
                found[int(entry.name)] = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            except (FileNotFoundError, ProcessLookupError):
                continue
    return found


def allowed_cpus(process: Process) -> frozenset[int]:
    """Return the CPUs that a process may run on; none where it has ended."""
    try:
        found = os.sched_getaffinity(process.pid)
    except OSError:
        return frozenset()
    return frozenset(found) if is_alive(process) else frozenset()


def online_cpus() -> frozenset[int]:
    """Return the CPUs that there are."""
    lines = Path("/proc/stat").read_text().splitlines()
    return frozenset(int(line[3 : line.index(" ")]) for line in lines if line.startswith("cpu") and line[3] != " ")


def run_only_on(cpus: frozenset[int]) -> None:
    """Bind this process to CPUs; nothing changes where it may not run on any of them."""
    with contextlib.suppress(OSError):
        os.sched_setaffinity(0, cpus)


def be_nice(niceness: int) -> None:
    """Set this process's niceness; it stays where we may not."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, niceness)
