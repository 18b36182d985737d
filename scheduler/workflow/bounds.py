"""How soon a workflow can be done at best: no placement finishes before the largest of these bounds."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from scheduler.workflow import speed
from scheduler.workflow.analysis import earliest_starts, tails
from scheduler.workflow.model import Workflow
from scheduler.workflow.site import Site

Floats = npt.NDArray[np.float64]

_GRID = 400
"""Heads and tails that are told apart; in larger workflows they are rounded down to so many, which keeps the bound."""

_ROUNDINGS = range(1, 9)

_AT_ONCE, _CUTS = (1, 2, 3, 4, 5, 6, 8, 12, 16, 24, 32, 48, 64), 16
"""Tasks of which so many fit on a node at once, and so many heads and tails, are tried for the bound by rounds."""


def lower_bound(workflow: Workflow, site: Site) -> float:
    """Return a time before which the workflow cannot be done [s].

    Three kinds of bounds, and the largest holds. The longest path. And for any head h and tail q: the tasks that can
    neither start before h nor end later than q before the end need memory and processors for their run time, and all
    nodes together have only so much of both; so the whole takes h + (what they need) / (what there is) + q at least.

    Far memory counts for what it is worth: a task that is wholly far runs (1 + slope) times as long, so far memory
    does at most 1 / (1 + slope) of what as much DRAM does, with the least slope of the tasks.

    And of tasks of which at most k run at once, a schedule is one of k machines; so of the k * r + 1 longest some
    machine runs r + 1, which takes at least as long as the r + 1 shortest of them.

    Where tasks are large, areas say too little, as three tasks of two fifths do not fit on two nodes at once. For this
    sizes are rounded by the dual feasible functions of Fekete and Schepers (2001).

    Parameters
    ----------
    workflow : Workflow
        The tasks; their shared data and images count for nothing here.
    site : Site
        The nodes.

    Returns
    -------
    float
        The bound; 0 for an empty workflow.
    """
    if not workflow.tasks:
        return 0.0
    seconds = np.array([task.seconds for task in workflow.tasks])
    heads = np.array(earliest_starts(workflow))
    below = np.maximum(np.array(tails(workflow)) - seconds, 0.0)
    longest = float((heads + seconds + below).max())
    grid = _Grid(heads, below)
    rounds = _rounds(workflow, site, seconds, heads, below)
    return max([longest, rounds, *(grid.bound(area) for area in _areas(workflow, site, seconds))])


class _Grid:
    """The tasks by head and tail."""

    def __init__(self, heads: Floats, below: Floats) -> None:
        self._heads, self._row = _places(heads)
        self._below, self._column = _places(below)

    def bound(self, area: Floats) -> float:
        """Return the largest head + area + tail; `area` is what each task takes of all there is, times seconds."""
        table = np.zeros((len(self._heads), len(self._below)))
        np.add.at(table, (self._row, self._column), area)
        # In each place the sum over all tasks with that head or a later one, and that tail or a longer one.
        table = table[::-1, ::-1].cumsum(0).cumsum(1)[::-1, ::-1]
        return float((table + self._heads[:, None] + self._below[None, :])[table > 0].max(initial=0.0))


def _places(values: Floats) -> tuple[Floats, npt.NDArray[np.int64]]:
    known = np.unique(values)
    if len(known) > _GRID:
        known = known[np.linspace(0, len(known) - 1, _GRID).astype(np.int64)]
    return known, np.searchsorted(known, values, "right") - 1


def _areas(workflow: Workflow, site: Site, seconds: Floats) -> Sequence[Floats]:
    memory = np.array([float(task.memory) for task in workflow.tasks])
    cpus = np.array([float(task.cpus) for task in workflow.tasks])
    dram = float(sum(node.dram for node in site.nodes))
    far = float(sum(node.far for node in site.nodes))
    least = min(speed.slope(task.tier_class) for task in workflow.tasks)
    areas = [
        cpus * seconds / sum(node.cpus for node in site.nodes),
        memory * seconds / (dram + far / (1.0 + least)),
    ]
    bandwidth = np.array([float(task.tier_class == "bandwidth") for task in workflow.tasks])
    areas.append(bandwidth * seconds / (len(site.nodes) * site.bandwidth_tasks))
    largest = max(node.dram + node.far for node in site.nodes)
    sizes = memory / largest
    for k in _ROUNDINGS:
        scaled = sizes * (k + 1)
        exact = np.isclose(scaled, np.round(scaled), rtol=0, atol=1e-9)
        rounded = np.where(exact, np.minimum(sizes, np.round(scaled) / (k + 1)), np.floor(scaled) / k)
        areas.append(rounded * seconds / len(site.nodes))
    return areas


def _rounds(workflow: Workflow, site: Site, seconds: Floats, heads: Floats, below: Floats) -> float:
    memory = np.array([float(task.memory) for task in workflow.tasks])
    cpus = np.array([float(task.cpus) for task in workflow.tasks])
    best = 0.0
    for at_once in _AT_ONCE:
        crowded = [
            (memory * (at_once + 1) > max(node.dram + node.far for node in site.nodes)),
            (cpus * (at_once + 1) > max(node.cpus for node in site.nodes)),
        ]
        for large in crowded:
            for head in _some(heads[large]):
                for tail in _some(below[large & (heads >= head)]):
                    chosen = large & (heads >= head) & (below >= tail)
                    whole = float(head) + _machines(seconds[chosen], at_once * len(site.nodes)) + float(tail)
                    best = max(best, whole)
    return best


def _some(values: Floats) -> Floats:
    known = np.unique(values)
    return known[np.linspace(0, len(known) - 1, _CUTS).astype(np.int64)] if len(known) > _CUTS else known


def _machines(seconds: Floats, machines: int) -> float:
    """Return the least time in which so many machines run these tasks, or less."""
    falling = np.sort(seconds)[::-1]
    sums = np.concatenate(([0.0], np.cumsum(falling)))
    rounds = np.arange(1, (len(falling) - 1) // machines + 1)
    ends = machines * rounds + 1
    return float((sums[ends] - sums[ends - rounds - 1]).max(initial=0.0))
