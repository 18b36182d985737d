"""Carries plans out through the seam, step by step; each step may be done twice, or after a crash, without harm."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from cosim.preemption import CHECKPOINT
from scheduler.controller.journal import (
    CLOSED,
    HAND_OVER,
    REQUEUE,
    RESERVE,
    RUNNING,
    SIGNAL,
    Journal,
    Plan,
    PlannedVictim,
)
from scheduler.slurm.seam import Job, Reservation, Slurm

_SAME_RUN = 1.0  # Slurm gives starts in whole seconds [s]


@dataclass(frozen=True)
class Hands:
    """What a plan is carried out with.

    Attributes
    ----------
    slurm : Slurm
        The cluster.
    journal : Journal
        Where each step is written before it is taken.
    """

    slurm: Slurm
    journal: Journal

    def step(self, plan: Plan, now: float, jobs: Mapping[int, Job], standing: Collection[str]) -> Plan:
        """Do what is due for a plan.

        Parameters
        ----------
        plan : Plan
            As the journal has it.
        now : float
            The time [s].
        jobs : Mapping of int to Job
            The cluster's jobs.
        standing : collection of str
            The nodes that are neither down nor drained.

        Returns
        -------
        Plan
            As the journal has it now.

        Raises
        ------
        SlurmError
            Where Slurm refuses a step: the plan stays where it is, and the step is tried again.
        """
        job = jobs.get(plan.job)
        if plan.state != RUNNING and job is not None and job.state == "running":
            plan = self.journal.move(plan, RUNNING)
        if job is None or job.state not in ("pending", "running") or _is_void(plan, job, standing):
            self.slurm.unreserve(plan.reservation)
            return self.journal.move(plan, CLOSED)
        if plan.state == RESERVE:
            plan = self._reserve(plan, now)
        if plan.state == SIGNAL:
            plan = self._signal(plan, now, jobs)
        if plan.state == REQUEUE:
            plan = self._requeue(plan, jobs)
        return plan

    def _reserve(self, plan: Plan, now: float) -> Plan:
        if plan.reservation not in {known.name for known in self.slurm.reservations()}:
            self.slurm.reserve(Reservation(plan.reservation, plan.nodes, now, plan.until, (plan.user,)))
        self.slurm.place(plan.job, reservation=plan.reservation, first=True)
        return self.journal.move(plan, SIGNAL)

    def _signal(self, plan: Plan, now: float, jobs: Mapping[int, Job]) -> Plan:
        for victim in plan.victims:
            due = victim.how == CHECKPOINT and victim.signal_at <= now and victim.job not in plan.signalled
            if due and _runs(victim, jobs):
                plan = self.journal.signalling(plan, victim.job)
                self.slurm.signal(victim.job, plan.signal)
        # Victims that have gone early, having finished their checkpoints, leave nothing to wait for.
        gone = bool(plan.victims) and not any(_runs(victim, jobs) for victim in plan.victims)
        return self.journal.move(plan, REQUEUE) if gone or plan.start <= now else plan

    def _requeue(self, plan: Plan, jobs: Mapping[int, Job]) -> Plan:
        for victim in plan.victims:
            if _runs(victim, jobs):
                self.slurm.requeue(victim.job)
        return self.journal.move(plan, HAND_OVER)


def _is_void(plan: Plan, job: Job, standing: Collection[str]) -> bool:
    """Say whether a plan's job can no longer start by it: it lost a node, or came back after its run was lost."""
    return job.state == "pending" and (plan.state == RUNNING or not set(plan.nodes) <= set(standing))


def _runs(victim: PlannedVictim, jobs: Mapping[int, Job]) -> bool:
    """Say whether the run that was chosen still runs: a job that came back is not stopped a second time."""
    job = jobs.get(victim.job)
    return (
        job is not None
        and job.state == "running"
        and "completing" not in job.flags
        and job.start is not None
        and abs(job.start - victim.started) < _SAME_RUN
    )
