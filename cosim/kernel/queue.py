"""The queue of waiting jobs: its order, and how a job gets in and out."""

from __future__ import annotations

import math

from cosim.jit import kernel
from cosim.kernel.state import QUEUED, Places, Records

FIXED, WFP = 0, 1
"""Whether the order is the one of the jobs' ranks, or WFP's, which changes as jobs wait."""


@kernel
def waiting_jobs(queue: Places, clock: Records) -> Places:
    """Return the waiting jobs in ascending order of the ranks: a view of the queue."""
    first = clock[0].first
    return queue[first : first + clock[0].queued]


@kernel
def enqueue(jobs: Records, queue: Places, clock: Records, j: int) -> None:
    """Put job j into the queue, which is in ascending order of the ranks."""
    jobs[j].status = QUEUED
    jobs[j].reserved = math.inf
    if clock[0].first + clock[0].queued == len(queue):
        # The heads have left a gap as long as the queue has room beyond all jobs: this is rare.
        for k in range(clock[0].queued):
            queue[k] = queue[clock[0].first + k]
        clock[0].first = 0
    place = clock[0].queued
    clock[0].queued += 1
    line = waiting_jobs(queue, clock)
    rank = jobs[j].rank
    while place > 0 and jobs[line[place - 1]].rank > rank:
        line[place] = line[place - 1]
        place -= 1
    line[place] = j


@kernel
def take_at(queue: Places, clock: Records, place: int) -> None:
    """Take the job at a place off the queue; the head at no cost, however long the queue is."""
    if place == 0:
        clock[0].first += 1
    else:
        line = waiting_jobs(queue, clock)
        for k in range(place, len(line) - 1):
            line[k] = line[k + 1]
    clock[0].queued -= 1


@kernel
def drop_started(jobs: Records, queue: Places, clock: Records) -> None:
    """Close the gaps that jobs started out of order have left."""
    line = waiting_jobs(queue, clock)
    kept = 0
    for j in line:
        if jobs[j].status == QUEUED:
            line[kept] = j
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
    for j in waiting_jobs(queue, clock):
        job = jobs[j]
        job.score = wfp_score(job.submit, job.request, job.nodes, job.on_demand, now)


@kernel
def _merge(jobs: Records, line: Places, spare: Places, left: int, middle: int, right: int) -> None:
    """Write two neighbouring sorted stretches of the line into `spare` as one."""
    first, second = left, middle
    for k in range(left, right):
        # On equal scores the left one goes first: that keeps the order of the ranks.
        ahead = second >= right or (first < middle and jobs[line[first]].score >= jobs[line[second]].score)
        if ahead:
            spare[k] = line[first]
            first += 1
        else:
            spare[k] = line[second]
            second += 1


@kernel
def sort_by_score(jobs: Records, line: Places, spare: Places) -> None:
    """Sort a line of jobs by descending score in place; ties keep their order. `spare` is as long or longer."""
    size, width = len(line), 1
    while width < size:
        for left in range(0, size, 2 * width):
            _merge(jobs, line, spare, left, min(left + width, size), min(left + 2 * width, size))
        for k in range(size):
            line[k] = spare[k]
        width *= 2


@kernel
def head_place(jobs: Records, queue: Places, clock: Records, order: int) -> int:
    """Return the place of the first job in priority order; ties go to the lower rank."""
    if order == FIXED:
        return 0
    line = waiting_jobs(queue, clock)
    best = 0
    for k in range(1, len(line)):
        if jobs[line[k]].score > jobs[line[best]].score:
            best = k
    return best
