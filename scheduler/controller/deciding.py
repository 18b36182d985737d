"""What the controller means to do: on-demand jobs, the cluster and the policy in, plans out. Nothing is done."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from cosim.joint import decide_jointly
from cosim.policies import PreemptionPolicy
from cosim.preemption import CHECKPOINT, KILL, Victim
from cosim.snapshot import Request, Snapshot
from scheduler.controller.explaining import explained
from scheduler.controller.journal import Plan, PlannedVictim
from scheduler.options import JobOptions, from_record
from scheduler.policy import PolicyFile, Rule, Who, effective
from scheduler.slurm import observe
from scheduler.slurm.seam import Job, Node

_EXACT = frozenset({"dp", "exact"})  # policies whose aim the joint decision shares
_PREFIX = "tierwise-"
_SLACK = 900.0  # a reservation outlives its job by this: Slurm ends jobs that outlive their reservation [s]
_YEAR = 365 * 86400.0  # stands for a wall time limit of a job that has none [s]


@dataclass(frozen=True)
class Site:
    """What the controller decides by.

    Attributes
    ----------
    cluster : str
        The cluster's name.
    policy : PolicyFile or None
        The administrator's policy.
    decider : PreemptionPolicy
        The preemption policy, the same as in a replay.
    """

    cluster: str
    policy: PolicyFile | None
    decider: PreemptionPolicy
    _rules: dict[Who, Rule] = field(default_factory=dict, init=False, repr=False, compare=False)

    def rule(self, job: Job) -> Rule:
        """Return what the policy file says about a job; worked out once for all jobs of the same standing."""
        who = Who(self.cluster, job.partition, job.account, job.qos, job.user)
        if who not in self._rules:
            self._rules[who] = effective(self.policy, who).rule
        return self._rules[who]


@dataclass(frozen=True)
class Intent:
    """A plan that has been made, and why.

    Attributes
    ----------
    plan : Plan
        What is to be done.
    lost : float
        What all victims lose [node-seconds].
    explanations : dict of int to str
        For each job that the decision looked at, why it was chosen or spared.
    """

    plan: Plan
    lost: float
    explanations: dict[int, str]


def is_ours(reservation: str) -> bool:
    """Say whether a reservation bears a name such as the controller gives: `tierwise-` and the on-demand job's id."""
    number = reservation.removeprefix(_PREFIX)
    return reservation.startswith(_PREFIX) and number.isascii() and number.isdigit()


def asks(site: Site, job: Job) -> bool:
    """Say whether a job waits for an on-demand start that the policy allows it to ask for.

    Several array tasks in one record have no node count of their own each, and the components of a heterogeneous job
    start together or not at all: both wait their turn as ordinary jobs do.
    """
    if job.het_job_id is not None or (job.array_task and not job.array_task.isdecimal()):
        return False
    options = from_record(job.admin_comment)
    if job.state != "pending" or options is None or options.on_demand is None or job.priority == 0:
        return False
    rule = site.rule(job)
    return bool(rule.on_demand) and options.on_demand <= (rule.on_demand_max_delay or 0)


def terms(site: Site, now: float) -> Callable[[Job], observe.Terms]:
    """Return what holds for a running job in a decision: what it says itself, else what the policy says."""

    def of(job: Job) -> observe.Terms:
        options = from_record(job.admin_comment) or JobOptions()
        rule = site.rule(job)
        exempt = job.start is not None and now - job.start < (rule.exempt_time or 0)
        every = _first(options.checkpoint_every, rule.checkpoint_every)
        cost = float(_first(options.checkpoint_cost, rule.checkpoint_cost) or 0)
        return observe.Terms(
            preemptible=bool(rule.preemptible) and not exempt and options.on_demand is None,
            checkpoint_interval=every if isinstance(every, int | float) and every > 0 else None,
            checkpoint_cost=cost,
            restart_cost=float(_first(options.restart_cost, rule.restart_cost) or 0),
            # A job that takes longer than the grace would be requeued before its checkpoint is written.
            on_demand_checkpoint=bool(rule.checkpoint_signal) and cost <= (rule.checkpoint_grace or 0),
        )

    return of


def _first(own: float | str | None, given: float | None) -> float | str | None:
    return given if own is None else own


def decide(
    site: Site, now: float, nodes: Sequence[Node], jobs: Sequence[Job], plans: Sequence[Plan]
) -> tuple[Intent, ...]:
    """Decide for each pending on-demand job that has no plan yet.

    Parameters
    ----------
    site : Site
        What to decide by.
    now : float
        The time [s].
    nodes, jobs : sequences
        The cluster.
    plans : sequence of Plan
        What is being done already: their nodes are nobody else's.

    Returns
    -------
    tuple of Intent
        One for each job that can be served within its window, in order of submission.
    """
    planned = {plan.job for plan in plans}
    promised = {name for plan in plans for name in plan.nodes}
    pending = sorted(
        (job for job in jobs if job.id not in planned and asks(site, job)), key=lambda job: (job.submit or now, job.id)
    )
    found: list[Intent] = []
    for partition in dict.fromkeys(job.partition for job in pending):
        asking = [job for job in pending if job.partition == partition]
        intents = _decide_together(site, now, nodes, jobs, asking, frozenset(promised)) if len(asking) > 1 else None
        if intents is not None:
            found += intents
            promised.update(name for intent in intents for name in intent.plan.nodes)
            continue
        for job in asking:
            intent = _decide_one(site, now, nodes, jobs, job, frozenset(promised))
            if intent is not None:
                found.append(intent)
                promised.update(intent.plan.nodes)
    return tuple(found)


def _decide_together(
    site: Site, now: float, nodes: Sequence[Node], jobs: Sequence[Job], asking: Sequence[Job], promised: frozenset[str]
) -> list[Intent] | None:
    """Decide for several jobs of a partition at once; None where they are to be decided one after the other."""
    if site.decider.name not in _EXACT:
        return None
    partition = asking[0].partition
    snapshot = observe.snapshot(now, nodes, jobs, partition=partition, blocked=promised, terms=terms(site, now))
    joint = decide_jointly(snapshot, [_request(site, now, job) for job in asking])
    if joint is None:
        return None
    by_id = {str(other.id): other for other in jobs}
    usable = observe.usable_nodes(nodes, partition, promised)
    taken: set[str] = set()
    gone: list[Victim] = []
    assigned: set[str] = set()
    found = []
    for point in joint.points:
        gone += point.victims
        for one in joint.served:
            if one.start != point.start:
                continue
            job = asking[one.request]
            names = _names(gone, point.start, snapshot, by_id, usable, jobs)
            own = tuple([name for name in names if name not in taken][: job.node_count])
            taken.update(own)
            mine = [v for v in point.victims if any(set(p.nodes) & set(own) for p in _parts(by_id[v.id], jobs))]
            # In both plans if it makes room for two, lest one's end strand the other; its loss counts in the first.
            shared = [v if v.id not in assigned else v._replace(how=KILL, loss=0.0) for v in mine]
            assigned.update(v.id for v in mine)
            plan = _plan(site, now, job, point.start, own, shared, snapshot, by_id)
            texts = explained(plan, point.lost_node_seconds, snapshot, job)
            texts[job.id] += f"; decided together with {len(asking) - 1} more on-demand jobs"
            found.append(Intent(plan, sum(v.loss for v in shared), texts))
    return found


def _decide_one(
    site: Site, now: float, nodes: Sequence[Node], jobs: Sequence[Job], job: Job, promised: frozenset[str]
) -> Intent | None:
    request = _request(site, now, job)
    snapshot = observe.snapshot(now, nodes, jobs, partition=job.partition, blocked=promised, terms=terms(site, now))
    chosen = site.decider.decide(snapshot, request).chosen
    if chosen is None:
        return None
    by_id = {str(other.id): other for other in jobs}
    usable = observe.usable_nodes(nodes, job.partition, promised)
    names = _names(chosen.victims, chosen.start, snapshot, by_id, usable, jobs)
    plan = _plan(site, now, job, chosen.start, tuple(names[: job.node_count]), chosen.victims, snapshot, by_id)
    texts = explained(plan, chosen.lost_node_seconds, snapshot, job)
    return Intent(plan, chosen.lost_node_seconds, texts)


def _limit(job: Job) -> float:
    return job.time_limit if math.isfinite(job.time_limit) else _YEAR


def _request(site: Site, now: float, job: Job) -> Request:
    options = from_record(job.admin_comment)
    tolerated = options.on_demand if options is not None and options.on_demand is not None else 0.0
    left = max(0.0, (job.submit or now) + tolerated - now)
    return Request(job.node_count, _limit(job), left, site.rule(job).delay_weight or 0.0)


def _plan(
    site: Site,
    now: float,
    job: Job,
    start: float,
    names: tuple[str, ...],
    victims: Sequence[Victim],
    snapshot: Snapshot,
    by_id: dict[str, Job],
) -> Plan:
    return Plan(
        job=job.id,
        made=now,
        start=start,
        nodes=names,
        victims=tuple(_planned(v.id, v.how, v.loss, start, snapshot, v.place, by_id) for v in victims),
        reservation=f"{_PREFIX}{job.id}",
        until=start + _limit(job) + _SLACK,
        user=job.user,
        signal=site.rule(job).checkpoint_signal or "",
    )


def _planned(
    victim: str, how: str, loss: float, start: float, snapshot: Snapshot, place: int, by_id: dict[str, Job]
) -> PlannedVictim:
    began = by_id[victim].start
    signal_at = start - float(snapshot.checkpoint_cost[place]) if how == CHECKPOINT else start
    return PlannedVictim(int(victim), snapshot.now if began is None else began, how, signal_at, loss)


def _names(
    chosen: Sequence[Victim],
    start: float,
    snapshot: Snapshot,
    by_id: dict[str, Job],
    usable: frozenset[str],
    jobs: Sequence[Job],
) -> list[str]:
    """Name the nodes: the victims' first, then those of jobs that end in time, then free ones."""
    held = {name for job in jobs for name in job.nodes}
    victims = [victim.id for victim in chosen]
    ending = [snapshot.ids[place] for place in np.flatnonzero(snapshot.expected_end <= start).tolist()]
    names = [name for job in [*victims, *ending] for part in _parts(by_id[job], jobs) for name in part.nodes]
    names = [name for name in names if name in usable]
    return [*dict.fromkeys(names), *sorted(usable - held - set(names))]


def _parts(job: Job, jobs: Sequence[Job]) -> list[Job]:
    """Return all components of a heterogeneous job, given its leader; any other job by itself."""
    return [job] if job.het_job_id is None else [other for other in jobs if other.het_job_id == job.het_job_id]
