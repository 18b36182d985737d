"""`tierwise workflow`: look at task graphs, compare ways to place them, and run them on the cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    help="Place whole workflows: which task runs where, when, with how much DRAM and far memory.",
    no_args_is_help=True,
)

File = Annotated[
    Path,
    typer.Argument(metavar="FILE", help="A workflow: WfFormat JSON, Tierwise's YAML, or a script of sbatch lines."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON on standard output, and nothing else.")]


@app.command(
    epilog="Example: `tierwise workflow show flow.yaml --svg flow.svg`. Exit codes: 0 done, 2 the file or an option "
    "is wrong (one line says where)."
)
def show(
    file: File,
    svg: Annotated[Path | None, typer.Option("--svg", metavar="FILE", help="Draw it into this file, too.")] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write an HTML page with picture and tables, too.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show a workflow: its longest path, how many tasks run at once, their memory over time, the data they share."""
    from scheduler.workflow import showing  # noqa: PLC0415 - the command must start fast

    found = showing.look(file)
    if svg is not None:
        showing.write_picture(found, svg)
    if report is not None:
        showing.write_report(found, report)
    if as_json:
        _print_json(found.document)
    else:
        typer.echo(showing.as_text(found))


@app.command(
    epilog="Example: `tierwise workflow simulate flow.yaml --nodes 4 --dram 64G --far 128G`. A task that asks for more "
    "than any node has is refused. Exit codes: 0 done, 2 a file or an option is wrong, 130 interrupted."
)
def simulate(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Workflows; several of them run beside each other.")
    ],
    nodes: Annotated[int, typer.Option(min=1, max=100_000, help="Nodes, all of one size.")] = 1,
    dram: Annotated[str, typer.Option(metavar="SIZE", help="DRAM of each node that tasks may use.")] = "64G",
    far: Annotated[str, typer.Option(metavar="SIZE", help="Far memory of each node; 0 for none.")] = "0",
    cpus: Annotated[int, typer.Option(min=1, max=65_536, help="Processors of each node.")] = 48,
    placement: Annotated[
        str, typer.Option(help="Placements to compare: dependency, exclusive, list, cpsat.")
    ] = "dependency,exclusive,list,cpsat",
    budget: Annotated[str, typer.Option(metavar="TIME", help="How long CP-SAT may search.")] = "20s",
    on_demand: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Jobs that cannot wait and take nodes away: CSV with the columns start,end,nodes, times in seconds.",
        ),
    ] = None,
    memory: Annotated[
        list[str] | None, typer.Option(metavar="KIND=SIZE", help="Memory of all tasks of a kind; may be repeated.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare placements of workflows: when they are done, how many tasks die for lack of memory, how far from best.

    `dependency` starts what is ready wherever a processor is free, and knows nothing of memory; `exclusive` gives each
    task a node to itself; `list` is the list scheduler; `cpsat` improves on it and proves a bound.
    """
    from scheduler.progress import shown  # noqa: PLC0415
    from scheduler.workflow import simulating  # noqa: PLC0415

    question = simulating.question(
        files,
        nodes=nodes,
        dram=dram,
        far=far,
        cpus=cpus,
        placement=placement,
        budget=budget,
        on_demand=on_demand,
        memory=memory or [],
    )
    with shown(quiet=as_json) as progress:
        found = simulating.answer(question, progress)
    if as_json:
        _print_json(simulating.document(found))
    else:
        typer.echo(simulating.as_text(found))


def _print_json(values: dict[str, Any]) -> None:
    typer.echo(json.dumps(values, indent=2))
