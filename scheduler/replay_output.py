"""What `tierwise replay` leaves behind: the table on the terminal, the summary, and the files."""

from __future__ import annotations

import json
import shlex
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from cosim import results
from cosim.metrics import Metrics
from scheduler.replaying import NO_POLICY, Answer
from traces.durations import format_duration
from traces.errors import InputError
from traces.writing import atomic

SUMMARY, REPORT = "summary.json", "report.html"
"""Names of the files beside the per-job results."""


def check_directory(directory: Path) -> None:
    """Make the directory if need be, before any long work.

    Parameters
    ----------
    directory : Path
        What was given to --out.

    Raises
    ------
    InputError
        Where it cannot be made, or is a file.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--out {directory}: cannot be made a directory: {error.strerror or error}") from None


def summary(answer: Answer, seconds: dict[str, float] | None = None) -> dict[str, Any]:
    """Return the summary: the trace, the scenario, and the figures of each policy.

    Parameters
    ----------
    answer : Answer
        What replaying showed.
    seconds : dict, optional
        What each step took [s]; without it the same question gives the same summary.

    Returns
    -------
    dict
        Plain values.
    """
    question, workload = answer.question, answer.workload
    jobs = workload.jobs
    shown: dict[str, Any] = {
        "trace": {
            "files": list(question.traces),
            "machine": answer.trace.machine.name,
            "jobs": len(jobs),
            "on_demand_jobs": int((jobs["on_demand"] != 0).sum()),
            "nodes": workload.nodes,
            "first_submit": float(jobs["submit"][0]),
            "last_submit": float(jobs["submit"][-1]),
            "node_hours": float((jobs["run_time"] * jobs["nodes"]).sum()) / 3600,
            "reading": answer.trace.summary.as_dict(),
            "notes": list(workload.notes),
        },
        "scenario": {
            "backfill": question.backfill,
            "priority": question.priority,
            "max_delay": question.max_delay,
            "delay_weight": question.delay_weight,
            "outages": len(question.outages),
            "seed": question.seed,
        },
        "policies": {name: metrics.as_dict() for name, metrics in answer.metrics.items()},
    }
    if seconds is not None:
        shown["timings"] = seconds
    return shown


def as_json(shown: dict[str, Any]) -> str:
    """Return the summary as JSON text."""
    return json.dumps(shown, indent=2, allow_nan=False)


def write_all(answer: Answer, directory: Path) -> dict[str, float]:
    """Write the per-job results, the report and the summary, each file complete or not at all.

    Parameters
    ----------
    answer : Answer
        What replaying showed.
    directory : Path
        Where to; it exists.

    Returns
    -------
    dict of str to float
        What writing took [s].

    Raises
    ------
    InputError
        Where the directory cannot be written or the disk is full.
    """
    from cosim.report import write_report  # noqa: PLC0415 - only where a report is asked for

    began = time.perf_counter()
    # Arrow lets go of the interpreter while it writes, so the results cost no time beside the report.
    with ThreadPoolExecutor(max_workers=1) as beside:
        written = beside.submit(_write_results, answer, directory)
        write_report(
            directory / REPORT,
            answer.replays,
            answer.metrics,
            runs=answer.runs,
            title=" ".join(answer.question.traces),
            facts=facts(answer),
            command=shlex.join(["tierwise", *sys.argv[1:]]),
        )
        written.result()
    with atomic(directory / SUMMARY) as stream:
        stream.write(as_json(summary(answer)).encode() + b"\n")
    return {"writing": time.perf_counter() - began}


def _write_results(answer: Answer, directory: Path) -> None:
    for name, replayed in answer.replays.items():
        results.write(replayed, answer.runs[name], directory, name)


def facts(answer: Answer) -> list[tuple[str, str]]:
    """Return what was replayed, as pairs of a name and a value for people."""
    question, workload = answer.question, answer.workload
    on_demand = int((workload.jobs["on_demand"] != 0).sum())
    span = float(workload.jobs["submit"][-1] - workload.jobs["submit"][0])
    found = [
        ("Jobs", f"{len(workload):,} over {format_duration(span)}, {on_demand:,} of them on-demand"),
        ("Machine", f"{workload.nodes:,} nodes"),
        ("Batch queue", f"{question.priority} order, {question.backfill} backfilling"),
        (
            "On-demand jobs",
            f"may start {format_duration(question.max_delay)} late; delay weight {question.delay_weight:g}",
        ),
        ("Checkpoints", question.checkpoints.described()),
        ("Seed", str(question.seed)),
    ]
    if question.outages:
        found.append(("Outages", f"{len(question.outages):,} from a file"))
    account = answer.trace.summary.lines()
    found.append(("Reading", account[0]))
    found.extend(("Note", note) for note in workload.notes)
    return found


_HEADINGS = (
    "policy",
    "on-demand wait\nmean",
    "\np95",
    "started\nat once",
    "lost\nnode-hours",
    "pre-\nemptions",
    "useful\nutilisation",
    "mean\nwait",
    "bounded\nslowdown",
    "makespan",
)


def print_table(answer: Answer, directory: Path | None, shown: dict[str, Any]) -> None:
    """Print what was replayed and the policies against their figures.

    Parameters
    ----------
    answer : Answer
        What replaying showed.
    directory : Path or None
        Where files were written.
    shown : dict
        The summary; its timings are printed if it has any.
    """
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    console = Console(highlight=False, width=None if sys.stdout.isatty() else 140)
    for name, value in facts(answer):
        console.print(f"[dim]{name:<15}[/dim] {_plain(value)}")
    grid = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    for k, heading in enumerate(_HEADINGS):
        grid.add_column(heading, justify="left" if k == 0 else "right", vertical="bottom", no_wrap=True)
    for name, metrics in answer.metrics.items():
        grid.add_row(*_row(name, metrics))
    console.print()
    console.print(grid)
    if NO_POLICY in answer.metrics:
        console.print(f"[dim]{NO_POLICY}: nobody is preempted; on-demand jobs wait at the head of the queue.[/dim]")
    for step, seconds in shown.get("timings", {}).items():
        console.print(f"[dim]{step.replace('_', ' '):<16} {seconds:8.3f} s[/dim]")
    if directory is not None:
        console.print(f"\nReport: {_plain(str(directory / REPORT))}")


def _row(name: str, metrics: Metrics) -> tuple[str, ...]:
    return (
        name,
        _time(metrics.on_demand_latency_mean),
        _time(metrics.on_demand_latency_p95),
        "-" if metrics.on_demand_started_at_once is None else f"{metrics.on_demand_started_at_once:.1%}",
        f"{metrics.lost_node_hours:,.0f}",
        f"{metrics.preemptions:,}",
        f"{metrics.utilisation:.2%}",
        _time(metrics.mean_wait),
        f"{metrics.bounded_slowdown_mean:,.2f}",
        _time(metrics.makespan),
    )


def _time(seconds: float | None) -> str:
    return "-" if seconds is None else format_duration(round(seconds) if seconds >= 10 else round(seconds, 2))


def _plain(text: str) -> str:
    """Return text from outside with nothing in it that a terminal or the table's markup would act on."""
    from rich.markup import escape  # noqa: PLC0415

    return escape("".join(letter if letter.isprintable() else "?" for letter in text))
