"""`tierwise service`: the systemd units of Tierwise's daemons, shown or installed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from scheduler.cli.policy import DEFAULT_FILE

app = typer.Typer(help="The systemd units of Tierwise's daemons.", no_args_is_help=True)

_Unit = Annotated[str, typer.Argument(metavar="UNIT", help="What it runs: controller.")]
_User = Annotated[str, typer.Option(metavar="NAME", help="Whom the daemon runs as; see the manual on rights.")]
_Policy = Annotated[Path, typer.Option(metavar="FILE", help="The policy file.")]
_Metrics = Annotated[
    int, typer.Option(metavar="PORT", min=0, max=65535, help="Where Prometheus may scrape on 127.0.0.1; 0 for nowhere.")
]
_Command = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The command tierwise; by default this installation's.")
]
_SlurmBin = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Where Slurm's commands are; by default where scontrol is found.")
]
_Systemd = Annotated[
    int | None, typer.Option(metavar="N", min=0, help="The release of systemd to write for; by default that here.")
]
_FOLDER = Path("/etc/systemd/system")

EPILOG = """Examples: `tierwise service show controller` prints the unit; `tierwise service install controller --user
slurm`, then `systemctl daemon-reload` and `systemctl enable --now tierwise-controller`. Where there is accounting, run
it as a user of its own with the right of an operator, `sacctmgr add user tierwise account=root adminlevel=operator`;
without accounting only root and SlurmUser may reserve and requeue, so take SlurmUser. Exit codes: 0 done, 2 an option
is wrong or the file cannot be written."""


def _text(
    unit: str, user: str, policy: Path, metrics: int, command: Path | None, slurm_bin: Path | None, systemd: int | None
) -> str:
    from scheduler.service import units  # noqa: PLC0415 - commands start with what they need

    site = units.Site(
        user=user,
        command=command or units.installed_command(),
        policy=policy,
        metrics=metrics or None,
        slurm=slurm_bin or units.slurm_folder(),
        systemd=units.systemd_version() if systemd is None else systemd,
    )
    return units.render(unit, site)


@app.command("show", epilog=EPILOG)
def show(
    unit: _Unit,
    user: _User = "tierwise",
    policy: _Policy = DEFAULT_FILE,
    metrics: _Metrics = 9813,
    command: _Command = None,
    slurm_bin: _SlurmBin = None,
    systemd: _Systemd = None,
) -> None:
    """Print a unit, and write nothing."""
    typer.echo(_text(unit, user, policy, metrics, command, slurm_bin, systemd), nl=False)


@app.command("install", epilog=EPILOG)
def install(
    unit: _Unit,
    user: _User = "tierwise",
    policy: _Policy = DEFAULT_FILE,
    metrics: _Metrics = 9813,
    command: _Command = None,
    slurm_bin: _SlurmBin = None,
    systemd: _Systemd = None,
    folder: Annotated[Path, typer.Option(metavar="DIR", help="Where systemd looks for units.")] = _FOLDER,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be written, and write nothing.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")] = False,
) -> None:
    """Write a unit where systemd looks for it, and say what is left to do.

    Nothing is started. Repeating it changes nothing. What the site changes belongs into `systemctl edit`.
    """
    from scheduler.service.installing import install as write  # noqa: PLC0415
    from scheduler.service.units import UNITS  # noqa: PLC0415

    text = _text(unit, user, policy, metrics, command, slurm_bin, systemd)
    done = write(folder / UNITS[unit], text, user, policy, dry_run=dry_run)
    if as_json:
        facts = {"path": str(done.path), "changed": done.changed, "dry_run": dry_run, "to_do": done.to_do}
        typer.echo(json.dumps(facts, indent=2))
        return
    what = "unchanged" if not done.changed else "would be written" if dry_run else "written"
    typer.echo(f"{done.path}: {what}")
    for line in done.to_do:
        typer.echo(f"to do: {line}")
