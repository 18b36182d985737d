"""Improves a placement by OR-Tools CP-SAT within a time budget, and proves how far from the optimum it can be.

Each task has one optional interval for each node and each of a few shares of far memory; on each node DRAM, far
memory, processors and bandwidth-bound tasks are cumulative. The list scheduler's placement is the hint, so the answer
is never worse. Times are milliseconds, as instances have them.

Shared data and images are not in the model: each task brings its own share of both, which is safe. Where there are
any, what CP-SAT proves is no bound on what sharing could reach, and is not reported as one.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ortools.sat.python import cp_model

from scheduler.workflow import speed
from scheduler.workflow.model import Task, Workflow
from scheduler.workflow.site import Node, Site, least_far, most_far
from scheduler.workflow.strategies import Assigned

_TICKS = 1000
_SHARES = (0.25, 0.5, 1.0)
"""Far shares that are tried beyond the least that a task needs."""
MOST_WAYS = 20_000
"""Ways of running all tasks, over nodes and far shares: beyond it the model is not built."""
_MEMORY_UNITS = 1_000_000
_LARGEST = 1 << 60
"""Memory times time that a solver of 63 bits can still count exactly."""
_SEED = 1


@dataclass(frozen=True)
class Solved:
    """What CP-SAT found.

    Attributes
    ----------
    plan : tuple of Assigned
        Where and when each task runs; empty where it found nothing better than was known.
    bound : float
        No placement without sharing finishes sooner; 0 where nothing was proven [s].
    """

    plan: tuple[Assigned, ...]
    bound: float


@dataclass(frozen=True)
class _Way:
    """One way of running a task: on a node, with some memory far, in so many ticks."""

    node: int
    far: int
    ticks: int
    near: int


def improve(workflow: Workflow, site: Site, known: Sequence[Assigned], *, bound: float, budget: float) -> Solved:
    """Look for a shorter placement.

    Parameters
    ----------
    workflow : Workflow
        The tasks.
    site : Site
        The nodes.
    known : sequence of Assigned
        A placement to begin with, of all tasks.
    bound : float
        A lower bound that is known [s].
    budget : float
        Seconds that may be spent.

    Returns
    -------
    Solved
        Not worse than what is known.
    """
    ways = [_ways(workflow, task, site) for task in workflow.tasks]
    if not workflow.tasks or sum(map(len, ways)) > MOST_WAYS:
        return Solved((), 0.0)
    # The list scheduler's own far sizes may be none of the few: they are ways, too.
    for one in known:
        task = workflow.tasks[one.task]
        near = task.memory - one.far + workflow.shares.get(task.share, 0)
        way = _Way(one.node, one.far, _ticks(workflow, task, one.far, site), near)
        if way not in ways[one.task]:
            ways[one.task].append(way)
    model = _Model(workflow, site, ways, horizon=_horizon(ways))
    model.hint(known)
    model.at_least(math.floor(bound * _TICKS) - len(workflow.tasks))
    return model.solve(budget)


def _ticks(workflow: Workflow, task: Task, far: int, site: Site) -> int:
    fetch = workflow.containers.get(task.container, 0) / site.fetch_rate
    slowed = speed.managed(task.tier_class, far / task.memory) if task.memory else 1.0
    return round((fetch + task.seconds * slowed) * _TICKS)


def _ways(workflow: Workflow, task: Task, site: Site) -> list[_Way]:
    extra = workflow.shares.get(task.share, 0)
    found: list[_Way] = []
    for number, node in enumerate(site.nodes):
        for far in _far_sizes(task, extra, node):
            found.append(_Way(number, far, _ticks(workflow, task, far, site), task.memory - far + extra))
    return found


def _far_sizes(task: Task, extra: int, node: Node) -> list[int]:
    least = least_far(task, extra, node)
    if least is None:
        return []
    if task.tier_class == "latency" or not node.far:
        return [least]
    most = most_far(task, node)
    return [least, *(round(task.memory * share) for share in _SHARES if least < round(task.memory * share) <= most)]


def _horizon(ways: Sequence[Sequence[_Way]]) -> int:
    return sum(max(way.ticks for way in of_task) for of_task in ways) + 1


class _Model:
    """The constraints, and the way from the solver's numbers back to a plan."""

    def __init__(self, workflow: Workflow, site: Site, ways: Sequence[Sequence[_Way]], horizon: int) -> None:
        self._workflow, self._site, self._ways = workflow, site, ways
        self._horizon, self._rounded = horizon, False
        self._model = model = cp_model.CpModel()
        self._starts = [model.new_int_var(0, horizon, "") for _ in ways]
        self._ends = [model.new_int_var(0, horizon, "") for _ in ways]
        self._chosen = [[model.new_bool_var("") for _ in of_task] for of_task in ways]
        self._end = model.new_int_var(0, horizon, "")
        on_node: list[list[tuple[cp_model.IntervalVar, Task, _Way]]] = [[] for _ in site.nodes]
        for task, start, end, of_task, chosen in zip(
            workflow.tasks, self._starts, self._ends, ways, self._chosen, strict=True
        ):
            model.add_exactly_one(chosen)
            for way, taken in zip(of_task, chosen, strict=True):
                interval = model.new_optional_interval_var(start, way.ticks, end, taken, "")
                on_node[way.node].append((interval, task, way))
        for above, below in workflow.graph.edges:
            model.add(self._ends[above] <= self._starts[below])
        for node, listed in zip(site.nodes, on_node, strict=True):
            self._capacities(node, listed)
        model.add_max_equality(self._end, self._ends)
        model.minimize(self._end)

    def _capacities(self, node: Node, listed: Sequence[tuple[cp_model.IntervalVar, Task, _Way]]) -> None:
        intervals = [interval for interval, _, _ in listed]
        unit = math.gcd(*(way.near for _, _, way in listed), *(way.far for _, _, way in listed)) or 1
        if max(node.dram, node.far) // unit * self._horizon >= _LARGEST:
            # Rounded up, sizes are safe to plan with, and what is proven of them is too high to be a bound.
            unit, self._rounded = max(1, max(node.dram, node.far) // _MEMORY_UNITS), True
        near = [-(-way.near // unit) for _, _, way in listed]
        far = [-(-way.far // unit) for _, _, way in listed]
        self._model.add_cumulative(intervals, near, max(node.dram // unit, max(near, default=0)))
        if any(far):
            self._model.add_cumulative(intervals, far, max(node.far // unit, *far))
        self._model.add_cumulative(intervals, [task.cpus for _, task, _ in listed], node.cpus)
        crowd = [interval for interval, task, _ in listed if task.tier_class == "bandwidth"]
        if len(crowd) > self._site.bandwidth_tasks:
            self._model.add_cumulative(crowd, [1] * len(crowd), self._site.bandwidth_tasks)

    def hint(self, known: Sequence[Assigned]) -> None:
        """Give the solver a placement to begin with."""
        for one in known:
            self._model.add_hint(self._starts[one.task], round(one.start * _TICKS))
            for way, taken in zip(self._ways[one.task], self._chosen[one.task], strict=True):
                self._model.add_hint(taken, (way.node, way.far) == (one.node, one.far))

    def at_least(self, ticks: int) -> None:
        """Say that no placement is shorter."""
        self._model.add(self._end >= ticks)

    def solve(self, budget: float) -> Solved:
        """Search for as long as the budget lasts."""
        solver = cp_model.CpSolver()
        solver.parameters.max_time_in_seconds = budget
        solver.parameters.random_seed = _SEED
        status = solver.solve(self._model)
        if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
            return Solved((), 0.0)
        plan = []
        for place, (of_task, chosen) in enumerate(zip(self._ways, self._chosen, strict=True)):
            way = next(way for way, taken in zip(of_task, chosen, strict=True) if solver.value(taken))
            plan.append(Assigned(place, way.node, solver.value(self._starts[place]) / _TICKS, way.far))
        # Each task's time was rounded to a tick, up or down; few far shares were tried, so with far memory the
        # solver's bound is of those shares alone, and is none.
        proven = not any(node.far for node in self._site.nodes) and not self._workflow.shares
        proven = proven and not self._workflow.containers and not self._rounded
        bound = (solver.best_objective_bound - len(plan) / 2) / _TICKS if proven else 0.0
        return Solved(tuple(plan), max(0.0, bound))
