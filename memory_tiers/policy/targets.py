"""How much DRAM each job shall have: promises first, then the classes in the order in which a miss hurts them."""

from __future__ import annotations

from dataclasses import dataclass

from memory_tiers.policy.views import JobView, NodeView, TierClass

_ORDER = (TierClass.SHORT, TierClass.LATENCY, TierClass.BANDWIDTH, TierClass.AUTO, TierClass.CAPACITY)
"""Who gets what is left after the promises: short jobs end and give it back, latency pays most for each miss."""


@dataclass(frozen=True)
class Margins:
    """Slack that the targets leave; each is a share of a node's DRAM unless it says otherwise.

    Attributes
    ----------
    reserve : float
        Never given to anybody: what jobs may allocate from one look to the next.
    growth : float
        Given beyond its footprint to a job that has not reached its promise, and may be growing.
    """

    reserve: float = 0.03
    growth: float = 0.02


def targets(node: NodeView, margins: Margins) -> dict[int, int]:
    """Divide a node's DRAM among its jobs.

    Promises come first, then what each holds beyond, both class by class in the order in which a miss hurts; members of
    a class for which not enough is left share it in proportion to what they lack. A promise that is not filled yet is
    kept free, but a capacity job's: what it holds is rarely less.

    Parameters
    ----------
    node : NodeView
        The node.
    margins : Margins
        Slack.

    Returns
    -------
    dict of int to int
        Bytes of DRAM by job; their sum never exceeds the node's DRAM less headroom and reserve.
    """
    left = max(0, node.near - node.headroom - int(node.near * margins.reserve))
    growth = int(node.near * margins.growth)
    floors = {job.job: _floor(job, growth) for job in node.jobs}
    wishes = {job.job: max(0, job.footprint + _growth(job, growth) - floors[job.job]) for job in node.jobs}
    given = dict.fromkeys(floors, 0)
    for wanted in (floors, wishes):
        for tier_class in _ORDER:
            members = {job.job: wanted[job.job] for job in node.jobs if job.tier_class is tier_class}
            for job, more in _shares(members, left).items():
                given[job] += more
                left -= more
    return given


def _floor(job: JobView, growth: int) -> int:
    # A capacity job's promise is what it may keep, the others' what they are about to fill.
    if job.tier_class is TierClass.CAPACITY:
        return min(job.promised, job.footprint + growth)
    # What short jobs hold is theirs too: they give it back soon.
    return max(job.promised, job.footprint) if job.tier_class is TierClass.SHORT else job.promised


def _growth(job: JobView, growth: int) -> int:
    return growth if job.footprint < job.promised or not job.promised else 0


def _shares(wishes: dict[int, int], left: int) -> dict[int, int]:
    wanted = sum(wishes.values())
    if wanted <= left:
        return dict(wishes)
    return {job: wish * left // wanted for job, wish in wishes.items()}
