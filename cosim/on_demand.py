"""Carries out, in replayed time, what a preemption policy decides for on-demand jobs.

A decided start may lie ahead. Until then the on-demand job holds the nodes that are free, takes in each node that
comes free, and starts as soon as it has enough; its victims go at the decided start and not before. A job whose
request cannot be met within its window waits at the head of the batch queue, nobody is preempted for it, and it asks
again whenever nodes come free.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from cosim.machine import Machine
from cosim.policies import PreemptionPolicy
from cosim.preemption import CHECKPOINT, Point
from cosim.snapshot import Integers, Request, Snapshot


class Decided(NamedTuple):
    """One decision, for the report: when, for whom, and the frontier as (delay, lost node-seconds)."""

    time: float
    job: int
    start: float
    lost_node_seconds: float
    victims: int
    frontier: tuple[tuple[float, float], ...]


class _Victim(NamedTuple):
    """A job that a plan will preempt."""

    job: int
    how: str
    loss: float


@dataclass
class _Plan:
    """A start that lies ahead."""

    job: int
    start: float
    nodes: int
    ends: float  # when the calendar expects the nodes back [s]
    victims: list[_Victim]
    ending: list[int]  # jobs whose expected ends the plan counts on
    signals: list[tuple[float, int]]  # when to signal which victims for a checkpoint, the latest first
    held: int = 0
    spare: int = 0  # nodes beyond the need that the calendar expects back at the start

    @property
    def promised(self) -> list[int]:
        """The jobs whose nodes the plan counts on."""
        return [victim.job for victim in self.victims] + self.ending

    @property
    def next_time(self) -> float:
        """When something is due [s]."""
        return self.signals[-1][0] if self.signals else self.start


@dataclass
class OnDemand:
    """The on-demand jobs of a replay, and what is planned for them.

    Attributes
    ----------
    machine : Machine
        The replayed machine.
    policy : PreemptionPolicy
        Who decides.
    max_delay : float
        How late an on-demand job may start [s].
    delay_weight : float
        What a node-second of delay is worth in lost node-seconds.
    decisions : list of Decided
        All decisions so far.
    """

    machine: Machine
    policy: PreemptionPolicy
    max_delay: float
    delay_weight: float
    decisions: list[Decided] = field(default_factory=list)
    _plans: list[_Plan] = field(default_factory=list)
    _stranded: list[int] = field(default_factory=list)

    @property
    def watching(self) -> bool:
        """Whether an ending job is of interest."""
        return bool(self._plans or self._stranded)

    @property
    def next_time(self) -> float:
        """When the next planned start or signal is due, infinite for never [s]."""
        return min((plan.next_time for plan in self._plans), default=math.inf)

    def step(self) -> None:
        """Do all that is due now; the machine's scheduling pass comes after it."""
        for plan in list(self._plans):
            self._signal(plan)
            self._take_in(plan)
            if plan.held == plan.nodes:
                self._start(plan)
            elif not self._can_be_met(plan):
                # A job that was to end has not, or nodes failed: nobody is preempted in vain, the policy decides anew.
                self._dissolve(plan)
                self._ask(plan.job)
            elif plan.start <= self.machine.now:
                self._carry_out(plan)
        waiting = [j for j in self._stranded if self.machine.is_queued(j)]
        self._stranded = []
        for j in waiting + self.machine.arrivals():
            self._ask(j)

    def strand(self, j: int) -> None:
        """Let job j, which is in the batch queue, ask again at the next step."""
        self._stranded.append(j)

    def held_nodes(self) -> list[int]:
        """Return the nodes that each plan holds."""
        return [plan.held for plan in self._plans]

    def lose_held(self, plan: int, nodes: int) -> None:
        """Take nodes that failed away from a plan."""
        self._plans[plan].held -= nodes

    def _ask(self, j: int) -> None:
        job = self.machine.jobs[j]
        if job["nodes"] <= self.machine.free:
            # Every policy starts it now, at no loss; half of the jobs of a year are spared a snapshot.
            self._leave_queue(j)
            self.decisions.append(Decided(self.machine.now, j, self.machine.now, 0.0, 0, ((0.0, 0.0),)))
            self.machine.start(j)
            return
        snapshot, places = self.machine.snapshot()
        left = max(0.0, float(job["submit"]) + self.max_delay - snapshot.now)
        request = Request(int(job["nodes"]), float(job["request"]), left, self.delay_weight)
        decision = self.policy.decide(snapshot, request)
        if decision.chosen is None:
            if not self.machine.is_queued(j):
                self.machine.enqueue(j)
            self._stranded.append(j)
            return
        self._leave_queue(j)
        chosen = decision.chosen
        frontier = tuple((point.start - snapshot.now, point.lost_node_seconds) for point in decision.frontier)
        self.decisions.append(
            Decided(snapshot.now, j, chosen.start, chosen.lost_node_seconds, len(chosen.victims), frontier)
        )
        self._follow(j, chosen, snapshot, places)

    def _leave_queue(self, j: int) -> None:
        if self.machine.is_queued(j):
            self.machine.take_off(j)

    def _follow(self, j: int, chosen: Point, snapshot: Snapshot, places: Integers) -> None:
        victims = [_Victim(int(places[victim.place]), victim.how, victim.loss) for victim in chosen.victims]
        if chosen.start <= snapshot.now:
            for victim in victims:
                self._preempt(victim)
            self.machine.start(j)
            return
        nodes = int(self.machine.jobs["nodes"][j])
        ends = chosen.start + float(self.machine.jobs["request"][j])
        ending = _ending(chosen, snapshot, places, nodes)
        plan = _Plan(j, chosen.start, nodes, ends, victims, ending, self._signals(chosen.start, victims))
        for promised in plan.promised:
            self.machine.promise(promised, j)
        self.machine.expect(plan.ends, nodes, _owner(j))
        self._plans.append(plan)
        self._signal(plan)
        self._take_in(plan)

    def _signals(self, start: float, victims: list[_Victim]) -> list[tuple[float, int]]:
        cost = self.machine.jobs["cost"]
        return sorted(
            ((start - float(cost[victim.job]), victim.job) for victim in victims if victim.how == CHECKPOINT),
            reverse=True,
        )

    def _signal(self, plan: _Plan) -> None:
        """Signal the victims whose time it is; the checkpoint takes its time even if the start comes earlier."""
        while plan.signals and plan.signals[-1][0] <= self.machine.now:
            _, victim = plan.signals.pop()
            if self.machine.is_promised(victim, plan.job):
                self.machine.signal(victim)

    def _preempt(self, victim: _Victim) -> None:
        self.machine.interrupt(victim.job, victim.how)

    def _nodes_of(self, plan: _Plan, jobs: list[int]) -> int:
        """Return the nodes of those jobs that are still promised to the plan."""
        promised = [j for j in jobs if self.machine.is_promised(j, plan.job)]
        return int(self.machine.jobs["nodes"][promised].sum())

    def _take_in(self, plan: _Plan) -> None:
        more = min(self.machine.free, plan.nodes - plan.held)
        self.machine.hold(more)
        plan.held += more
        self._expect_spare(plan, plan.held + self._nodes_of(plan, plan.promised) - plan.nodes)

    def _expect_spare(self, plan: _Plan, nodes: int) -> None:
        """Keep the calendar whole: what the plan counts on beyond its need comes back at its start."""
        if plan.spare > 0:
            self.machine.forget(plan.start, _spare_owner(plan.job))
        plan.spare = nodes
        if plan.spare > 0:
            self.machine.expect(plan.start, plan.spare, _spare_owner(plan.job))

    def _can_be_met(self, plan: _Plan) -> bool:
        counted = [victim.job for victim in plan.victims] if plan.start <= self.machine.now else plan.promised
        return plan.held + self._nodes_of(plan, counted) >= plan.nodes

    def _dissolve(self, plan: _Plan) -> None:
        self._plans.remove(plan)
        self._expect_spare(plan, 0)
        self.machine.forget(plan.ends, _owner(plan.job))
        self.machine.hold(-plan.held)
        for promised in plan.promised:
            self.machine.release_promise(promised, plan.job)

    def _start(self, plan: _Plan) -> None:
        self._dissolve(plan)
        self.machine.start(plan.job)

    def _carry_out(self, plan: _Plan) -> None:
        victims = self._needed(plan)
        self._dissolve(plan)
        for victim in victims:
            self._preempt(victim)
        self.machine.start(plan.job)

    def _needed(self, plan: _Plan) -> list[_Victim]:
        """Return the victims without those that nodes taken in meanwhile make superfluous, the dearest first."""
        left = [victim for victim in plan.victims if self.machine.is_promised(victim.job, plan.job)]
        surplus = plan.held + self._nodes_of(plan, [victim.job for victim in left]) - plan.nodes
        needed = []
        for victim in sorted(left, key=lambda victim: -victim.loss):
            nodes = int(self.machine.jobs["nodes"][victim.job])
            if nodes <= surplus:
                surplus -= nodes
            else:
                needed.append(victim)
        return needed


def _owner(j: int) -> int:
    return -2 * j - 2


def _spare_owner(j: int) -> int:
    return -2 * j - 3


def _ending(chosen: Point, snapshot: Snapshot, places: Integers, nodes: int) -> list[int]:
    """Return the jobs whose expected ends the start counts on, the earliest first and no more than needed."""
    freed = sum(int(snapshot.nodes[victim.place]) for victim in chosen.victims)
    need = nodes - snapshot.free_nodes - freed
    ending = []
    for place in np.argsort(snapshot.expected_end, kind="stable"):
        if need <= 0 or snapshot.expected_end[place] > chosen.start:
            break
        ending.append(int(places[place]))
        need -= int(snapshot.nodes[place])
    return ending
