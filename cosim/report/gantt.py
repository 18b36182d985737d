"""The Gantt view: runs as bars, nodes upwards, time to the right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cosim.engine import Replayed
from cosim.report.figures import Figure, axis, figure, layout, packed
from cosim.report.palette import LOST, ON_DEMAND, PAGE, Style
from cosim.report.placement import Piece, place
from cosim.report.units import Clock, duration, plain
from cosim.report.window import Window
from cosim.runs import COMPLETED, Runs
from cosim.snapshot import Booleans

_ENDINGS = {
    COMPLETED: "ended by itself",
    "kill": "preempted: killed",
    "checkpoint": "preempted: wrote a checkpoint, then stopped",
    "outage": "stopped: its nodes failed",
}
_RUNS_AT_FIRST_SIGHT = 400
"""So many bars can be told apart at once; the rest of the window is a zoom away."""

_RUNS_CLOSE_BY = 100
"""So many are around an interruption that the page's buttons go to."""


@dataclass(frozen=True)
class _Bars:
    """Bars of all kinds, several for a run that is spread over gaps.

    Attributes
    ----------
    run : int64 array, shape (bars,)
        Which of the drawn runs each belongs to.
    low, high : int64 arrays, shape (bars,)
        The nodes it covers.
    """

    run: Any
    low: Any
    high: Any


def gantt_figure(replayed: Replayed, runs: Runs, window: Window, clock: Clock, drawn: Style) -> Figure:
    """Draw the runs of a window.

    Parameters
    ----------
    replayed : Replayed
        What happened.
    runs : Runs
        Its runs.
    window : Window
        Which of them to draw.
    clock : Clock
        Of the time axis.
    drawn : Style
        The policy's.

    Returns
    -------
    dict
        A plotly figure. Its `meta` says where the interruptions are, for the page's buttons.
    """
    which = window.drawn
    pieces = place(runs.start[which], runs.end[which], runs.nodes[which], replayed.workload.nodes)
    bars = _bars(pieces)
    texts = _texts(replayed, runs, window, clock)
    on_demand = replayed.jobs["on_demand"][runs.job[which]] != 0
    stopped = runs.how[which] != COMPLETED
    line = {"color": PAGE, "width": 0.5}
    hatched = {"shape": "/", "bgcolor": drawn.colour, "fgcolor": PAGE, "size": 6, "solidity": 0.25}
    kinds = (
        ("batch run", ~on_demand & ~stopped, {"color": drawn.colour, "opacity": 0.45, "line": line}),
        (
            "interrupted run",
            ~on_demand & stopped,
            {"color": drawn.colour, "line": line, "pattern": hatched},
        ),
        ("on-demand run", on_demand, {"color": ON_DEMAND, "line": line}),
    )
    data = [
        _trace(name, chosen, bars, runs, window, clock, texts, marker) for name, chosen, marker in kinds if chosen.any()
    ]
    data += _marks(stopped, bars, runs, window, clock, texts)
    first, last = clock.at(np.array([window.start, max(window.end, window.start + 1.0)])).tolist()
    ends = np.unique(clock.at(runs.end[which[stopped]]))
    meta = {
        "window": [first, last],
        "stops": ends[(ends >= first) & (ends <= last)].tolist(),
        "near": (last - first) * min(1.0, _RUNS_CLOSE_BY / max(len(which), 1)),
    }
    return figure(
        data,
        layout(
            xaxis=axis(
                clock.title, type=clock.axis_type, showgrid=False, range=_first_sight(runs, window, clock, first, last)
            ),
            yaxis=axis("nodes", showgrid=False, range=[0, replayed.workload.nodes], tickformat=",d"),
            legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 0, "yanchor": "bottom", "yref": "container"},
            barmode="overlay",
            bargap=0,
            hovermode="closest",
            dragmode="pan",
            meta=meta,
        ),
        moved=True,
    )


def _first_sight(runs: Runs, window: Window, clock: Clock, first: float, last: float) -> list[float]:
    """Return the part of the window that is shown first: around the interruption in the middle of them all."""
    share = _RUNS_AT_FIRST_SIGHT / max(len(window.drawn), 1)
    ends = runs.end[window.drawn][runs.how[window.drawn] != COMPLETED]
    ends = ends[(ends >= window.start) & (ends < window.end)]
    if share >= 1 or not len(ends):
        return [first, last]
    half = (last - first) * share / 2
    middle = float(clock.at(np.sort(ends)[len(ends) // 2 : len(ends) // 2 + 1])[0])
    middle = min(max(middle, first + half), last - half)
    return [round(middle - half, 6), round(middle + half, 6)]


def _bars(pieces: Sequence[Sequence[Piece]]) -> _Bars:
    run = np.repeat(np.arange(len(pieces)), [len(each) for each in pieces])
    flat = np.array([piece for each in pieces for piece in each], np.int64).reshape(-1, 2)
    return _Bars(run, flat[:, 0], flat[:, 1])


def _texts(replayed: Replayed, runs: Runs, window: Window, clock: Clock) -> list[str]:
    """Return what hovering over each run shows."""
    which = window.drawn
    columns = zip(
        replayed.workload.ids[runs.job[which]].tolist(),
        runs.nodes[which].tolist(),
        clock.text(runs.start[which]),
        clock.text(runs.end[which]),
        (runs.end[which] - runs.start[which]).tolist(),
        runs.how[which].tolist(),
        replayed.jobs["on_demand"][runs.job[which]].tolist(),
        strict=True,
    )
    return [
        f"{'on-demand job' if special else 'job'} <b>{plain(name)}</b><br>{nodes:,} node{'s' * (nodes != 1)}, "
        f"{duration(length)}<br>{start} to<br>{end}<br>{_ENDINGS.get(how, how)}"
        for name, nodes, start, end, length, how, special in columns
    ]


def _trace(
    name: str,
    chosen: Booleans,
    bars: _Bars,
    runs: Runs,
    window: Window,
    clock: Clock,
    texts: list[str],
    marker: dict[str, Any],
) -> dict[str, Any]:
    mine = np.flatnonzero(chosen[bars.run])
    of = window.drawn[bars.run[mine]]
    low, high = bars.low[mine], bars.high[mine]
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "base": clock.at(runs.start[of]).tolist(),
        "x": packed((runs.end[of] - runs.start[of]) * clock.per_second, "f4"),
        "y": packed((low + high) / 2, "f4"),
        "width": packed(high - low, "i4"),
        "hovertext": [texts[run] for run in bars.run[mine].tolist()],
        "hoverinfo": "text",
        "textposition": "none",
        "marker": marker,
    }


def _marks(
    stopped: Booleans, bars: _Bars, runs: Runs, window: Window, clock: Clock, texts: list[str]
) -> list[dict[str, Any]]:
    """Return the crosses at which runs were interrupted, one a run: on its tallest bar."""
    mine = np.flatnonzero(stopped[bars.run])
    if not len(mine):
        return []
    tallest = mine[np.lexsort((bars.low[mine] - bars.high[mine], bars.run[mine]))]
    _, first = np.unique(bars.run[tallest], return_index=True)
    bar = tallest[first]
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": "stopped here",
            "x": clock.at(runs.end[window.drawn[bars.run[bar]]]).tolist(),
            "y": packed((bars.low[bar] + bars.high[bar]) / 2, "f4"),
            "hovertext": [texts[run] for run in bars.run[bar].tolist()],
            "hoverinfo": "text",
            "marker": {"symbol": "x", "size": 8, "color": LOST, "line": {"color": PAGE, "width": 1}},
        }
    ]


def window_note(window: Window, clock: Clock, machine: int) -> str:
    """Say in HTML which part of the replay is drawn, and what is left out."""
    start, end = clock.text(np.array([window.start, window.end]))
    what = "the whole replay" if window.whole else "the stretch with the most preemptions that can be drawn at once"
    if not window.whole and not window.preemptions:
        what = "the stretch with the most starts, since nothing was preempted"
    note = (
        f"Drawn: {start} to {end} ({duration(window.end - window.start)}), {what}: "
        f"{len(window.drawn):,} runs, {window.preemptions:,} of them preempted. "
    )
    left = f"{window.left_out:,} more runs of this stretch are left out, since a browser could not move them all. "
    return note + (left if window.left_out else "No run of it is left out. ") + f"The machine has {machine:,} nodes."
