"""The seam: everything that the rest of Tierwise may ask of the kernel about memory."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from memory_tiers.kernel.types import (
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


class Kernel(Protocol):
    """The kernel, real, in dry run or pretended.

    Nothing here raises because a process ended or a group vanished: that is in what is returned.
    """

    def open_process(self, pid: int) -> Process | None:
        """Take hold of a process; None where it has ended."""

    def close_process(self, process: Process) -> None:
        """Let go of a process."""

    def is_alive(self, process: Process) -> bool:
        """Tell whether a process runs still."""

    def parents(self) -> dict[int, int]:
        """Return the parent of every process."""

    def command_lines(self, name: str) -> dict[int, str]:
        """Return the command lines of root's processes of that name."""

    def mappings(self, process: Process) -> tuple[Mapping, ...]:
        """List a process's mappings."""

    def footprint(self, process: Process) -> Footprint | None:
        """Sum up what a process holds."""

    def residency(self, process: Process, start: int, end: int, chunk: int) -> Residency:
        """Count a stretch's pages that are mapped and swapped out, chunk by chunk."""

    def is_present(self, process: Process, address: int) -> bool:
        """Tell whether one page is mapped."""

    def advise(self, process: Process, ranges: Ranges, advice: Advice) -> Advised:
        """Give advice about a process's pages."""

    def populate(self, process: Process, ranges: Ranges) -> Advised:
        """Map a process's pages, so that its next touch of them does not fault."""

    def group_root(self) -> Path | None:
        """Return the folder below which memory is controlled; None where it is not."""

    def group_processes(self, group: Path) -> tuple[int, ...]:
        """List a control group's processes."""

    def group_memory(self, group: Path) -> GroupMemory | None:
        """Read a control group's memory."""

    def set_limit(self, group: Path, limit: int | None) -> int:
        """Set or lift the amount beyond which a group is reclaimed from; 0 or an errno."""

    def protect(self, group: Path, amount: int) -> int:
        """Ask for reclaim elsewhere while a group holds no more than this; 0 or an errno."""

    def swap_areas(self) -> tuple[SwapArea, ...]:
        """List the swap areas."""

    def pressure(self) -> Pressure | None:
        """Read the machine's memory pressure."""

    def machine_memory(self) -> tuple[int, int]:
        """Return the machine's memory, and what of it is available [bytes]."""

    def allowed_cpus(self, process: Process) -> frozenset[int]:
        """Return the CPUs that a process may run on; none where it has ended."""

    def online_cpus(self) -> frozenset[int]:
        """Return the CPUs that there are."""

    def run_only_on(self, cpus: frozenset[int]) -> None:
        """Bind this process to CPUs."""

    def be_nice(self, niceness: int) -> None:
        """Set this process's niceness."""
