"""The real kernel behind the seam."""

from __future__ import annotations

from pathlib import Path

from memory_tiers.kernel import cgroups, madvise, maps, nodes, pagemap, processes, swaps
from memory_tiers.kernel import pressure as pressures
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


class RealKernel:
    """The running kernel; see `memory_tiers.kernel.seam.Kernel`, and each module for what it does."""

    def open_process(self, pid: int) -> Process | None:
        """Take hold of a process."""
        return processes.open_process(pid)

    def close_process(self, process: Process) -> None:
        """Let go of a process."""
        processes.close_process(process)

    def is_alive(self, process: Process) -> bool:
        """Tell whether a process runs still."""
        return madvise.is_alive(process)

    def parents(self) -> dict[int, int]:
        """Return the parent of every process."""
        return processes.parents()

    def mappings(self, process: Process) -> tuple[Mapping, ...]:
        """List a process's mappings."""
        return maps.mappings(process)

    def footprint(self, process: Process) -> Footprint | None:
        """Sum up what a process holds."""
        return maps.footprint(process)

    def residency(self, process: Process, start: int, end: int, chunk: int) -> Residency:
        """Count a stretch's pages, chunk by chunk."""
        return pagemap.residency(process, start, end, chunk)

    def advise(self, process: Process, ranges: Ranges, advice: Advice) -> Advised:
        """Give advice about a process's pages."""
        return madvise.advise(process, ranges, advice)

    def populate(self, process: Process, ranges: Ranges) -> Advised:
        """Map a process's pages."""
        return madvise.populate(process, ranges)

    def group_processes(self, group: Path) -> tuple[int, ...]:
        """List a control group's processes."""
        return cgroups.processes(group)

    def group_memory(self, group: Path) -> GroupMemory | None:
        """Read a control group's memory."""
        return cgroups.memory(group)

    def set_limit(self, group: Path, limit: int | None) -> int:
        """Set or lift a group's limit."""
        return cgroups.set_limit(group, limit)

    def protect(self, group: Path, amount: int) -> int:
        """Protect a group's memory."""
        return cgroups.protect(group, amount)

    def swap_areas(self) -> tuple[SwapArea, ...]:
        """List the swap areas."""
        return swaps.areas()

    def pressure(self) -> Pressure | None:
        """Read the machine's memory pressure."""
        return pressures.pressure()

    def machine_memory(self) -> tuple[int, int]:
        """Return the machine's memory, and what is available."""
        return nodes.machine_memory()
