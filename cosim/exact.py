"""The exact decision by OR-Tools CP-SAT: the oracle of the dynamic programme, and the policy for shared nodes.

Losses and starts to try are those of `cosim.losses`; what differs is who minimises. At each start, in turn: the least
loss; the fewest victims; the fewest nodes beyond the need; the lowest ids. Each optimum is proven, and kept before the
next is sought, so all ties are broken exactly as the dynamic programme breaks them. One worker and a fixed seed: the
same snapshot gives the same answer.

For whole nodes the model is the knapsack cover itself. For a `SharedSnapshot` a node counts once all that the request
asks of it is free after the victims have left: one boolean a node, bound both ways to sums over the victims.

There is no time limit, since a limit would make the answer depend on the machine: a hard instance takes its time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from cosim.losses import seconds_lost
from cosim.preemption import Decision, Point, choose, most_nodes, point_at, starts_to_try, ticks_per_second
from cosim.shared import SharedRequest, SharedSnapshot
from cosim.snapshot import Floats, Integers, Request, Snapshot
from traces.errors import InputError

_SEED = 1

_IDS_AT_ONCE = 40
"""Ids are minimised in blocks of so many binary digits, well within CP-SAT's 63-bit numbers."""


@dataclass(frozen=True)
class CpSat:
    """The least loss by constraint programming, for whole and for shared nodes.

    Attributes
    ----------
    name : str
        The policy's name.
    """

    name: str = "exact"

    def decide(self, snapshot: Snapshot, request: Request) -> Decision:
        """Choose the start and the victims (see `cosim.policies.PreemptionPolicy`).

        Raises
        ------
        InputError
            Where the request asks for resources and the snapshot lists no nodes, or the other way round.
        """
        most = _most_nodes(snapshot, request)
        if most < request.nodes:
            return Decision(None, (), most)
        times = starts_to_try(snapshot, request)
        ticks = ticks_per_second(snapshot, float(times[-1]))
        frontier: list[Point] = []
        least: int | None = None
        for t in times.tolist():
            start = _Start.of(snapshot, request, t, ticks)
            victims = _cheapest(start, least)
            if victims is not None:
                least = start.loss_of(victims)
                frontier.append(point_at(snapshot, t, start.candidates[victims]))
            if least == 0:
                break  # no later start can lose less
        return Decision(choose(tuple(frontier), snapshot, request), tuple(frontier), most)

    def at(self, snapshot: Snapshot, request: Request, start: float) -> Point | None:
        """Choose the victims for a given start; None where not enough nodes can be had then.

        Raises
        ------
        InputError
            As `decide` does.
        """
        _check_kind(snapshot, request)
        at = _Start.of(snapshot, request, float(start), ticks_per_second(snapshot, float(start)))
        victims = _cheapest(at, None)
        return None if victims is None else point_at(snapshot, start, at.candidates[victims])


def least_loss(snapshot: Snapshot, request: Request, start: float) -> float | None:
    """Return the least loss at a start, with ties among the victims left unbroken: one solve, to be timed.

    Parameters
    ----------
    snapshot : Snapshot
        The machine.
    request : Request
        What the on-demand job asks for.
    start : float
        The start [s].

    Returns
    -------
    float or None
        Node-seconds, or None where not enough nodes can be had.
    """
    ticks = ticks_per_second(snapshot, start)
    at = _Start.of(snapshot, request, start, ticks)
    room = at.room()
    if room is None:
        return 0.0
    victims = _minimise_in_turn(room, [cp_model.LinearExpr.weighted_sum(room.goes, at.losses)])
    return None if victims is None else at.loss_of(victims) / ticks


def _check_kind(snapshot: Snapshot, request: Request) -> None:
    if isinstance(snapshot, SharedSnapshot):
        snapshot.asked_for(request)
    elif isinstance(request, SharedRequest):
        raise InputError("request: per_node asks for resources, but the snapshot does not list its nodes")


def _most_nodes(snapshot: Snapshot, request: Request) -> int:
    _check_kind(snapshot, request)
    if not isinstance(snapshot, SharedSnapshot):
        return most_nodes(snapshot, request)
    leaving = snapshot.preemptible | (snapshot.expected_end <= snapshot.now + request.max_delay)
    offered = snapshot.offered(np.flatnonzero(leaving))
    return int((offered >= snapshot.asked_for(request)).all(axis=1).sum())


@dataclass(frozen=True)
class _Room:
    """The constraints of one start.

    Attributes
    ----------
    model : CpModel
        Enough nodes come free.
    goes : list of IntVar
        For each candidate, whether it is a victim.
    freed : linear expression
        The nodes that come free.
    """

    model: cp_model.CpModel
    goes: list[cp_model.IntVar]
    freed: cp_model.LinearExprT


@dataclass(frozen=True)
class _Start:
    """One start, who may be a victim then, and what each would lose.

    Attributes
    ----------
    candidates : int64 array, shape (candidates,)
        Places in the snapshot's columns.
    losses : list of int
        What each loses, in `unit` ticks.
    unit : int
        What all losses divide by: whole seconds need no microseconds, and small numbers are solved sooner.
    """

    snapshot: Snapshot
    request: Request
    ended: Integers
    candidates: Integers
    losses: list[int]
    unit: int

    @classmethod
    def of(cls, snapshot: Snapshot, request: Request, t: float, ticks: float) -> _Start:
        has_ended = snapshot.expected_end <= t
        candidates = np.flatnonzero(snapshot.preemptible & ~has_ended)
        losses = [
            nodes * round(seconds * ticks)
            for nodes, seconds in zip(
                snapshot.nodes[candidates].tolist(), _seconds(snapshot, candidates, t).tolist(), strict=True
            )
        ]
        unit = math.gcd(*losses) or 1
        return cls(snapshot, request, np.flatnonzero(has_ended), candidates, [loss // unit for loss in losses], unit)

    def loss_of(self, victims: Sequence[int]) -> int:
        """Return what some of the candidates lose together, in ticks."""
        return sum(self.losses[victim] for victim in victims) * self.unit

    def room(self) -> _Room | None:
        """Return the constraints; None where nobody has to go."""
        if isinstance(self.snapshot, SharedSnapshot):
            return _shared_nodes(self.snapshot, self.request, self.ended, self.candidates)
        return _whole_nodes(self.snapshot, self.request, self.ended, self.candidates)


def _seconds(snapshot: Snapshot, candidates: Integers, t: float) -> Floats:
    seconds, _ = seconds_lost(
        float(t),
        float(snapshot.now),
        snapshot.start[candidates],
        snapshot.checkpoint_interval[candidates],
        snapshot.checkpoint_cost[candidates],
        snapshot.restart_cost[candidates],
        snapshot.on_demand_checkpoint[candidates],
    )
    return seconds


def _cheapest(start: _Start, below: int | None) -> list[int] | None:
    """Return the victims, as positions in the candidates; None where they lose no less than `below`, or do not do."""
    room = start.room()
    if room is None:
        return []
    loss = cp_model.LinearExpr.weighted_sum(room.goes, start.losses)
    victims = _minimise_in_turn(room, [loss])
    # Compared afterwards: with a limit on what it minimises, the solver has been seen to lose its bound and to hang.
    if victims is None or (below is not None and start.loss_of(victims) >= below):
        return None
    return _minimise_in_turn(room, [cp_model.LinearExpr.sum(room.goes), room.freed, *_ids(room.goes)])


def _ids(goes: list[cp_model.IntVar]) -> list[cp_model.LinearExprT]:
    """Return what is least where the ascending list of victims is the lowest: they are in ascending order of ids."""
    blocks = [goes[first : first + _IDS_AT_ONCE] for first in range(0, len(goes), _IDS_AT_ONCE)]
    return [
        cp_model.LinearExpr.weighted_sum(block, [-(1 << place) for place in reversed(range(len(block)))])
        for block in blocks
    ]


def _minimise_in_turn(room: _Room, objectives: Sequence[cp_model.LinearExprT]) -> list[int] | None:
    """Minimise one objective after the other, each among the optima of those before; None where nothing is feasible."""
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = _SEED
    for objective in objectives:
        room.model.minimize(objective)
        status = solver.solve(room.model)
        if status == cp_model.INFEASIBLE:
            return None
        if status != cp_model.OPTIMAL:
            raise RuntimeError(f"CP-SAT stopped with status {solver.status_name(status)} and no time limit was set")
        # Not "equal to": the solver prunes by a bound far better than by a sum that has to be hit.
        room.model.add(objective <= solver.value(objective))
        room.model.clear_hints()  # type: ignore[no-untyped-call]
        for goes in room.goes:
            room.model.add_hint(goes, solver.value(goes))
    return [place for place, goes in enumerate(room.goes) if solver.value(goes)]


def _whole_nodes(snapshot: Snapshot, request: Request, ended: Integers, candidates: Integers) -> _Room | None:
    need = request.nodes - snapshot.free_nodes - int(snapshot.nodes[ended].sum())
    if need <= 0:
        return None
    model = cp_model.CpModel()
    goes = [model.new_bool_var("") for _ in candidates]
    freed = cp_model.LinearExpr.weighted_sum(goes, snapshot.nodes[candidates].tolist())
    model.add(freed >= need)
    return _Room(model, goes, freed)


def _shared_nodes(snapshot: SharedSnapshot, request: Request, ended: Integers, candidates: Integers) -> _Room | None:
    asked = snapshot.asked_for(request)
    short = asked - snapshot.offered(ended)
    fit_already = (short <= 0).all(axis=1)
    need = request.nodes - int(fit_already.sum())
    if need <= 0:
        return None
    can_fit = (snapshot.offered(np.concatenate([ended, candidates])) >= asked).all(axis=1) & ~fit_already
    model = cp_model.CpModel()
    goes = [model.new_bool_var("") for _ in candidates]
    of_job = dict(zip(candidates.tolist(), goes, strict=True))
    on_node: dict[int, list[tuple[cp_model.IntVar, Integers]]] = {node: [] for node in np.flatnonzero(can_fit).tolist()}
    for job, node, held in zip(snapshot.holder.tolist(), snapshot.place.tolist(), snapshot.held, strict=True):
        if node in on_node and job in of_job:
            on_node[node].append((of_job[job], held))
    freed = cp_model.LinearExpr.sum([_fits(model, short[node], holders) for node, holders in on_node.items()])
    model.add(freed >= need)
    return _Room(model, goes, freed)


def _fits(
    model: cp_model.CpModel, short: Integers, holders: Sequence[tuple[cp_model.IntVar, Integers]]
) -> cp_model.IntVar:
    """Return a boolean that is true if and only if the victims on one node leave what it is short of."""
    fits = model.new_bool_var("")
    still_short = []
    for resource in np.flatnonzero(short > 0).tolist():
        leaves = cp_model.LinearExpr.weighted_sum(
            [goes for goes, _ in holders], [int(held[resource]) for _, held in holders]
        )
        lacks = model.new_bool_var("")
        model.add(leaves >= int(short[resource])).only_enforce_if(~lacks)
        model.add(leaves < int(short[resource])).only_enforce_if(lacks)
        model.add_implication(fits, ~lacks)
        still_short.append(lacks)
    model.add_bool_or(fits, *still_short)
    return fits
