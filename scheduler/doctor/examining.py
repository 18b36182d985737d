"""Look at a node, all families at once and each with a time limit, and judge what was found."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from scheduler.doctor.checks import flags as flags_checks
from scheduler.doctor.checks import host as host_checks
from scheduler.doctor.checks import node as node_checks
from scheduler.doctor.checks import service as service_checks
from scheduler.doctor.checks import slurm as slurm_checks
from scheduler.doctor.facts import flags, host, node, service, slurm
from scheduler.doctor.facts.place import Place
from scheduler.doctor.finding import FAIL, LEVELS, WARN, Check, Finding
from scheduler.slurm.running import one_line

PATIENCE = 45.0
"""Within which all of it ends [s]: a file system or a Slurm that hangs is a finding."""


@dataclass(frozen=True)
class Family:
    """Facts of one kind, and what judges them.

    Attributes
    ----------
    name : str
        What they are about.
    gather : callable
        Looks; may take time, and may fail.
    checks : sequence of Check
        Judge what it returns.
    """

    name: str
    gather: Callable[[Place], Any]
    checks: Sequence[Check[Any]]


FAMILIES = (
    Family("machine", host.gather, host_checks.CHECKS),
    Family("slurm", slurm.gather, slurm_checks.CHECKS),
    Family("flags", flags.gather, flags_checks.CHECKS),
    Family("service", service.gather, service_checks.CHECKS),
    Family("node", node.gather, node_checks.CHECKS),
)
"""All that is looked at, in the order of the report."""


@dataclass(frozen=True)
class Report:
    """What was found.

    Attributes
    ----------
    roles : tuple of str
        What the node is.
    findings : tuple of (str, Finding)
        By the check's name, in order.
    """

    roles: tuple[str, ...]
    findings: tuple[tuple[str, Finding], ...]

    @property
    def fails(self) -> bool:
        """Whether something that should work does not."""
        return any(finding.level == FAIL for _, finding in self.findings)

    def counts(self) -> dict[str, int]:
        """Return how many findings there are of each level."""
        return {level: sum(finding.level == level for _, finding in self.findings) for level in LEVELS}


def examine(place: Place, families: Sequence[Family] = FAMILIES, patience: float = PATIENCE) -> Report:
    """Look at a node.

    Parameters
    ----------
    place : Place
        Where to look, and as what.
    families : sequence of Family
        What to look at.
    patience : float
        Within which all of it ends [s].

    Returns
    -------
    Report
        All that has to be said; it takes no longer than `patience`, and raises nothing.
    """
    wanted = [family for family in families if any(check.roles & place.roles for check in family.checks)]
    lookers = [_Looker(family, place) for family in wanted]
    deadline = time.monotonic() + patience
    found: list[tuple[str, Finding]] = []
    for looker in lookers:
        looker.join(max(0.0, deadline - time.monotonic()))
        found += looker.judged(place.roles, patience)
    return Report(tuple(sorted(place.roles)), tuple(found))


class _Looker(threading.Thread):
    """Gathers one family's facts; a daemon, since what hangs in the kernel cannot be ended."""

    def __init__(self, family: Family, place: Place) -> None:
        super().__init__(daemon=True)
        self._family, self._place = family, place
        self._facts: Any = None
        self._problem = ""
        self.start()

    def run(self) -> None:
        """Gather; whatever goes wrong is kept for the report."""
        try:
            self._facts = self._family.gather(self._place)
        except Exception as error:
            self._problem = one_line(f"{type(error).__name__}: {error}")

    def judged(self, roles: frozenset[str], patience: float) -> list[tuple[str, Finding]]:
        """Return what the checks say, or the one finding that the facts are not known."""
        if self._facts is None:
            why = self._problem or f"no answer within {patience:g} s"
            costs = "what depends on it is left out"
            return [(self._family.name, Finding(WARN, f"cannot be looked at: {why}", costs))]
        seen = [(check.name, check.look(self._facts)) for check in self._family.checks if check.roles & roles]
        return [(name, finding) for name, finding in seen if finding is not None]
