"""`tierwise doctor`: what is there on a node, what is missing, what that costs, and what mends it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scheduler.cli.controller import DEFAULT_JOURNAL
from scheduler.cli.policy import DEFAULT_FILE

if TYPE_CHECKING:
    from scheduler.doctor import Report

EXIT_FAILS = 1
"""Something that should work does not."""

EPILOG = """Levels: ok; warn, it works with less than it could; missing, a part is not installed; fail, what should work
does not. Without --role, a node is a controller where slurmctld runs, a compute node where slurmd does, else a login
node. Nothing is changed. Run it as root, or as the controller's user, to have all of it looked at. Exit codes: 0
nothing fails, 1 something fails, 2 an option is wrong."""

_COLOURS = {"ok": "green", "warn": "yellow", "missing": "cyan", "fail": "red"}


def doctor(
    role: Annotated[
        list[str], typer.Option(metavar="ROLE", help="What the node is: login, controller or compute; may be repeated.")
    ] = [],  # noqa: B006 - typer wants a plain default, and nothing changes it
    policy: Annotated[Path, typer.Option(metavar="FILE", help="The policy file.")] = DEFAULT_FILE,
    journal: Annotated[Path, typer.Option(metavar="FILE", help="The controller's journal.")] = DEFAULT_JOURNAL,
    timeout: Annotated[str, typer.Option(metavar="TIME", help="How long all of it may take.")] = "45s",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output, and nothing else.")] = False,
) -> None:
    """Say what is there on this node, what is missing, what each gap costs, and the command that mends it."""
    from scheduler.doctor import ROLES, examine  # noqa: PLC0415 - commands start with what they need
    from scheduler.doctor.facts.place import Place  # noqa: PLC0415
    from scheduler.doctor.roles import detected  # noqa: PLC0415
    from traces.durations import parse_duration  # noqa: PLC0415
    from traces.errors import InputError  # noqa: PLC0415

    for name in role:
        if name not in ROLES:
            raise InputError(f"--role {name!r} does not exist: accepted are {', '.join(ROLES)}")
    patience = parse_duration(timeout)
    # Each of Slurm's commands ends well before that, so that none is left behind.
    place = Place(frozenset(role) or detected(), policy, journal, seconds=min(10.0, patience / 4))
    report = examine(place, patience=patience)
    if as_json:
        findings = [{"check": name, **asdict(finding)} for name, finding in report.findings]
        typer.echo(json.dumps({"roles": report.roles, "counts": report.counts(), "findings": findings}, indent=2))
    else:
        _print(report)
    if report.fails:
        raise typer.Exit(EXIT_FAILS)


def _print(report: Report) -> None:
    typer.echo(f"{' and '.join(report.roles)} node\n")
    levels = max(len(level) for level in _COLOURS)
    names = max((len(name) for name, _ in report.findings), default=0)
    for name, finding in report.findings:
        level = typer.style(finding.level.ljust(levels), fg=_COLOURS[finding.level])
        typer.echo(f"{level}  {name:<{names}}  {finding.found}")
        for word, text in (("costs", finding.costs), ("mend", finding.mend)):
            if text:
                typer.echo(f"{'':<{levels}}  {'':<{names}}  {word}: {text}")
    counts = ", ".join(f"{count} {level}" for level, count in report.counts().items() if count)
    typer.echo(f"\n{counts}")
