"""A kernel that is looked at and not changed: each act is logged, in words, and answered as if it had been done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from memory_tiers.kernel.real import RealKernel
from memory_tiers.kernel.types import Advice, Advised, Process, Ranges


class DryRunKernel(RealKernel):
    """The real kernel, of which nothing is asked that would change anything.

    Parameters
    ----------
    log : callable
        Takes one line for each act.
    """

    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log

    def advise(self, process: Process, ranges: Ranges, advice: Advice) -> Advised:
        """Log the advice."""
        asked = int(ranges[:, 1].sum())
        self._log(f"would advise {advice.name} on {asked} bytes in {len(ranges)} ranges of process {process.pid}")
        return Advised(asked, asked)

    def populate(self, process: Process, ranges: Ranges) -> Advised:
        """Log the mapping."""
        asked = int(ranges[:, 1].sum())
        self._log(f"would map {asked} bytes in {len(ranges)} ranges of process {process.pid}")
        return Advised(asked, asked)

    def set_limit(self, group: Path, limit: int | None) -> int:
        """Log the limit."""
        self._log(f"would set the limit of {group} to {'none' if limit is None else f'{limit} bytes'}")
        return 0

    def protect(self, group: Path, amount: int) -> int:
        """Log the protection."""
        self._log(f"would protect {amount} bytes of {group}")
        return 0
