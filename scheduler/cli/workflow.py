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


def _print_json(values: dict[str, Any]) -> None:
    typer.echo(json.dumps(values, indent=2))
