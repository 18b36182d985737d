"""Regions without a scan: what to let go first, and what to bring back."""

from __future__ import annotations

import numpy as np

from memory_tiers.policy.views import Counts, RegionView


def coldest(region: RegionView, pages: int) -> Counts:
    """Choose chunks to let go: the coldest first, and of equally cold ones those at the end of the region.

    Parameters
    ----------
    region : RegionView
        The region.
    pages : int
        How many pages are to go.

    Returns
    -------
    ndarray
        Chunks that hold at least that many pages together, or all.
    """
    present = np.flatnonzero((region.present > 0) & ~region.ahead)
    order = present[np.lexsort((-present, region.heat[present]))]
    enough = int(np.searchsorted(np.cumsum(region.present[order]), pages)) + 1
    return order[:enough] if pages > 0 else order[:0]


def joinable(region: RegionView, pages: int) -> Counts:
    """Choose chunks to make huge pages of: wholly near, not tried yet, from the front, no more than so many pages."""
    whole = np.flatnonzero((region.present == region.pages) & ~region.joined)
    return whole[: pages // region.pages]


def hottest(region: RegionView, pages: int, least: float) -> Counts:
    """Choose chunks to bring back: the hottest first, none colder than `least`, and no more than so many pages."""
    absent = np.flatnonzero((region.swapped > 0) & (region.heat >= least))
    order = absent[np.lexsort((absent, -region.heat[absent]))]
    return order[: int(np.searchsorted(np.cumsum(region.swapped[order]), pages, side="right"))]
