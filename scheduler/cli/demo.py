"""`tierwise demo`: a real Slurm on this machine makes room for a job that cannot wait."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from scheduler.demo.running import Done

EXIT_FAILED = 1
"""The cluster or a job did not do what it was to."""

EPILOG = """Needs what `tierwise cluster up --accounting` needs, and gcc with Slurm's headers for the flags. Exit codes:
0 all jobs completed and the on-demand job started in time, 1 something did not go as it should, 2 an option is wrong
or a package is missing (which, is said), 130 interrupted. Whatever happens, nothing is left running, unless --keep."""

_DEFAULT = Path("tierwise-out") / "demo-cluster"


def demo(
    folder: Annotated[
        Path, typer.Option("--dir", metavar="DIR", help="Where the report and the journal are written.")
    ] = _DEFAULT,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the cluster and the controller running, to try things on.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the results as JSON on standard output, and nothing else.")
    ] = False,
) -> None:
    """Show, in a minute, a real cluster preempt the jobs that lose least, and bring them back.

    Starts Slurm in a folder of its own under the temporary folder, fills it with batch jobs, submits a job with
    `sbatch --on-demand`, lets the controller decide and act, and writes a report from the cluster's own accounting.
    A Slurm that is already there is not touched.
    """
    from scheduler.demo.errors import DemoError  # noqa: PLC0415 - the command must start fast
    from scheduler.demo.running import run  # noqa: PLC0415
    from scheduler.demo.telling import teller  # noqa: PLC0415
    from traces.errors import InputError  # noqa: PLC0415

    try:
        with teller(quiet=as_json) as tell:
            done = run(folder, tell, keep=keep)
    except DemoError as error:
        typer.echo(f"tierwise: error: {' '.join(str(error).split())}", err=True)
        raise typer.Exit(EXIT_FAILED) from None
    except OSError as error:
        raise InputError(f"--dir {folder}: cannot be written: {error.strerror or error}") from None
    if as_json:
        typer.echo(done.files.results.read_text("utf-8"), nl=False)
    else:
        _sum_up(done)
        _open(done.files.report)
    if not done.outcome.good:
        raise typer.Exit(EXIT_FAILED)


def _sum_up(done: Done) -> None:
    found = done.outcome
    lost = {one.policy: one.lost for one in found.alternatives}
    completed = sum(job.state == "completed" for job in found.jobs)
    typer.echo(
        f"\n{completed} of {len(found.jobs)} jobs completed. {found.on_demand.asked.name} ran {found.latency:.1f} s "
        f"after sbatch, and those who made room lost {found.decided_lost:.0f} node-seconds;\nSlurm's own order would "
        f"have lost {lost['slurm']:.0f}, the youngest first {lost['youngest']:.0f}.\n\n"
        f"report:  {done.files.report}\njournal: {done.files.journal} (tierwise explain)\n"
        f"history: {done.files.history} (tierwise replay)"
    )
    if done.kept is not None:
        typer.echo(
            f"\nIt still runs:\n  export SLURM_CONF={done.kept}/slurm.conf\nEnd it with:\n  kill {done.controller}\n"
            f"  tierwise cluster down --dir {done.kept} && rm -r {done.kept.parent}"
        )


def _open(report: Path) -> None:
    """Open the report where somebody sits in front of a screen."""
    desktop = os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
    if not desktop or os.environ.get("CI") or not sys.stdout.isatty():
        return
    import webbrowser  # noqa: PLC0415

    webbrowser.open(report.as_uri())
