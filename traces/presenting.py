"""Traces and their summaries for people, as tables on a terminal, and for programs, as JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from traces.describe import Description, Spread, describe
from traces.durations import DAY, HOUR, MINUTE, format_duration
from traces.problems import KINDS
from traces.summary import Summary
from traces.table import Trace

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_WIDE = 120


def print_json(values: Mapping[str, Any]) -> None:
    """Print values as JSON on standard output; numbers that JSON has no word for become null."""
    json.dump(_finite(values), sys.stdout, indent=2, allow_nan=False)
    sys.stdout.write("\n")


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and value - value != 0 else value


def info_as_dict(trace: Trace) -> dict[str, Any]:
    """Return what `print_info` shows, as plain values: seconds, nodes, node-seconds."""
    shown = asdict(describe(trace))
    shown["states"], shown["queues"] = dict(shown["states"]), dict(shown["queues"])
    shown["machine"] = trace.machine.name
    return {**shown, "summary": trace.summary.as_dict()}


def print_info(trace: Trace) -> None:
    """Print what is in a trace, and what reading did."""
    console = _console()
    facts = describe(trace)
    table = _plain_table()
    for name, value in _facts(trace, facts):
        table.add_row(name, value)
    console.print(table)
    spreads = _table("", "least", "25%", "median", "75%", "90%", "most", "mean")
    for name, spread, is_time in (
        ("nodes per job", facts.sizes, False),
        ("run time", facts.run_times, True),
        ("requested time", facts.requested_times, True),
        ("recorded wait", facts.waits, True),
    ):
        if spread is not None:
            spreads.add_row(name, *_quantiles(spread, is_time))
    console.print(spreads)
    _print_summary(console, trace.summary)


def print_written(trace: Trace, target: Path, lost: list[str]) -> None:
    """Print that a trace was written, and what the format could not hold."""
    console = _console()
    if trace.summary.problems:
        _print_summary(console, trace.summary)
    console.print(f"{target}: {len(trace)} jobs written", highlight=False)
    if lost:
        console.print(
            f"The format has no field for {', '.join(lost)}; write .parquet to keep everything", highlight=False
        )


def print_problems(trace: Trace) -> None:
    """Print every kind of problem that a trace has."""
    _print_summary(_console(), trace.summary)


def _console() -> Console:
    from rich.console import Console  # noqa: PLC0415 - a fifth of a second

    # Into a pipe or a file, lines as long as they are: nobody wants paths broken at 80 columns.
    return Console(soft_wrap=False) if sys.stdout.isatty() else Console(width=_WIDE)


def _plain_table() -> Table:
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _table(first: str, *headings: str) -> Table:
    from rich.box import SIMPLE_HEAD  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(first, no_wrap=True)
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


def _facts(trace: Trace, facts: Description) -> list[tuple[str, str]]:
    """Return the facts of a trace as names and values with units."""
    period = format_duration(facts.last_submit - facts.first_submit)
    rows = [("file", name) for name in trace.summary.files]
    rows += [
        ("jobs", f"{facts.jobs} ({facts.on_demand} on-demand)"),
        ("machine", f"{trace.machine.name or 'not named'}, {_nodes(facts.nodes)}"),
        ("submitted", f"{_moment(facts.first_submit, facts)} to {_moment(facts.last_submit, facts)} ({period})"),
        ("work", f"{facts.work / HOUR:.1f} node-hours"),
    ]
    if facts.load is not None:
        rows.append(("offered load", f"{facts.load:.3f} of the machine's node-hours"))
    if facts.users:
        rows.append(("users", str(facts.users)))
    for name, counts in (("states", facts.states), ("queues", facts.queues)):
        if counts:
            rows.append((name, ", ".join(f"{text} {count}" for text, count in counts)))
    return rows


def _nodes(nodes: int | None) -> str:
    return "size not stated (give --nodes)" if nodes is None else f"{nodes} nodes"


def _moment(seconds: float, facts: Description) -> str:
    """Return a time stamp for people."""
    if facts.absolute:
        try:
            return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        except (ValueError, OverflowError, OSError):
            pass  # a year that the calendar does not reach
    return f"{seconds:.0f} s"


def _quantiles(spread: Spread, is_time: bool) -> list[str]:
    values = (
        spread.least,
        spread.quarter,
        spread.median,
        spread.three_quarters,
        spread.nine_tenths,
        spread.most,
        spread.mean,
    )
    if is_time:
        return [_short(value) for value in values]
    return [f"{value:.0f}" for value in values[:-1]] + [f"{spread.mean:.1f}"]


def _short(seconds: float) -> str:
    """Return a duration in its two largest units, so that a row of them fits a terminal."""
    grain = HOUR if seconds >= DAY else MINUTE if seconds >= HOUR else 1.0
    return format_duration(round(seconds / grain) * grain)


def _print_summary(console: Console, summary: Summary) -> None:
    """Print the account of a reading."""
    lines = summary.lines()
    console.print(lines[0], highlight=False)
    if summary.problems:
        table = _table("problem", "dropped", "repaired", "kept")
        table.add_column("what it is")
        for problem in summary.problems:
            counts = (problem.dropped, problem.repaired, problem.kept)
            table.add_row(problem.kind, *(str(count or "") for count in counts), KINDS[problem.kind].meaning)
        console.print(table)
        for problem in summary.problems:
            for example in problem.examples:
                console.print(f"{problem.kind}: {example}", highlight=False, markup=False, soft_wrap=True)
    for note in summary.notes:
        console.print(f"note: {note}", highlight=False, markup=False, soft_wrap=True)
