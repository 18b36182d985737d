"""How much longer a task takes when part of its memory is far: the one place that knows.

Both slopes are measured (docs/results.md, "Tiered memory, first figures"): with twice as much asked for as there is
DRAM, so that half of all memory is far, jobs took 47.1 s of processor time under the node agent and 116.3 s under the
kernel's own reclaim, against 14.2 s with all of it near. In between a straight line is assumed.
"""

from __future__ import annotations

_HALF_FAR = 0.5
_AGENT, _KERNEL = 47.1 / 14.2, 116.3 / 14.2

_SLOPES = dict.fromkeys(("latency", "bandwidth", "capacity", "short"), (_AGENT - 1) / _HALF_FAR)
"""Under the agent, by class. The measurement is of a mixture of all classes, so all have its slope."""

_UNMANAGED_SLOPE = (_KERNEL - 1) / _HALF_FAR


def slope(tier_class: str) -> float:
    """Return by how many times its run time a task takes longer with all of its memory far, under the agent."""
    return _SLOPES[tier_class]


def managed(tier_class: str, far_share: float) -> float:
    """Return the slow-down of a task whose far share was decided and is kept by the node agent.

    Parameters
    ----------
    tier_class : str
        One of `model.CLASSES`.
    far_share : float
        The share of its memory that is far, 0 to 1.

    Returns
    -------
    float
        At least 1: times the run time with all memory near.
    """
    return 1.0 + _SLOPES[tier_class] * far_share


def unmanaged(far_share: float) -> float:
    """Return the slow-down of all tasks of a node whose kernel reclaims memory by itself; see `managed`."""
    return 1.0 + _UNMANAGED_SLOPE * far_share
