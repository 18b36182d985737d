"""From the cluster back to decisions and replays: `tierwise snapshot`, and `tierwise trace import`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

EPILOG = """Examples: `tierwise snapshot --request-nodes 64 --duration 2h --max-delay 10m | tierwise decide -` says whom
an on-demand job of 64 nodes would preempt now; nothing is changed on the cluster. `--ask pyslurm` asks through
pyslurm instead of Slurm's commands. Exit codes: 0 written, 2 an option is wrong or Slurm does not answer."""


def snapshot(
    partition: Annotated[
        str, typer.Option(metavar="NAME", help="Only the nodes of this partition; by default all.")
    ] = "",
    request_nodes: Annotated[int, typer.Option(min=1, help="Nodes that the on-demand job asks for.")] = 1,
    duration: Annotated[str, typer.Option(metavar="TIME", help="How long it asks for them.")] = "1h",
    max_delay: Annotated[str, typer.Option(metavar="TIME", help="How late it may start.")] = "0",
    delay_weight: Annotated[
        float, typer.Option(min=0, help="Lost node-seconds that a node-second of delay is worth.")
    ] = 1.0,
    ask: Annotated[str, typer.Option(metavar="WAY", help="How to ask Slurm: commands or pyslurm.")] = "commands",
    indent: Annotated[
        bool, typer.Option("--indent", help="Write it for people to read; by default, one line.")
    ] = False,
) -> None:
    """Write the running cluster as JSON, with a request, as `tierwise decide` reads it.

    Checkpoint intervals and costs are those that the jobs gave with --checkpoint-every, --checkpoint-cost and
    --restart-cost; an on-demand job, and one that Slurm would not requeue, is marked as not preemptible.
    """
    import json  # noqa: PLC0415 - with the imports below, which take a second
    import time  # noqa: PLC0415

    from cosim.snapshot import Request  # noqa: PLC0415
    from scheduler.replay_options import duration as seconds_of  # noqa: PLC0415
    from scheduler.slurm import observe  # noqa: PLC0415
    from scheduler.slurm.opening import open_slurm  # noqa: PLC0415
    from scheduler.slurm.seam import SlurmError  # noqa: PLC0415
    from scheduler.slurm.snapshot_json import document  # noqa: PLC0415
    from traces.errors import InputError  # noqa: PLC0415

    request = Request(
        request_nodes, seconds_of("--duration", duration), seconds_of("--max-delay", max_delay), delay_weight
    )
    try:
        slurm = open_slurm(ask)
        nodes, jobs, now = slurm.nodes(), slurm.jobs(), time.time()
    except SlurmError as error:
        raise InputError(str(error)) from None
    known = sorted({name for node in nodes for name in node.partitions})
    if partition and partition not in known:
        raise InputError(f"--partition {partition!r} does not exist: accepted are {', '.join(known)}")
    found = observe.snapshot(now, nodes, jobs, partition=partition)
    typer.echo(json.dumps(document(found, request), indent=1 if indent else None, allow_nan=False))


IMPORT_EPILOG = """Example: `tierwise trace import month.parquet --from sacct --start now-30days --nodes 64` fetches
what the cluster's accounting knows of the last 30 days; `tierwise replay month.parquet` then replays it. Exit codes:
0 written, 2 an option is wrong or the accounting does not answer."""


def trace_import(
    output_file: Annotated[Path, typer.Argument(metavar="OUTPUT", help="File to write: .parquet, .csv or .swf.")],
    source: Annotated[str, typer.Option("--from", help="Where from: sacct, the accounting of this cluster.")] = "sacct",
    start: Annotated[str, typer.Option(metavar="TIME", help="From when on: 2024-01-01, now-7days, ...")] = "now-7days",
    end: Annotated[str, typer.Option(metavar="TIME", help="Until when, likewise.")] = "now",
    nodes: Annotated[int | None, typer.Option(min=1, help="Nodes of the machine; larger jobs drop.")] = None,
    treat: Annotated[
        list[str], typer.Option(metavar="KIND=TREATMENT", help="Treat a kind of problem otherwise; may be repeated.")
    ] = [],  # noqa: B006 - typer wants a plain default, and nothing changes it
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output, and nothing else.")] = False,
) -> None:
    """Fetch this cluster's history from its accounting and write it as a trace."""
    from scheduler.slurm.history import history  # noqa: PLC0415 - NumPy takes a while to import
    from scheduler.slurm.seam import SlurmError  # noqa: PLC0415
    from traces import presenting as output  # noqa: PLC0415
    from traces import write  # noqa: PLC0415
    from traces.errors import InputError  # noqa: PLC0415
    from traces.problems import parse_treatments  # noqa: PLC0415
    from traces.writing import check_name  # noqa: PLC0415

    if source != "sacct":
        raise InputError(f"--from {source!r} is not known: expected sacct (files are read by tierwise trace convert)")
    check_name(output_file)
    try:
        trace = history(start, end, nodes=nodes, treatments=parse_treatments(treat))
    except SlurmError as error:
        raise InputError(str(error)) from None
    lost = write(trace, output_file)
    if as_json:
        output.print_json({"output": str(output_file), "jobs": len(trace), "lost_columns": lost})
    else:
        output.print_written(trace, output_file, lost)
