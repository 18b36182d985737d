"""The decision: from a snapshot of the node to a plan."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from memory_tiers.policy.ranking import coldest, hottest, joinable
from memory_tiers.policy.targets import Margins, targets
from memory_tiers.policy.views import JobView, Move, NodeView, Plan, RegionView, TierClass, Way
from memory_tiers.policy.walks import TRUSTED, Pace, window

PAGE = 4096

_LAST = {TierClass.CAPACITY: 0, TierClass.AUTO: 1, TierClass.BANDWIDTH: 2, TierClass.LATENCY: 3, TierClass.SHORT: 4}
"""In which order the classes give pages up."""


@dataclass(frozen=True)
class Settings:
    """What an administrator may set; bytes where nothing else is said.

    Attributes
    ----------
    margins : Margins
        Slack of the targets.
    pace : Pace
        How scans are followed.
    batch : int
        Moved for one job at once, before the next look.
    far_spare : float
        Limits are set only while far tiers have this share of the node's DRAM free: under a limit of version 1 a job
        that finds no place in swap is killed.
    warm : float
        Heat from which a chunk of a capacity job is brought back.
    """

    margins: Margins = field(default_factory=Margins)
    pace: Pace = field(default_factory=Pace)
    batch: int = 16 << 20
    far_spare: float = 0.5
    warm: float = 0.5


def decide(node: NodeView, settings: Settings) -> Plan:
    """Decide what to move.

    Parameters
    ----------
    node : NodeView
        The node and its jobs as they are.
    settings : Settings
        What the administrator has set.

    Returns
    -------
    Plan
        First what goes out, by class, then what comes in. A job that holds less than its target loses nothing.
    """
    given = targets(node, settings.margins)
    moves: list[Move] = []
    for job in sorted(node.jobs, key=lambda one: (_LAST[one.tier_class], one.job)):
        moves.extend(moves_of(job, given[job.job], node, settings))
    moves.sort(key=lambda move: move.way is not Way.OUT)
    return Plan(tuple(moves), given, _limits(node, given, settings))


def moves_of(job: JobView, target: int, node: NodeView, settings: Settings) -> list[Move]:
    """Decide about one job, given the DRAM that it shall have [bytes]."""
    excess = (job.resident - target) // PAGE
    walking = [region for region in job.regions if is_walked(region)]
    others = [region for region in job.regions if not is_walked(region)]
    moves = []
    if walking:
        beside = job.resident // PAGE - sum(int(region.present.sum()) for region in walking)
        # Regions without a scan give way first; what they still hold is not the scans' to use.
        share = max(0, target // PAGE - beside) // len(walking)
        for region in walking:
            going, coming = window(region, share, settings.pace)
            moves += _move(job, region, Way.OUT, going) if _may_go(job, node) else []
            moves += _move(job, region, Way.IN, coming, ahead=True)
    elif excess > 0 and _may_go(job, node):
        moves += _let_go(job, others, min(excess, settings.batch // PAGE))
    elif excess < 0 and job.swapped:
        moves += _bring_back(job, others, min(-excess, settings.batch // PAGE), settings)
    elif job.tier_class is TierClass.LATENCY and not node.backed_off:
        # Dependent reads pay for each miss in the TLB; a chunk that is wholly near takes no more room as a huge page.
        for region in others:
            moves += _move(job, region, Way.JOIN, joinable(region, settings.batch // PAGE))
    return moves


def is_walked(region: RegionView) -> bool:
    """Tell whether a scan walks through a region that does not fit into DRAM."""
    walk = region.walk
    return walk is not None and walk.trust >= TRUSTED and bool((region.swapped > 0).any())


def _may_go(job: JobView, node: NodeView) -> bool:
    if node.backed_off or node.far_free <= 0 or job.tier_class is TierClass.SHORT:
        return False
    return job.far_limit is None or job.swapped < job.far_limit


def _let_go(job: JobView, regions: list[RegionView], pages: int) -> list[Move]:
    moves = []
    for region in sorted(regions, key=lambda one: (float(one.heat.mean()), -int(one.present.sum()))):
        if pages <= 0:
            break
        chosen = coldest(region, pages)
        pages -= int(region.present[chosen].sum())
        moves += _move(job, region, Way.OUT, chosen)
    return moves


def _bring_back(job: JobView, regions: list[RegionView], pages: int, settings: Settings) -> list[Move]:
    # A capacity job gets back what it showed to use; the others everything: their next miss would hurt.
    least = settings.warm if job.tier_class is TierClass.CAPACITY else 0.0
    moves = []
    for region in sorted(regions, key=lambda one: -float(one.heat.sum())):
        chosen = hottest(region, pages, least)
        pages -= int(region.swapped[chosen].sum())
        moves += _move(job, region, Way.IN, chosen)
    return moves


def _move(
    job: JobView, region: RegionView, way: Way, chunks: np.ndarray[tuple[int], np.dtype[np.int64]], ahead: bool = False
) -> list[Move]:
    return [Move(job.job, region.key, way, chunks, ahead)] if len(chunks) else []


def _limits(node: NodeView, given: dict[int, int], settings: Settings) -> dict[int, int | None]:
    """Capacity jobs that grow shall evict their own pages, not those of others: they may fill what nobody else has."""
    safe = not node.backed_off and node.far_free > node.near * settings.far_spare
    reserve = int(node.near * settings.margins.reserve)
    unused = max(0, node.near - node.headroom - reserve - sum(given.values()))
    limits: dict[int, int | None] = {}
    for job in node.jobs:
        if job.may_limit:
            wanted = safe and job.tier_class is TierClass.CAPACITY
            limits[job.job] = given[job.job] + unused + reserve * 2 // 3 if wanted else None
    return limits
