"""Utilisation over time: node-seconds of useful and of wasted work, averaged exactly over equal spans of time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cosim.engine import Replayed
from cosim.runs import Runs
from cosim.snapshot import Floats

MOST_SPANS = 1_000
"""A laptop's width in pixels, about: finer spans cannot be told apart."""

_MINUTE, _HOUR, _DAY = 60.0, 3600.0, 86400.0
SPANS = (
    *(seconds * 1.0 for seconds in (1, 2, 5, 10, 30)),
    *(minutes * _MINUTE for minutes in (1, 2, 5, 10, 15, 30)),
    *(hours * _HOUR for hours in (1, 2, 3, 6, 12)),
    *(days * _DAY for days in (1, 2, 7, 14, 28, 56, 112, 364)),
)
"""Lengths that a person has a feeling for [s]."""


@dataclass(frozen=True)
class Usage:
    """Utilisation in equal spans of time.

    Attributes
    ----------
    start : float
        When the first span begins: the first submission [s].
    span : float
        Length of each span [s].
    useful, wasted : float64 arrays, shape (spans,)
        Averages over each span, as shares of the machine.
    """

    start: float
    span: float
    useful: Floats
    wasted: Floats


def useful_parts(replayed: Replayed, runs: Runs) -> tuple[Floats, Floats]:
    """Return the part of each run whose work counted in the end.

    How long it is, the replay says; where in the run it lies is known at its ends only: a run after an interruption
    begins with the restart, and a run that is stopped loses its end.

    Parameters
    ----------
    replayed : Replayed
        What happened.
    runs : Runs
        Its runs.

    Returns
    -------
    start, end : float64 arrays, shape (runs,)
        Of that part; equal where nothing counted [s].
    """
    again = runs.start > replayed.jobs["first_start"][runs.job]
    restart = np.where(again, replayed.jobs["restart_cost"][runs.job], 0.0)
    start = runs.start + np.clip(runs.end - runs.start - runs.saved, 0.0, restart)
    return start, start + runs.saved


def usage_of(replayed: Replayed, runs: Runs, most_spans: int = MOST_SPANS) -> Usage:
    """Average a replay's utilisation over equal spans of time.

    Parameters
    ----------
    replayed : Replayed
        What happened.
    runs : Runs
        Its runs.
    most_spans : int
        No more spans than this. Their length is the shortest of `SPANS` that does, or longer.

    Returns
    -------
    Usage
        From the first submission to the last end or a little later, so that the last span is a whole one: the
        integrals over all spans are those over all runs.
    """
    first = float(replayed.jobs["submit"].min())
    length = float(runs.end.max()) - first
    span = next((span for span in SPANS if span * most_spans >= length), length / most_spans)
    edges: Floats = span * np.arange(max(1, int(np.ceil(length / span))) + 1, dtype=np.float64)
    nodes = runs.nodes.astype(np.float64)
    used = _integral(runs.start - first, runs.end - first, nodes, edges)
    useful_from, useful_to = useful_parts(replayed, runs)
    useful = _integral(useful_from - first, useful_to - first, nodes, edges)
    capacity = span * replayed.workload.nodes
    return Usage(
        first,
        span,
        np.maximum(np.diff(useful), 0.0) / capacity,
        np.maximum(np.diff(used - useful), 0.0) / capacity,
    )


def _integral(start: Floats, end: Floats, nodes: Floats, edges: Floats) -> Floats:
    """Return the node-seconds held up to each edge."""
    return _ramps(start, nodes, edges) - _ramps(end, nodes, edges)


def _ramps(begin: Floats, nodes: Floats, edges: Floats) -> Floats:
    """Return ``sum(nodes * max(edge - begin, 0))`` at each edge, in one pass over the runs and one over the edges."""
    span = edges[-1] / (len(edges) - 1)
    counts_from = np.clip(np.ceil(begin / span), 0, len(edges) - 1).astype(np.int64)
    slope = np.cumsum(np.bincount(counts_from, nodes, len(edges)))
    offset = np.cumsum(np.bincount(counts_from, nodes * begin, len(edges)))
    return slope * edges - offset
