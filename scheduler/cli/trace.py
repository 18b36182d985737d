"""`tierwise trace`: look at, convert, make and check job traces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from scheduler.cli import snapshot

if TYPE_CHECKING:
    from traces import Trace

EXIT_PROBLEMS = 1
"""`check` found problems."""

app = typer.Typer(
    help="Look at, convert, make and check job traces (SWF, ALCF, Eagle, sacct -P, sacct --json, Parquet, CSV).",
    no_args_is_help=True,
)

Files = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...", help="Trace files; the format is found by content, .gz .xz .bz2 .zip are unpacked."
    ),
]
Nodes = Annotated[
    int | None, typer.Option(min=1, help="Nodes of the machine; by default what the files state. Larger jobs drop.")
]
PerNode = Annotated[int, typer.Option(min=1, help="SWF counts processors: how many make a node.")]
Zone = Annotated[
    str | None,
    typer.Option(help="Time zone of local times. By default US Central for ALCF files, UTC for sacct and Eagle."),
]
Treat = Annotated[
    list[str],
    typer.Option(
        metavar="KIND=TREATMENT",
        help="Treat a kind of problem otherwise, e.g. over_limit=drop; may be repeated. docs/traces.md lists all.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output, and nothing else.")]


@app.command(
    epilog="Example: `tierwise trace info theta_2022.swf` shows jobs, load, sizes, times. Exit codes: 0, 2 bad input."
)
def info(
    files: Files,
    nodes: Nodes = None,
    processors_per_node: PerNode = 1,
    time_zone: Zone = None,
    treat: Treat = [],  # noqa: B006 - typer wants a plain default, and nothing changes it
    as_json: AsJson = False,
) -> None:
    """Show what is in a trace: jobs, period, load, sizes, run times, requests, and what reading did."""
    from traces import presenting as output  # noqa: PLC0415 - NumPy and rich take a second to import

    trace = _read(files, nodes, processors_per_node, time_zone, treat, as_json)
    if as_json:
        output.print_json(output.info_as_dict(trace))
    else:
        output.print_info(trace)


@app.command(
    epilog="Examples: `tierwise trace convert ANL-ALCF-DJC-THETA_20220101_20221231.csv.gz theta.swf`; "
    "`sacct -a -P -X -S 2024-01-01 -o ALL >jobs.txt; tierwise trace convert jobs.txt jobs.parquet "
    "--time-zone Europe/Berlin`. Exit codes: 0, 2 bad input."
)
def convert(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE... OUTPUT",
            help="Trace files, then the file to write: .swf, .swf.gz, .parquet, .csv or .csv.gz.",
        ),
    ],
    nodes: Nodes = None,
    processors_per_node: PerNode = 1,
    time_zone: Zone = None,
    treat: Treat = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Read traces and write them as one, in another format; the file appears whole or not at all.

    Parquet keeps everything. The Standard Workload Format has no field for some columns; which were lost is said.
    """
    from traces import InputError, write  # noqa: PLC0415
    from traces import presenting as output  # noqa: PLC0415
    from traces.writing import check_name  # noqa: PLC0415

    if len(files) < 2:
        raise InputError(f"convert {files[0]}: expected at least two names, the files to read and the one to write")
    *sources, target = files
    check_name(target)
    trace = _read(sources, nodes, processors_per_node, time_zone, treat, as_json)
    lost = write(trace, target)
    if as_json:
        output.print_json({"output": str(target), "jobs": len(trace), "lost_columns": lost, **_summary(trace)})
    else:
        output.print_written(trace, target, lost)


@app.command(
    epilog="Examples: `tierwise trace generate year.swf` makes a Theta-like year; `tierwise trace generate "
    "big.parquet --jobs 1000000 --seed 7` a million jobs. The same seed makes the same file. "
    "Exit codes: 0, 2 bad value."
)
def generate(
    output_file: Annotated[Path, typer.Argument(metavar="OUTPUT", help="File to write: .swf, .parquet or .csv.")],
    like: Annotated[
        str, typer.Option(help="theta-like: Theta's sizes, times and arrivals; synthetic: plain, for timing replays.")
    ] = "theta-like",
    jobs: Annotated[
        int | None, typer.Option(min=1, help="Number of jobs. Without it, as many as the days and the load take.")
    ] = None,
    days: Annotated[
        float | None, typer.Option(help="Days over which they are submitted. With neither, a year.")
    ] = None,
    nodes: Annotated[
        int | None, typer.Option(min=1, help="Nodes of the machine: by default 4392, for synthetic 256.")
    ] = None,
    load: Annotated[
        float | None,
        typer.Option(help="Node-seconds of work per node-second of capacity: by default 0.76, for synthetic 0.85."),
    ] = None,
    on_demand_share: Annotated[
        float | None, typer.Option(help="Share of on-demand jobs, 0 to 1: by default 0.1, for synthetic 0.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="What is drawn is drawn from it.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Make a trace up, from published figures of Theta or plainly."""
    from traces import InputError, synthetic, theta_like, write  # noqa: PLC0415
    from traces import presenting as output  # noqa: PLC0415
    from traces.writing import check_name  # noqa: PLC0415

    check_name(output_file)
    given = {"nodes": nodes, "load": load, "on_demand_share": on_demand_share}
    chosen = {name: value for name, value in given.items() if value is not None}
    if like == "theta-like":
        trace = theta_like(jobs, days, seed=seed, **chosen)  # type: ignore[arg-type]
    elif like == "synthetic":
        if days is not None or on_demand_share is not None:
            raise InputError("--like synthetic takes neither --days nor --on-demand-share; use --jobs, or theta-like")
        trace = synthetic(jobs or 50_000, seed=seed, **chosen)  # type: ignore[arg-type]
    else:
        raise InputError(f"--like {like!r} is not known: expected theta-like or synthetic")
    lost = write(trace, output_file)
    if as_json:
        output.print_json({"output": str(output_file), "jobs": len(trace), "lost_columns": lost, "seed": seed})
    else:
        output.print_written(trace, output_file, lost)


@app.command(
    epilog="Example: `tierwise trace check jobs.txt && echo clean`. Exit codes: 0 no problem, 1 problems were found "
    "(even those that are kept or repaired), 2 the trace cannot be used at all."
)
def check(
    files: Files,
    nodes: Nodes = None,
    processors_per_node: PerNode = 1,
    time_zone: Zone = None,
    treat: Treat = [],  # noqa: B006
    as_json: AsJson = False,
) -> None:
    """Check traces and list every kind of problem, with how often it occurs, what is done about it, and where."""
    from traces import presenting as output  # noqa: PLC0415

    trace = _read(files, nodes, processors_per_node, time_zone, treat, as_json)
    if as_json:
        output.print_json(_summary(trace))
    else:
        output.print_problems(trace)
    if trace.summary.problems:
        raise typer.Exit(EXIT_PROBLEMS)


def _read(
    files: list[Path],
    nodes: int | None,
    processors_per_node: int,
    time_zone: str | None,
    treat: list[str],
    quiet: bool,
) -> Trace:
    """Read traces with a progress bar, where there is a terminal to show it on."""
    from scheduler.progress import shown  # noqa: PLC0415
    from traces import parse_treatments, read  # noqa: PLC0415

    with shown(quiet=quiet) as report:
        progress: Callable[[int, int], None] | None = None
        if report is not None:
            show = report
            progress = lambda done, total: show("reading (bytes)", done, total)  # noqa: E731
        return read(
            files,
            nodes=nodes,
            treatments=parse_treatments(treat),
            processors_per_node=processors_per_node,
            time_zone=time_zone,
            progress=progress,
        )


def _summary(trace: Trace) -> dict[str, object]:
    return {"summary": trace.summary.as_dict()}


app.command("import", epilog=snapshot.IMPORT_EPILOG)(snapshot.trace_import)
