"""One controller cycle: observe, carry on with what is planned, decide, begin."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from scheduler.controller.acting import Hands
from scheduler.controller.deciding import Intent, Site, decide, is_ours
from scheduler.controller.events import Event, Say, event
from scheduler.controller.explaining import outlined
from scheduler.controller.journal import CLOSED, HAND_OVER, RUNNING, Journal, Plan
from scheduler.slurm import observe
from scheduler.slurm.seam import Job, Slurm, SlurmError, SlurmUnreachableError

_CLEAR_UP_EVERY = 60.0  # from one look for reservations that nobody knows to the next [s]


@dataclass
class Controller:
    """Watches one cluster.

    Attributes
    ----------
    slurm : Slurm
        The cluster.
    journal : Journal
        Its journal.
    site : Site
        What to decide by; may be replaced between cycles.
    say : Say
        Takes an event for each thing that was done or refused.
    dry_run : bool
        Decide and say, but do nothing.
    stopping : callable
        Asked between steps whether to end now.
    show : callable
        Takes the few lines on each plan in a dry run.
    """

    slurm: Slurm
    journal: Journal
    site: Site
    say: Say
    dry_run: bool = False
    stopping: Callable[[], bool] = lambda: False
    show: Callable[[str], None] = lambda _: None
    _said: set[int] = field(default_factory=set)
    _cleared: float = -math.inf

    def cycle(self, now: float) -> tuple[Intent, ...]:
        """Run one cycle.

        Parameters
        ----------
        now : float
            The time [s].

        Returns
        -------
        tuple of Intent
            What was decided in it.

        Raises
        ------
        SlurmError
            Where the cluster cannot be observed, or is lost on the way; plans go on in a later cycle.
        sqlite3.Error
            Where the journal cannot be read or written; what it does not hold was not begun.
        """
        began = time.perf_counter()
        nodes, jobs = self.slurm.look()
        observed = time.perf_counter()
        intents = decide(self.site, now, nodes, jobs, self.journal.open_plans())
        seconds = time.perf_counter() - observed
        if self.dry_run:
            self._say_what_would_be(intents)
        else:
            for intent in intents:
                self.journal.begin(intent.plan, intent.explanations)
                self.say(_decided("decided", "", intent))
            self._act(now, {job.id: job for job in jobs}, observe.standing_nodes(nodes))
            self._clear_up(now)
        self._say_cycle(time.perf_counter() - began, seconds, len(intents))
        return intents

    def _say_what_would_be(self, intents: tuple[Intent, ...]) -> None:
        for intent in intents:
            if intent.plan.job not in self._said:
                self._said.add(intent.plan.job)
                self.say(_decided("would_decide", "would: ", intent))
                self.show(outlined(intent.plan))

    def _act(self, now: float, jobs: Mapping[int, Job], standing: frozenset[str]) -> None:
        hands = Hands(self.slurm, self.journal)
        for plan in self.journal.open_plans():
            if self.stopping():
                return
            try:
                moved = hands.step(plan, now, jobs, standing)
            except SlurmUnreachableError:
                raise
            except SlurmError as error:
                text = f"job {plan.job}: {plan.state} will be tried again: {error}"
                self.say(event("step_refused", text, job=plan.job, state=plan.state, reason=str(error)))
                continue
            if moved.state != plan.state:
                self.say(_moved(plan, moved, jobs.get(plan.job)))

    def _clear_up(self, now: float) -> None:
        """Take away reservations of ours that no open plan knows: what a lost journal would leave behind."""
        if self.stopping() or now - self._cleared < _CLEAR_UP_EVERY:
            return
        open_ones = {plan.reservation for plan in self.journal.open_plans()}
        for known in self.slurm.reservations():
            if is_ours(known.name) and known.name not in open_ones:
                self.slurm.unreserve(known.name)
                text = f"reservation {known.name}: no plan knows it, it is gone"
                self.say(event("reservation_cleared", text, reservation=known.name))
        self._cleared = now

    def _say_cycle(self, seconds: float, decision_seconds: float, decided: int) -> None:
        plans = Counter(plan.state for plan in self.journal.open_plans())
        text = f"a cycle of {seconds:.3f} s, {plans.total()} open plans"
        fields = {"seconds": round(seconds, 6), "decision_seconds": round(decision_seconds, 6)}
        self.say(event("cycle", text, **fields, decided=decided, open_plans=dict(plans)))


def _decided(name: str, prefix: str, intent: Intent) -> Event:
    plan = intent.plan
    return event(
        name,
        prefix + intent.explanations[plan.job],
        job=plan.job,
        reservation=plan.reservation,
        nodes=len(plan.nodes),
        victims=[victim.job for victim in plan.victims],
        lost_node_seconds=round(intent.lost, 3),
        delay_seconds=round(plan.start - plan.made, 3),
    )


def _moved(plan: Plan, moved: Plan, job: Job | None) -> Event:
    common = {"job": plan.job, "reservation": plan.reservation, "before": plan.state, "state": moved.state}
    if moved.state == CLOSED:
        return event("plan_closed", f"job {plan.job}: closed, its reservation is gone", **common)
    more: dict[str, object] = {}
    if moved.state == HAND_OVER:
        more["lost_node_seconds"] = round(sum(victim.loss for victim in plan.victims), 3)
    if moved.state == RUNNING and job is not None and job.start is not None and job.submit is not None:
        more["latency_seconds"] = round(job.start - job.submit, 3)
    return event("plan_moved", f"job {plan.job}: {plan.state} -> {moved.state}", **common, **more)
