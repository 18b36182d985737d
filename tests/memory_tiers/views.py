"""Short ways to make what the policy sees."""

from __future__ import annotations

from typing import Any

import numpy as np

from memory_tiers.policy import JobView, NodeView, RegionView, TierClass, Walk

MIB = 1 << 20
PAGES = 64


def region(
    present: list[int], *, pid: int = 1, heat: list[float] | None = None, walk: Walk | None = None
) -> RegionView:
    """Make a region of chunks of 64 pages, of which those marked 1 are present and the others far."""
    marks = np.array(present, dtype=np.int64)
    return RegionView(
        (pid, 0),
        PAGES,
        marks * PAGES,
        (1 - marks) * PAGES,
        np.zeros(len(marks), dtype=np.bool_),
        np.array(heat or [0.0] * len(marks)),
        np.zeros(len(marks), dtype=np.bool_),
        walk,
    )


def job(number: int, tier_class: str, near: int, far: int = 0, **more: Any) -> JobView:
    """Make a job; sizes in MiB."""
    for name in ("promised", "far_limit"):
        if more.get(name) is not None:
            more[name] *= MIB
    return JobView(number, TierClass(tier_class), near * MIB, far * MIB, **more)


def node(near: int, *jobs: JobView, far_free: int = 1 << 20, **more: Any) -> NodeView:
    """Make a node; sizes in MiB."""
    return NodeView(near * MIB, far_free * MIB, jobs, **more)
