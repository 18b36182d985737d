"""Ways to place tasks as they become ready: by dependencies alone, with a node each, by list, or by a fixed plan."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

from scheduler.workflow import speed
from scheduler.workflow.analysis import tails
from scheduler.workflow.engine import Engine
from scheduler.workflow.loads import Load
from scheduler.workflow.model import Task, Workflow
from scheduler.workflow.site import Site, least_far, most_far

RULES = ("path", "area", "longest", "memory")
"""What goes first: the longest path to the end, memory times time, run time, or memory."""

_DEPTH = 64
"""Ready tasks that are looked at in a large workflow whenever something comes free; in a small one it is all."""
_SMALL = 3000


class Dependency:
    """First ready, first served, on the node with the most free processors; memory plays no part.

    As Slurm does it where nobody says `--mem`. A task that died for lack of memory is tried again with a node to
    itself, which its user would ask for; without that some would never end.
    """

    def __init__(self) -> None:
        self._queue: deque[int] = deque()
        self._alone: deque[int] = deque()

    def choose(self, engine: Engine, fresh: Sequence[int], changed: Sequence[int]) -> None:  # noqa: ARG002
        """See `engine.Strategy`."""
        for place in fresh:
            (self._alone if place in engine.failed else self._queue).append(place)
        kept = self._keep_free(engine)
        while self._queue:
            task = engine.tasks[self._queue[0]]
            fitting = [
                number
                for number, load in enumerate(engine.loads)
                if load.open and number != kept and load.cpus >= task.cpus and not self._held_alone(engine, load)
                if least_far(task, engine.workflow.shares.get(task.share, 0), load.node) is not None
            ]
            if not fitting:
                return
            engine.start(self._queue.popleft(), max(fitting, key=lambda number: engine.loads[number].cpus), None)

    @staticmethod
    def _held_alone(engine: Engine, load: Load) -> bool:
        return any(place in engine.failed for place in load.runs)

    def _keep_free(self, engine: Engine) -> int | None:
        """Start what wants a node to itself where one is empty; else return the node that is to become empty."""
        while self._alone:
            task = engine.tasks[self._alone[0]]
            extra = engine.workflow.shares.get(task.share, 0)
            numbers = [
                number
                for number, load in enumerate(engine.loads)
                if load.open and least_far(task, extra, load.node) is not None
            ]
            if not numbers:
                return None
            least = min(numbers, key=lambda number: len(engine.loads[number].runs))
            if engine.loads[least].runs:
                return least
            engine.start(self._alone.popleft(), least, None)
        return None


class Exclusive:
    """One node each: nothing is shared, so nothing dies; what a user does who wants to be safe."""

    def __init__(self) -> None:
        self._queue: deque[int] = deque()

    def choose(self, engine: Engine, fresh: Sequence[int], changed: Sequence[int]) -> None:  # noqa: ARG002
        """See `engine.Strategy`."""
        self._queue.extend(fresh)
        empty = [number for number, load in enumerate(engine.loads) if load.open and not load.runs]
        waiting: deque[int] = deque()
        while self._queue and empty:
            place = self._queue.popleft()
            task = engine.tasks[place]
            extra = engine.workflow.shares.get(task.share, 0)
            found = [(number, least_far(task, extra, engine.loads[number].node)) for number in empty]
            fits = [(far, number) for number, far in found if far is not None]
            if not fits:
                waiting.append(place)
                continue
            far, number = min(fits)
            empty.remove(number)
            engine.start(place, number, far)
        self._queue.extendleft(reversed(waiting))


@dataclass(frozen=True)
class Choice:
    """How the list scheduler is to choose.

    Attributes
    ----------
    rule : str
        One of `RULES`.
    far_limit : float
        A task may take far memory that it could do without where that slows it down by no more than this.
    spread : bool
        Whether to prefer the node with the most free DRAM; else the one with the least that suffices.
    """

    rule: str = "path"
    far_limit: float = 1.0
    spread: bool = True


class ListScheduler:
    """The list scheduler: ready tasks in a fixed order of urgency, each where it ends soonest and fits.

    Like HEFT (Topcuoglu, Hariri, Wu, 2002) it goes by the longest path below a task and by the earliest end; it
    decides when nodes come free, not in advance, so real run times are taken as they come.

    Parameters
    ----------
    workflow : Workflow
        The tasks.
    choice : Choice
        How to choose.
    """

    def __init__(self, workflow: Workflow, choice: Choice) -> None:
        self._order = urgency(workflow, choice.rule)
        self._choice = choice
        self._ready: list[tuple[float, int]] = []
        self._untried: set[int] = set()
        self._depth = len(workflow.tasks) if len(workflow.tasks) <= _SMALL else _DEPTH

    def choose(self, engine: Engine, fresh: Sequence[int], changed: Sequence[int]) -> None:
        """See `engine.Strategy`."""
        self._untried.update(fresh)
        for place in fresh:
            heapq.heappush(self._ready, (self._order[place], place))
        # What waited before was refused by all other nodes, and they have no more than they had then.
        freed = [number for number in changed if engine.loads[number].open]
        every = [number for number, load in enumerate(engine.loads) if load.open] if self._untried else []
        refused: list[tuple[float, int]] = []
        while self._ready and len(refused) < self._depth:
            if not any(engine.loads[number].cpus for number in (every or freed)):
                break
            entry = heapq.heappop(self._ready)
            place = entry[1]
            found = self._best(engine, engine.tasks[place], every if place in self._untried else freed)
            self._untried.discard(place)
            if found is None:
                refused.append(entry)
            else:
                engine.start(place, *found)
        for entry in refused:
            heapq.heappush(self._ready, entry)

    def _best(self, engine: Engine, task: Task, numbers: Sequence[int]) -> tuple[int, int] | None:
        best: tuple[float, float, int, int] | None = None
        for number in numbers:
            load = engine.loads[number]
            if load.cpus < task.cpus:
                continue
            if task.tier_class == "bandwidth" and load.bandwidth >= engine.site.bandwidth_tasks:
                continue
            extra = engine.share_needed(task, load)
            far = self._far(task, extra, load)
            if far is None:
                continue
            slowed = speed.managed(task.tier_class, far / task.memory) if task.memory else 1.0
            ends = engine.fetch_seconds(task, load) + task.seconds * slowed
            rest = load.dram - extra - (task.memory - far)
            entry = (ends, extra - rest if self._choice.spread else extra + rest, number, far)
            if best is None or entry < best:
                best = entry
        return None if best is None else best[2:]

    def _far(self, task: Task, extra: int, load: Load) -> int | None:
        """Return how much of a task would be far on a node as it is; None where it has to wait."""
        least = least_far(task, extra, load.node)
        if least is None or load.dram < extra:
            return None
        far = max(least, task.memory - (load.dram - extra))
        if far > min(load.far, most_far(task, load.node)):
            return None
        if far > least:
            # More than it needs: only to start sooner, and only where the class bears it.
            slowed = speed.managed(task.tier_class, far / task.memory)
            if task.tier_class == "latency" or slowed > self._choice.far_limit:
                return None
        return far


def urgency(workflow: Workflow, rule: str) -> list[float]:
    """Return each task's place in the order of urgency, the most urgent with the least number."""
    if rule == "path":
        return [-one for one in tails(workflow)]
    if rule == "area":
        return [-float(task.memory) * task.seconds for task in workflow.tasks]
    if rule == "longest":
        return [-task.seconds for task in workflow.tasks]
    return [-float(task.memory) for task in workflow.tasks]


@dataclass(frozen=True)
class Assigned:
    """Where a plan has a task run: place of the task, its node, its start [s] and its far memory [bytes]."""

    task: int
    node: int
    start: float
    far: int


class Fixed:
    """Carries out a plan: each node starts its tasks in the plan's order, each as soon as it can.

    Once a node is taken away, the plan is void: the list scheduler goes on from there.
    """

    def __init__(self, workflow: Workflow, plan: Sequence[Assigned]) -> None:
        self._plan = {one.task: one for one in plan}
        self._queues: dict[int, deque[Assigned]] = {}
        for one in sorted(plan, key=lambda one: (one.start, one.task)):
            self._queues.setdefault(one.node, deque()).append(one)
        self._ready: set[int] = set()
        self._after = ListScheduler(workflow, Choice())
        self._void = False

    def choose(self, engine: Engine, fresh: Sequence[int], changed: Sequence[int]) -> None:
        """See `engine.Strategy`."""
        if not self._void and not all(load.open for load in engine.loads):
            self._void = True
            fresh = [*self._ready, *(place for place in fresh if place not in self._ready)]
            changed = range(len(engine.loads))
        if self._void:
            self._after.choose(engine, fresh, changed)
            return
        self._ready.update(fresh)
        for number, queue in self._queues.items():
            load = engine.loads[number]
            while queue and queue[0].task in self._ready and self._fits(engine, queue[0], load):
                one = queue.popleft()
                self._ready.discard(one.task)
                engine.start(one.task, number, one.far)

    @staticmethod
    def _fits(engine: Engine, one: Assigned, load: Load) -> bool:
        task = engine.tasks[one.task]
        near = task.memory - one.far + engine.share_needed(task, load)
        crowded = task.tier_class == "bandwidth" and load.bandwidth >= engine.site.bandwidth_tasks
        return near <= load.dram and one.far <= load.far and task.cpus <= load.cpus and not crowded


def choices(workflow: Workflow, site: Site) -> list[Choice]:
    """Return the choices that are worth trying: many for a small workflow, one for a large one."""
    limits = (1.0, 2.0, 4.0) if any(node.far for node in site.nodes) else (1.0,)
    every = [
        Choice(rule, limit, spread)
        for rule in RULES
        for limit in limits
        for spread in ((True, False) if len(site.nodes) > 1 else (True,))
    ]
    affordable = max(1, 6000 // max(1, len(workflow.tasks)))
    return every[:affordable]
