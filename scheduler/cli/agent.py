"""`tierwise agent`: place the pages of this node's jobs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

EPILOG = (
    "Jobs come to it through its socket, from Slurm's prolog or from a job's own process. Example: "
    "`tierwise agent --within /sys/fs/cgroup/memory/slurm`. Exit codes: 0 ended by a signal, 2 it could not start."
)


def agent(
    socket: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Where to listen; by default $TIERWISE_AGENT_SOCKET or /run/tierwise/agent.sock."
        ),
    ] = None,
    near: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="DRAM that the jobs may use together; by default that of --within, or all."),
    ] = None,
    within: Annotated[
        Path | None, typer.Option(metavar="GROUP", help="The control group that all jobs are below; its limit counts.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and do nothing.")] = False,
) -> None:
    """Place the pages of this node's jobs on its memory tiers.

    Runs until SIGTERM, and lifts its limits then. The log goes to standard error, one JSON object a line.
    """
    from memory_tiers.agent.protocol import DEFAULT_SOCKET, SOCKET_VARIABLE  # noqa: PLC0415 - pydantic, numpy
    from memory_tiers.agent.running import run  # noqa: PLC0415
    from scheduler.cluster.options import parse_size  # noqa: PLC0415
    from traces.errors import InputError  # noqa: PLC0415

    path = socket or Path(os.environ.get(SOCKET_VARIABLE) or DEFAULT_SOCKET)
    if os.geteuid() != 0 and not dry_run:
        raise InputError("tierwise agent: it moves other users' pages and must be root; --dry-run needs no rights")
    if within is not None and not within.is_dir():
        raise InputError(f"--within {within}: there is no such control group")
    run(path, None if near is None else parse_size("--near", near), within, dry_run)
