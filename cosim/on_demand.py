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


@dataclass
class _Plan:
    """A start that lies ahead."""

    job: int
    start: float
    nodes: int
    ends: float  # when the calendar expects the nodes back [s]
    victims: list[tuple[int, str]]
    ending: list[int]  # jobs whose expected ends the plan counts on
    held: int = 0


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
        """When the next planned start is due, infinite for never [s]."""
        return min((plan.start for plan in self._plans), default=math.inf)

    def step(self) -> None:
        """Do all that is due now; the machine's scheduling pass comes after it."""
        for plan in list(self._plans):
            self._take_in(plan)
            if plan.held == plan.nodes:
                self._start(plan)
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
        snapshot, places = self.machine.snapshot()
        left = max(0.0, float(job["submit"]) + self.max_delay - snapshot.now)
        request = Request(int(job["nodes"]), float(job["request"]), left, self.delay_weight)
        decision = self.policy.decide(snapshot, request)
        if decision.chosen is None:
            if not self.machine.is_queued(j):
                self.machine.enqueue(j)
            self._stranded.append(j)
            return
        if self.machine.is_queued(j):
            self.machine.take_off(j)
        chosen = decision.chosen
        frontier = tuple((point.start - snapshot.now, point.lost_node_seconds) for point in decision.frontier)
        self.decisions.append(
            Decided(snapshot.now, j, chosen.start, chosen.lost_node_seconds, len(chosen.victims), frontier)
        )
        self._follow(j, chosen, snapshot, places)

    def _follow(self, j: int, chosen: Point, snapshot: Snapshot, places: Integers) -> None:
        victims = [(int(places[victim.place]), victim.how) for victim in chosen.victims]
        if chosen.start <= snapshot.now:
            for victim, how in victims:
                self.machine.interrupt(victim, how)
            self.machine.start(j)
            return
        nodes = int(self.machine.jobs["nodes"][j])
        ends = chosen.start + float(self.machine.jobs["request"][j])
        plan = _Plan(j, chosen.start, nodes, ends, victims, _ending(chosen, snapshot, places, nodes))
        for promised in [victim for victim, _ in victims] + plan.ending:
            self.machine.promise(promised)
        self.machine.expect(plan.ends, nodes, _owner(j))
        self._plans.append(plan)
        self._take_in(plan)

    def _take_in(self, plan: _Plan) -> None:
        more = min(self.machine.free, plan.nodes - plan.held)
        self.machine.hold(more)
        plan.held += more

    def _dissolve(self, plan: _Plan) -> None:
        self._plans.remove(plan)
        self.machine.forget(plan.ends, _owner(plan.job))
        self.machine.hold(-plan.held)
        for promised in [victim for victim, _ in plan.victims] + plan.ending:
            self.machine.release_promise(promised)

    def _start(self, plan: _Plan) -> None:
        self._dissolve(plan)
        for victim, how in plan.victims:
            signalled = self.machine.now - (plan.start - float(self.machine.jobs["cost"][victim]))
            if how == CHECKPOINT and signalled > 0 and self.machine.is_running(victim):
                self.machine.stall(victim, signalled)
        self.machine.start(plan.job)

    def _carry_out(self, plan: _Plan) -> None:
        running = [(victim, how) for victim, how in plan.victims if self.machine.is_running(victim)]
        freed = sum(int(self.machine.jobs["nodes"][victim]) for victim, _ in running)
        self._dissolve(plan)
        if self.machine.free < plan.nodes - freed:
            # A job that was expected to end has not: nobody is preempted in vain, the policy is asked again.
            self.machine.enqueue(plan.job)
            self._stranded.append(plan.job)
            return
        for victim, how in running:
            self.machine.interrupt(victim, how)
        self.machine.start(plan.job)


def _owner(j: int) -> int:
    return -j - 2


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
