"""Looking: where the pages of a job's regions are, what was touched since, and where scans have got to."""

from __future__ import annotations

import numpy as np

from memory_tiers.agent.watched import WatchedJob, WatchedRegion
from memory_tiers.kernel.seam import Kernel
from memory_tiers.policy.deciding import is_walked
from memory_tiers.policy.walks import followed, is_vague, overtaken, suspected

SMALLEST_REGION = 8 << 20
"""Smaller regions are left to the kernel: looking at them costs more than they can give."""

CLOSER_LOOKS = 12
"""Looks at a place where a scan may be, a few milliseconds apart: enough for trust where there is one."""

_COOLING = 0.8
"""Heat that is left after a look in which nothing came back."""


def look(watched: WatchedJob, kernel: Kernel) -> float:
    """Look at all of a job's regions.

    Returns
    -------
    float
        Seconds that the looks took.
    """
    watched.memory = None if watched.group is None else kernel.group_memory(watched.group)
    _find_regions(watched, kernel)
    seconds = sum(_look_at(watched, region, kernel) for region in watched.regions.values())
    watched.beside = 0 if watched.memory is None else max(0, watched.memory.current - watched.mapped())
    return seconds


def _find_regions(watched: WatchedJob, kernel: Kernel) -> None:
    known = watched.regions
    watched.regions = {}
    for process in watched.processes.values():
        for mapping in kernel.mappings(process):
            if mapping.is_private_memory and mapping.size >= SMALLEST_REGION:
                key = process.pid, mapping.start
                watched.regions[key] = _grown(known.get(key), WatchedRegion.fresh(process, mapping.start, mapping.end))


def _grown(known: WatchedRegion | None, fresh: WatchedRegion) -> WatchedRegion:
    if known is None or known.chunk != fresh.chunk:
        return fresh
    if known.end != fresh.end:
        kept = min(len(known.present), len(fresh.present))
        for name in ("present", "swapped", "ahead", "heat", "joined", "sent"):
            getattr(fresh, name)[:kept] = getattr(known, name)[:kept]
        fresh.walk = known.walk
        return fresh
    return known


def _look_at(watched: WatchedJob, region: WatchedRegion, kernel: Kernel) -> float:
    seen = kernel.residency(region.process, region.start, region.end, region.chunk)
    if seen.gone:
        return seen.seconds
    full = region.capacity()
    observable = np.flatnonzero(region.present < full)
    grown = seen.present > region.present
    # A chunk brought back ahead of use lacks its last page until it is touched: the scan has reached that page.
    touched = np.flatnonzero(grown & (~region.ahead | (seen.present >= full)))
    came_back = grown & ~region.ahead & (seen.swapped < region.swapped)
    region.heat *= _COOLING
    region.heat[came_back] += 1.0
    if is_vague(observable, touched) and not is_walked(region.view()):
        region.walk = suspected(region.walk, seen.present, touched)
        region.closer = CLOSER_LOOKS
    else:
        region.walk = followed(region.walk, observable, touched)
    back = np.where(came_back, np.minimum(region.sent, seen.present - region.present), 0)
    region.sent -= back
    watched.pages_back += 0 if is_walked(region.view()) else int(back.sum())
    region.ahead &= (seen.present > 0) & (seen.present < full)
    region.present, region.swapped = seen.present, seen.swapped
    return seen.seconds


def follow(region: WatchedRegion, kernel: Kernel, horizon: int) -> int:
    """Look where a scan has got to, by asking for few pages only: the last of each chunk that it would reach next.

    A scan reaches chunks in order, so halving finds the last that it has reached.

    Parameters
    ----------
    region : WatchedRegion
        With a walk in it; changed in place.
    kernel : Kernel
        The seam.
    horizon : int
        How many chunks ahead to look.

    Returns
    -------
    int
        Chunks that were touched since the last look.
    """
    walk = region.walk
    if walk is None:
        return 0
    full = region.capacity()
    observable = np.flatnonzero(region.present < full)
    order = np.concatenate((observable[observable > walk.position], observable[observable <= walk.position]))[:horizon]
    reached = _reached(region, kernel, order)
    if not reached:
        region.walk = overtaken(walk, 0)
        return 0
    touched = order[:reached]
    by_itself = int((~region.ahead[touched]).sum())
    region.ahead[touched] = False
    region.swapped[touched] = 0
    region.present[touched] = full[touched]
    moved = followed(walk, order, touched)
    region.walk = None if moved is None else overtaken(moved, by_itself)
    return reached


def _reached(region: WatchedRegion, kernel: Kernel, order: np.ndarray[tuple[int], np.dtype[np.int64]]) -> int:
    """Count how many of the chunks, in this order, have been touched: gallop, then halve."""

    def is_touched(rank: int) -> bool:
        last = min(region.start + (int(order[rank]) + 1) * region.chunk, region.end) - 4096
        return kernel.is_present(region.process, last)

    low, step = 0, 1
    while low + step <= len(order) and is_touched(low + step - 1):
        low, step = low + step, step * 2
    high = min(low + step - 1, len(order))
    while low < high:
        middle = (low + high) // 2
        if is_touched(middle):
            low = middle + 1
        else:
            high = middle
    return low
