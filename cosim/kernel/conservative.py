"""Conservative backfilling: every waiting job holds a reservation, and none is ever moved to a later time.

Source: Mu'alem and Feitelson, IEEE TPDS 12(6), 2001, section 2.2: a job gets the earliest slot that delays nobody
when it arrives, and where nodes come free early, the schedule is compressed in priority order. Where reality breaks
a promise (a job outlives its limit, nodes fail, an on-demand job takes nodes), all reservations are made anew.
Compression goes through the queue once, as in the source: a job may stay behind a gap that one after it has left.
"""

from __future__ import annotations

import math

from cosim.jit import kernel
from cosim.kernel.queue import FIXED, drop_started, score_all, sort_by_score, waiting_jobs
from cosim.kernel.state import Places, Records, Scratch, Times, start_job

# A job that has outlived its limit frees its nodes after now, by how much nobody knows: the next pass sees.
_OVERDUE = 1.0


@kernel
def _profile(releases: Records, clock: Records, times: Times, free: Places) -> int:
    """Write the free nodes over time by what is expected: from times[k] on, free[k] nodes; return how many points."""
    now = clock[0].now
    times[0], free[0] = now, clock[0].free
    size = 1
    for k in range(clock[0].releases):
        time = releases[k].time if releases[k].time > now else now + _OVERDUE
        place, size = _cut(times, free, size, time)
        for later in range(place, size):
            free[later] += releases[k].nodes
    return size


@kernel
def _insert(times: Times, free: Places, size: int, place: int, time: float) -> None:
    for k in range(size, place, -1):
        times[k], free[k] = times[k - 1], free[k - 1]
    times[place], free[place] = time, free[place - 1]


@kernel
def _cut(times: Times, free: Places, size: int, time: float) -> tuple[int, int]:
    """Make `time` a point of the profile; return its place and the profile's size."""
    place, beyond = 0, size
    while place < beyond:
        middle = (place + beyond) >> 1
        if times[middle] < time:
            place = middle + 1
        else:
            beyond = middle
    if place < size and times[place] == time:
        return place, size
    _insert(times, free, size, place, time)
    return place, size + 1


@kernel
def _occupy(times: Times, free: Places, size: int, start: float, end: float, nodes: int) -> int:
    """Take nodes (negative: give them back) from start to end; return the profile's size."""
    first, size = _cut(times, free, size, start)
    last, size = _cut(times, free, size, end)
    for k in range(first, last):
        free[k] -= nodes
    return size


@kernel
def _earliest(times: Times, free: Places, size: int, nodes: int, length: float) -> float:
    """Return the earliest start of a slot of that many nodes and that length; infinite where there is none."""
    k = 0
    while k < size:
        if free[k] < nodes:
            k += 1
            continue
        start = times[k]
        fits = True
        ahead = k + 1
        while ahead < size and times[ahead] < start + length:
            if free[ahead] < nodes:
                fits = False
                break
            ahead += 1
        if fits:
            return float(start)
        k = ahead + 1
    return math.inf


@kernel
def _in_order(jobs: Records, queue: Places, clock: Records, scratch: Scratch, order: int) -> Places:
    line = waiting_jobs(queue, clock)
    waiting = scratch.line[: len(line)]
    for k in range(len(line)):
        waiting[k] = line[k]
    if order != FIXED:
        score_all(jobs, queue, clock)
        sort_by_score(jobs, waiting, scratch.spare)
    return waiting


@kernel
def _keep(jobs: Records, waiting: Places, times: Times, free: Places, size: int, now: float) -> tuple[int, bool]:
    """Enter the reservations that are held into the profile; say whether all of them can still be kept."""
    kept = True
    for j in waiting:
        start = jobs[j].reserved
        if start < math.inf:
            kept = kept and start >= now
            size = _occupy(times, free, size, max(start, now), max(start, now) + jobs[j].request, jobs[j].nodes)
    for k in range(size):
        kept = kept and free[k] >= 0
    return size, kept


@kernel
def _reserve(jobs: Records, waiting: Places, times: Times, free: Places, size: int, compress: bool) -> None:
    """Give each job without a reservation the earliest slot; if compressing, each other job an earlier one."""
    for j in waiting:
        job = jobs[j]
        if job.reserved < math.inf:
            if not compress:
                continue
            size = _occupy(times, free, size, job.reserved, job.reserved + job.request, -job.nodes)
        job.reserved = _earliest(times, free, size, job.nodes, job.request)
        if job.reserved < math.inf:
            size = _occupy(times, free, size, job.reserved, job.reserved + job.request, job.nodes)


@kernel
def conservative_pass(
    jobs: Records,
    queue: Places,
    running: Places,
    events: Records,
    releases: Records,
    clock: Records,
    scratch: Scratch,
    order: int,
) -> None:
    """Keep, improve or make each waiting job's reservation, then start those that are due."""
    now = clock[0].now
    waiting = _in_order(jobs, queue, clock, scratch, order)
    times, free = scratch.times, scratch.free
    size = _profile(releases, clock, times, free)
    size, kept = _keep(jobs, waiting, times, free, size, now)
    if not kept:
        for j in waiting:
            jobs[j].reserved = math.inf
        size = _profile(releases, clock, times, free)
    _reserve(jobs, waiting, times, free, size, clock[0].earlier != 0)
    clock[0].earlier = 0
    # What waits for an overdue job is not due at a known time; the end of that job is when to look again.
    overdue = clock[0].releases > 0 and releases[0].time <= now
    looked_at = now + _OVERDUE if overdue else now
    started = False
    for j in waiting:
        reserved = jobs[j].reserved
        if reserved <= now:
            start_job(jobs, running, events, releases, clock, j)
            started = True
        elif reserved > looked_at:
            clock[0].wake = min(clock[0].wake, reserved)
    if started:
        drop_started(jobs, queue, clock)
