"""A node of the event engine as it is at the moment, and the runs on it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from scheduler.workflow.site import Node


@dataclass
class Load:
    """A node as it is now; strategies read it, the engine alone changes it.

    Attributes
    ----------
    node : Node
        Its size.
    dram, far, cpus : int
        What is free of each, managed runs counted [bytes, bytes, processors].
    bandwidth : int
        Bandwidth-bound tasks that run.
    open : bool
        Whether it takes tasks.
    users : Counter of str
        Running tasks by the shared data they use.
    images : set of str
        Images that it has.
    runs : dict of int to Run
        What runs, by task.
    """

    node: Node
    dram: int = 0
    far: int = 0
    cpus: int = 0
    bandwidth: int = 0
    open: bool = True
    users: Counter[str] = field(default_factory=Counter)
    images: set[str] = field(default_factory=set)
    runs: dict[int, Run] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.dram, self.far, self.cpus = self.node.dram, self.node.far, self.node.cpus


@dataclass
class Run:
    """A run that has not ended.

    Attributes
    ----------
    task, node : int
        Places in the workflow and in the site.
    start : float
        When it started [s].
    far : int or None
        How much of its memory is far by decision [bytes]; None where the kernel decides.
    near : int
        How much of it is near, where that was decided [bytes].
    left : float
        Unmanaged: the work left, in seconds at full speed.
    half : float
        Unmanaged: the work left at which it asks for the second half of its memory.
    rate : float
        Unmanaged: work done in a second.
    since : float
        Unmanaged: when `left` was true [s].
    held : int
        Unmanaged: the memory that it holds [bytes].
    version : int
        Of the one event that is planned for it; others are out of date.
    """

    task: int
    node: int
    start: float
    far: int | None
    near: int = 0
    left: float = 0.0
    half: float = 0.0
    rate: float = 1.0
    since: float = 0.0
    held: int = 0
    version: int = 0
