"""A pretended kernel for tests of what stands above the seam: processes are arrays of pages that a test touches."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from memory_tiers.kernel.types import (
    PAGE,
    Advice,
    Advised,
    Footprint,
    GroupMemory,
    Mapping,
    Pressure,
    Process,
    Ranges,
    Residency,
    SwapArea,
)

_ABSENT, _PRESENT, _FAR, _CACHED = 0, 1, 2, 3
"""Where a page is: nowhere yet, mapped, far, or near without being mapped (in the swap cache)."""


@dataclass
class FakeProcess:
    """A process with one region, at one address.

    Attributes
    ----------
    pid, uid, parent : int
        Who it is.
    pages : ndarray
        Where each page is.
    start : int
        The region's address.
    faults : int
        Pages that it had to bring back by itself.
    """

    pid: int
    uid: int = 1000
    parent: int = 1
    pages: npt.NDArray[np.int8] = field(default_factory=lambda: np.zeros(0, dtype=np.int8))
    start: int = 1 << 30
    faults: int = 0

    def touch(self, first: int, last: int) -> None:
        """Touch pages, from the first up to the last, the last not included."""
        part = self.pages[first:last]
        self.faults += int((part == _FAR).sum())
        part[:] = _PRESENT

    def near(self) -> int:
        """Return the bytes that it holds near."""
        return int(np.isin(self.pages, (_PRESENT, _CACHED)).sum()) * PAGE

    def far(self) -> int:
        """Return the bytes that it holds far."""
        return int((self.pages == _FAR).sum()) * PAGE


class FakeKernel:
    """See `memory_tiers.kernel.seam.Kernel`.

    Parameters
    ----------
    far : int
        Bytes of the one far tier.
    refusing : int
        An errno with which every act is refused; 0 for none.
    """

    def __init__(self, far: int = 1 << 40, refusing: int = 0) -> None:
        self.processes: dict[int, FakeProcess] = {}
        self.groups: dict[Path, list[int]] = {}
        self.protected: dict[Path, int] = {}
        self.limits: dict[Path, int | None] = {}
        self.daemons: dict[int, str] = {}
        self.niceness = 0
        self._starts: dict[int, int] = {}
        self._started = 0
        self._far, self.refusing = far, refusing

    def add(self, process: FakeProcess, group: Path | None = None) -> FakeProcess:
        """Start a process, in a group or in none."""
        self.processes[process.pid] = process
        self._started += 1
        self._starts[process.pid] = self._started
        if group is not None:
            self.groups.setdefault(group, []).append(process.pid)
        return process

    def end(self, pid: int) -> None:
        """End a process."""
        del self.processes[pid]
        for pids in self.groups.values():
            if pid in pids:
                pids.remove(pid)

    def open_process(self, pid: int) -> Process | None:
        """Take hold of a process."""
        found = self.processes.get(pid)
        return None if found is None else Process(pid, pid, found.uid, self._starts[pid])

    def close_process(self, process: Process) -> None:
        """Let go of a process."""

    def is_alive(self, process: Process) -> bool:
        """Tell whether a process runs still: this one, and no later one with its id."""
        found = self.processes.get(process.pid)
        return found is not None and self._starts[process.pid] == process.started

    def parents(self) -> dict[int, int]:
        """Return the parent of every process."""
        return {pid: process.parent for pid, process in self.processes.items()}

    def command_lines(self, name: str) -> dict[int, str]:
        """Return the command lines of root's processes of that name."""
        return {pid: line for pid, line in self.daemons.items() if line.startswith(name)}

    def mappings(self, process: Process) -> tuple[Mapping, ...]:
        """List a process's mappings: one."""
        found = self._of(process)
        if found is None or not len(found.pages):
            return ()
        return (Mapping(found.start, found.start + len(found.pages) * PAGE, "rw-p", ""),)

    def footprint(self, process: Process) -> Footprint | None:
        """Sum up what a process holds."""
        found = self._of(process)
        return None if found is None else Footprint(found.near(), found.near(), found.near(), found.far(), 0)

    def residency(self, process: Process, start: int, end: int, chunk: int) -> Residency:
        """Count a stretch's pages, chunk by chunk."""
        chunks = -(-(end - start) // chunk)
        found = self._of(process)
        if found is None:
            nothing = np.zeros(chunks, dtype=np.int64)
            return Residency(start, chunk, nothing, nothing, gone=True)
        edges = np.arange(chunks) * (chunk // PAGE) + (start - found.start) // PAGE
        pages = found.pages[: (end - found.start) // PAGE]
        present = np.add.reduceat((pages == _PRESENT).astype(np.int64), edges)
        swapped = np.add.reduceat(np.isin(pages, (_FAR, _CACHED)).astype(np.int64), edges)
        return Residency(start, chunk, present, swapped)

    def is_present(self, process: Process, address: int) -> bool:
        """Tell whether one page is mapped."""
        found = self._of(process)
        return found is not None and bool(found.pages[(address - found.start) // PAGE] == _PRESENT)

    def advise(self, process: Process, ranges: Ranges, advice: Advice) -> Advised:
        """Give advice about a process's pages."""
        change = {Advice.PAGEOUT: (_PRESENT, _FAR), Advice.WILLNEED: (_FAR, _CACHED)}.get(advice)
        return self._apply(process, ranges, [change] if change else [])

    def populate(self, process: Process, ranges: Ranges) -> Advised:
        """Map a process's pages."""
        return self._apply(process, ranges, [(_FAR, _PRESENT), (_CACHED, _PRESENT)])

    def _apply(self, process: Process, ranges: Ranges, changes: list[tuple[int, int]]) -> Advised:
        asked = int(ranges[:, 1].sum())
        found = self._of(process)
        if found is None or self.refusing:
            return Advised(asked, 0, refused=self.refusing, gone=found is None)
        for start, length in ranges.tolist():
            first = (start - found.start) // PAGE
            part = found.pages[first : first + length // PAGE]
            for before, after in changes:
                part[part == before] = after
        return Advised(asked, asked)

    def group_root(self) -> Path | None:
        """Return the folder below which memory is controlled."""
        return None

    def group_processes(self, group: Path) -> tuple[int, ...]:
        """List a group's processes."""
        return tuple(self.groups.get(group, ()))

    def group_memory(self, group: Path) -> GroupMemory | None:
        """Read a group's memory."""
        if group not in self.groups:
            return None
        members = [self.processes[pid] for pid in self.groups[group]]
        near, far = sum(one.near() for one in members), sum(one.far() for one in members)
        return GroupMemory(1, near, far, self.limits.get(group), sum(one.faults for one in members), 0)

    def set_limit(self, group: Path, limit: int | None) -> int:
        """Set or lift a group's limit."""
        if self.refusing:
            return self.refusing
        self.limits[group] = limit
        return 0

    def protect(self, group: Path, amount: int) -> int:
        """Protect a group's memory."""
        self.protected[group] = amount
        return 0

    def swap_areas(self) -> tuple[SwapArea, ...]:
        """List the swap areas: one."""
        used = sum(process.far() for process in self.processes.values())
        return (SwapArea("/dev/zram0", "zram", self._far, used, 100),)

    def pressure(self) -> Pressure | None:
        """Read the machine's memory pressure: none."""
        return None

    def machine_memory(self) -> tuple[int, int]:
        """Return the machine's memory, and what is available."""
        return 1 << 34, 1 << 33

    def allowed_cpus(self, process: Process) -> frozenset[int]:
        """Return the CPUs that a process may run on."""
        return frozenset({0, 1} if self.is_alive(process) else {})

    def online_cpus(self) -> frozenset[int]:
        """Return the CPUs that there are."""
        return frozenset({0, 1})

    def run_only_on(self, cpus: frozenset[int]) -> None:
        """Bind this process to CPUs."""

    def be_nice(self, niceness: int) -> None:
        """Set this process's niceness."""
        self.niceness = max(self.niceness, niceness)

    def _of(self, process: Process) -> FakeProcess | None:
        return self.processes.get(process.pid) if self.is_alive(process) else None
