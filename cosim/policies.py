"""The preemption policies by name: the exact one, and the rules in use elsewhere that it is compared with.

All answer the same question through one interface, `PreemptionPolicy`. A policy that *waits* looks at every start of
the window and weighs loss against delay, as `cosim.preemption` does; one that does not takes the first start at which
it can free enough, as a scheduler without foresight does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from cosim.losses import seconds_lost
from cosim.preemption import (
    Decision,
    Point,
    choose,
    decide,
    most_nodes,
    point_at,
    points_at,
    starts_to_try,
)
from cosim.shared import whole_nodes_only
from cosim.snapshot import Floats, Integers, Request, Snapshot
from traces.errors import InputError


class PreemptionPolicy(Protocol):
    """Decides whom to preempt; pure: the same snapshot and request give the same answer."""

    @property
    def name(self) -> str:
        """The policy's name on the command line and in reports."""
        ...

    def decide(self, snapshot: Snapshot, request: Request) -> Decision:
        """Choose the start and the victims."""
        ...

    def at(self, snapshot: Snapshot, request: Request, start: float) -> Point | None:
        """Choose the victims for a given start; None where not enough nodes can be had then."""
        ...


@dataclass(frozen=True)
class Exact:
    """The least loss by dynamic programming (`cosim.preemption`): the project's own policy, `dp`."""

    name: str = "dp"

    def decide(self, snapshot: Snapshot, request: Request) -> Decision:
        """Choose the start and the victims."""
        return decide(snapshot, request)

    def at(self, snapshot: Snapshot, request: Request, start: float) -> Point | None:
        """Choose the victims for a given start; None where not enough nodes can be had then."""
        points = points_at(snapshot, request, np.array([float(start)]))
        return points[0] if points else None


@dataclass(frozen=True)
class Candidates:
    """The jobs that may be victims at one start.

    Attributes
    ----------
    snapshot : Snapshot
        The machine.
    places : int64 array, shape (candidates,)
        Their places in the snapshot.
    loss : float64 array, shape (candidates,)
        What each loses [node-seconds].
    """

    snapshot: Snapshot
    places: Integers
    loss: Floats

    @property
    def nodes(self) -> Integers:
        """Nodes that each holds."""
        return self.snapshot.nodes[self.places]


Order = Callable[[Candidates], Integers]


@dataclass(frozen=True)
class InOrder:
    """Takes victims one by one in an order until the request fits, then spares those it turned out not to need.

    That is the loop of Slurm's select plugins (slurm.conf(5), PreemptMode; the preempted jobs are those whose nodes
    the new job gets). A count of nodes does not tell which of several victims' nodes Slurm would give to the new job,
    so sparing goes through the victims in the order in which they were taken, to the benefit of the rule.

    Attributes
    ----------
    name : str
        The policy's name.
    order : callable
        Returns positions in the candidates, first victim first.
    waits : bool
        Whether it weighs later starts of the window.
    """

    name: str
    order: Order
    waits: bool

    def at(self, snapshot: Snapshot, request: Request, start: float) -> Point | None:
        """Choose the victims for a given start; None where not enough nodes can be had then."""
        whole_nodes_only(snapshot)
        ended = snapshot.expected_end <= start
        need = request.nodes - snapshot.free_nodes - int(snapshot.nodes[ended].sum())
        if need <= 0:
            return point_at(snapshot, start, np.zeros(0, np.int64))
        places = np.flatnonzero(snapshot.preemptible & ~ended)
        if int(snapshot.nodes[places].sum()) < need:
            return None
        candidates = Candidates(snapshot, places, _losses(snapshot, places, start))
        taken = _until_enough(candidates.nodes, self.order(candidates), need)
        return point_at(snapshot, start, places[taken])

    def decide(self, snapshot: Snapshot, request: Request) -> Decision:
        """Choose the start and the victims."""
        most = most_nodes(snapshot, request)
        if most < request.nodes:
            return Decision(None, (), most)
        frontier: list[Point] = []
        for start in starts_to_try(snapshot, request):
            point = self.at(snapshot, request, float(start))
            if point and (not frontier or point.lost_node_seconds < frontier[-1].lost_node_seconds):
                frontier.append(point)
            if frontier and (not self.waits or frontier[-1].lost_node_seconds == 0):
                break
        return Decision(choose(tuple(frontier), snapshot, request), tuple(frontier), most)


def _losses(snapshot: Snapshot, places: Integers, start: float) -> Floats:
    seconds, _ = seconds_lost(
        float(start),
        float(snapshot.now),
        snapshot.start[places],
        snapshot.checkpoint_interval[places],
        snapshot.checkpoint_cost[places],
        snapshot.restart_cost[places],
        snapshot.on_demand_checkpoint[places],
    )
    return snapshot.nodes[places] * seconds


def _until_enough(nodes: Integers, order: Integers, need: int) -> Integers:
    count = int(np.searchsorted(np.cumsum(nodes[order]), need)) + 1
    taken = order[:count]
    surplus = int(nodes[taken].sum()) - need
    kept = []
    for victim in taken.tolist():
        if nodes[victim] <= surplus:
            surplus -= int(nodes[victim])
        else:
            kept.append(victim)
    return np.array(kept, np.int64)


def _slurm(candidates: Candidates) -> Integers:
    """Order as Slurm does: by the victims' QOS or partition priority, then by node count, both ascending."""
    return np.lexsort((candidates.nodes, candidates.snapshot.priority[candidates.places]))


def _youngest(candidates: Candidates) -> Integers:
    """Order as Slurm does with PreemptParameters=youngest_first: the job that started last goes first."""
    return np.argsort(-candidates.snapshot.start[candidates.places], kind="stable")


def _smallest_loss(candidates: Candidates) -> Integers:
    """Order by the loss, ascending: the overhead order of the papers on hybrid workloads."""
    return np.argsort(candidates.loss, kind="stable")


def _loss_per_node(candidates: Candidates) -> Integers:
    """Order by the loss per node freed, ascending: the greedy rule for a knapsack cover."""
    return np.argsort(candidates.loss / candidates.nodes, kind="stable")


def _random(seed: int) -> Order:
    def order(candidates: Candidates) -> Integers:
        # Seeded by the snapshot too, so that the policy stays a pure function of what it is asked.
        moment = int(candidates.snapshot.now * 1e6) & (2**63 - 1)
        return np.random.default_rng([seed, moment, len(candidates.places)]).permutation(len(candidates.places))

    return order


def _cp_sat(_seed: int) -> PreemptionPolicy:
    from cosim.exact import CpSat  # noqa: PLC0415 - OR-Tools takes half a second to import

    return CpSat()


POLICIES: Mapping[str, tuple[str, Callable[[int], PreemptionPolicy]]] = {
    "dp": ("the least loss, exactly, by dynamic programming", lambda _: Exact()),
    "slurm": ("Slurm's own order: priority, then fewest nodes; at once", lambda _: InOrder("slurm", _slurm, False)),
    "youngest": ("the latest start first; at once", lambda _: InOrder("youngest", _youngest, False)),
    "smallest": ("the smallest loss first", lambda _: InOrder("smallest", _smallest_loss, True)),
    "greedy": ("the smallest loss per node first", lambda _: InOrder("greedy", _loss_per_node, True)),
    "random": ("any order; at once", lambda seed: InOrder("random", _random(seed), False)),
    "exact": ("the least loss by OR-Tools CP-SAT; also shared nodes", _cp_sat),
}
"""What each policy is, and how to make it from a seed."""


def policy(name: str, seed: int = 0) -> PreemptionPolicy:
    """Return the policy of a name.

    Parameters
    ----------
    name : str
        One of `POLICIES`.
    seed : int
        Used by `random` alone.

    Returns
    -------
    PreemptionPolicy
        Ready to be asked.

    Raises
    ------
    InputError
        Where there is no such policy.
    """
    if name not in POLICIES:
        raise InputError(f"policy {name!r} is not known: expected one of {', '.join(POLICIES)}")
    return POLICIES[name][1](seed)
