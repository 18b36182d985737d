"""Puts a report together: one HTML file with its data, its style, its script and plotly.js inside."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template

from cosim.engine import Replayed
from cosim.metrics import Metrics
from cosim.report import palette
from cosim.report.comparison import baseline_note, headline, table
from cosim.report.document import content_security_policy, embedded_json, plotly_js, resource, style_sheet
from cosim.report.figures import Figure, trade_off_figure, usage_figure, wait_figure
from cosim.report.gantt import gantt_figure, window_note
from cosim.report.units import clock_of, duration, plain
from cosim.report.usage import usage_of
from cosim.report.window import window_of
from cosim.runs import Runs, runs_of
from traces.writing import atomic


def write_report(
    path: Path,
    replays: Mapping[str, Replayed],
    metrics: Mapping[str, Metrics],
    *,
    title: str,
    facts: Sequence[tuple[str, str]],
    command: str,
    runs: Mapping[str, Runs] | None = None,
) -> None:
    """Write the report of some replays, all of it or nothing.

    Parameters
    ----------
    path : Path
        The HTML file; one that is there is replaced.
    replays : mapping of str to Replayed
        What happened under each policy, in the order in which to show them; at least one.
    metrics : mapping of str to Metrics
        Their figures.
    title : str
        What was replayed, for the heading.
    facts : sequence of (str, str)
        What was replayed and how: names and values.
    command : str
        The command that makes this report.
    runs : mapping of str to Runs, optional
        The replays' runs, where they are at hand.

    Raises
    ------
    InputError
        Where the file cannot be written.
    """
    text = page(replays, metrics, title=title, facts=facts, command=command, runs=runs)
    with atomic(path) as stream:
        stream.write(text.encode("utf-8", "replace"))


def page(
    replays: Mapping[str, Replayed],
    metrics: Mapping[str, Metrics],
    *,
    title: str,
    facts: Sequence[tuple[str, str]],
    command: str,
    runs: Mapping[str, Runs] | None = None,
) -> str:
    """Return the report as text; see `write_report`."""
    figures, notes = _figures(replays, metrics, runs or {})
    names = list(replays)
    plotly = plotly_js()
    script = resource("page.js")
    return Template(resource("page.html")).substitute(
        title=html.escape(title),
        policy=content_security_policy(plotly, script),
        style=style_sheet(names),
        headline=headline({name: metrics[name] for name in names}),
        facts="".join(f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd></div>" for name, value in facts),
        command=html.escape(command),
        baseline=baseline_note(names),
        table=table({name: metrics[name] for name in names}),
        trade_off=_plot(
            "trade-off", "Mean on-demand delay against lost node-hours, for each policy", "On-demand jobs", figures
        ),
        waits=_waits(figures),
        choice_usage=_choice("usage", names),
        choice_gantt=_choice("gantt", names),
        usage_notes=_notes("usage", notes["usage"]),
        gantt_notes=_notes("gantt", notes["gantt"]),
        data=embedded_json({"figures": figures, "dark": palette.DARK}),
        plotly=plotly,
        script=script,
    )


def _figures(
    replays: Mapping[str, Replayed], metrics: Mapping[str, Metrics], known: Mapping[str, Runs]
) -> tuple[dict[str, Figure], dict[str, list[str]]]:
    """Return the figures by name, and what is to be said in words about those that each policy has one of."""
    clock = clock_of(replays)
    whole = {
        "trade-off": trade_off_figure(replays, metrics),
        "wait-batch": wait_figure(replays, on_demand=False),
        "wait-on-demand": wait_figure(replays, on_demand=True),
    }
    figures = {name: drawn for name, drawn in whole.items() if drawn}
    notes: dict[str, list[str]] = {"usage": [], "gantt": []}
    for place, (name, replayed) in enumerate(replays.items()):
        style, found = palette.style(place), metrics[name]
        runs = known[name] if name in known else runs_of(replayed)
        usage = usage_of(replayed, runs)
        figures[f"usage/{place}"] = usage_figure(usage, clock, style)
        notes["usage"].append(
            f"{plain(name)}: {100 * found.utilisation:.2f} % useful and {100 * found.utilisation_wasted:.3f} % "
            f"wasted over the whole makespan. Each step is the exact average over {duration(usage.span)}."
        )
        window = window_of(replayed, runs)
        figures[f"gantt/{place}"] = gantt_figure(replayed, runs, window, clock, style)
        notes["gantt"].append(f"{plain(name)}. {window_note(window, clock, replayed.workload.nodes)}")
    return figures, notes


def _waits(figures: Mapping[str, Figure]) -> str:
    kinds = (("wait-on-demand", "On-demand jobs"), ("wait-batch", "Batch jobs"))
    return "".join(
        f"<div><h3>{title}</h3>{_plot(name, f'Waits of {title.lower()}', title, figures)}</div>"
        for name, title in kinds
    )


def _plot(name: str, label: str, whose: str, figures: Mapping[str, Figure]) -> str:
    """Return the place for a figure, or a sentence where there is nothing to draw."""
    if name not in figures:
        return f"<p>This replay has no {whose.lower()}.</p>"
    return f'<div class="plot" data-figure="{name}" role="img" aria-label="{label}"></div>'


def _choice(group: str, names: Sequence[str]) -> str:
    """Return the buttons that choose the policy to show; none where there is no choice."""
    if len(names) < 2:
        return ""
    buttons = "".join(
        f'<label><input type="radio" name="{group}" value="{place}"{" checked" if place == 0 else ""}>'
        f'<span style="--mine:var(--p{place})"><bdi>{plain(name)}</bdi></span></label>'
        for place, name in enumerate(names)
    )
    return f'<fieldset class="choice"><legend class="sr">Policy</legend>{buttons}</fieldset>'


def _notes(group: str, notes: Sequence[str]) -> str:
    return "".join(
        f'<p class="note" data-note="{group}/{place}"{" hidden" if place else ""}>{note}</p>'
        for place, note in enumerate(notes)
    )
