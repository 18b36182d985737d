"""Sequential scans: recognising one, and what to bring back ahead of it and let go behind it.

A scan that goes around a region larger than its share of DRAM is the worst case for replacement by recency, which
evicts just what comes next. The best is to evict what comes last (Belady, IBM Systems Journal 5(2), 1966): the chunk
just left behind. What the share holds beyond the window therefore stays, pass after pass.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from memory_tiers.policy.views import Counts, RegionView, Walk

FEW = 8
"""Touches this close ahead are the scan's, however few were touched."""

TRUSTED = 0.6
"""From this trust on a walk is acted upon."""


@dataclass(frozen=True)
class Pace:
    """How far ahead to go, in chunks.

    Attributes
    ----------
    ahead : int
        Brought back and not yet touched, at most.
    batch : int
        Moved at once, before the next look.
    lead : int
        The farthest jump ahead of a scan that has overtaken us.
    """

    ahead: int = 128
    batch: int = 48
    lead: int = 192


def distances(region: RegionView, position: int) -> Counts:
    """Return for each chunk how many chunks a scan at `position` passes before it: 0 for the next one."""
    chunks = len(region.present)
    return np.asarray((np.arange(chunks, dtype=np.int64) - position - 1) % chunks, dtype=np.int64)


def followed(walk: Walk | None, observable: Counts, touched: Counts) -> Walk | None:
    """Update the estimate of a scan after a look.

    Parameters
    ----------
    walk : Walk or None
        What was thought before.
    observable : ndarray
        Chunks, in order of address, whose touch could have been seen: not wholly present before the look.
    touched : ndarray
        Those of them that were touched since.

    Returns
    -------
    Walk or None
        None as long as nothing was ever touched.

    Notes
    -----
    Distance is counted in observable chunks: a scan passes what is present unseen. A touch counts as the scan's where
    it lies among the next observable chunks, as many as were touched in all, and half as many again. Where most of what
    could be seen was touched since the last look, that says nothing about the order.
    """
    if not len(touched) or is_vague(observable, touched):
        return walk
    if walk is None:
        return Walk(int(touched[-1]))
    order = np.concatenate((observable[observable > walk.position], observable[observable <= walk.position]))
    reach = order[: max(FEW, len(touched) * 3 // 2)]
    hits = np.isin(touched, reach)
    share = float(hits.mean())
    trust = 0.7 * walk.trust + 0.3 * share
    if not hits.any():
        return Walk(int(touched[-1]), trust)
    rank = np.flatnonzero(np.isin(order, touched[hits]))[-1]
    return Walk(int(order[rank]), trust)


def suspected(walk: Walk | None, present: Counts, touched: Counts) -> Walk | None:
    """Guess where a scan may be, after a look so late that the order of the touches is lost.

    A scan stands where what it touched borders on what is far. Where there are few such borders one of them is worth
    a closer look: the next after the last guess, so that all get their turn.

    Returns
    -------
    Walk or None
        As it was, where the borders are too many for one scan.
    """
    following = np.roll(present, -1)[touched] > 0
    borders = touched[~following]
    if not 0 < len(borders) <= FEW // 2:
        return walk
    if walk is None:
        return Walk(int(borders[0]))
    later = borders[borders > walk.position]
    return replace(walk, position=int(later[0] if len(later) else borders[0]))


def is_vague(observable: Counts, touched: Counts) -> bool:
    """Tell whether most of what could be seen was touched, which says nothing about the order."""
    return len(touched) * 2 > len(observable) > 2 * FEW


def window(region: RegionView, budget: int, pace: Pace) -> tuple[Counts, Counts]:
    """Choose what to let go behind a scan and what to bring back ahead of it.

    Parameters
    ----------
    region : RegionView
        With a walk in it.
    budget : int
        Pages that the region may have in DRAM.
    pace : Pace
        How far and how much.

    Returns
    -------
    tuple of ndarray
        Chunks to let go, the one that is needed last first; chunks to bring back, the one that is needed first first.
    """
    walk = region.walk or Walk(0)
    distance = distances(region, walk.position)
    present = region.present > 0
    absent = np.flatnonzero(~present & (region.swapped > 0))
    absent = absent[np.argsort(distance[absent], kind="stable")]
    lead = min(pace.lead, walk.overtaken * 2)
    # What the scan will have reached before we could have brought it back is left to it.
    absent = absent[distance[absent] >= lead] if lead else absent
    want = max(0, min(pace.batch, pace.ahead - int(region.ahead.sum())))
    coming = absent[: min(want, budget // region.pages // 2)]
    going = np.flatnonzero(present & ~region.ahead)
    going = going[np.argsort(-distance[going], kind="stable")]
    resident = int(region.present.sum())
    need = resident + int(region.swapped[coming].sum()) - budget
    if need > 0 and len(coming):
        # Nothing is let go for something that is needed later than it.
        last = int(distance[coming[-1]])
        spared = going[distance[going] > last]
        freed = int(region.present[spared].sum())
        if freed < need and resident <= budget:
            fits = max(0, (budget - resident + freed) // region.pages)
            coming = coming[:fits]
            need = resident + int(region.swapped[coming].sum()) - budget
    if need <= 0:
        return going[:0], coming
    enough = int(np.searchsorted(np.cumsum(region.present[going]), need)) + 1
    return going[:enough], coming


def overtaken(walk: Walk, chunks: int) -> Walk:
    """Note how many chunks a scan reached by itself since the last look."""
    return replace(walk, overtaken=chunks)
