"""A cluster in memory: jobs start, end and let their nodes go as time is told to pass. `fake` is the seam to it.

Jobs have whole nodes. A waiting job starts as soon as it fits, the highest priority first: nothing keeps nodes for a
large job, so a test in which the nodes for an on-demand job are not reserved loses them to smaller ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

from scheduler.slurm.seam import Job, Reservation
from scheduler.slurm.values import ENDED

UNUSABLE = frozenset({"down", "drain", "fail", "not_responding"})
"""States of a node on which nothing starts."""

_HELD_REASON = "JobHeldAdmin"


@dataclass(frozen=True)
class Record:
    """What is known of a job beside what it shows.

    Attributes
    ----------
    job : Job
        What it shows.
    run_time : float
        How long each run takes [s], unless something ends it before.
    frees : float
        When a completing job lets its nodes go [s]; infinite for others.
    wanted : tuple of str
        Nodes that it must have.
    """

    job: Job
    run_time: float
    frees: float = math.inf
    wanted: tuple[str, ...] = ()

    @property
    def event(self) -> float:
        """When something happens to it by itself [s]."""
        job = self.job
        if job.state == "running" and job.start is not None:
            return min(job.start + self.run_time, job.start + job.time_limit)
        waits = job.state == "pending" and job.eligible is not None
        return min(self.frees, job.eligible if waits and job.eligible is not None else math.inf)


class FakeCluster:
    """A cluster in memory.

    Parameters
    ----------
    nodes : iterable of str
        The nodes' names.
    now : float
        The POSIX time at which it begins [s].
    completing : float
        How long a job that has ended holds its nodes [s].
    requeue_delay : float
        How long a requeued job waits before it may start again [s]; the real one waits 120 s.

    Attributes
    ----------
    now : float
        The time.
    """

    def __init__(self, nodes: Iterable[str], *, now: float, completing: float, requeue_delay: float) -> None:
        self.now = now
        self._completing, self._requeue_delay = completing, requeue_delay
        self._states: dict[str, frozenset[str]] = {name: frozenset({"idle"}) for name in nodes}
        self._records: dict[int, Record] = {}
        self._reservations: dict[str, Reservation] = {}

    def job(self, job: int) -> Job:
        """Return a job."""
        return self._records[job].job

    def advance(self, seconds: float) -> None:
        """Let time pass: jobs end, start, and let their nodes go when it is due."""
        until = self.now + seconds
        while True:
            events = [record.event for record in self._records.values()]
            events += [time for known in self._reservations.values() for time in (known.start, known.end)]
            due = min((event for event in events if event > self.now), default=math.inf)
            if due > until:
                break
            self.now = due
            self._settle()
        self.now = until
        self._settle()

    def end(self, job: int, state: str = "completed") -> None:
        """Let a running job end by itself, now."""
        self._stop(self._records[job], state)
        self._settle()

    def change(self, job: int, **fields: object) -> None:
        """Change what a job shows, such as `flags` or `het_job_id`."""
        record = self._records[job]
        self._records[job] = replace(record, job=replace(record.job, **fields))  # type: ignore[arg-type]

    def set_node(self, name: str, *states: str) -> None:
        """Give a node another state; from one that is `down`, its jobs are requeued where they may be."""
        self._states[name] = frozenset(states or {"idle"})
        if "down" in states:
            for record in list(self._records.values()):
                if record.job.state != "running" or name not in record.job.nodes:
                    continue
                if record.job.requeueable:
                    self._put_back(record, held=False)
                else:
                    self._stop(record, "node_fail")
        self._settle()

    def _settle(self) -> None:
        """Carry out all that is due now."""
        self._reservations = {name: known for name, known in self._reservations.items() if known.end > self.now}
        for record in list(self._records.values()):
            if record.job.state == "running" and record.event <= self.now:
                over = record.job.start is not None and record.job.time_limit < record.run_time
                self._stop(record, "timeout" if over else "completed")
        for number, record in self._records.items():
            if record.frees <= self.now:
                job = replace(record.job, nodes=(), flags=record.job.flags - {"completing"})
                self._records[number] = replace(record, job=job, frees=math.inf)
        self._start_what_fits()

    def _start_what_fits(self) -> None:
        waiting = [record for record in self._records.values() if self._may_start(record)]
        for record in sorted(waiting, key=lambda record: (-record.job.priority, record.job.id)):
            free = self._free_for(record.job)
            if record.job.node_count <= len(free) and set(record.wanted) <= set(free):
                others = [name for name in free if name not in record.wanted]
                count = max(record.job.node_count, len(record.wanted))
                taken = (*record.wanted, *others)[:count]
                end = self.now + record.job.time_limit
                job = replace(
                    record.job,
                    state="running",
                    nodes=tuple(sorted(taken, key=list(self._states).index)),
                    node_count=count,
                    start=self.now,
                    end=end if end < math.inf else None,
                    reason="None",
                )
                self._records[job.id] = replace(record, job=job)
            else:
                self.change(record.job.id, reason="Resources")

    def _may_start(self, record: Record) -> bool:
        job = record.job
        ready = job.state == "pending" and job.priority > 0 and not job.nodes
        return ready and job.eligible is not None and job.eligible <= self.now

    def _free_for(self, job: Job) -> list[str]:
        held = {name for record in self._records.values() for name in record.job.nodes}
        usable = [name for name, states in self._states.items() if not states & UNUSABLE and name not in held]
        if job.reservation:
            own = self._reservations.get(job.reservation)
            begun = own is not None and own.start <= self.now
            return [name for name in usable if own is not None and begun and name in own.nodes]
        until = self.now + job.time_limit
        reserved = {name for known in self._reservations.values() if known.start < until for name in known.nodes}
        return [name for name in usable if name not in reserved]

    def _stop(self, record: Record, state: str) -> None:
        """End a job for good; one that waits has no nodes to let go."""
        frees = self.now + self._completing if record.job.nodes else math.inf
        flags = record.job.flags | ({"completing"} if record.job.nodes else set())
        job = replace(record.job, state=state, flags=flags, end=self.now)
        self._records[job.id] = replace(record, job=job, frees=frees)

    def _put_back(self, record: Record, *, held: bool) -> None:
        """End a run and let the job wait for the next one."""
        job = replace(
            record.job,
            state="pending",
            flags=record.job.flags | {"completing"},
            start=None,
            end=None,
            submit=self.now,
            eligible=self.now + self._requeue_delay,
            restarts=record.job.restarts + 1,
            priority=0 if held else record.job.priority,
            reason=_HELD_REASON if held else "BeginTime",
        )
        self._records[job.id] = replace(record, job=job, frees=self.now + self._completing)

    def _shown(self, name: str) -> frozenset[str]:
        """Return the states of a node as they show."""
        states = set(self._states[name])
        holders = [record.job for record in self._records.values() if name in record.job.nodes]
        if holders and "idle" in states:
            done = all(job.state in ENDED or job.state == "pending" for job in holders)
            states = states - {"idle"} | {"allocated"} | ({"completing"} if done else set())
        if any(known.start <= self.now and name in known.nodes for known in self._reservations.values()):
            states.add("reserved")
        return frozenset(states)
