"""NUMA nodes and the tiers that the kernel sorts them into.

Sources: Documentation/admin-guide/mm/numaperf.rst, Documentation/ABI/testing/sysfs-kernel-mm-memory-tiers.
"""

from __future__ import annotations

import re
from pathlib import Path

from memory_tiers.kernel.types import Node

_NODES = Path("/sys/devices/system/node")
_TIERS = Path("/sys/devices/virtual/memory_tiering")


def nodes(nodes_folder: Path = _NODES, tiers_folder: Path = _TIERS) -> tuple[Node, ...]:
    """List the NUMA nodes that have memory.

    A kernel without NUMA has one node: the whole machine.
    """
    tier_of = _tiers(tiers_folder)
    found = []
    for folder in sorted(nodes_folder.glob("node[0-9]*"), key=lambda path: int(path.name[4:])):
        number = int(folder.name[4:])
        memory = dict(re.findall(r"(MemTotal|MemFree):\s+(\d+)", (folder / "meminfo").read_text()))
        if not int(memory.get("MemTotal", 0)):
            continue
        distances = tuple(int(text) for text in (folder / "distance").read_text().split())
        has_cpus = bool((folder / "cpulist").read_text().strip())
        total, free = int(memory["MemTotal"]) * 1024, int(memory["MemFree"]) * 1024
        found.append(Node(number, total, free, has_cpus, tier_of.get(number, -1), distances))
    return tuple(found) or (_whole_machine(),)


def machine_memory() -> tuple[int, int]:
    """Return the machine's memory and what of it is available [bytes]."""
    fields = dict(re.findall(r"(\w+):\s+(\d+)", Path("/proc/meminfo").read_text()))
    return int(fields["MemTotal"]) * 1024, int(fields["MemAvailable"]) * 1024


def may_demote() -> bool | None:
    """Tell whether the kernel demotes pages between tiers instead of reclaiming; None where it cannot."""
    switch = Path("/sys/kernel/mm/numa/demotion_enabled")
    return switch.read_text().strip() == "true" if switch.exists() else None


def _tiers(folder: Path) -> dict[int, int]:
    found = {}
    for tier in folder.glob("memory_tier[0-9]*"):
        for part in (tier / "nodelist").read_text().strip().split(","):
            first, _, last = part.partition("-")
            for number in range(int(first), int(last or first) + 1) if first else ():
                found[number] = int(tier.name.removeprefix("memory_tier"))
    return found


def _whole_machine() -> Node:
    total, free = machine_memory()
    return Node(0, total, free, has_cpus=True, tier=-1, distances=(10,))


def is_pmem(number: int, folder: Path = Path("/sys/bus/dax/devices")) -> bool:
    """Tell whether a node is persistent memory given to the kernel as RAM (a dax device of an nvdimm)."""
    for device in folder.glob("dax*"):
        target = device / "target_node"
        if target.exists() and target.read_text().strip() == str(number):
            return "ndbus" in str(device.resolve())
    return False


def release() -> str:
    """Return the kernel's release, such as `6.12.0`."""
    return Path("/proc/sys/kernel/osrelease").read_text().strip()


def boot_id() -> str:
    """Return what names this start of the machine."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def can_weigh() -> bool:
    """Tell whether pages can be interleaved over nodes by weight (Linux 6.9)."""
    return Path("/sys/kernel/mm/mempolicy/weighted_interleave").exists()
