r"""Several on-demand jobs at once: who of them is served, when each starts, and whom to preempt for all of them.

Deciding one job after the other lets each take what is cheapest for itself: two jobs that want 2 nodes each take two
victims of 3 nodes where one of 4 nodes would do for both. The joint decision minimises, over one snapshot,

    sum of the victims' losses + sum over requests k of delay_weight_k * N_k * (t_k - now)

over a start t_k in each request's window and a set of victims with a time each, such that at every start t

    free nodes + nodes of jobs ended by t + nodes of victims gone by t >= sum of N_k over the requests started by t.

Losses, ways (kill or checkpoint) and starts to try are those of `cosim.preemption`; a victim's time is the start of a
request. The inequality is all there is to "each node is used once": nodes are alike, and a request keeps what it took
(it may run past the window, so its nodes do not come back). For requests that start together it says that the victims
are a knapsack cover of the sum of their nodes.

*Who is served.* Where not all can be, requests are taken in the order given (of submission): one is left out if it
cannot be met together with those kept before it, whatever the cost. To meet a set is possible if and only if, for each
deadline d, the nodes that can be had by d (free, ended, and all that may be preempted) are at least the sum of the
requests due by then; starting at the deadline is enough for the test, since what can be had only grows with time.

*How it is solved.* One request goes to the policy, as ever. More go to CP-SAT, with one worker and a fixed seed. Beyond
`MOST_CHOICES` variables, or where `BUDGET` is spent and the optimum unproven, there is no joint answer, and the
requests are to be decided one after the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from ortools.sat.python import cp_model

from cosim.losses import seconds_lost
from cosim.preemption import Point, point_at, starts_to_try
from cosim.snapshot import Floats, Integers, Request, Snapshot

MOST_CHOICES = 50_000
"""Variables (victims times starts) up to which the joint problem is put to the solver."""

BUDGET = 0.3
"""What CP-SAT may take for one joint decision [s], in wall time and in its own deterministic time, whichever ends
first. A problem unproven by then is decided one request after the other."""

_SEED = 1


@dataclass(frozen=True)
class Served:
    """A request's part in a joint decision.

    Attributes
    ----------
    request : int
        Its place in the requests.
    start : float
        When it starts [s].
    """

    request: int
    start: float


@dataclass(frozen=True)
class Joint:
    """A joint decision.

    Attributes
    ----------
    served : tuple of Served
        The requests that are met, in the order given.
    points : tuple of Point
        One for each different start, ascending: the victims that go then.
    cost : float
        Losses plus weighted delays [node-seconds].
    """

    served: tuple[Served, ...]
    points: tuple[Point, ...]
    cost: float


def servable(snapshot: Snapshot, requests: Sequence[Request]) -> tuple[int, ...]:
    """Return which requests can be met together: each in the order given, unless it would not fit those before it.

    Parameters
    ----------
    snapshot : Snapshot
        The machine.
    requests : sequence of Request
        In order of submission.

    Returns
    -------
    tuple of int
        Places in `requests`, ascending.
    """
    kept: list[int] = []
    for place in range(len(requests)):
        if _fits(snapshot, [requests[other] for other in (*kept, place)]):
            kept.append(place)
    return tuple(kept)


def _fits(snapshot: Snapshot, requests: Sequence[Request]) -> bool:
    for deadline in {request.max_delay for request in requests}:
        due = sum(request.nodes for request in requests if request.max_delay <= deadline)
        to_be_had = snapshot.preemptible | (snapshot.expected_end <= snapshot.now + deadline)
        if snapshot.free_nodes + int(snapshot.nodes[to_be_had].sum()) < due:
            return False
    return True


def decide_jointly(snapshot: Snapshot, requests: Sequence[Request]) -> Joint | None:
    """Decide for all requests at once, exactly.

    Parameters
    ----------
    snapshot : Snapshot
        The machine, whole nodes.
    requests : sequence of Request
        In order of submission.

    Returns
    -------
    Joint or None
        The optimum for the requests that can be met together; None where the problem is too large, or was not proven
        within the limit: then they are to be decided one after the other.
    """
    kept = servable(snapshot, requests)
    if not kept:
        return Joint((), (), 0.0)
    widest = max((requests[place] for place in kept), key=lambda request: request.max_delay)
    times = starts_to_try(snapshot, widest)
    candidates = np.flatnonzero(snapshot.preemptible)
    if len(times) * (len(candidates) + len(kept)) > MOST_CHOICES:
        return None
    return _Model(snapshot, requests, kept, times, candidates).solved()


class _Model:
    """The joint problem as booleans: which request starts when, and which job goes when."""

    def __init__(
        self,
        snapshot: Snapshot,
        requests: Sequence[Request],
        kept: Sequence[int],
        times: Floats,
        candidates: Integers,
    ) -> None:
        self.snapshot, self.requests, self.kept, self.times, self.candidates = (
            snapshot,
            requests,
            kept,
            times,
            candidates,
        )
        self.model = cp_model.CpModel()
        self._cost: list[tuple[cp_model.IntVar, float]] = []
        self.starts = {place: self._choices(place) for place in kept}
        self.goes = [self._victims_at(float(t)) for t in times]
        for job in candidates.tolist():
            self.model.add_at_most_one(goes[job] for goes in self.goes if job in goes)
        for index in range(len(times)):
            self._enough(index)
            self._only_at_a_start(index)

    def _choices(self, place: int) -> list[cp_model.IntVar]:
        request, found = self.requests[place], []
        for t in self.times.tolist():
            delay = t - self.snapshot.now
            if delay <= request.max_delay:
                starts = self.model.new_bool_var("")
                self._cost.append((starts, request.delay_weight * request.nodes * delay))
                found.append(starts)
        self.model.add_exactly_one(found)
        return found

    def _victims_at(self, t: float) -> dict[int, cp_model.IntVar]:
        of, jobs = self.snapshot, self.candidates
        seconds, _ = seconds_lost(
            t,
            float(of.now),
            of.start[jobs],
            of.checkpoint_interval[jobs],
            of.checkpoint_cost[jobs],
            of.restart_cost[jobs],
            of.on_demand_checkpoint[jobs],
        )
        found = {}
        for job, lost in zip(jobs.tolist(), seconds.tolist(), strict=True):
            if of.expected_end[job] > t:
                found[job] = self.model.new_bool_var("")
                self._cost.append((found[job], lost * int(of.nodes[job])))
        return found

    def _enough(self, index: int) -> None:
        """Let the nodes that have come free by a start be enough for those who have started by then."""
        of, t = self.snapshot, float(self.times[index])
        ended = of.expected_end <= t
        freed: list[cp_model.LinearExprT] = [
            int(of.nodes[job]) * goes for at in self.goes[: index + 1] for job, goes in at.items() if not ended[job]
        ]
        taken: list[cp_model.LinearExprT] = [
            self.requests[place].nodes * starts
            for place, choices in self.starts.items()
            for starts in choices[: index + 1]
        ]
        given = of.free_nodes + int(of.nodes[ended].sum())
        self.model.add(cp_model.LinearExpr.sum(taken) <= given + cp_model.LinearExpr.sum(freed))

    def _only_at_a_start(self, index: int) -> None:
        """Let nobody go when no request starts: nodes are not emptied to lie idle until a later start."""
        starting = [choices[index] for choices in self.starts.values() if index < len(choices)]
        for goes in self.goes[index].values():
            self.model.add_bool_or([*starting, ~goes])

    def solved(self) -> Joint | None:
        """Return the optimum; None where it was not proven within the limit."""
        # As in `cosim.preemption`, of equal costs the one with fewer victims.
        more = len(self.candidates) + 1
        largest = sum(cost for _, cost in self._cost) or 1.0
        scale = min(1000.0, 2.0**52 / more / largest)
        costs = [round(cost * scale) * more * variable for variable, cost in self._cost]
        self.model.minimize(sum(costs) + sum(gone for goes in self.goes for gone in goes.values()))
        solver = cp_model.CpSolver()
        solver.parameters.num_workers = 1
        solver.parameters.random_seed = _SEED
        solver.parameters.max_deterministic_time = BUDGET
        solver.parameters.max_time_in_seconds = BUDGET
        if solver.solve(self.model) != cp_model.OPTIMAL:
            return None
        served = []
        for place, choices in self.starts.items():
            at = next(index for index, starts in enumerate(choices) if solver.value(starts))
            served.append(Served(place, float(self.times[at])))
        points = []
        for t, goes in zip(self.times.tolist(), self.goes, strict=True):
            victims = np.array([job for job, gone in goes.items() if solver.value(gone)], np.int64)
            if len(victims) or any(one.start == t for one in served):
                points.append(point_at(self.snapshot, t, victims))
        cost = math.fsum(cost for variable, cost in self._cost if solver.value(variable))
        return Joint(tuple(served), tuple(points), cost)
