"""`tierwise policy`: check a policy file, show what it says, print its schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="The administrator's policy file.", no_args_is_help=True)

DEFAULT_FILE = Path("/etc/tierwise/policy.toml")
"""Where a site keeps its policy."""

DEFAULT_JOB_SUBMIT = Path("/etc/slurm/job_submit.lua")
"""Where slurmctld looks for it on most systems."""

EXIT_FAULTS = 1
"""Exit code of `check` where the file has mistakes."""


@app.command("check")
def check(
    file: Annotated[Path, typer.Argument(help="The policy file.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the mistakes as JSON.")] = False,
) -> None:
    """Find every mistake in a policy file, with its line and field.

    Exit codes: 0 the file is good, 1 it has mistakes, 2 it cannot be read.
    """
    from scheduler.policy import check as find_faults  # noqa: PLC0415 - pydantic takes a fifth of a second to import

    _, faults = find_faults(file)
    if as_json:
        typer.echo(json.dumps([{"line": f.line, "field": f.field, "message": f.message} for f in faults], indent=2))
    elif faults:
        for fault in faults:
            field = f"{fault.field}: " if fault.field else ""
            typer.echo(f"{file}:{fault.line}: {field}{fault.message}")
    else:
        typer.echo(f"{file}: good")
    if faults:
        raise typer.Exit(EXIT_FAULTS)


@app.command("show")
def show(
    file: Annotated[Path, typer.Option("--file", "-f", help="The policy file.")] = DEFAULT_FILE,
    cluster: Annotated[str, typer.Option(help="The cluster's name.")] = "",
    partition: Annotated[str, typer.Option(help="The job's partition.")] = "",
    account: Annotated[str, typer.Option(help="The job's account.")] = "",
    qos: Annotated[str, typer.Option(help="The job's QOS.")] = "",
    user: Annotated[str, typer.Option(help="The job's user.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the values that hold for a job, and which line each comes from.

    Later scopes win: built in, defaults, cluster, partition, account, qos, user.
    """
    from scheduler.policy import Who, effective, load  # noqa: PLC0415

    found = effective(load(file), Who(cluster, partition, account, qos, user))
    values = dict(found.rule)
    if as_json:
        typer.echo(json.dumps({k: {"value": v, "from": found.origin[k]} for k, v in values.items()}, indent=2))
        return
    width = max(len(name) for name in values)
    for name, value in values.items():
        typer.echo(f"{name:<{width}}  {json.dumps(value):<12}  {found.origin[name]}")


@app.command("apply")
def apply(
    file: Annotated[Path, typer.Option("--file", "-f", help="The policy file.")] = DEFAULT_FILE,
    job_submit: Annotated[
        Path, typer.Option(metavar="FILE", help="Tierwise's job_submit.lua, beside which the limits go.")
    ] = DEFAULT_JOB_SUBMIT,
    cluster: Annotated[str, typer.Option(help="The cluster's name, for [cluster.NAME] rules.")] = "",
) -> None:
    """Have slurmctld keep the policy's limits at submission: who may ask for what.

    Run it on the controller after each change of the policy. Writes tierwise_limits.lua beside job_submit.lua, which
    slurmctld then loads anew. A file with mistakes changes nothing.
    """
    from scheduler.policy import load  # noqa: PLC0415
    from scheduler.policy.limits import limits_of  # noqa: PLC0415
    from slurm_plugins.limits import put_limits  # noqa: PLC0415

    written = put_limits(job_submit, limits_of(load(file).policy, cluster))
    typer.echo(f"{written}: holds the limits of {file}")


@app.command("schema")
def schema() -> None:
    """Print the JSON schema of the policy file, for editors."""
    from scheduler.policy import Policy  # noqa: PLC0415

    typer.echo(json.dumps(Policy.model_json_schema(), indent=2))
