"""`tierwise tiers`: the memory tiers of this node, and making one where there is none."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from memory_tiers.tiers import Inventory, Tier

app = typer.Typer(
    help="Show the memory tiers of this node, how fast they are, and what the kernel allows.",
    invoke_without_command=True,
)
setup = typer.Typer(help="Make a far tier where the node has none.", no_args_is_help=True)
app.add_typer(setup, name="setup")

_Size = Annotated[str, typer.Option("--size", metavar="SIZE", help="How much it takes, such as 8G.")]
_GIB = 1 << 30


@app.callback(
    epilog="Latency is that of the first touch of a page there. What was measured is kept until the next start of the "
    "machine. Exit codes: 0, or 2 for a wrong option."
)
def tiers(
    context: typer.Context,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on standard output, and nothing else.")] = False,
    again: Annotated[bool, typer.Option("--again", help="Measure anew.")] = False,
    fast: Annotated[bool, typer.Option("--no-measure", help="Do not measure.")] = False,
) -> None:
    """Show the memory tiers of this node, how fast they are, and what the kernel allows."""
    if context.invoked_subcommand is not None:
        return
    from memory_tiers.measure import measured  # noqa: PLC0415 - numpy
    from memory_tiers.tiers import discover  # noqa: PLC0415

    found = discover()
    if not fast:
        found = measured(found, again=again)
    if as_json:
        typer.echo(json.dumps(found.document()))
    else:
        _show(found)


@setup.command("zram", epilog="Example: `tierwise tiers setup zram --size 8G`, and `tierwise tiers teardown` later.")
def setup_zram(
    size: _Size,
    algorithm: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Compression, such as lz4 or zstd; by default the kernel's choice."),
    ] = None,
) -> None:
    """Swap to compressed memory, ahead of every disk."""
    from memory_tiers.far import setup_zram as make  # noqa: PLC0415
    from scheduler.cluster.options import parse_size  # noqa: PLC0415

    amount = parse_size("--size", size)
    _needs_root("tiers setup zram")
    typer.echo(f"swapping to {make(amount, algorithm)}, {amount / _GIB:.1f} GiB before compression")


@setup.command("swapfile")
def setup_swapfile(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="The file to make; on a local disk.")], size: _Size
) -> None:
    """Swap to a file, where the kernel has no zram; slower by far."""
    from memory_tiers.far import setup_file  # noqa: PLC0415
    from scheduler.cluster.options import parse_size  # noqa: PLC0415

    amount = parse_size("--size", size)
    _needs_root("tiers setup swapfile")
    setup_file(path, amount)
    typer.echo(f"swapping to {path}, {amount / _GIB:.1f} GiB")


@app.command()
def teardown() -> None:
    """Take away what `setup` made; what is in it comes back to DRAM first."""
    from memory_tiers.far import teardown as take_away  # noqa: PLC0415

    _needs_root("tiers teardown")
    gone = take_away()
    typer.echo(f"no longer swapping to {', '.join(gone)}" if gone else "nothing was set up")


def _needs_root(what: str) -> None:
    from traces.errors import InputError  # noqa: PLC0415

    if os.geteuid() != 0:
        raise InputError(f"{what}: only root may change what the node swaps to")


def _show(found: Inventory) -> None:
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(box=None, pad_edge=False)
    for title, right in (
        ("tier", False),
        ("kind", False),
        ("capacity [GiB]", True),
        ("free [GiB]", True),
        ("latency [ns]", True),
        ("bandwidth [GB/s]", True),
    ):
        table.add_column(title, justify="right" if right else "left")
    for tier in found.tiers:
        table.add_row(*_row(tier))
    console = Console()
    console.print(table)
    allowed = ", ".join(f"{name} {_word(value)}" for name, value in found.kernel.items())
    console.print(f"\nkernel: {allowed}", highlight=False, markup=False)
    console.print(f"tracker: {found.tracker}", highlight=False, markup=False)
    for remark in found.remarks:
        console.print(f"note: {remark}", highlight=False, markup=False)


def _row(tier: Tier) -> tuple[str, ...]:
    latency = "" if tier.latency_ns is None else f"{tier.latency_ns:.0f}"
    bandwidth = "" if tier.bandwidth is None else f"{tier.bandwidth / 1e9:.2f}"
    return tier.name, tier.kind, f"{tier.capacity / _GIB:.1f}", f"{tier.free / _GIB:.1f}", latency, bandwidth


def _word(value: object) -> str:
    if isinstance(value, dict):
        return "held by others" if value["held"] else "free" if value["exists"] else "no"
    return {True: "yes", False: "no", None: "no"}.get(value, str(value)) if value in (True, False, None) else str(value)
