"""The comparison: a table of policies against figures, and what it comes down to in a sentence."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cosim.metrics import Metrics
from cosim.policies import POLICIES
from cosim.report.palette import style
from cosim.report.units import duration, plain

BASELINE = "slurm"
"""Compared with, where it was replayed: what a site has without Tierwise."""

_NOBODY = "nobody is preempted; on-demand jobs wait at the head of the queue"
_MINUTE, _HOUR = 60.0, 3600.0
_MANIFOLD = 10.0  # from this many times the baseline on, a percentage says little
_NONE = "\N{EN DASH}"


@dataclass(frozen=True)
class Row:
    """A figure of the table.

    Attributes
    ----------
    name : str
        Its name in `Metrics`.
    label : str
        For people.
    kind : str
        `time`, `share`, `count` or `ratio`.
    better : int
        -1: less is better, 1: more is better.
    """

    name: str
    label: str
    kind: str
    better: int = -1


GROUPS: tuple[tuple[str, tuple[Row, ...]], ...] = (
    (
        "On-demand jobs",
        (
            Row("on_demand_latency_mean", "Delay, mean", "time"),
            Row("on_demand_latency_p50", "Delay, median", "time"),
            Row("on_demand_latency_p95", "Delay, 95th percentile", "time"),
            Row("on_demand_latency_p99", "Delay, 99th percentile", "time"),
            Row("on_demand_started_at_once", "Started at once", "share", 1),
            Row("on_demand_started_in_time", "Started within the tolerated delay", "share", 1),
        ),
    ),
    (
        "What it cost",
        (
            Row("lost_node_hours", "Lost node-hours", "node-hours"),
            Row("preemptions", "Preemptions", "count"),
            Row("preempted_jobs", "Jobs preempted at least once", "count"),
            Row("outage_interruptions", "Runs stopped by outages", "count"),
        ),
    ),
    (
        "Batch jobs",
        (
            Row("batch_mean_wait", "Wait, mean", "time"),
            Row("batch_bounded_slowdown_mean", "Bounded slowdown, mean", "ratio"),
        ),
    ),
    (
        "All jobs and the machine",
        (
            Row("mean_wait", "Wait, mean", "time"),
            Row("mean_turnaround", "Turnaround, mean", "time"),
            Row("bounded_slowdown_mean", "Bounded slowdown, mean", "ratio"),
            Row("utilisation", "Utilisation, useful", "share", 1),
            Row("utilisation_wasted", "Utilisation, wasted", "share"),
            Row("makespan", "Makespan", "time"),
        ),
    ),
)
"""The table, from what the policies differ in most down to the rest."""


def baseline_of(names: Sequence[str]) -> str:
    """Return the policy that the others are compared with: Slurm's own where it is there, otherwise the first."""
    return BASELINE if BASELINE in names else names[0]


def meaning(name: str) -> str:
    """Return what a policy does, in a phrase."""
    return POLICIES[name][0] if name in POLICIES else _NOBODY


def headline(metrics: Mapping[str, Metrics]) -> str:
    """Return in HTML what the comparison comes down to."""
    names = list(metrics)
    baseline = baseline_of(names)
    others = [name for name in names if name != baseline]
    base = metrics[baseline]
    if not base.on_demand_jobs:
        return "No job of this replay is an on-demand job, so there was nothing to preempt for."
    if not others:
        return (
            f"<b>{plain(baseline)}</b> lost {base.lost_node_hours:,.0f} node-hours, and its on-demand jobs started "
            f"{duration(base.on_demand_latency_mean or 0.0)} late on average."
        )
    subject = "dp" if "dp" in others else others[0]
    found = metrics[subject]
    return (
        f"<b>{plain(subject)}</b> lost {found.lost_node_hours:,.0f} node-hours, "
        f"{_less_or_more(found.lost_node_hours, base.lost_node_hours)} <b>{plain(baseline)}</b> with "
        f"{base.lost_node_hours:,.0f}, and its on-demand jobs started "
        f"{duration(found.on_demand_latency_mean or 0.0)} late on average instead of "
        f"{duration(base.on_demand_latency_mean or 0.0)}."
    )


def baseline_note(names: Sequence[str]) -> str:
    """Return in HTML what the small figures compare with."""
    baseline = baseline_of(names)
    if len(names) < 2:
        return f"One policy was replayed: <b>{plain(baseline)}</b> ({html.escape(meaning(baseline))})."
    return (
        f"The baseline is <b>{plain(baseline)}</b> ({html.escape(meaning(baseline))}); small figures are changes "
        "against it. <span class='best'>\N{BLACK CIRCLE}</span> marks the best value of a row."
    )


def table(metrics: Mapping[str, Metrics]) -> str:
    """Return the comparison as an HTML table: a column a policy, a row a figure."""
    names = list(metrics)
    heads = "".join(
        f'<th scope="col" title="{html.escape(meaning(name))}"><i style="background:var(--p{place})"></i>'
        f"<bdi>{plain(name)}</bdi></th>"
        for place, name in enumerate(names)
    )
    lines = [f'<thead><tr><th scope="col">Figure</th>{heads}</tr></thead>']
    for title, rows in GROUPS:
        body = [line for row in rows for line in _line(row, metrics)]
        if body:
            group = f'<tr class="group"><th scope="rowgroup" colspan="{len(names) + 1}">{title}</th></tr>'
            lines.append(f"<tbody>{group}{''.join(body)}</tbody>")
    return f"<table>{''.join(lines)}</table>"


def colours(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each policy's custom property of the style sheet and its colour on a light page."""
    for place in range(len(names)):
        yield f"--p{place}", style(place).colour


def _line(row: Row, metrics: Mapping[str, Metrics]) -> Iterator[str]:
    """Yield the row, unless it has nothing to say."""
    values = {name: found.as_dict()[row.name] for name, found in metrics.items()}
    known = [float(value) for value in values.values() if value is not None]
    if not known or (row.name == "outage_interruptions" and not any(known)):
        return
    unit, scale, decimals = _unit(row, known)
    texts = {name: _NONE if value is None else f"{value * scale:,.{decimals}f}" for name, value in values.items()}
    best = max(known) if row.better > 0 else min(known)
    best_text = f"{best * scale:,.{decimals}f}"
    tells = len(set(texts.values())) > 1
    base = values[baseline_of(list(values))]
    cells = []
    for name, text in texts.items():
        first = tells and text == best_text
        mark = '<span class="best">\N{BLACK CIRCLE}<span class="sr"> best</span></span>' if first else ""
        cells.append(f"<td{' class=first' if first else ''}>{mark}{text}{_change(values[name], base)}</td>")
    yield f'<tr><th scope="row">{row.label} <span class="unit">{unit}</span></th>{"".join(cells)}</tr>'


def _unit(row: Row, known: Sequence[float]) -> tuple[str, float, int]:
    """Return a row's unit, what to multiply by for it, and the decimals that leave some four digits."""
    most = max(known)
    if row.kind == "count":
        return "", 1.0, 0
    if row.kind == "share":
        return "%", 100.0, 2 if most >= 0.1 else 3
    if row.kind == "time":
        unit, scale = _unit_of_time(known)
    else:
        unit, scale = {"ratio": ("", 1.0), "node-hours": ("node-h", 1.0)}[row.kind]
    return unit, scale, 0 if most * scale >= 1000 else 1 if most * scale >= 100 else 2


def _unit_of_time(known: Sequence[float]) -> tuple[str, float]:
    """Return the unit that suits the longest of some times, or a smaller one that shows the shortest too."""
    most, least = max(known), min((value for value in known if value > 0), default=0.0)
    if most >= 3 * _HOUR and least >= _HOUR / 4:
        return "h", 1 / _HOUR
    if most >= 10 * _MINUTE and least >= _MINUTE / 4:
        return "min", 1 / _MINUTE
    return "s", 1.0


def _change(value: float | None, base: float | None) -> str:
    """Return a value's change against the baseline as a small figure, where there is one to show."""
    change = 0.0 if value is None or not base else round(100.0 * (value - base) / base, 1)
    if not change or value is None or not base:
        return "<small></small>"
    if value >= _MANIFOLD * base:
        return f"<small>\N{MULTIPLICATION SIGN} {value / base:,.0f}</small>"
    size = f"{abs(change):,.1f}" if abs(change) < 10 else f"{abs(change):,.0f}"
    return f"<small>{'+' if change > 0 else chr(0x2212)}{size} %</small>"


def _less_or_more(value: float, base: float) -> str:
    """Return `57 % less than` and the like."""
    if round(value) == round(base):
        return "the same as"
    if not base:
        return "more than"
    change = 100.0 * (value - base) / base
    size = f"{abs(change):.1f}" if abs(change) < 10 else f"{abs(change):,.0f}"
    return f"{size} % {'more' if change > 0 else 'less'} than"
