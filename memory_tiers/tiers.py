"""The memory tiers of this node: what there is, how fast it is, and what the kernel lets us do with it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from memory_tiers.kernel import cgroups, damon, merging, nodes, pagemap, swaps
from memory_tiers.kernel import pressure as pressures
from memory_tiers.kernel.types import Node, SwapArea

FAST_PMEM_DISTANCE = 17
"""Distance from which a node without CPUs counts as persistent memory and not as CXL: Linux's ACPI tables give
persistent memory as system RAM 17 and more, CXL expanders less. A guess where the platform does not say."""


@dataclass(frozen=True)
class Tier:
    """One tier of the node.

    Attributes
    ----------
    name : str
        `node0`, or the path of a swap area.
    kind : str
        `dram`, `cxl`, `pmem`, `zram`, `zswap` or `swap`.
    capacity, free : int
        Bytes.
    latency_ns, bandwidth : float or None
        Measured: nanoseconds to the first byte of a page, bytes per second; None where not measured.
    kernel_tier : int or None
        The kernel's own tier of a NUMA node.
    """

    name: str
    kind: str
    capacity: int
    free: int
    latency_ns: float | None = None
    bandwidth: float | None = None
    kernel_tier: int | None = None


@dataclass(frozen=True)
class Inventory:
    """All tiers, what the kernel allows, the tracker that is used, and remarks for a person."""

    tiers: tuple[Tier, ...]
    kernel: dict[str, Any]
    tracker: str
    remarks: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """Return what `tierwise tiers --json` prints."""
        tiers = [asdict(tier) for tier in self.tiers]
        return {"tiers": tiers, "kernel": self.kernel, "tracker": self.tracker, "remarks": list(self.remarks)}


def discover() -> Inventory:
    """Look at this node, without measuring and without changing anything."""
    found = nodes.nodes()
    areas = swaps.areas()
    tiers = [*_node_tiers(found), *(_area_tier(area) for area in areas)]
    if swaps.has_zswap() and any(area.kind == "swap" for area in areas):
        # zswap has no size of its own: it takes a share of DRAM in front of the swap areas.
        limit = swaps.zswap_limit(nodes.machine_memory()[0])
        tiers.append(Tier("zswap", "zswap", limit, max(0, limit - swaps.zswap_held())))
    abilities = _abilities()
    return Inventory(tuple(tiers), abilities, _tracker(abilities), _remarks(found, tiers, abilities))


def _node_tiers(found: tuple[Node, ...]) -> list[Tier]:
    return [
        Tier(
            f"node{node.number}", _kind(node), node.total, node.free, kernel_tier=node.tier if node.tier >= 0 else None
        )
        for node in found
    ]


def _kind(node: Node) -> str:
    if node.has_cpus:
        return "dram"
    nearest = min((distance for distance in node.distances if distance != 10), default=0)
    return "pmem" if nearest >= FAST_PMEM_DISTANCE and nodes.is_pmem(node.number) else "cxl"


def _area_tier(area: SwapArea) -> Tier:
    return Tier(area.path, area.kind, area.size, area.size - area.used)


def _abilities() -> dict[str, Any]:
    control = cgroups.memory_root()
    seen = damon.look()
    return {
        "release": nodes.release(),
        "cgroup": None if control is None else f"v{control[0]}",
        "memory_reclaim": control is not None and cgroups.can_reclaim(control[1]),
        "pagemap_scan": pagemap.is_supported(),
        "damon": {"exists": seen.exists, "operations": list(seen.operations), "held": seen.held},
        "demotion": nodes.may_demote(),
        "pressure": pressures.pressure() is not None,
        "ksm": merging.is_running(),
        "zram": swaps.has_zram(),
        "zswap": swaps.has_zswap(),
        "weighted_interleave": nodes.can_weigh(),
    }


def _tracker(abilities: dict[str, Any]) -> str:
    """Name the way in which the agent finds out what is used: what came back after it was paged out."""
    return "refault/pagemap_scan" if abilities["pagemap_scan"] else "refault/pagemap"


def _remarks(found: tuple[Node, ...], tiers: list[Tier], abilities: dict[str, Any]) -> tuple[str, ...]:
    remarks = []
    fast = {node.tier for node in found if node.has_cpus}
    for node in found:
        if not node.has_cpus and node.tier in fast:
            remarks.append(
                f"node{node.number} has no CPUs but sits in the same kernel tier as DRAM (memory_tier{node.tier}): "
                "the kernel will not demote to it"
            )
    if all(tier.kind == "dram" for tier in tiers):
        remarks.append("there is no far tier; make one with `tierwise tiers setup zram --size 8G`")
    if abilities["damon"]["held"]:
        remarks.append("DAMON is held by somebody else, and is left to them")
    return tuple(remarks)
