"""Curves of a replay: what delay would have bought at each decision, and how waits are distributed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from cosim.engine import Replayed
from cosim.on_demand import Decided
from cosim.snapshot import Floats

MOST_POINTS = 400
"""Points of a curve: more than a figure of a page's width can show apart."""

_SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True)
class TradeOff:
    """What a policy's decisions would have cost under a common cap on the delay.

    Attributes
    ----------
    cap : float64 array, shape (points,)
        The most delay that each decision is allowed [s].
    delay : float64 array, shape (points,)
        The mean wait of the on-demand jobs with the starts then taken [s].
    lost_node_hours : float64 array, shape (points,)
        What these starts lose together.
    """

    cap: Floats
    delay: Floats
    lost_node_hours: Floats


def trade_off(replayed: Replayed, most_points: int = MOST_POINTS) -> TradeOff | None:
    """Add up the frontiers of a replay's decisions, without replaying them again.

    For a cap of d seconds each decision takes the start of its frontier that loses least among those at most d late.
    A decision whose frontier begins later than d, since not enough nodes can be had earlier, takes its earliest start.
    What a job waited before it could be decided about, and all of the wait of one that never was, stays as replayed.

    Parameters
    ----------
    replayed : Replayed
        What happened under one policy.
    most_points : int
        Caps to evaluate, at most.

    Returns
    -------
    TradeOff or None
        None where no frontier has more than one start, so that there is nothing to trade.
    """
    decisions = _followed(replayed)
    sizes = np.fromiter((len(decided.frontier) for decided in decisions), np.int64, len(decisions))
    if not (sizes > 1).any():
        return None
    flat = chain.from_iterable(chain.from_iterable(decided.frontier for decided in decisions))
    delay, loss = np.fromiter(flat, np.float64, 2 * int(sizes.sum())).reshape(-1, 2).T
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    # Along a frontier the loss falls as the delay grows: allowing a start replaces the one before it.
    later = np.ones(len(delay), np.bool_)
    later[first] = False
    places = np.flatnonzero(later)
    at = delay[places]
    order = np.argsort(at, kind="stable")
    caps = _thinned(np.unique(np.concatenate([[0.0], at])), most_points)
    allowed = np.searchsorted(at[order], caps, "right").astype(np.int64)

    def total(values: Floats) -> Floats:
        steps = (values[places] - values[places - 1])[order]
        return float(values[first].sum()) + np.concatenate([[0.0], np.cumsum(steps)])[allowed]

    jobs = replayed.jobs["on_demand"] != 0
    return TradeOff(
        caps,
        (_waited_before(replayed, decisions) + total(delay)) / max(int(jobs.sum()), 1),
        total(loss) / _SECONDS_PER_HOUR,
    )


def _followed(replayed: Replayed) -> list[Decided]:
    """Return for each job that was decided about before it started its last decision, which is the one followed."""
    starts = replayed.jobs["first_start"]
    last = {decided.job: decided for decided in replayed.decisions if decided.frontier}
    if any(decided.time > starts[job] for job, decided in last.items()):  # an outage stopped it: it was asked for again
        last = {
            decided.job: decided
            for decided in replayed.decisions
            if decided.frontier and decided.time <= starts[decided.job]
        }
    return list(last.values())


def _waited_before(replayed: Replayed, decisions: Sequence[Decided]) -> float:
    """Return the seconds that all on-demand jobs waited before they were decided about."""
    jobs = replayed.jobs
    until = jobs["first_start"].copy()
    until[[decided.job for decided in decisions]] = [decided.time for decided in decisions]
    waited = np.maximum(until - jobs["submit"], 0.0)
    return float(waited[jobs["on_demand"] != 0].sum())


def _thinned(values: Floats, most: int) -> Floats:
    """Return the values, or that many of them, the first and the last included."""
    if len(values) <= most:
        return values
    return values[np.unique(np.linspace(0, len(values) - 1, most).astype(np.int64))]


def distribution(values: Floats, most_points: int = MOST_POINTS) -> tuple[Floats, Floats]:
    """Return the empirical distribution of durations: what share is at most x.

    Parameters
    ----------
    values : float64 array, shape (n,)
        At least one [s].
    most_points : int
        Where there are more distinct values, the share is exact at that many x, evenly spaced on the logarithmic
        scale of `cosim.report.units.squeeze`.

    Returns
    -------
    x : float64 array
        Ascending; the last is the largest value [s].
    share : float64 array
        The last is 1.
    """
    ordered = np.sort(values)
    x = np.unique(ordered) if len(ordered) <= most_points else _spread(ordered, most_points)
    return x, np.searchsorted(ordered, x, "right") / float(len(ordered))


def _spread(ordered: Floats, points: int) -> Floats:
    low, high = np.log1p(np.maximum(ordered[[0, -1]], 0.0))
    x = np.expm1(np.linspace(low, high, points))
    x[0], x[-1] = ordered[0], ordered[-1]
    return np.unique(x)
