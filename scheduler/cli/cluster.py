"""`tierwise cluster`: a real Slurm cluster on this machine, to try things on."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from scheduler.cluster import ClusterError, Status

EXIT_NOT_RUNNING = 1
"""`up` and `down`: a daemon did not come up, or did not end; `status`: not all of the cluster runs."""

app = typer.Typer(
    help="Run a real Slurm cluster on this machine, in a directory of its own; nothing under /etc is read or written.",
    no_args_is_help=True,
)

Directory = Annotated[
    Path | None,
    typer.Option("--dir", metavar="DIR", help="The cluster's directory; by default ~/.local/state/tierwise/cluster."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output, and nothing else.")]


@app.command(
    epilog="Example: `tierwise cluster up --nodes 4 --dir /tmp/cluster`, then `export SLURM_CONF=/tmp/cluster/"
    "slurm.conf` and `srun -N4 hostname`. Exit codes: 0 all nodes are idle, 1 a daemon did not come up (the end of its "
    "log is printed, and nothing is left running), 2 an option is wrong or a package is missing, 130 interrupted."
)
def up(
    nodes: Annotated[int, typer.Option(help="Nodes, each a slurmd of its own.")] = 4,
    directory: Directory = None,
    accounting: Annotated[
        bool, typer.Option("--accounting", help="With slurmdbd and a MariaDB of its own, for sacct and QOS.")
    ] = False,
    cpus_per_node: Annotated[
        int | None, typer.Option(metavar="N", help="Processors that each node claims; by default its share of these.")
    ] = None,
    memory_per_node: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Memory that each node claims, such as 512M or 4G.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Start a cluster and wait until all of its nodes are idle."""
    from scheduler import cluster  # noqa: PLC0415 - the command must start fast

    options = cluster.Options(
        nodes=nodes,
        directory=directory,
        accounting=accounting,
        cpus_per_node=cpus_per_node,
        memory_per_node=None if memory_per_node is None else cluster.parse_size("--memory-per-node", memory_per_node),
    )
    began = time.monotonic()
    try:
        started = cluster.up(options)
    except cluster.ClusterError as error:
        raise _failed(error) from None
    seconds = round(time.monotonic() - began, 2)
    if as_json:
        _print_json({**cluster.status(started.directory).as_dict(), "seconds": seconds})
        return
    typer.echo(f"{nodes} nodes are idle after {seconds:.1f} s. Use them with:\n")
    typer.echo(_export(started.environment))
    typer.echo(f"\nStop them with: tierwise cluster down{_named(directory, started.directory)}")


@app.command(epilog="Exit codes: 0 all of it runs, 1 not all of it runs or there is none, 2 an option is wrong.")
def status(directory: Directory = None, as_json: AsJson = False) -> None:
    """Show which daemons run, and the state of each node."""
    from scheduler import cluster  # noqa: PLC0415

    found = cluster.status(directory)
    if as_json:
        _print_json(found.as_dict())
    else:
        _print_status(found)
    if found.state != "running":
        raise typer.Exit(EXIT_NOT_RUNNING)


@app.command(
    epilog="It may be called again, also after `up` died half-way. Exit codes: 0 nothing of it runs any more, "
    "1 a process does not end, 2 an option is wrong."
)
def down(
    directory: Directory = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove its files too, the logs included.")] = False,
    as_json: AsJson = False,
) -> None:
    """Stop the cluster: exactly what `up` started, and its jobs. The logs stay."""
    from scheduler import cluster  # noqa: PLC0415

    chosen = cluster.chosen_directory(directory)
    began = time.monotonic()
    try:
        ended = cluster.down(chosen, remove=remove)
    except cluster.ClusterError as error:
        raise _failed(error) from None
    if as_json:
        seconds = round(time.monotonic() - began, 2)
        _print_json({"directory": str(chosen), "ended": ended, "removed": remove, "seconds": seconds})
    elif ended:
        typer.echo(f"{ended} processes of the cluster in {chosen} ended")
    else:
        typer.echo(f"nothing of a cluster runs in {chosen}")


def _failed(error: ClusterError) -> typer.Exit:
    for line in error.log:
        typer.echo(f"  {line}", err=True)
    typer.echo(f"tierwise: error: {' '.join(str(error).split())}", err=True)
    return typer.Exit(EXIT_NOT_RUNNING)


def _export(environment: dict[str, str]) -> str:
    return "\n".join(f"export {name}={value}" for name, value in environment.items())


def _named(asked: Path | None, directory: Path) -> str:
    return "" if asked is None else f" --dir {directory}"


def _print_json(values: dict[str, Any]) -> None:
    typer.echo(json.dumps(values, indent=2))


def _print_status(found: Status) -> None:
    if found.state == "absent":
        typer.echo(f"there is no cluster in {found.directory}; start one with `tierwise cluster up`")
        return
    accounting = ", with accounting" if found.accounting else ""
    typer.echo(f"{found.state}: Slurm {found.slurm} in {found.directory}{accounting}")
    if found.state != "stopped":
        typer.echo(_export(found.environment))
    rows = [("DAEMON", "STATE", "NODE", "PID", "PORT", "LOG")]
    rows += [
        (one.name, one.state, one.node_state or "-", str(one.pid or "-"), str(one.port or "-"), one.log)
        for one in found.daemons
    ]
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    typer.echo()
    for row in rows:
        typer.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    if found.others:
        typer.echo(f"\nfurther processes of its jobs: {', '.join(str(pid) for pid in found.others)}")
