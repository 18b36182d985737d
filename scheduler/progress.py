"""A progress bar for long work: on a terminal, on standard error, and only once the work has taken a moment."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_PATIENCE = 0.5  # work that is done sooner shows nothing [s]


@contextmanager
def shown(*, quiet: bool = False) -> Iterator[Callable[[str, int, int], None] | None]:
    """Show a bar for each step of the work inside.

    Parameters
    ----------
    quiet : bool
        Show nothing.

    Yields
    ------
    callable or None
        To be called with the step's name, how much is done and how much there is; None where nothing is shown.
    """
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console  # noqa: PLC0415
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn  # noqa: PLC0415

    columns = (TextColumn("{task.description:<22}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    began = time.monotonic()
    bars: dict[str, TaskID] = {}
    progress = Progress(*columns, console=Console(stderr=True), transient=True)

    def report(step: str, done: int, total: int) -> None:
        if time.monotonic() - began < _PATIENCE:
            return
        if not bars:
            progress.start()
        if step not in bars:
            bars[step] = progress.add_task(step, total=total)
        progress.update(bars[step], completed=done, total=total)

    try:
        yield report
    finally:
        if bars:
            progress.stop()
