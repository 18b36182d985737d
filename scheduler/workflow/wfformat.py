"""Reads instances in WfFormat, the JSON of WfCommons: schema 1.5 (and 1.4), and the older ones in kilobytes.

Up to 1.2 tasks are called jobs; up to 1.3 run times are `runtime`, memory and file sizes in KB (the schema's own
README of those releases); from 1.5 on, structure and execution are apart.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scheduler.workflow.json_places import element_lines
from scheduler.workflow.model import Task, Workflow, assemble, at, quoted
from traces.errors import InputError

KIB = 1024
UNKNOWN_SECONDS = 60.0
"""Run time of a task where neither it nor another of its kind was timed [s]."""
LEAST_MEMORY = 32 << 20
"""What a process is taken to need beside the files that it reads and writes, where its memory was not recorded."""
SHORT = 600.0
"""Tasks up to this run time are of class `short`, longer ones of class `capacity`, since instances do not say [s]."""

_NUMBERED = re.compile(r"(?:[_-]?ID)?[_-]?\d+$")
_LARGEST = 1 << 62


@dataclass(frozen=True)
class _Raw:
    """One task as some schema has it."""

    id: str
    name: str
    parents: tuple[str, ...]
    children: tuple[str, ...]
    seconds: float | None
    memory: int | None
    cpus: int
    program: str
    inputs: tuple[tuple[str, int], ...]
    written: int
    line: int


def read(source: str, text: str) -> Workflow:
    """Read an instance.

    Parameters
    ----------
    source : str
        The file, for messages.
    text : str
        Its JSON.

    Returns
    -------
    Workflow
        Run times and memory as recorded; where they were not, those of the kind, or estimated from the files.

    Raises
    ------
    InputError
        Where it is no WfFormat, or a task in it is wrong; with line and task.
    """
    try:
        document = json.loads(text)
    except json.JSONDecodeError as error:
        raise InputError(f"{source}:{error.lineno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise InputError(f"{source}: nested too deeply; expected a WfFormat instance") from None
    workflow = document.get("workflow") if isinstance(document, dict) else None
    if not isinstance(workflow, dict):
        raise InputError(f"{source}: there is no object `workflow`; expected a WfFormat instance (wfcommons.org)")
    name = document.get("name") if isinstance(document.get("name"), str) else source
    if isinstance(workflow.get("specification"), dict):
        raws = _with_specification(source, text, workflow)
    else:
        raws = _flat(source, text, workflow)
    return _made(source, str(name), raws)


def _with_specification(source: str, text: str, workflow: Mapping[str, Any]) -> list[_Raw]:
    specification = workflow["specification"]
    listed, lines = _listed(source, text, specification, ("workflow", "specification", "tasks"))
    sizes = {
        str(file.get("id")): _whole(f"{source}: file {quoted(str(file.get('id')))}: sizeInBytes", file, "sizeInBytes")
        for file in _objects(specification.get("files"))
    }
    execution = workflow.get("execution")
    ran = {str(task.get("id")): task for task in _objects((execution or {}).get("tasks"))}
    raws = []
    for task, line in zip(listed, lines, strict=True):
        names = {key: _strings(source, line, task, key) for key in ("inputFiles", "outputFiles")}
        files = {key: tuple((one, sizes.get(one) or 0) for one in names[key]) for key in names}
        raws.append(_raw(source, line, task, ran.get(str(task.get("id")), {}), files, unit=1))
    return raws


def _flat(source: str, text: str, workflow: Mapping[str, Any]) -> list[_Raw]:
    key = "tasks" if "tasks" in workflow else "jobs"
    listed, lines = _listed(source, text, workflow, ("workflow", key))
    raws = []
    for task, line in zip(listed, lines, strict=True):
        files: dict[str, list[tuple[str, int]]] = {"inputFiles": [], "outputFiles": []}
        for file in _objects(task.get("files")):
            where = f"{at(source, line)}: task {quoted(str(task.get('name')))}: file {quoted(str(file.get('name')))}"
            size = _whole(f"{where}: sizeInBytes", file, "sizeInBytes")
            if size is None:
                size = (_whole(f"{where}: size", file, "size") or 0) * KIB
            direction = "inputFiles" if file.get("link") == "input" else "outputFiles"
            files[direction].append((str(file.get("name")), size))
        raws.append(_raw(source, line, task, task, {name: tuple(of) for name, of in files.items()}, unit=KIB))
    return raws


def _raw(
    source: str,
    line: int,
    task: Mapping[str, Any],
    ran: Mapping[str, Any],
    files: Mapping[str, tuple[tuple[str, int], ...]],
    unit: int,
) -> _Raw:
    name = task.get("name")
    given = task.get("id", name)
    if not isinstance(given, str) or not given:
        raise InputError(f"{at(source, line)}: a task has no `id`; give it one, as text")
    where = f"{at(source, line)}: task {quoted(given)}"
    seconds = _number(f"{where}: runtimeInSeconds", ran, "runtimeInSeconds")
    if seconds is None:
        seconds = _number(f"{where}: runtime", ran, "runtime")
    memory = _whole(f"{where}: memoryInBytes", ran, "memoryInBytes")
    if memory is None and (old := _whole(f"{where}: memory", ran, "memory")) is not None:
        memory = old * unit
    cores = _number(f"{where}: coreCount", ran, "coreCount") or _number(f"{where}: cores", ran, "cores")
    if cores is None:
        cores = round((_number(f"{where}: avgCPU", ran, "avgCPU") or 0.0) / 100)
    command = ran.get("command", task.get("command"))
    program = command.get("program") if isinstance(command, dict) else None
    return _Raw(
        id=given,
        name=name if isinstance(name, str) else given,
        parents=_strings(source, line, task, "parents"),
        children=_strings(source, line, task, "children"),
        seconds=seconds,
        memory=memory or None,  # a monitor that saw nothing writes 0
        cpus=max(1, math.ceil(cores)),
        program=program if isinstance(program, str) else "",
        inputs=files["inputFiles"],
        written=sum(size for _, size in files["outputFiles"]),
        line=line,
    )


def _made(source: str, name: str, raws: Sequence[_Raw]) -> Workflow:
    parents = _all_parents(source, raws)
    kinds = [raw.program or _NUMBERED.sub("", raw.name) or raw.name for raw in raws]
    timed: dict[str, list[float]] = {}
    held: dict[str, list[int]] = {}
    for raw, kind in zip(raws, kinds, strict=True):
        if raw.seconds is not None:
            timed.setdefault(kind, []).append(raw.seconds)
        if raw.memory is not None:
            held.setdefault(kind, []).append(raw.memory)
    tasks = []
    for raw, kind, above in zip(raws, kinds, parents, strict=True):
        seconds, memory = raw.seconds, raw.memory
        if seconds is None:
            seconds = sum(timed[kind]) / len(timed[kind]) if kind in timed else UNKNOWN_SECONDS
        if memory is None:
            files = sum(size for _, size in raw.inputs) + raw.written
            memory = max(held[kind]) if kind in held else LEAST_MEMORY + files
        unknown = (*(["seconds"] if raw.seconds is None else []), *(["memory"] if raw.memory is None else []))
        tasks.append(
            Task(
                id=raw.id,
                kind=kind,
                seconds=seconds,
                memory=memory,
                tier_class="short" if seconds <= SHORT else "capacity",
                parents=above,
                cpus=raw.cpus,
                inputs=raw.inputs,
                line=raw.line,
                estimated=unknown,
            )
        )
    return assemble(name, source, tasks, remarks=_remarks(tasks))


def _all_parents(source: str, raws: Sequence[_Raw]) -> list[tuple[str, ...]]:
    """Return each task's parents, by id, from both ends of the edges; old schemas name the parents' names."""
    by_name: dict[str, str] = {}
    for raw in raws:
        by_name.setdefault(raw.name, raw.id)
    ids = {raw.id for raw in raws}
    found: dict[str, dict[str, None]] = {raw.id: {} for raw in raws}
    for raw in raws:
        found[raw.id] |= dict.fromkeys(one if one in ids else by_name.get(one, one) for one in raw.parents)
    for raw in raws:
        for child in raw.children:
            known = child if child in ids else by_name.get(child)
            if known is None:
                raise InputError(
                    f"{at(source, raw.line)}: task {quoted(raw.id)}: has the child {quoted(child)}, and there is no "
                    "such task; name a task of this file"
                )
            found[known][raw.id] = None
    return [tuple(found[raw.id]) for raw in raws]


def _remarks(tasks: Sequence[Task]) -> list[str]:
    guessed = {what: sum(what in task.estimated for task in tasks) for what in ("seconds", "memory")}
    remarks = []
    if guessed["memory"]:
        remarks.append(
            f"the memory of {guessed['memory']} of {len(tasks)} tasks was not recorded: taken from their kind, or the "
            f"files that they read and write and {LEAST_MEMORY >> 20} MiB"
        )
    if guessed["seconds"]:
        remarks.append(f"the run time of {guessed['seconds']} of {len(tasks)} tasks was not recorded: that of the kind")
    return remarks


def _listed(
    source: str, text: str, holder: Mapping[str, Any], path: Sequence[str]
) -> tuple[list[Mapping[str, Any]], list[int]]:
    listed = holder.get(path[-1], [])
    if not isinstance(listed, list):
        raise InputError(f"{source}: `{'.'.join(path)}` is no list; expected the workflow's tasks")
    lines = element_lines(text, path)
    for task, line in zip(listed, lines, strict=True):
        if not isinstance(task, dict):
            raise InputError(f"{at(source, line)}: a task is no object; expected one with `id` and `parents`")
    return listed, lines


def _objects(listed: object) -> list[Mapping[str, Any]]:
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _strings(source: str, line: int, task: Mapping[str, Any], key: str) -> tuple[str, ...]:
    listed = task.get(key) or []
    if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
        raise InputError(f"{at(source, line)}: task {quoted(str(task.get('id')))}: `{key}` is no list of names")
    return tuple(listed)


def _number(where: str, holder: Mapping[str, Any], key: str) -> float | None:
    value = holder.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < _LARGEST:
        raise InputError(f"{where}: {quoted(str(value))} is not accepted; expected a number of at least 0")
    return float(value)


def _whole(where: str, holder: Mapping[str, Any], key: str) -> int | None:
    found = _number(where, holder, key)
    return None if found is None else round(found)
