"""A workflow: tasks with their needs over an immutable graph, and the checks that every way of reading shares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import networkx as nx

from scheduler.options.table import BY_KEY
from scheduler.slurm.running import one_line
from traces.errors import InputError

CLASSES = tuple(word for word in BY_KEY["tier_class"].words if word != "auto")
"""How a task uses memory; see `--tier-class`."""

_SHOWN = 8
"""Tasks of a cycle that a message names; the rest is counted."""


@dataclass(frozen=True)
class Task:
    """One task.

    Attributes
    ----------
    id : str
        Unique in its workflow; comes from outside, and may hold any letter.
    kind : str
        What it is an instance of: tasks of a kind are taken to behave alike.
    seconds : float
        Run time with all of its memory near [s].
    memory : int
        Peak of the memory that it has for itself [bytes]; data that it shares comes on top.
    tier_class : str
        One of `CLASSES`.
    parents : tuple of str
        Ids of the tasks that have to end before it starts.
    cpus : int
        Processors.
    dram, far : int or None
        Budgets that were given: the DRAM it is promised, the far memory it may use [bytes].
    share : str
        The shared data that it uses, a key of `Workflow.shares`; empty for none.
    container : str
        The image that it runs in, a key of `Workflow.containers` or a path; empty for none.
    command : str
        What it runs, as shell text; empty where only the structure is known.
    variables : tuple of (str, str)
        The parameters of an ensemble's member, which its command finds in its environment.
    ensemble : str
        The ensemble it is a member of; empty for none.
    inputs : tuple of (str, int)
        Files that it reads, with their sizes [bytes].
    line : int
        Where it stands in its file, from 1; 0 where that is not known.
    estimated : tuple of str
        Which of `seconds` and `memory` the file did not say.
    """

    id: str
    kind: str
    seconds: float
    memory: int
    tier_class: str = "short"
    parents: tuple[str, ...] = ()
    cpus: int = 1
    dram: int | None = None
    far: int | None = None
    share: str = ""
    container: str = ""
    command: str = ""
    variables: tuple[tuple[str, str], ...] = ()
    ensemble: str = ""
    inputs: tuple[tuple[str, int], ...] = ()
    line: int = 0
    estimated: tuple[str, ...] = ()


@dataclass(frozen=True)
class Workflow:
    """A checked workflow.

    Attributes
    ----------
    name : str
        Its name.
    source : str
        The file, for messages.
    tasks : tuple of Task
        In the file's order.
    shares : Mapping of str to int
        Data that tasks share, held once on each node that runs one of them [bytes].
    containers : Mapping of str to int
        Images and their sizes, which a node fetches once [bytes].
    graph : networkx.DiGraph
        Frozen; its nodes are places in `tasks`.
    remarks : tuple of str
        What was assumed about it, for people.
    """

    name: str
    source: str
    tasks: tuple[Task, ...]
    shares: Mapping[str, int]
    containers: Mapping[str, int]
    graph: nx.DiGraph[int] = field(repr=False, compare=False)
    remarks: tuple[str, ...] = ()

    def order(self) -> list[int]:
        """Return all places, parents before children; among equals in the file's order."""
        return list(nx.lexicographical_topological_sort(self.graph))

    def parents(self, place: int) -> list[int]:
        """Return the places of a task's parents."""
        return list(self.graph.predecessors(place))

    def children(self, place: int) -> list[int]:
        """Return the places of a task's children."""
        return list(self.graph.successors(place))


def quoted(name: str) -> str:
    """Return a name from outside as a message may show it: one line, in quotes, at most 80 letters."""
    return repr(one_line(name.replace("\n", "\\n").replace("\r", "\\r"))[:80])


def at(source: str, line: int) -> str:
    """Return a place in a file as messages name it."""
    return f"{source}:{line}" if line else source


def assemble(
    name: str,
    source: str,
    tasks: Iterable[Task],
    *,
    shares: Mapping[str, int] | None = None,
    containers: Mapping[str, int] | None = None,
    remarks: Iterable[str] = (),
) -> Workflow:
    """Check tasks against each other and make a workflow of them.

    Parameters
    ----------
    name, source : str
        The workflow's name and file.
    tasks : iterable of Task
        In the file's order.
    shares, containers : Mapping of str to int, optional
        Sizes of shared data and of images [bytes].
    remarks : iterable of str
        What was assumed.

    Returns
    -------
    Workflow
        With a frozen graph.

    Raises
    ------
    InputError
        Where two tasks have one id, a parent does not exist, or tasks wait for each other in a circle; with the file,
        the line and the task.
    """
    every = tuple(tasks)
    places: dict[str, int] = {}
    for place, task in enumerate(every):
        if task.id in places:
            first = every[places[task.id]]
            before = f", as at line {first.line}" if first.line else ""
            raise InputError(
                f"{at(source, task.line)}: task {quoted(task.id)}: there is another task with this id{before}; "
                "give each its own"
            )
        places[task.id] = place
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(every)))
    for place, task in enumerate(every):
        for parent in task.parents:
            if parent not in places:
                raise InputError(
                    f"{at(source, task.line)}: task {quoted(task.id)}: needs {quoted(parent)}, and there is no such "
                    "task; name a task of this file"
                )
            graph.add_edge(places[parent], place)
    _refuse_cycle(source, every, graph)
    frozen: Any = nx.freeze(graph)
    return Workflow(
        name,
        source,
        every,
        MappingProxyType(dict(shares or {})),
        MappingProxyType(dict(containers or {})),
        frozen,
        tuple(remarks),
    )


def _refuse_cycle(source: str, tasks: tuple[Task, ...], graph: nx.DiGraph[int]) -> None:
    if nx.is_directed_acyclic_graph(graph):
        return
    around = [edge[0] for edge in nx.find_cycle(graph)]
    first = around.index(min(around))
    turned = around[first:] + around[:first]
    shown = [quoted(tasks[place].id) for place in turned[:_SHOWN]]
    if len(turned) > _SHOWN:
        shown.append(f"({len(turned) - _SHOWN} more)")
    task = tasks[turned[0]]
    raise InputError(
        f"{at(source, task.line)}: task {quoted(task.id)}: waits for itself: {' -> '.join([*shown, shown[0]])}; "
        "take one of these needs away"
    )
