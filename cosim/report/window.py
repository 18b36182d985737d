"""Which part of a replay the Gantt view shows: as long a stretch as can be drawn, where most is preempted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cosim.engine import Replayed
from cosim.runs import COMPLETED, Runs
from cosim.snapshot import Floats, Integers

MOST_RUNS = 2_000
"""Runs that a browser draws and moves without a jerk."""

_HOUR = 3600.0
LENGTHS = tuple(hours * _HOUR for hours in (2160, 672, 336, 168, 96, 48, 24, 12, 6, 3, 1, 1 / 4, 1 / 60, 1 / 3600))
"""Lengths that are tried, the longest first [s]."""

_OUTAGE = "outage"


@dataclass(frozen=True)
class Window:
    """A stretch of a replay.

    Attributes
    ----------
    start, end : float
        From when until when [s].
    drawn : int64 array
        Places of the runs to draw, in order of their starts.
    left_out : int
        Runs of the stretch that are not drawn, since there are too many.
    preemptions : int
        Runs preempted in the stretch.
    whole : bool
        Whether it is the whole replay.
    """

    start: float
    end: float
    drawn: Integers
    left_out: int
    preemptions: int
    whole: bool


def window_of(replayed: Replayed, runs: Runs, most_runs: int = MOST_RUNS) -> Window:
    """Choose the stretch to draw.

    The longest of `LENGTHS` (or the whole replay) whose stretch with the most preemptions has no more runs than can
    be drawn; without preemptions that with the most starts of runs. Where even the shortest has too many, the
    interrupted and on-demand runs come first and then the largest.

    Parameters
    ----------
    replayed : Replayed
        What happened.
    runs : Runs
        Its runs.
    most_runs : int
        No more than this are drawn.

    Returns
    -------
    Window
        With at least one run.
    """
    first, last = float(replayed.jobs["submit"].min()), float(runs.end.max())
    preempted = np.sort(runs.end[(runs.how != COMPLETED) & (runs.how != _OUTAGE)])
    if len(runs.job) <= most_runs:
        return Window(first, last, np.arange(len(runs.job)), 0, len(preempted), whole=True)
    busy = preempted if len(preempted) else runs.start
    ends = np.sort(runs.end)
    start, end = first, last
    for length in LENGTHS:
        if length >= last - first and length > LENGTHS[-1]:
            continue
        start, end = _busiest(busy, length, first, last)
        if np.searchsorted(runs.start, end) - np.searchsorted(ends, start) <= most_runs:
            break
    inside = np.flatnonzero((runs.start < end) & (runs.end >= start))
    drawn = _foremost(replayed, runs, inside, most_runs)
    count = int(np.searchsorted(preempted, end) - np.searchsorted(preempted, start))
    return Window(start, end, drawn, len(inside) - len(drawn), count, whole=False)


def _busiest(moments: Floats, length: float, first: float, last: float) -> tuple[float, float]:
    """Return the stretch of a length with the most of the moments, which are ascending, moments in its middle."""
    after = np.searchsorted(moments, moments + length, "right")
    count = after - np.arange(len(moments))
    best = int(np.argmax(count))
    middle = (moments[best] + moments[after[best] - 1]) / 2
    start = max(first, min(float(middle) - length / 2, last - length))
    return start, max(start + length, float(np.nextafter(start, np.inf)))


def _foremost(replayed: Replayed, runs: Runs, inside: Integers, most_runs: int) -> Integers:
    if len(inside) <= most_runs:
        return inside
    telling = (runs.how[inside] != COMPLETED) | (replayed.jobs["on_demand"][runs.job[inside]] != 0)
    area = (runs.end[inside] - runs.start[inside]) * runs.nodes[inside]
    order = np.lexsort((-runs.nodes[inside], -area, ~telling))
    return np.sort(inside[order[:most_runs]])
