"""The replay's state: one record a job, the clock, the running set, and the calendar of expected releases."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cosim.jit import kernel

Records = npt.NDArray[Any]
"""An array of one of the record types below (mypy has no type for its fields)."""

Places = npt.NDArray[np.int64]

Times = npt.NDArray[np.float64]


class Scratch(NamedTuple):
    """Room that a scheduling pass works in: allocated once, and so never by compiled code.

    Attributes
    ----------
    line : int64, shape (jobs + 1,)
        Waiting jobs in the order in which they are looked at.
    spare : int64, shape (jobs + 1,)
        What sorting them needs.
    times : float64, shape (points,)
        The profile of conservative backfilling: from times[k] on [s] ...
    free : int64, shape (points,)
        ... so many nodes are expected to be free.
    """

    line: Places
    spare: Places
    times: Times
    free: Places


def scratch_for(jobs: int, releases: int) -> Scratch:
    """Allocate the room for a replay.

    Parameters
    ----------
    jobs : int
        Jobs of the replay.
    releases : int
        The most entries that the calendar of releases can have.

    Returns
    -------
    Scratch
        The system gives the memory when it is first touched, so what a pass does not use costs nothing.
    """
    # Each entry of the calendar adds one point; each reservation two, and two more where it is moved.
    points = releases + 4 * jobs + 4
    return Scratch(
        np.empty(jobs + 1, np.int64),
        np.empty(jobs + 1, np.int64),
        np.empty(points, np.float64),
        np.empty(points, np.int64),
    )


COMING, QUEUED, RUNNING, DONE, WAITING = 0, 1, 2, 3, 4
"""A job's status; WAITING: an on-demand job whose start is planned, so that it is not in the queue."""

NOBODY = -1
"""Stands where a job's nodes are promised to no on-demand job."""

JOB = np.dtype(
    [
        ("submit", np.float64),  # [s]
        ("run_time", np.float64),  # what it needs when nothing interrupts it; hidden from the scheduler [s]
        ("request", np.float64),  # its wall time limit [s]
        ("nodes", np.int64),
        ("rank", np.int64),  # place in the queue where the order is fixed; on-demand jobs come first
        ("id_rank", np.int64),  # place among all jobs by ascending id
        ("interval", np.float64),  # checkpoint interval, infinite: none [s]
        ("cost", np.float64),  # checkpoint cost [s]
        ("restart_cost", np.float64),  # [s]
        ("start", np.float64),  # of the current run [s]
        ("work", np.float64),  # length of the current or the next run [s]
        ("overhead", np.float64),  # part of it that is no progress: the restart, checkpoints it was signalled for [s]
        ("expected_end", np.float64),  # of the current run, as the scheduler sees it [s]
        ("first_start", np.float64),  # [s]
        ("finish", np.float64),  # [s]
        ("reserved", np.float64),  # conservative backfilling: the start promised, infinite: none [s]
        ("score", np.float64),  # its priority at the last pass (WFP)
        ("slot", np.int64),  # place in the running set
        ("promised", np.int64),  # on-demand job whose plan its nodes go to, or NOBODY
        ("status", np.int8),
        ("on_demand", np.int8),
        ("on_demand_checkpoint", np.int8),
        ("preemptible", np.int8),
    ],
    align=True,
)

CLOCK = np.dtype(
    [
        ("now", np.float64),
        ("wake", np.float64),  # when a reserved start is due that nothing else may happen at [s]
        ("free", np.int64),  # nodes that nobody holds
        ("first", np.int64),  # where the queue begins in its array
        ("queued", np.int64),  # how many wait
        ("running", np.int64),
        ("events", np.int64),
        ("releases", np.int64),
        ("arrived", np.int64),  # jobs submitted so far
        ("done", np.int64),
        ("new_on_demand", np.int64),  # entries of the list of on-demand jobs that arrived just now
        ("watch", np.int64),  # whether control goes back to Python whenever nodes were freed
        ("earlier", np.int64),  # whether nodes were freed before they were expected, since the last pass
    ],
    align=True,
)

EVENT = np.dtype([("time", np.float64), ("job", np.int64)], align=True)
"""The end of a run."""

RELEASE = np.dtype([("time", np.float64), ("nodes", np.int64), ("owner", np.int64)], align=True)
"""Nodes that the scheduler expects back: a running job's, or (negative owner) of an outage or a planned start."""


@kernel
def _rise(events: Records, place: int, time: float, job: int) -> None:
    """Write an event at a place of the heap or above it, where it belongs."""
    while place > 0:
        parent = (place - 1) >> 1
        above = events[parent]
        if above.time < time or (above.time == time and above.job <= job):
            break
        events[place].time, events[place].job = above.time, above.job
        place = parent
    events[place].time, events[place].job = time, job


@kernel
def push_event(events: Records, clock: Records, time: float, job: int) -> None:
    """Put the end of a run into the binary heap, ordered by time, then job."""
    clock[0].events += 1
    _rise(events, clock[0].events - 1, time, job)


@kernel
def pop_event(events: Records, clock: Records) -> None:
    """Take the earliest event off the heap."""
    clock[0].events -= 1
    size = clock[0].events
    time, job = events[size].time, events[size].job
    place = 0
    while True:
        child = 2 * place + 1
        if child >= size:
            break
        if child + 1 < size:
            left, right = events[child], events[child + 1]
            if right.time < left.time or (right.time == left.time and right.job < left.job):
                child += 1
        least = events[child]
        if time < least.time or (time == least.time and job <= least.job):
            break
        events[place].time, events[place].job = least.time, least.job
        place = child
    events[place].time, events[place].job = time, job


@kernel
def strike_event(events: Records, clock: Records, job: int) -> None:
    """Take a running job's end out of the heap: it will not end then."""
    place = 0
    while events[place].job != job:
        place += 1
    _rise(events, place, -math.inf, job)
    pop_event(events, clock)


@kernel
def _release_place(releases: Records, clock: Records, time: float) -> int:
    low, high = 0, clock[0].releases
    while low < high:
        middle = (low + high) >> 1
        if releases[middle].time < time:
            low = middle + 1
        else:
            high = middle
    return low


@kernel
def add_release(releases: Records, clock: Records, time: float, nodes: int, owner: int) -> None:
    """Enter nodes into the calendar of expected releases, which is in ascending order of time."""
    place = _release_place(releases, clock, time)
    for k in range(clock[0].releases, place, -1):
        before = releases[k - 1]
        releases[k].time, releases[k].nodes, releases[k].owner = before.time, before.nodes, before.owner
    releases[place].time, releases[place].nodes, releases[place].owner = time, nodes, owner
    clock[0].releases += 1


@kernel
def remove_release(releases: Records, clock: Records, time: float, owner: int) -> None:
    """Strike the owner's entry at that time from the calendar; there is one."""
    place = _release_place(releases, clock, time)
    while releases[place].owner != owner:
        place += 1
    clock[0].releases -= 1
    for k in range(place, clock[0].releases):
        after = releases[k + 1]
        releases[k].time, releases[k].nodes, releases[k].owner = after.time, after.nodes, after.owner


@kernel
def start_job(jobs: Records, running: Places, events: Records, releases: Records, clock: Records, j: int) -> None:
    """Start a run of job j on free nodes, now; the caller takes it off the queue."""
    job, now = jobs[j], clock[0].now
    job.status = RUNNING
    job.start = now
    job.expected_end = now + job.request
    job.reserved = math.inf
    if math.isnan(job.first_start):
        job.first_start = now
    job.slot = clock[0].running
    running[job.slot] = j
    clock[0].running += 1
    clock[0].free -= job.nodes
    push_event(events, clock, now + job.work, j)
    add_release(releases, clock, job.expected_end, job.nodes, j)


@kernel
def leave(jobs: Records, running: Places, releases: Records, clock: Records, j: int) -> None:
    """Take job j off the running set and give its nodes back: it has ended, or is preempted."""
    job = jobs[j]
    if job.promised != NOBODY:
        job.promised = NOBODY
    else:
        remove_release(releases, clock, job.expected_end, j)
    clock[0].running -= 1
    moved = running[clock[0].running]
    running[job.slot] = moved
    jobs[moved].slot = job.slot
    clock[0].free += job.nodes
    if clock[0].now < job.expected_end:
        clock[0].earlier = 1
