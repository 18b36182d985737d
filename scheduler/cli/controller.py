"""`tierwise controller` and `tierwise explain`: preemption on a live cluster, and why."""

from __future__ import annotations

import json
import sqlite3
import time
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

DEFAULT_JOURNAL = Path("/var/lib/tierwise/journal.sqlite")
"""Where the controller keeps its journal."""

_JOURNAL = Annotated[Path, typer.Option("--journal", metavar="FILE", help="The controller's journal.")]


def controller(
    policy: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The policy file; without one nobody may preempt. Read again at SIGHUP."),
    ] = None,
    journal: _JOURNAL = DEFAULT_JOURNAL,
    interval: Annotated[str, typer.Option(metavar="TIME", help="From one look at the queue to the next.")] = "1s",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
    once: Annotated[bool, typer.Option("--once", help="Look once, and end.")] = False,
    metrics: Annotated[
        int | None,
        typer.Option(
            metavar="PORT",
            min=0,
            max=65535,
            help="Let Prometheus scrape on 127.0.0.1:PORT, 0 for a free one; by default nothing listens.",
        ),
    ] = None,
    log_level: Annotated[
        str, typer.Option(metavar="LEVEL", help="The least that is logged: debug, info, warning or error.")
    ] = "info",
) -> None:
    """Watch the queue, and make room for on-demand jobs where the least is lost.

    Runs until SIGTERM. What it means to do is in the journal before it does it: after a crash it goes on from there.
    The log goes to standard error, one JSON object a line.
    """
    from scheduler.controller.log import LEVELS  # noqa: PLC0415 - numba and pydantic take a second to import
    from scheduler.controller.running import Settings, run  # noqa: PLC0415
    from scheduler.slurm.seam import SlurmError  # noqa: PLC0415
    from traces.durations import parse_duration  # noqa: PLC0415
    from traces.errors import InputError  # noqa: PLC0415

    if log_level not in LEVELS:
        raise InputError(f"--log-level {log_level!r} does not exist: accepted are {', '.join(LEVELS)}")
    seconds = max(0.05, parse_duration(interval))
    try:
        run(Settings(policy, journal, seconds, dry_run, once, metrics, log_level))
    except SlurmError as error:
        raise InputError(str(error)) from None


def explain(
    job: Annotated[int, typer.Argument(help="The job's id.")],
    journal: _JOURNAL = DEFAULT_JOURNAL,
    as_json: Annotated[
        bool, typer.Option("--json", help="For programs: a list, empty for a job not looked at.")
    ] = False,
) -> None:
    """Say why a job was chosen to make room, or was spared, with the numbers of that moment."""
    from scheduler.controller.journal import read_explanations  # noqa: PLC0415
    from traces.errors import InputError  # noqa: PLC0415

    if not journal.is_file():
        raise InputError(f"--journal {journal}: there is no such journal; name the one that the controller uses")
    try:
        found = read_explanations(journal, job)
    except sqlite3.Error as error:
        raise InputError(
            f"--journal {journal}: {error}; it takes a journal of the controller's and its rights"
        ) from None
    if as_json:
        typer.echo(json.dumps([{"job": job, **asdict(one)} for one in found]))
        return
    if not found:
        raise InputError(f"job {job}: no decision in {journal} looked at it")
    for one in found:
        later = ""
        if one.state is not None and one.changed is not None:
            later = f"; the plan for job {one.plan} is in state {one.state} since {_clock(one.changed)}"
        typer.echo(f"{_clock(one.made)}  {one.text}{later}")


def _clock(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))
