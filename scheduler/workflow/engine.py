"""Plays a placement of a workflow off line: what runs where and when, and what dies for lack of memory.

Not `cosim.engine`: that one counts whole, equal nodes, knows no dependencies, and gives each job one fixed length, in
compiled code. Here tasks share nodes, wait for each other, and slow each other down while they run.

Two kinds of runs:

- *managed*: the placement has said how much of the task is far; the node agent keeps it there, and the run has a known
  length. A placement that gives out more than a node has is a defect, and raises.
- *unmanaged*: nobody has decided. A task holds half of its memory until half of its work is done and all of it from
  then on. What the node's tasks hold beyond its DRAM is far, for all of them in proportion, and all of them slow down.
  Where DRAM and far memory together are not enough, the task that asks for its second half dies and loses its work.

Nodes may be taken away for a while, as by a job that cannot wait: tasks there start again from nothing.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from scheduler.workflow import speed
from scheduler.workflow.loads import Load, Run
from scheduler.workflow.model import Task, Workflow
from scheduler.workflow.site import Site

_HALF = 0.5
"""Of an unmanaged task's memory, held until half of its work is done: it grows while it works."""


@dataclass(frozen=True)
class Ran:
    """A run that came to its end.

    Attributes
    ----------
    task, node : int
        Places in the workflow and in the site.
    start, end : float
        From when until when [s].
    far : int or None
        How much of its memory was far by decision; None where nobody decided [bytes].
    """

    task: int
    node: int
    start: float
    end: float
    far: int | None


@dataclass(frozen=True)
class Played:
    """What happened.

    Attributes
    ----------
    runs : tuple of Ran
        One for each task, in order of their ends.
    failures : tuple of (int, float)
        Tasks that died for lack of memory, and when [s].
    interrupted : int
        Runs that were stopped because their node was taken.
    makespan : float
        When the last task ended [s].
    """

    runs: tuple[Ran, ...]
    failures: tuple[tuple[int, float], ...]
    interrupted: int
    makespan: float


class Strategy(Protocol):
    """Decides what starts."""

    def choose(self, engine: Engine, fresh: Sequence[int], changed: Sequence[int]) -> None:
        """Start what is to start now, by `Engine.start`.

        Parameters
        ----------
        engine : Engine
            Time and nodes.
        fresh : sequence of int
            Tasks that have become ready since the last call, those that have to start anew among them.
        changed : sequence of int
            Nodes that gave something back since.
        """
        ...


@dataclass(frozen=True)
class Absence:
    """A node that is taken from `start` to `end` [s]; which one, the engine chooses: where the least work is lost."""

    start: float
    end: float


class Engine:
    """Plays one workflow on one site.

    Parameters
    ----------
    workflow : Workflow
        The tasks.
    site : Site
        The nodes.
    absences : sequence of Absence
        Nodes that are taken away.
    """

    def __init__(self, workflow: Workflow, site: Site, absences: Sequence[Absence] = ()) -> None:
        self.workflow, self.site = workflow, site
        self.tasks: tuple[Task, ...] = workflow.tasks
        self.now = 0.0
        self.loads = [Load(node) for node in site.nodes]
        self.failed: set[int] = set()
        self._events: list[tuple[float, int, Run | Absence | int, int]] = []
        self._count = itertools.count()
        self._waiting = [workflow.graph.in_degree(place) for place in range(len(self.tasks))]
        self._done: list[Ran] = []
        self._failures: list[tuple[int, float]] = []
        self._interrupted = 0
        self._fresh = [place for place, above in enumerate(self._waiting) if above == 0]
        self._changed: dict[int, None] = {}
        for absence in absences:
            self._push(absence.start, absence)

    def play(self, strategy: Strategy) -> Played:
        """Play until all tasks have ended.

        Raises
        ------
        RuntimeError
            Where the strategy starts nothing although nothing runs: a defect of the strategy.
        """
        self._changed = dict.fromkeys(range(len(self.loads)))
        while len(self._done) < len(self.tasks):
            fresh, self._fresh = self._fresh, []
            changed, self._changed = list(self._changed), {}
            strategy.choose(self, fresh, changed)
            if not self._events:
                raise RuntimeError(f"{len(self.tasks) - len(self._done)} tasks wait, and nothing runs")
            self._step()
        makespan = max((run.end for run in self._done), default=0.0)
        return Played(tuple(self._done), tuple(self._failures), self._interrupted, makespan)

    def share_needed(self, task: Task, load: Load) -> int:
        """Return how much shared data has to come to a node for a task [bytes]."""
        return self.workflow.shares[task.share] if task.share and not load.users[task.share] else 0

    def fetch_seconds(self, task: Task, load: Load) -> float:
        """Return how long fetching a task's image to a node takes [s]."""
        if not task.container or task.container in load.images:
            return 0.0
        return self.workflow.containers.get(task.container, 0) / self.site.fetch_rate

    def start(self, place: int, number: int, far: int | None) -> None:
        """Start a task on a node, now.

        Parameters
        ----------
        place, number : int
            The task and the node.
        far : int or None
            How much of it is far [bytes]; None to leave that to the kernel.
        """
        task, load = self.tasks[place], self.loads[number]
        if not load.open:
            raise RuntimeError(f"the placement uses node {load.node.name} while it is away")
        fetch = self.fetch_seconds(task, load)
        if task.container:
            load.images.add(task.container)
        run = Run(place, number, self.now, far)
        if far is not None:
            run.near = task.memory - far
            load.dram -= run.near + self.share_needed(task, load)
            load.far -= far
        load.cpus -= task.cpus
        load.bandwidth += task.tier_class == "bandwidth"
        load.users[task.share] += bool(task.share)
        load.runs[place] = run
        if far is None:
            run.left, run.half, run.since = task.seconds + fetch, task.seconds * _HALF, self.now
            run.held = math.ceil(task.memory * _HALF)
            self._replan(load)
            return
        if min(load.dram, load.far, load.cpus) < 0:
            raise RuntimeError(f"the placement gives out more than node {load.node.name} has")
        share = far / task.memory if task.memory else 0.0
        self._push(self.now + fetch + task.seconds * speed.managed(task.tier_class, share), run)

    def _push(self, time: float, what: Run | Absence | int, version: int = 0) -> None:
        heapq.heappush(self._events, (time, next(self._count), what, version))

    def _step(self) -> None:
        """Carry out all events of the next moment."""
        self.now = self._events[0][0]
        while self._events and self._events[0][0] <= self.now:
            _, _, what, version = heapq.heappop(self._events)
            if isinstance(what, Absence):
                self._take(what)
            elif isinstance(what, int):
                self.loads[what].open = True
                self._changed[what] = None
            elif what.version == version:
                self._of_run(what)

    def _of_run(self, run: Run) -> None:
        """Let a run end, or ask for its second half, or die of asking."""
        load, task = self.loads[run.node], self.tasks[run.task]
        if run.far is None and run.held < task.memory:
            missing = task.memory - run.held
            if self._held(load) + missing <= load.node.dram + load.node.far:
                run.held = task.memory
                self._replan(load)
                return
            self._leave(run)
            self._failures.append((run.task, self.now))
            self.failed.add(run.task)
            self._fresh.append(run.task)
            return
        self._leave(run)
        self._done.append(Ran(run.task, run.node, run.start, self.now, run.far))
        for child in self.workflow.graph.successors(run.task):
            self._waiting[child] -= 1
            if self._waiting[child] == 0:
                self._fresh.append(child)

    def _leave(self, run: Run) -> None:
        load, task = self.loads[run.node], self.tasks[run.task]
        run.version = -1
        del load.runs[run.task]
        load.cpus += task.cpus
        load.bandwidth -= task.tier_class == "bandwidth"
        load.users[task.share] -= bool(task.share)
        self._changed[run.node] = None
        if run.far is None:
            self._replan(load)
            return
        load.dram += run.near + self.share_needed(task, load)
        load.far += run.far

    def _take(self, absence: Absence) -> None:
        """Take the node on which the least work is lost, ties to the first; none where all are away."""
        there = [number for number, load in enumerate(self.loads) if load.open]
        if not there:
            return

        def lost(number: int) -> float:
            runs = self.loads[number].runs.values()
            return sum((self.now - run.start) * self.tasks[run.task].cpus for run in runs)

        number = min(there, key=lost)
        load = self.loads[number]
        for run in list(load.runs.values()):
            self._leave(run)
            self._fresh.append(run.task)
            self._interrupted += 1
        load.open = False
        self._push(max(absence.end, self.now), number)

    def _held(self, load: Load) -> int:
        shared = sum(self.workflow.shares[name] for name, users in load.users.items() if name and users > 0)
        return shared + sum(run.held for run in load.runs.values())

    def _replan(self, load: Load) -> None:
        """Give the unmanaged runs of a node their new speed, and plan what each does next."""
        held = self._held(load)
        far = max(0, held - load.node.dram) / held if held else 0.0
        slowed = speed.unmanaged(min(1.0, far))
        crowd = max(1.0, load.bandwidth / self.site.bandwidth_tasks)
        for run in load.runs.values():
            task = self.tasks[run.task]
            run.left = max(0.0, run.left - (self.now - run.since) * run.rate)
            run.since = self.now
            run.rate = 1.0 / (slowed * (crowd if task.tier_class == "bandwidth" else 1.0))
            run.version += 1
            until = run.left - run.half if run.held < task.memory else run.left
            self._push(self.now + max(0.0, until) / run.rate, run, run.version)
