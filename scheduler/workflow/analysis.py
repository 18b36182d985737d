"""What a workflow is like, whatever machine it runs on: its longest path, its width, its memory over time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from scheduler.workflow.model import CLASSES, Workflow


@dataclass(frozen=True)
class Profile:
    """What runs at once when each task starts as soon as its parents have ended, on a machine without bounds.

    Attributes
    ----------
    times : tuple of float
        From each of these on, up to the next [s] ...
    width : tuple of int
        ... so many tasks run ...
    memory : dict of str to tuple of int
        ... and hold so much, by class; shared data counts once, for the class of whom it serves first [bytes].
    """

    times: tuple[float, ...]
    width: tuple[int, ...]
    memory: dict[str, tuple[int, ...]]

    @property
    def peak_memory(self) -> int:
        """The most memory that is held at once [bytes]."""
        return max((sum(held) for held in zip(*self.memory.values(), strict=True)), default=0)

    @property
    def peak_width(self) -> int:
        """The most tasks that run at once."""
        return max(self.width, default=0)


@dataclass(frozen=True)
class Shared:
    """Data that several tasks use.

    Attributes
    ----------
    name : str
        Its name in the workflow.
    bytes : int
        Its size.
    users : int
        Tasks that use it.
    """

    name: str
    bytes: int
    users: int


@dataclass(frozen=True)
class Analysis:
    """All of it.

    Attributes
    ----------
    critical_path : tuple of int
        Places of the tasks on the longest path, in its order.
    critical_seconds : float
        Its length: no machine finishes sooner [s].
    work : float
        Sum of the run times [s].
    profile : Profile
        What runs at once.
    shared : tuple of Shared
        Data used by two tasks or more, the largest saving first.
    """

    critical_path: tuple[int, ...]
    critical_seconds: float
    work: float
    profile: Profile
    shared: tuple[Shared, ...]


def earliest_starts(workflow: Workflow) -> list[float]:
    """Return when each task could start on a machine without bounds [s]."""
    starts = [0.0] * len(workflow.tasks)
    for place in workflow.order():
        above = workflow.parents(place)
        starts[place] = max((starts[one] + workflow.tasks[one].seconds for one in above), default=0.0)
    return starts


def tails(workflow: Workflow) -> list[float]:
    """Return the length of the longest path from the start of each task to the end, itself included [s].

    HEFT's upward rank without communication (Topcuoglu, Hariri, Wu, 2002).
    """
    found = [0.0] * len(workflow.tasks)
    for place in reversed(workflow.order()):
        below = max((found[one] for one in workflow.children(place)), default=0.0)
        found[place] = workflow.tasks[place].seconds + below
    return found


def analyse(workflow: Workflow) -> Analysis:
    """Analyse a workflow.

    Parameters
    ----------
    workflow : Workflow
        The workflow; an empty one has a profile without times.

    Returns
    -------
    Analysis
        Its longest path, width, memory and shared data.
    """
    remaining = tails(workflow)
    path: list[int] = []
    choices: Iterable[int] = [place for place in range(len(workflow.tasks)) if not workflow.parents(place)]
    while choices := list(choices):
        path.append(max(choices, key=lambda place: (remaining[place], -place)))
        choices = workflow.children(path[-1])
    return Analysis(
        tuple(path),
        remaining[path[0]] if path else 0.0,
        sum(task.seconds for task in workflow.tasks),
        profile(workflow, earliest_starts(workflow)),
        _shared(workflow),
    )


def profile(workflow: Workflow, starts: list[float]) -> Profile:
    """Return what runs at once, given when each task starts [s]."""
    events: list[tuple[float, int, int]] = []
    for place, (task, start) in enumerate(zip(workflow.tasks, starts, strict=True)):
        if task.seconds > 0:
            events += [(start, 1, place), (start + task.seconds, -1, place)]
    events.sort()
    held, width, users = dict.fromkeys(CLASSES, 0), 0, Counter[str]()
    owner: dict[str, str] = {}
    times: list[float] = []
    widths: list[int] = []
    memory: dict[str, list[int]] = {name: [] for name in CLASSES}
    for position, (time, sign, place) in enumerate(events):
        task = workflow.tasks[place]
        width += sign
        held[task.tier_class] += sign * task.memory
        if task.share:
            if users[task.share] == 0:
                owner[task.share] = task.tier_class
            users[task.share] += sign
            if (users[task.share], sign) in ((1, 1), (0, -1)):
                held[owner[task.share]] += sign * workflow.shares[task.share]
        if position + 1 == len(events) or events[position + 1][0] > time:
            times.append(time)
            widths.append(width)
            for name, column in memory.items():
                column.append(held[name])
    return Profile(tuple(times), tuple(widths), {name: tuple(column) for name, column in memory.items() if any(column)})


def _shared(workflow: Workflow) -> tuple[Shared, ...]:
    users: Counter[tuple[str, int]] = Counter()
    for task in workflow.tasks:
        users.update(dict.fromkeys(task.inputs, 1))
        if task.share:
            users[task.share, workflow.shares[task.share]] += 1
    found = [Shared(name, size, count) for (name, size), count in users.items() if count > 1 and size > 0]
    return tuple(sorted(found, key=lambda one: (-one.bytes * (one.users - 1), one.name)))


def document(workflow: Workflow, found: Analysis) -> dict[str, Any]:
    """Return what `tierwise workflow show --json` prints."""
    kinds: dict[str, dict[str, Any]] = {}
    for task in workflow.tasks:
        kind = kinds.setdefault(task.kind, {"tasks": 0, "seconds": 0.0, "memory": 0, "estimated": []})
        kind["tasks"] += 1
        kind["seconds"] += task.seconds
        kind["memory"] = max(kind["memory"], task.memory)
        kind["estimated"] = sorted({*kind["estimated"], *task.estimated})
    for kind in kinds.values():
        kind["seconds"] = round(kind["seconds"] / kind["tasks"], 3)
    return {
        "name": workflow.name,
        "file": workflow.source,
        "tasks": len(workflow.tasks),
        "edges": workflow.graph.number_of_edges(),
        "critical_seconds": found.critical_seconds,
        "critical_path": [workflow.tasks[place].id for place in found.critical_path],
        "work_seconds": found.work,
        "peak_width": found.profile.peak_width,
        "peak_memory": found.profile.peak_memory,
        "profile": {
            "times": found.profile.times,
            "width": found.profile.width,
            "memory": found.profile.memory,
        },
        "kinds": kinds,
        "shared": [{"name": one.name, "bytes": one.bytes, "users": one.users} for one in found.shared],
        "remarks": list(workflow.remarks),
    }
