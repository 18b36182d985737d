"""Tells a person what happens: a table that lives on a terminal, plain lines elsewhere, nothing at all for programs."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console
    from rich.live import Live
    from rich.table import Table

_BAR, _SHADES = 24, ("\N{FULL BLOCK}", "\N{MEDIUM SHADE}", "\N{LIGHT SHADE}")
_COLOURS = {"running": "green", "on-demand": "bold cyan", "preempted": "red", "completed": "dim", "waiting": "yellow"}


@dataclass(frozen=True)
class Row:
    """A job as it is now.

    Attributes
    ----------
    name : str
        Its name.
    nodes : int
        Its nodes.
    state : str
        `not submitted`, `waiting`, `running`, `on-demand`, `preempted`, `completed`, or Slurm's word for another end.
    done, saved, work : float
        What it has done, what its newest checkpoint holds, and all there is to do [s].
    runs : int
        Which run it is, from 1; 0 before the first.
    """

    name: str
    nodes: int
    state: str
    done: float
    saved: float
    work: float
    runs: int


class Teller(Protocol):
    """Takes what happens."""

    def say(self, text: str, *, more: bool = False) -> None:
        """Tell one thing; `more` where it belongs to what was told before."""
        ...

    def show(self, rows: Sequence[Row]) -> None:
        """Show the jobs as they are now."""
        ...


class Silent:
    """Tells nothing."""

    def say(self, text: str, *, more: bool = False) -> None:
        """Do nothing."""

    def show(self, rows: Sequence[Row]) -> None:
        """Do nothing."""


@dataclass
class Lines:
    """Tells what happens, line by line, with the seconds since it began; on a terminal, jobs in a table below."""

    console: Console
    live: Live | None = None
    _began: float = field(default_factory=time.monotonic)

    def say(self, text: str, *, more: bool = False) -> None:
        """Print a line."""
        stamp = " " * 7 if more else f"{time.monotonic() - self._began:5.1f} s"
        self.console.print(f"{stamp}  {text}", markup=False, highlight=False, soft_wrap=self.live is None)

    def show(self, rows: Sequence[Row]) -> None:
        """Draw the table anew."""
        if self.live is not None:
            self.live.update(_table(rows))


@contextmanager
def teller(*, quiet: bool) -> Iterator[Teller]:
    """Choose how to tell.

    Parameters
    ----------
    quiet : bool
        Tell nothing.

    Yields
    ------
    Teller
        What suits standard output.
    """
    if quiet:
        yield Silent()
        return
    from rich.console import Console  # noqa: PLC0415 - a fifth of a second
    from rich.live import Live  # noqa: PLC0415

    console = Console()
    if not console.is_terminal:
        yield Lines(console)
        return
    with Live(console=console, refresh_per_second=5, transient=True) as live:
        yield Lines(console, live)


def _table(rows: Sequence[Row]) -> Table:
    from rich import box  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415
    from rich.text import Text  # noqa: PLC0415

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("job", "nodes", "state", "work done (\N{FULL BLOCK} safe in a checkpoint)", "run"):
        table.add_column(name, justify="right" if name in ("nodes", "run") else "left")
    for row in rows:
        style = _COLOURS.get(row.state, "")
        done = f"{row.done:3.0f} of {row.work:.0f} s"
        table.add_row(
            Text(row.name, style), str(row.nodes), Text(row.state, style), f"{_bar(row)} {done}", str(row.runs or "")
        )
    return table


def _bar(row: Row) -> str:
    done, saved = (round(_BAR * min(1.0, part / row.work)) for part in (row.done, row.saved))
    lengths = (saved, done - saved, _BAR - max(done, saved))
    return "".join(letter * length for letter, length in zip(_SHADES, lengths, strict=True))
