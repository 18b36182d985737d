"""Nodes that fail and come back: read from a file, and carried out in replayed time."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from cosim.machine import Machine
from cosim.on_demand import OnDemand
from traces.errors import InputError

HEADER = ("start", "end", "nodes")
"""The columns of a file of outages; times are on the trace's clock [s]."""

_BEFORE_ALL_JOBS = -(1 << 62)  # owners of outages in the calendar: below those of planned starts


@dataclass(frozen=True)
class Outage:
    """Some nodes that are down for a while.

    Attributes
    ----------
    start, end : float
        From when until when [s].
    nodes : int
        How many.
    """

    start: float
    end: float
    nodes: int


def read(path: Path) -> tuple[Outage, ...]:
    """Read a file of outages: CSV with the columns `start`, `end` and `nodes`.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    tuple of Outage
        In order of their starts.

    Raises
    ------
    InputError
        Where the file cannot be read or a line is not an outage.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as a CSV file of outages: {error}") from None
    if not lines or tuple(name.strip() for name in lines[0].split(",")) != HEADER:
        raise InputError(f"{path}:1: expected the header {','.join(HEADER)}")
    rows = csv.reader(lines[1:])
    found = [_outage(row, f"{path}:{number}") for number, row in enumerate(rows, start=2) if row]
    return tuple(sorted(found, key=lambda outage: outage.start))


def _outage(row: list[str], where: str) -> Outage:
    try:
        start, end, nodes = float(row[0]), float(row[1]), int(row[2])
    except (ValueError, IndexError):
        raise InputError(f"{where}: {','.join(row)!r} is no outage; expected START,END,NODES, times in s") from None
    if not (math.isfinite(start) and start < end < math.inf) or nodes < 1 or len(row) > len(HEADER):
        raise InputError(f"{where}: {','.join(row)!r}: expected START < END, both finite [s], and at least 1 node")
    return Outage(start, end, nodes)


@dataclass
class OutageClock:
    """Carries outages out.

    Which nodes fail is drawn: each node that is up is as likely as any other, so a job is hit by its share of the
    machine. A job that loses a node is requeued with what its newest checkpoint holds, whoever it belongs to. The
    scheduler knows when the nodes will be back, as from a maintenance window.

    Attributes
    ----------
    machine : Machine
        The replayed machine.
    on_demand : OnDemand or None
        Whose held nodes may fail too.
    outages : tuple of Outage
        In order of their starts.
    rng : numpy.random.Generator
        Which nodes fail.
    """

    machine: Machine
    on_demand: OnDemand | None
    outages: tuple[Outage, ...]
    rng: np.random.Generator
    _due: Iterator[tuple[float, int]] = field(init=False)
    _next: tuple[float, int] | None = field(init=False)
    _down: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        starts = [(outage.start, k) for k, outage in enumerate(self.outages)]
        ends = [(outage.end, -k - 1) for k, outage in enumerate(self.outages)]
        self._due = iter(sorted(starts + ends))
        self._next = next(self._due, None)

    @property
    def next_time(self) -> float:
        """When the next outage begins or ends, infinite for never [s]."""
        return self._next[0] if self._next else math.inf

    def step(self) -> None:
        """Begin and end the outages that are due."""
        while self._next and self._next[0] <= self.machine.now:
            key = self._next[1]
            if key >= 0:
                self._begin(key)
            else:
                self._end(-key - 1)
            self._next = next(self._due, None)

    def _begin(self, k: int) -> None:
        held = self.on_demand.held_nodes() if self.on_demand else []
        running = self.machine.running
        counts = np.array([self.machine.free, *held, *self.machine.jobs["nodes"][running]], np.int64)
        down = min(self.outages[k].nodes, int(counts.sum()))
        if down == 0:
            return
        hit = self.rng.multivariate_hypergeometric(counts, down, method="marginals")
        for plan, nodes in enumerate(hit[1 : 1 + len(held)]):
            if self.on_demand and nodes:
                self.on_demand.lose_held(plan, int(nodes))
                self.machine.hold(-int(nodes))
        for j in running[hit[1 + len(held) :] > 0].tolist():
            self.machine.interrupt(j, "outage")
            if self.on_demand and self.machine.jobs["on_demand"][j]:
                self.on_demand.strand(j)
        self.machine.hold(down)
        self._down[k] = down
        self.machine.expect(self.outages[k].end, down, _BEFORE_ALL_JOBS + k)

    def _end(self, k: int) -> None:
        down = self._down.pop(k, 0)
        if down:
            self.machine.forget(self.outages[k].end, _BEFORE_ALL_JOBS + k)
            self.machine.hold(-down)
