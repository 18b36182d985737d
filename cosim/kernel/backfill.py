"""One scheduling pass: start what may start now, without backfilling or with EASY's."""

from __future__ import annotations

import math

from cosim.jit import kernel
from cosim.kernel.queue import FIXED, WFP, drop_started, head_place, score_all, sort_by_score, take_at, waiting_jobs
from cosim.kernel.state import Places, Records, Scratch, start_job

NONE, EASY, CONSERVATIVE = 0, 1, 2
"""How jobs behind the head of the queue may overtake."""


@kernel
def start_heads(
    jobs: Records, queue: Places, running: Places, events: Records, releases: Records, clock: Records, order: int
) -> int:
    """Start jobs in priority order until one does not fit; return its place in the queue, or -1 if none is left."""
    if order == WFP:
        score_all(jobs, queue, clock)
    while clock[0].queued > 0:
        place = head_place(jobs, queue, clock, order)
        j = waiting_jobs(queue, clock)[place]
        if jobs[j].nodes > clock[0].free:
            return place
        take_at(queue, clock, place)
        start_job(jobs, running, events, releases, clock, j)
    return -1


@kernel
def _shadow(nodes: int, releases: Records, clock: Records) -> tuple[float, int]:
    """Return when the head can start by what is expected, and how many nodes are left over then.

    All releases at that very moment count. A job that has outlived its limit counts as ending now.
    """
    free = clock[0].free
    shadow = math.inf
    for k in range(clock[0].releases):
        if free >= nodes and releases[k].time > shadow:
            break
        free += releases[k].nodes
        if free >= nodes:
            shadow = max(clock[0].now, releases[k].time)
    if free < nodes:
        return math.inf, 0
    return shadow, free - nodes


@kernel
def easy_pass(
    jobs: Records,
    queue: Places,
    running: Places,
    events: Records,
    releases: Records,
    clock: Records,
    scratch: Scratch,
    order: int,
) -> None:
    """Start the heads, then every job behind that delays the first waiting one by nothing.

    Source: Lifka, "The ANL/IBM SP scheduling system", JSSPP 1995; the two conditions (ends before the shadow time,
    or uses nodes that are extra then) as in Mu'alem and Feitelson, "Utilization, predictability, workloads, and user
    runtime estimates in scheduling the IBM SP2 with backfilling", IEEE TPDS 12(6), 2001, figure 1.
    """
    head = start_heads(jobs, queue, running, events, releases, clock, order)
    if head < 0 or clock[0].free == 0:
        return
    now = clock[0].now
    line = waiting_jobs(queue, clock)
    shadow, extra = _shadow(jobs[line[head]].nodes, releases, clock)
    fitting = scratch.line
    count = 0
    for k in range(len(line)):
        job = jobs[line[k]]
        if k != head and job.nodes <= clock[0].free and (now + job.request <= shadow or job.nodes <= extra):
            fitting[count] = line[k]
            count += 1
    fitting = fitting[:count]
    if order != FIXED and count > 1:
        sort_by_score(jobs, fitting, scratch.spare)
    started = False
    for j in fitting:
        job = jobs[j]
        ends_before = now + job.request <= shadow
        if job.nodes <= clock[0].free and (ends_before or job.nodes <= extra):
            if not ends_before:
                extra -= job.nodes
            start_job(jobs, running, events, releases, clock, j)
            started = True
    if started:
        drop_started(jobs, queue, clock)
