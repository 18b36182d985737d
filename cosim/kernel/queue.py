"""The queue of waiting jobs: its order, and how a job gets in and out."""

from __future__ import annotations

import math

from cosim.jit import kernel
from cosim.kernel.state import QUEUED, Places, Records

FIXED, WFP = 0, 1
"""Whether the order is the one of the jobs' ranks, or WFP's, which changes as jobs wait."""


@kernel
def enqueue(jobs: Records, queue: Places, clock: Records, j: int) -> None:
    """Put job j into the queue, which is in ascending order of the ranks."""
    jobs[j].status = QUEUED
    jobs[j].reserved = math.inf
    rank = jobs[j].rank
    place = clock[0].queued
    clock[0].queued += 1
    while place > 0 and jobs[queue[place - 1]].rank > rank:
        queue[place] = queue[place - 1]
        place -= 1
    queue[place] = j


@kernel
def take_at(queue: Places, clock: Records, place: int) -> None:
    """Take the job at a place off the queue."""
    clock[0].queued -= 1
    for k in range(place, clock[0].queued):
        queue[k] = queue[k + 1]


@kernel
def drop_started(jobs: Records, queue: Places, clock: Records) -> None:
    """Close the gaps that jobs started out of order have left."""
    kept = 0
    for k in range(clock[0].queued):
        if jobs[queue[k]].status == QUEUED:
            queue[kept] = queue[k]
            kept += 1
    clock[0].queued = kept


@kernel
def wfp_score(submit: float, request: float, nodes: int, on_demand: int, now: float) -> float:
    """Return the priority that ALCF's machines order their queues by: ``(wait / wall time)^3 * nodes``.

    Source: Tang, Lan, Desai and Buettner, "Fault-aware, utility-based job scheduling on Blue Gene/P systems",
    CLUSTER 2009. On-demand jobs come before all others.
    """
    if on_demand:
        return math.inf
    return ((now - submit) / request) ** 3 * nodes


@kernel
def score_all(jobs: Records, queue: Places, clock: Records) -> None:
    """Write each waiting job's WFP priority of this moment into its record."""
    now = clock[0].now
    for k in range(clock[0].queued):
        job = jobs[queue[k]]
        job.score = wfp_score(job.submit, job.request, job.nodes, job.on_demand, now)


@kernel
def head_place(jobs: Records, queue: Places, clock: Records, order: int) -> int:
    """Return the place of the first job in priority order; ties go to the lower rank."""
    if order == FIXED:
        return 0
    best = 0
    for k in range(1, clock[0].queued):
        if jobs[queue[k]].score > jobs[queue[best]].score:
            best = k
    return best
