"""A snapshot of nodes that several jobs share, or whose cpus, memory and GPUs bind at once.

`cosim.snapshot.Snapshot` counts whole nodes, which is all that the dynamic programme needs. Here each node has a name
and so much free of each resource, each job holds so much on each of its nodes, and the request asks for N nodes with so
much of each resource. Nodes held by one job alone are the special case of one resource, of which each has 1.

A victim's loss stays ``nodes * seconds``, with the nodes it runs on, in part or in whole. Only the policy `exact`
(`cosim.exact`) decides such a snapshot; the others refuse it (`whole_nodes_only`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields

import numpy as np

from cosim.snapshot import Integers, Request, RunningJob, Snapshot, id_order
from traces.errors import InputError


@dataclass(frozen=True)
class Node:
    """One node, and what nobody holds of it.

    Attributes
    ----------
    name : str
        The node's name.
    free : mapping of str to int
        Free amount of each resource (cpus, MiB of memory, GPUs: any unit, the same throughout); absent: none is free.
    """

    name: str
    free: Mapping[str, int]


@dataclass(frozen=True)
class SharedJob:
    """One running job with what it holds on each of its nodes.

    Attributes
    ----------
    job : RunningJob
        Its times and costs; its `nodes` is the number of nodes in `allocation`.
    allocation : mapping of str to mapping of str to int
        By node and resource, the amount it holds.
    """

    job: RunningJob
    allocation: Mapping[str, Mapping[str, int]]

    def __post_init__(self) -> None:
        if self.job.nodes != len(self.allocation):
            raise InputError(
                f"job {self.job.id!r}: nodes is {self.job.nodes}, expected {len(self.allocation)}, "
                "the number of nodes in its allocation"
            )


@dataclass(frozen=True)
class SharedRequest(Request):
    """A request for N nodes that each have so much of each resource.

    Attributes
    ----------
    per_node : mapping of str to int
        The amount of each resource that each of the N nodes has to offer.
    """

    per_node: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.per_node or min(self.per_node.values()) < 0 or max(self.per_node.values()) == 0:
            raise InputError(
                f"request: per_node is {dict(self.per_node)}, expected amounts of at least 0, one of them above 0"
            )


@dataclass(frozen=True)
class SharedSnapshot(Snapshot):
    """A snapshot whose nodes have names and resources; the jobs' columns are those of `Snapshot`.

    Attributes
    ----------
    node_names : sequence of str
        The nodes.
    resources : sequence of str
        The resources, ascending.
    free : int64 array, shape (nodes, resources)
        What nobody holds.
    holder, place : int64 arrays, shape (allocations,)
        One entry for each job and node: the job's place in the columns, and the node's place in `node_names`.
    held : int64 array, shape (allocations, resources)
        What that job holds on that node.
    """

    node_names: Sequence[str] = ()
    resources: Sequence[str] = ()
    free: Integers = field(default_factory=lambda: np.zeros((0, 0), np.int64))
    holder: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    place: Integers = field(default_factory=lambda: np.zeros(0, np.int64))
    held: Integers = field(default_factory=lambda: np.zeros((0, 0), np.int64))

    @classmethod
    def of_nodes(cls, now: float, nodes: Iterable[Node], jobs: Iterable[SharedJob]) -> SharedSnapshot:
        """Make a snapshot of nodes and jobs given one by one, in any order.

        Parameters
        ----------
        now : float
            The moment [s].
        nodes : iterable of Node
            The nodes.
        jobs : iterable of SharedJob
            The running jobs.

        Returns
        -------
        SharedSnapshot
            With the jobs in ascending order of their ids.

        Raises
        ------
        InputError
            Where a node or an id occurs twice, an allocation names an unknown node, or an amount is negative.
        """
        nodes = list(nodes)
        ordered = sorted(jobs, key=lambda job: id_order(job.job.id))
        _check_nodes(nodes, ordered)
        resources = sorted(
            {resource for node in nodes for resource in node.free}
            | {resource for job in ordered for held in job.allocation.values() for resource in held}
        )
        node_place = {node.name: place for place, node in enumerate(nodes)}
        entries = [
            (j, node_place[name], [held.get(resource, 0) for resource in resources])
            for j, job in enumerate(ordered)
            for name, held in job.allocation.items()
        ]
        idle = len(nodes) - len({place for _, place, _ in entries})
        columns = Snapshot.of(now, idle, [job.job for job in ordered])
        return cls(
            **{column.name: getattr(columns, column.name) for column in fields(Snapshot)},
            node_names=[node.name for node in nodes],
            resources=resources,
            free=_table([[node.free.get(resource, 0) for resource in resources] for node in nodes], len(resources)),
            holder=np.array([holder for holder, _, _ in entries], np.int64),
            place=np.array([place for _, place, _ in entries], np.int64),
            held=_table([held for _, _, held in entries], len(resources)),
        )

    def asked_for(self, request: Request) -> Integers:
        """Return what a request asks of each node, one amount for each of `resources`.

        Raises
        ------
        InputError
            Where the request does not say, or names a resource that no node has.
        """
        if not isinstance(request, SharedRequest):
            raise InputError("request: per_node is missing: nodes with resources are asked for by amounts of each")
        for resource, amount in request.per_node.items():
            if amount > 0 and resource not in self.resources and self.node_names:
                known = ", ".join(map(repr, self.resources)) or "a resource that the nodes list"
                raise InputError(f"request: per_node asks for {resource!r}, which no node has: expected one of {known}")
        return np.array([request.per_node.get(resource, 0) for resource in self.resources], np.int64)

    def offered(self, leaving: Integers) -> Integers:
        """Return what is free on each node once some jobs have left it.

        Parameters
        ----------
        leaving : int64 array
            The jobs' places in the columns.

        Returns
        -------
        int64 array, shape (nodes, resources)
            The amounts.
        """
        offered = self.free.copy()
        gone = np.isin(self.holder, leaving)
        np.add.at(offered, self.place[gone], self.held[gone])
        return offered


def _table(rows: Sequence[Sequence[int]], columns: int) -> Integers:
    return np.array(rows, np.int64).reshape(len(rows), columns)


def _check_nodes(nodes: Sequence[Node], jobs: Sequence[SharedJob]) -> None:
    known: set[str] = set()
    for node in nodes:
        if node.name in known:
            raise InputError(f"node {node.name!r} occurs twice: each node is listed once")
        known.add(node.name)
        _check_amounts(f"node {node.name!r}: free", node.free)
    for job in jobs:
        for name, held in job.allocation.items():
            if name not in known:
                raise InputError(f"job {job.job.id!r}: its allocation names node {name!r}, which is not listed")
            _check_amounts(f"job {job.job.id!r}: allocation on {name!r}", held)


def _check_amounts(whose: str, amounts: Mapping[str, int]) -> None:
    for resource, amount in amounts.items():
        if amount < 0:
            raise InputError(f"{whose}: {resource!r} is {amount}, expected at least 0")


def whole_nodes_only(snapshot: Snapshot) -> None:
    """Refuse a snapshot that a count of nodes does not describe.

    Parameters
    ----------
    snapshot : Snapshot
        The machine.

    Raises
    ------
    InputError
        Where its nodes are shared or have several resources; names the policy that decides it.
    """
    if isinstance(snapshot, SharedSnapshot):
        raise InputError(
            "the snapshot lists nodes with resources, which this policy cannot weigh, as it counts whole nodes: "
            "use --policy exact"
        )
