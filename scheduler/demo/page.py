"""The demo's report: one HTML page that a browser shows without any network access."""

from __future__ import annotations

import html
import shlex
from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from string import Template

from cosim.report import palette
from cosim.report.document import content_security_policy, embedded_json, plotly_js, resource, style_sheet
from cosim.report.units import duration, plain
from scheduler.demo.figures import gantt_figure, losses_figure
from scheduler.demo.outcome import COMPARED, JobOutcome, Outcome
from scheduler.demo.site import Files
from traces.writing import atomic

_NONE = "\N{EN DASH}"


def write_report(path: Path, outcome: Outcome, files: Files) -> None:
    """Write the report, all of it or nothing.

    Parameters
    ----------
    path : Path
        The HTML file.
    outcome : Outcome
        What came of the demo.
    files : Files
        What else there is, for the commands to go on with.
    """
    text = page(outcome, files)
    with atomic(path) as stream:
        stream.write(text.encode("utf-8", "replace"))


def page(outcome: Outcome, files: Files) -> str:
    """Return the report as text; see `write_report`."""
    plotly, script = plotly_js(), resource("page.js")
    figures = {"gantt/0": gantt_figure(outcome), "losses": losses_figure(outcome)}
    template = (resources.files("scheduler.demo") / "page.html").read_text(encoding="utf-8")
    return Template(template).substitute(
        policy=content_security_policy(plotly, script),
        style=style_sheet(COMPARED),
        headline=_headline(outcome),
        explanations=_explanations(outcome),
        policies=_policies(outcome),
        jobs=_jobs(outcome),
        accounting=_accounting(outcome),
        facts=_facts(outcome),
        commands=html.escape("\n".join(_commands(outcome, files))),
        data=embedded_json({"figures": figures, "dark": palette.DARK}),
        plotly=plotly,
        script=script,
    )


def _headline(outcome: Outcome) -> str:
    job = outcome.on_demand.asked
    lost = {found.policy: found.lost for found in outcome.alternatives}
    others = f"Slurm's own order would have lost {lost['slurm']:,.0f}, the youngest first {lost['youngest']:,.0f}."
    who = " and ".join(", ".join(plain(name) for name in outcome.victims).rsplit(", ", 1))
    return (
        f"{job.nodes} nodes for <b>{plain(job.name)}</b>, {outcome.latency:.1f} s after it was submitted to a full "
        f"cluster. {who} made room, lost {outcome.decided_lost:,.0f} node-seconds by the decision and "
        f"{outcome.lost:,.0f} by their own logs, and came back. {others}"
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table; its cells are HTML already."""
    numbers = [all(_is_number(row[column]) for row in rows) for column in range(len(head))]
    top = "".join(f'<th scope="col"{_kind(number)}>{cell}</th>' for cell, number in zip(head, numbers, strict=True))
    body = "".join(
        f'<tr><th scope="row">{first}</th>{"".join(map(_cell, rest, numbers[1:]))}</tr>' for first, *rest in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def _cell(cell: str, number: bool) -> str:
    return f"<td{_kind(number)}>{cell}</td>"


def _kind(number: bool) -> str:
    return ' class="number"' if number else ' class="told"'


def _is_number(cell: str) -> bool:
    return cell == _NONE or cell.replace(",", "").replace(".", "").isdecimal()


def _explanations(outcome: Outcome) -> str:
    return _table(
        ("job", "made room", "because"),
        [
            (
                plain(job.asked.name),
                "yes" if job.interrupted else "no",
                html.escape(job.explanation.partition("; on-demand job")[0], quote=False),
            )
            for job in outcome.jobs[:-1]
        ],
    )


def _policies(outcome: Outcome) -> str:
    return _table(
        ("policy", "lost node-seconds", "start after the decision", "would have made room", "what it does"),
        [
            (
                plain(found.policy),
                f"{found.lost:,.0f}",
                duration(found.delay) if found.delay else "at once",
                plain(", ".join(found.victims)),
                html.escape(found.meaning, quote=False),
            )
            for found in outcome.alternatives
        ],
    )


def _jobs(outcome: Outcome) -> str:
    head = ("job", "id", "nodes", "work", "checkpoint every", "runs", "went on from", "lost node-seconds", "ended")
    return _table(head, [_job(job) for job in outcome.jobs])


def _job(job: JobOutcome) -> tuple[str, ...]:
    return (
        plain(job.asked.name),
        str(job.number),
        str(job.asked.nodes),
        duration(job.asked.work),
        duration(job.asked.every) if job.asked.every else _NONE,
        str(len(job.runs)),
        _NONE if job.resumed is None else f"second {job.resumed:g}",
        f"{job.lost:,.1f}" if job.interrupted else _NONE,
        plain(job.state),
    )


def _accounting(outcome: Outcome) -> str:
    return (
        f"All together {outcome.lost:,.1f} node-seconds. The accounting has {outcome.lost_by_accounting:,.0f} "
        "node-seconds held beyond the work itself: it counts each launch and each end as well, in whole seconds."
    )


def _facts(outcome: Outcome) -> str:
    facts = (
        ("Slurm", outcome.slurm),
        ("Nodes", f"{outcome.scenario.nodes}, each a slurmd of its own on this machine"),
        ("On-demand job", f"{outcome.on_demand.asked.nodes} nodes, tolerates {duration(outcome.scenario.tolerated)}"),
        ("From sbatch to its first line", f"{outcome.latency:.2f} s"),
        ("Completed", f"{sum(job.state == 'completed' for job in outcome.jobs)} of {len(outcome.jobs)} jobs"),
        ("The demo took", duration(outcome.seconds)),
    )
    return "".join(f"<div><dt>{html.escape(name)}</dt><dd>{html.escape(value)}</dd></div>" for name, value in facts)


def _commands(outcome: Outcome, files: Files) -> list[str]:
    victim = next((job.number for job in outcome.jobs if job.interrupted), outcome.on_demand.number)
    return [
        shlex.join(["tierwise", "explain", str(victim), "--journal", str(files.journal)]),
        shlex.join(["tierwise", "replay", str(files.history), "--nodes", str(outcome.scenario.nodes)]),
    ]
