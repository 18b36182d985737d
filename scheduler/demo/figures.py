"""The figures of the demo's report: what ran where and when, and what each policy would have lost."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np

from cosim.report.figures import Figure, axis, figure, layout
from cosim.report.palette import LOST, MUTED, ON_DEMAND, PAGE, TEXT, style
from cosim.report.units import Clock, duration, plain
from scheduler.demo.outcome import JobOutcome, Outcome
from scheduler.slurm.runs import Run

_CLOCK = Clock(dates=True)
_MARGIN = 1.0  # [s]
_OURS = style(0)


def gantt_figure(outcome: Outcome) -> Figure:
    """Draw the runs of all jobs on the nodes that they really had.

    Parameters
    ----------
    outcome : Outcome
        What came of the demo.

    Returns
    -------
    dict
        A plotly figure.
    """
    names = sorted({name for job in outcome.jobs for run in job.runs for name in run.node_names}, key=_natural)
    rows = {name: place for place, name in enumerate(names)}
    runs = [(job, run) for job in outcome.jobs for run in job.runs]
    line = {"color": PAGE, "width": 1.5}
    hatched = {"shape": "/", "bgcolor": _OURS.colour, "fgcolor": PAGE, "size": 9, "solidity": 0.12}
    special = outcome.on_demand
    kinds: tuple[tuple[str, list[tuple[JobOutcome, Run]], dict[str, Any], str], ...] = (
        ("batch run", [r for r in runs if r[0] is not special and not _stopped(r)], {"opacity": 0.5}, _OURS.colour),
        ("run that made room", [r for r in runs if _stopped(r)], {"pattern": hatched}, _OURS.colour),
        ("on-demand run", [r for r in runs if r[0] is special], {}, ON_DEMAND),
    )
    data = [
        _bars(name, chosen, rows, {"color": colour, "line": line} | more)
        for name, chosen, more, colour in kinds
        if chosen
    ]
    data.append(_checkpoints(outcome, rows))
    starts = [run.start for _, run in runs]
    ends = [run.end for _, run in runs]
    return figure(
        data,
        layout(
            xaxis=axis(
                _CLOCK.title, type="date", showgrid=False, range=[_at(min(starts) - _MARGIN), _at(max(ends) + _MARGIN)]
            ),
            yaxis=axis(
                "node",
                showgrid=False,
                tickmode="array",
                tickvals=[place + 0.5 for place in rows.values()],
                ticktext=[plain(name) for name in rows],
                range=[len(rows), 0],
            ),
            legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 0, "yanchor": "bottom", "yref": "container"},
            barmode="overlay",
            bargap=0,
            hovermode="closest",
            dragmode="pan",
            **_submission(outcome),
        ),
        moved=True,
    )


def _natural(name: str) -> tuple[int, str]:
    return len(name), name


def _at(seconds: float) -> float:
    return float(_CLOCK.at(np.array([seconds]))[0])


def _stopped(pair: tuple[JobOutcome, Run]) -> bool:
    job, run = pair
    return run is not job.runs[-1]


def _bars(
    name: str, runs: Sequence[tuple[JobOutcome, Run]], rows: dict[str, int], marker: dict[str, Any]
) -> dict[str, Any]:
    bars = [(job, run, low, high) for job, run in runs for low, high in _pieces(run, rows)]
    return {
        "type": "bar",
        "orientation": "h",
        "name": name,
        "base": [_at(run.start) for _, run, _, _ in bars],
        "x": [(run.end - run.start) * _CLOCK.per_second for _, run, _, _ in bars],
        "y": [(low + high) / 2 for _, _, low, high in bars],
        "width": [float(high - low) for _, _, low, high in bars],
        "marker": marker,
        "text": [f"<b>{plain(job.asked.name)}</b>" for job, _, _, _ in bars],
        "textposition": "inside",
        "insidetextanchor": "middle",
        "textangle": 0,
        "textfont": {"color": PAGE if name != "batch run" else TEXT, "size": 13},
        "hovertext": [_hover(job, run) for job, run, _, _ in bars],
        "hovertemplate": "%{hovertext}<extra></extra>",
    }


def _pieces(run: Run, rows: dict[str, int]) -> list[tuple[int, int]]:
    """Return the rows that a run covers, neighbours as one piece."""
    places = sorted(rows[name] for name in run.node_names)
    groups = (list(group) for _, group in groupby(enumerate(places), key=lambda pair: pair[1] - pair[0]))
    return [(group[0][1], group[-1][1] + 1) for group in groups]


def _hover(job: JobOutcome, run: Run) -> str:
    start, end = _CLOCK.text(np.array([run.start, run.end]))
    how = "made room for the on-demand job" if run is not job.runs[-1] else plain(run.state)
    nodes = plain(", ".join(run.node_names))
    return f"<b>{plain(job.asked.name)}</b> (job {job.number})<br>{nodes}<br>{start} to {end[11:]}<br>{how}"


def _checkpoints(outcome: Outcome, rows: dict[str, int]) -> dict[str, Any]:
    """Mark where jobs wrote a checkpoint: a small line on each of its nodes."""
    marks = [
        (_at(time), rows[name] + 0.5, job.asked.name)
        for job in outcome.jobs
        for time in job.checkpoints
        for run in job.runs
        if run.start <= time <= run.end
        for name in run.node_names
    ]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": "checkpoint written",
        "x": [at for at, _, _ in marks],
        "y": [row for _, row, _ in marks],
        "text": [plain(name) for _, _, name in marks],
        "marker": {"symbol": "line-ns", "size": 18, "line": {"color": TEXT, "width": 2}},
        "hovertemplate": "checkpoint of %{text}<extra></extra>",
    }


def _submission(outcome: Outcome) -> dict[str, Any]:
    at = _at(outcome.submitted)
    line = {"color": LOST, "width": 2, "dash": "dot"}
    said = {
        "x": at,
        "y": 1,
        "yref": "paper",
        "text": f"sbatch --on-demand={outcome.scenario.tolerated:g}s",
        "showarrow": False,
        "xanchor": "left",
        "yanchor": "bottom",
        "font": {"color": MUTED, "size": 12},
    }
    shape = {"type": "line", "x0": at, "x1": at, "y0": 0, "y1": 1, "yref": "paper", "line": line}
    return {"shapes": [shape], "annotations": [said]}


def losses_figure(outcome: Outcome) -> Figure:
    """Draw what each policy would have lost at the moment of the decision.

    Parameters
    ----------
    outcome : Outcome
        What came of the demo.

    Returns
    -------
    dict
        A plotly figure, in the order of the alternatives.
    """
    found = outcome.alternatives[::-1]  # plotly draws the first at the bottom
    names = [one.policy for one in outcome.alternatives]
    return figure(
        [
            {
                "type": "bar",
                "orientation": "h",
                "x": [round(one.lost, 3) for one in found],
                "y": [plain(one.policy) for one in found],
                "marker": {"color": [style(names.index(one.policy)).colour for one in found]},
                "text": [f"{one.lost:,.0f}" for one in found],
                "textposition": "outside",
                "cliponaxis": False,
                "hovertext": [
                    f"<b>{plain(one.policy)}</b>: {plain(one.meaning)}<br>{plain(', '.join(one.victims)) or 'nobody'}"
                    f"<br>after {duration(one.delay)}"
                    for one in found
                ],
                "hovertemplate": "%{hovertext}<extra></extra>",
            }
        ],
        layout(
            xaxis=axis("lost node-seconds", rangemode="tozero"),
            yaxis=axis(showgrid=False, type="category"),
            hovermode="closest",
            dragmode=False,
        ),
    )
