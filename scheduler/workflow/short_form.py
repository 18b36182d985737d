"""Reads Tierwise's own short form of a workflow, in YAML; docs/workflows.md describes it."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from yaml.nodes import Node

from scheduler.workflow.model import CLASSES, Task, Workflow, assemble, at, quoted
from scheduler.workflow.sizes import count, positive_size, seconds, size
from scheduler.workflow.wfformat import UNKNOWN_SECONDS
from scheduler.workflow.yaml_nodes import compose, fields, line_of, scalar, scalars
from traces.errors import InputError

_TOP = ("workflow", "defaults", "data", "containers", "tasks")
_RESOURCES = ("time", "memory", "class", "cpus", "dram", "far", "shares", "container")
_TASK = (*_RESOURCES, "run", "needs", "each")
_RANGE = re.compile(r"(-?\d{1,9})\.\.(-?\d{1,9})")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_MOST_MEMBERS = 1_000_000
DEFAULT_MEMORY = 1 << 30
"""Memory of a task that says none [bytes]."""


@dataclass(frozen=True)
class _Names:
    """What tasks may refer to."""

    shares: Mapping[str, int]
    containers: Mapping[str, int]


def read(source: str, text: str) -> Workflow:
    """Read a workflow in the short form.

    Parameters
    ----------
    source : str
        The file, for messages.
    text : str
        Its YAML.

    Returns
    -------
    Workflow
        With the members of each ensemble as tasks of their own.

    Raises
    ------
    InputError
        At the first mistake, with line and task.
    """
    root = compose(source, text)
    top = {} if root is None else fields(source, "the workflow", root, _TOP)
    data = _sizes(source, "data", top.get("data"))
    images = _sizes(source, "containers", top.get("containers"))
    names = _Names(data, images)
    defaults = fields(source, "defaults", top["defaults"], _RESOURCES) if "defaults" in top else {}
    written = fields(source, "tasks", top["tasks"]) if "tasks" in top else {}
    members: dict[str, tuple[str, ...]] = {}
    tasks: list[Task] = []
    for name, node in written.items():
        own = fields(source, f"task {quoted(name)}", node, _TASK)
        made = _members(source, _task(source, name, node, {**defaults, **own}, names), own.get("each"))
        members[name] = tuple(task.id for task in made)
        tasks += made
    resolved = [
        replace(task, parents=tuple(itertools.chain.from_iterable(members.get(one, (one,)) for one in task.parents)))
        for task in tasks
    ]
    title = scalar(source, "workflow", top["workflow"]) if "workflow" in top else source
    guessed = sum("seconds" in task.estimated or "memory" in task.estimated for task in tasks)
    remarks = [f"{guessed} of {len(tasks)} tasks say no time or no memory"] if guessed else []
    return assemble(title, source, resolved, shares=data, containers=images, remarks=remarks)


def _sizes(source: str, what: str, node: Node | None) -> dict[str, int]:
    if node is None:
        return {}
    return {
        name: positive_size(f"{at(source, line_of(value))}: {what} {quoted(name)}", scalar(source, what, value))
        for name, value in fields(source, what, node).items()
    }


def _task(source: str, name: str, node: Node, given: Mapping[str, Node], names: _Names) -> Task:
    def where(key: str) -> str:
        return f"{at(source, line_of(given[key]))}: task {quoted(name)}: {key}"

    def text(key: str, otherwise: str = "") -> str:
        return scalar(source, f"task {quoted(name)}: {key}", given[key]) if key in given else otherwise

    if not name:
        raise InputError(f"{at(source, line_of(node))}: a task has an empty name; give it one")
    chosen = text("class", "short")
    if chosen not in CLASSES:
        raise InputError(f"{where('class')}: {quoted(chosen)} is not accepted; expected {', '.join(CLASSES)}")
    share, container = text("shares"), text("container")
    if share and share not in names.shares:
        raise InputError(f"{where('shares')}: there is no {quoted(share)} under `data`; name it there with its size")
    needs = scalars(source, f"task {quoted(name)}: needs", given["needs"]) if "needs" in given else []
    missing = tuple(what for what, key in (("seconds", "time"), ("memory", "memory")) if key not in given)
    return Task(
        id=name,
        kind=name,
        seconds=seconds(where("time"), text("time")) if "time" in given else UNKNOWN_SECONDS,
        memory=size(where("memory"), text("memory")) if "memory" in given else DEFAULT_MEMORY,
        tier_class=chosen,
        parents=tuple(dict.fromkeys(needs)),
        cpus=count(where("cpus"), text("cpus")) if "cpus" in given else 1,
        dram=positive_size(where("dram"), text("dram")) if "dram" in given else None,
        far=size(where("far"), text("far")) if "far" in given else None,
        share=share,
        container=container,
        command=text("run"),
        line=line_of(node),
        estimated=missing,
    )


def _members(source: str, task: Task, each: Node | None) -> list[Task]:
    """Return the members of an ensemble, one for each combination of its parameters; a single task as it is."""
    if each is None:
        return [task]
    what = f"task {quoted(task.id)}: each"
    parameters: dict[str, list[str]] = {}
    for name, node in fields(source, what, each).items():
        where = f"{at(source, line_of(node))}: {what}: {quoted(name)}"
        if not _VARIABLE.fullmatch(name):
            raise InputError(f"{where} is no name of a variable; expected letters, digits and '_'")
        parameters[name] = _values(where, scalars(source, what, node))
    total = math.prod(len(values) for values in parameters.values())
    if total > _MOST_MEMBERS:
        raise InputError(f"{at(source, task.line)}: {what}: makes {total} tasks; expected at most {_MOST_MEMBERS}")
    found = []
    for combination in itertools.product(*parameters.values()):
        chosen = tuple(zip(parameters, combination, strict=True))
        label = ",".join(f"{name}={value}" for name, value in chosen)
        found.append(replace(task, id=f"{task.id}[{label}]", variables=chosen, ensemble=task.id))
    return found


def _values(where: str, written: list[str]) -> list[str]:
    """Return a parameter's values; `1..5` stands for 1, 2, 3, 4, 5."""
    found: list[str] = []
    for value in written:
        match = _RANGE.fullmatch(value)
        if match is None:
            found.append(value)
            continue
        first, last = int(match[1]), int(match[2])
        if last < first or last - first >= _MOST_MEMBERS:
            raise InputError(f"{where}: {value}: expected a range FIRST..LAST of at most {_MOST_MEMBERS} values")
        found += [str(number) for number in range(first, last + 1)]
    return found
