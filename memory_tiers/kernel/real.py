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

    def command_lines(self, name: str) -> dict[int, str]:
        """Return the command lines of root's processes of that name."""
        return processes.command_lines(name)

    def mappings(self, process: Process) -> tuple[Mapping, ...]:
        """List a process's mappings."""
        return maps.mappings(process)

    def footprint(self, process: Process) -> Footprint | None:
        """Sum up what a process holds."""
        return maps.footprint(process)

    def residency(self, process: Process, start: int, end: int, chunk: int) -> Residency:
        """Count a stretch's pages, chunk by chunk."""
        return pagemap.residency(process, start, end, chunk)

    def is_present(self, process: Process, address: int) -> bool:
        """Tell whether one page is mapped."""
        return pagemap.is_present(process, address)

    def advise(self, process: Process, ranges: Ranges, advice: Advice) -> Advised:
        """Give advice about a process's pages."""
        return madvise.advise(process, ranges, advice)

    def populate(self, process: Process, ranges: Ranges) -> Advised:
        """Map a process's pages."""
        return madvise.populate(process, ranges)

    def group_root(self) -> Path | None:
        """Return the folder below which memory is controlled; None where it is not."""
        found = cgroups.memory_root()
        return None if found is None else found[1]

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

    def allowed_cpus(self, process: Process) -> frozenset[int]:
        """Return the CPUs that a process may run on; none where it has ended."""
        return processes.allowed_cpus(process)

    def online_cpus(self) -> frozenset[int]:
        """Return the CPUs that there are."""
        return processes.online_cpus()

    def run_only_on(self, cpus: frozenset[int]) -> None:
        """Bind this process to CPUs."""
        processes.run_only_on(cpus)

    def be_nice(self, niceness: int) -> None:
        """Set this process's niceness."""
        processes.be_nice(niceness)
