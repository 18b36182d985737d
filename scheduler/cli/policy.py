"""`tierwise policy`: check a policy file, show what it says, print its schema."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from traces.errors import InputError

if TYPE_CHECKING:
    from scheduler.policy import PolicyFile

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
    job: Annotated[
        str, typer.Option(metavar="ID", help="A job that Slurm knows, such as 17 or 12_7; asks Slurm whose it is.")
    ] = "",
    cluster: Annotated[str, typer.Option(help="The cluster's name.")] = "",
    partition: Annotated[str, typer.Option(help="The job's partition.")] = "",
    account: Annotated[str, typer.Option(help="The job's account.")] = "",
    qos: Annotated[str, typer.Option(help="The job's QOS.")] = "",
    user: Annotated[str, typer.Option(help="The job's user.")] = "",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show the values that hold for a job, and which line each comes from.

    Later scopes win: built in, defaults, cluster, partition, account, qos, user; and what a job said of itself at its
    submission wins over all of them where the policy only gives a default. With --job, Slurm is asked whose job it
    is; otherwise say it with the other options.
    """
    from scheduler.policy import Who, effective, load  # noqa: PLC0415

    policy = load(file)
    if job:
        if cluster or partition or account or qos or user:
            raise InputError(
                "--job: Slurm says whose job it is; leave --cluster, --partition, --account, --qos, --user"
            )
        _show_job(policy, job, as_json=as_json)
        return
    found = effective(policy, Who(cluster, partition, account, qos, user))
    values = dict(found.rule)
    if as_json:
        typer.echo(json.dumps(_with_origin(values, found.origin), indent=2))
    else:
        _print_values(values, found.origin)


def _show_job(policy: PolicyFile, name: str, *, as_json: bool) -> None:
    from scheduler.policy.of_job import named, of_job  # noqa: PLC0415
    from scheduler.slurm.opening import open_slurm  # noqa: PLC0415
    from scheduler.slurm.seam import SlurmError  # noqa: PLC0415

    slurm = open_slurm()
    try:
        job = named(slurm.jobs(), name)
        found = of_job(policy, slurm.configuration().get("clustername", ""), job)
    except SlurmError as error:
        raise InputError(str(error)) from None
    who = asdict(found.who)
    if as_json:
        shown = {"job": job.id, "who": who, "asked": found.asked, "values": _with_origin(found.values, found.origin)}
        typer.echo(json.dumps(shown, indent=2))
        return
    # Names come from users and accounts; JSON's quotes let no control character through to the terminal.
    typer.echo(f"job {job.id}: " + ", ".join(f"{scope} {json.dumps(value)}" for scope, value in who.items() if value))
    asked = ", ".join(f"{key}={json.dumps(value)}" for key, value in found.asked.items())
    typer.echo(f"asked for at submission: {asked or 'nothing'}")
    _print_values(found.values, found.origin)


def _with_origin(values: dict[str, Any], origin: dict[str, str]) -> dict[str, dict[str, Any]]:
    return {name: {"value": value, "from": origin[name]} for name, value in values.items()}


def _print_values(values: dict[str, Any], origin: dict[str, str]) -> None:
    width = max(len(name) for name in values)
    for name, value in values.items():
        typer.echo(f"{name:<{width}}  {json.dumps(value):<12}  {origin[name]}")


@app.command("apply")
def apply(
    file: Annotated[Path, typer.Option("--file", "-f", help="The policy file.")] = DEFAULT_FILE,
    job_submit: Annotated[
        Path, typer.Option(metavar="FILE", help="Tierwise's job_submit.lua, beside which the limits go.")
    ] = DEFAULT_JOB_SUBMIT,
    cluster: Annotated[
        str, typer.Option(help="The cluster's name, for [cluster.NAME] rules; by default Slurm is asked for it.")
    ] = "",
) -> None:
    """Have slurmctld keep the policy's limits at submission: who may ask for what.

    Run it on the controller after each change of the policy. Writes tierwise_limits.lua beside job_submit.lua, which
    slurmctld then loads anew. A file with mistakes changes nothing.
    """
    from scheduler.policy import load  # noqa: PLC0415
    from scheduler.policy.limits import limits_of  # noqa: PLC0415
    from slurm_plugins.limits import put_limits  # noqa: PLC0415

    policy = load(file).policy
    if policy.cluster and not cluster:
        cluster = _cluster_name()
    written = put_limits(job_submit, limits_of(policy, cluster))
    typer.echo(f"{written}: holds the limits of {file}")


def _cluster_name() -> str:
    from scheduler.slurm.opening import open_slurm  # noqa: PLC0415
    from scheduler.slurm.seam import SlurmError  # noqa: PLC0415

    try:
        return open_slurm().configuration().get("clustername", "")
    except SlurmError as error:
        raise InputError(
            f"--cluster: the policy has rules by cluster, and Slurm does not say which this is: {error}"
        ) from None


@app.command("schema")
def schema() -> None:
    """Print the JSON schema of the policy file, for editors."""
    from scheduler.policy import Policy  # noqa: PLC0415

    typer.echo(json.dumps(Policy.model_json_schema(), indent=2))
