"""Start times under FCFS, EASY and conservative backfilling, from their definitions, slowly and plainly.

This shares no code with `cosim`: lists of jobs, whole seconds, a scan of everything at every step.

Conventions, the same for all three
    At each second in which anything happens, first every job that ends then gives its nodes back, then every job
    submitted then joins the queue, then jobs are started; a job of run time 0 ends in the second in which it starts,
    and the second is gone through once more. The queue is in priority order: by submission (`fcfs`), by request
    (`sjf`), or by ``(wait / request)^3 * nodes``, highest first (`wfp`); equals by submission, then by place in the
    trace. The scheduler sees requests, not run times; a job that has outlived its request may end any moment.

EASY (Lifka, JSSPP 1995; Mu'alem and Feitelson, IEEE TPDS 12(6), 2001, figure 1)
    Jobs leave the head of the queue as long as the head fits. The head that does not fit has a *shadow time*: the
    earliest moment at which, by the requests, enough nodes will be free; all ends expected at that very moment count.
    *Extra* nodes are those that will be left over then. The jobs behind, in priority order, start at once if they fit
    and either end, by their request, no later than the shadow time, or need no more than the extra nodes (which
    they then use up). Only the first waiting job has a reservation.

Conservative (ibid., section 2.2)
    Each job gets, when it arrives, the earliest slot that moves no earlier promise. When a job ends before its
    request is up, all waiting jobs are gone through in priority order, once: each gives its slot back and gets the
    earliest one there is. Valid here only where no job outlives its request.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass
class Job:
    """A rigid job; whole seconds."""

    place: int
    submit: int
    run: int
    request: int
    nodes: int
    start: int | None = None
    slot: int | None = None

    def expected_end(self, now: int) -> int:
        return max(now, self.start + self.request)


def start_times(jobs: list[Job], nodes: int, backfill: str, order: str = "fcfs") -> list[int]:
    """Return the start of each job, in the order of the list."""
    queue: list[Job] = []
    running: list[Job] = []
    coming = sorted(jobs, key=lambda job: (job.submit, job.place))
    now = -1
    while coming or queue or running:
        slots = [job.slot for job in queue if job.slot is not None]
        now = min([job.submit for job in coming[:1]] + [job.start + job.run for job in running] + slots)
        early = any(job.start + job.run == now < job.start + job.request for job in running)
        running = [job for job in running if job.start + job.run > now]
        while coming and coming[0].submit == now:
            queue.append(coming.pop(0))
        queue.sort(key=lambda job: _priority(job, order, now))
        for job in _startable(queue, running, nodes, now, backfill, early):
            job.start = now
            queue.remove(job)
            running.append(job)
    return [job.start for job in jobs]


def _priority(job: Job, order: str, now: int) -> tuple:
    first = {"fcfs": 0, "sjf": job.request, "wfp": -(((now - job.submit) / job.request) ** 3) * job.nodes}[order]
    return (first, job.submit, job.place)


def _startable(queue: list[Job], running: list[Job], nodes: int, now: int, backfill: str, early: bool) -> list[Job]:
    if backfill == "conservative":
        return _due(queue, running, nodes, now, early)
    free = nodes - sum(job.nodes for job in running)
    chosen: list[Job] = []
    waiting = list(queue)
    while waiting and waiting[0].nodes <= free:
        chosen.append(waiting.pop(0))
        free -= chosen[-1].nodes
    if backfill == "none" or not waiting:
        return chosen
    head = waiting.pop(0)
    ends = [(job.expected_end(now), job.nodes) for job in running] + [(now + job.request, job.nodes) for job in chosen]
    shadow = min(t for t, _ in ends if free + sum(n for end, n in ends if end <= t) >= head.nodes)
    extra = free + sum(n for end, n in ends if end <= shadow) - head.nodes
    for job in waiting:
        in_time = now + job.request <= shadow
        if job.nodes <= free and (in_time or job.nodes <= extra):
            chosen.append(job)
            free -= job.nodes
            extra -= 0 if in_time else job.nodes
    return chosen


def _due(queue: list[Job], running: list[Job], nodes: int, now: int, early: bool) -> list[Job]:
    for job in queue:
        if job.slot is None or early:
            others = [other for other in queue if other is not job and other.slot is not None]
            taken = [(now, other.start + other.request, other.nodes) for other in running]
            taken += [(other.slot, other.slot + other.request, other.nodes) for other in others]
            job.slot = _earliest(job, taken, nodes, now)
    return [job for job in queue if job.slot == now]


def _earliest(job: Job, taken: list[tuple[int, int, int]], nodes: int, now: int) -> int:
    """Return the earliest start: it can only be now, or where something that is taken ends."""
    moments = sorted({now} | {end for _, end, _ in taken if end > now})
    for start in moments:
        # Use only grows where a slot begins, so that it is enough to look there.
        inside = [start] + [begin for begin, _, _ in taken if start < begin < start + job.request]
        if all(sum(n for begin, end, n in taken if begin <= t < end) + job.nodes <= nodes for t in inside):
            return start
    raise AssertionError(f"job {job.place} is larger than the machine: {job.nodes} of {nodes}, {math.inf}")
