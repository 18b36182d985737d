"""The nodes that a workflow is placed on, and what a task needs of one."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from scheduler.workflow.model import Task, Workflow, at, quoted
from scheduler.workflow.sizes import size_words
from traces.errors import InputError

BANDWIDTH_TASKS = 3
"""Bandwidth-bound tasks that a node runs at full speed: the fourth slows all of them down."""

FETCH_RATE = 200e6
"""Bytes of a container image that a node fetches and unpacks in a second, where it is not cached: an assumption."""


@dataclass(frozen=True)
class Node:
    """A node.

    Attributes
    ----------
    name : str
        Its name.
    dram, far : int
        Its near and far memory for tasks [bytes].
    cpus : int
        Its processors.
    """

    name: str
    dram: int
    far: int
    cpus: int

    def words(self) -> str:
        """Return its size for people."""
        far = f" and {size_words(self.far)} far" if self.far else ""
        return f"{size_words(self.dram)} DRAM{far}, {self.cpus} CPUs"


@dataclass(frozen=True)
class Site:
    """The nodes, and what holds for all of them.

    Attributes
    ----------
    nodes : tuple of Node
        At least one.
    bandwidth_tasks : int
        See `BANDWIDTH_TASKS`.
    fetch_rate : float
        See `FETCH_RATE` [bytes/s].
    """

    nodes: tuple[Node, ...]
    bandwidth_tasks: int = BANDWIDTH_TASKS
    fetch_rate: float = FETCH_RATE

    @property
    def alike(self) -> bool:
        """Whether all nodes have the same size."""
        first = self.nodes[0]
        return all((one.dram, one.far, one.cpus) == (first.dram, first.far, first.cpus) for one in self.nodes)

    def sizes(self) -> str:
        """Return the sizes of nodes that exist, for people."""
        counts = Counter(node.words() for node in self.nodes)
        return "; ".join(f"{count} x {words}" for words, count in counts.items())


def uniform(nodes: int, dram: int, far: int, cpus: int) -> Site:
    """Return a site of equal nodes."""
    return Site(tuple(Node(f"n{number}", dram, far, cpus) for number in range(1, nodes + 1)))


def least_far(task: Task, extra: int, node: Node) -> int | None:
    """Return the least far memory with which a task fits on a node that is empty but for its own needs [bytes].

    Parameters
    ----------
    task : Task
        The task.
    extra : int
        Shared data that has to come to the node for it, always near [bytes].
    node : Node
        The node.

    Returns
    -------
    int or None
        None where it does not fit.
    """
    if task.cpus > node.cpus or extra > node.dram:
        return None
    near = min(task.memory, node.dram - extra, task.memory if task.dram is None else task.dram)
    far = task.memory - near
    return far if far <= most_far(task, node) else None


def most_far(task: Task, node: Node) -> int:
    """Return the most far memory that a task may have on a node [bytes]."""
    return min(task.memory, node.far, node.far if task.far is None else task.far)


def refuse_too_large(workflow: Workflow, site: Site) -> None:
    """Check that each task fits on some node.

    Raises
    ------
    InputError
        Where one does not; with the sizes of nodes that exist.
    """
    shapes = set(site.nodes) if not site.alike else {site.nodes[0]}
    for task in workflow.tasks:
        extra = workflow.shares.get(task.share, 0)
        if all(least_far(task, extra, node) is None for node in shapes):
            shared = f" and {size_words(extra)} of shared data" if extra else ""
            raise InputError(
                f"{at(workflow.source, task.line)}: task {quoted(task.id)}: needs {size_words(task.memory)}{shared} "
                f"and {task.cpus} CPUs, more than any node gives it ({site.sizes()}); take larger nodes "
                "or split the task"
            )
