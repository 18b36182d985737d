"""The event loop: ends and arrivals in order of time, and a scheduling pass after each moment at which one happened."""

from __future__ import annotations

import math

from cosim.jit import kernel
from cosim.kernel.backfill import CONSERVATIVE, EASY, easy_pass, start_heads
from cosim.kernel.conservative import conservative_pass
from cosim.kernel.queue import enqueue, take_at, waiting_jobs
from cosim.kernel.state import (
    DONE,
    NOBODY,
    WAITING,
    Places,
    Records,
    Scratch,
    add_release,
    leave,
    pop_event,
    push_event,
    remove_release,
    strike_event,
)

FINISHED, ATTENTION, BUDGET = 0, 1, 2
"""Why the loop gave control back: nothing is left to happen; Python has to look; a while has gone by."""


@kernel
def schedule(
    jobs: Records,
    queue: Places,
    running: Places,
    events: Records,
    releases: Records,
    clock: Records,
    scratch: Scratch,
    order: int,
    backfill: int,
) -> None:
    """Run one scheduling pass now."""
    clock[0].wake = math.inf
    if clock[0].queued == 0:
        return
    if backfill == CONSERVATIVE:
        conservative_pass(jobs, queue, running, events, releases, clock, scratch, order)
    elif clock[0].free == 0:
        return
    elif backfill == EASY:
        easy_pass(jobs, queue, running, events, releases, clock, scratch, order)
    else:
        start_heads(jobs, queue, running, events, releases, clock, order)


@kernel
def _end_runs(jobs: Records, running: Places, events: Records, releases: Records, clock: Records) -> bool:
    """End all runs that end now; say whether any did."""
    ended = False
    while clock[0].events > 0 and events[0].time <= clock[0].now:
        j = events[0].job
        pop_event(events, clock)
        leave(jobs, running, releases, clock, j)
        jobs[j].status = DONE
        jobs[j].finish = clock[0].now
        clock[0].done += 1
        ended = True
    return ended


@kernel
def _arrive(jobs: Records, queue: Places, clock: Records, asked: Places, ask: bool) -> None:
    """Take in all jobs that are submitted now; on-demand ones are listed for the policy if it is to be asked."""
    while clock[0].arrived < len(jobs) and jobs[clock[0].arrived].submit <= clock[0].now:
        j = clock[0].arrived
        clock[0].arrived += 1
        if ask and jobs[j].on_demand:
            jobs[j].status = WAITING
            asked[clock[0].new_on_demand] = j
            clock[0].new_on_demand += 1
        else:
            enqueue(jobs, queue, clock, j)


@kernel
def advance(
    jobs: Records,
    queue: Places,
    running: Places,
    events: Records,
    releases: Records,
    clock: Records,
    asked: Places,
    scratch: Scratch,
    order: int,
    backfill: int,
    ask: bool,
    until: float,
    budget: int,
) -> int:
    """Let time pass until Python has to look.

    Parameters
    ----------
    jobs, queue, running, events, releases, clock, asked
        The state; `asked` receives the on-demand jobs that arrived.
    scratch : Scratch
        Room to work in.
    order : int
        `FIXED` or `WFP`.
    backfill : int
        `NONE`, `EASY` or `CONSERVATIVE`.
    ask : bool
        Whether a policy decides about on-demand jobs; otherwise they wait at the queue's head.
    until : float
        A moment at which Python wants control, infinite for none [s].
    budget : int
        Moments after which control goes back, so that progress can be shown and the process interrupted.

    Returns
    -------
    int
        `FINISHED`, `ATTENTION` (the pass of this moment has not been run yet) or `BUDGET`.
    """
    for _ in range(budget):
        time = clock[0].wake
        if clock[0].events > 0:
            time = min(time, events[0].time)
        if clock[0].arrived < len(jobs):
            time = min(time, jobs[clock[0].arrived].submit)
        if until < time:
            clock[0].now = until
            return ATTENTION
        if time == math.inf:
            return FINISHED
        clock[0].now = time
        ended = _end_runs(jobs, running, events, releases, clock)
        _arrive(jobs, queue, clock, asked, ask)
        if clock[0].new_on_demand > 0 or (ended and clock[0].watch) or until == time:
            return ATTENTION
        schedule(jobs, queue, running, events, releases, clock, scratch, order, backfill)
    return BUDGET


@kernel
def interrupt(
    jobs: Records,
    queue: Places,
    running: Places,
    events: Records,
    releases: Records,
    clock: Records,
    j: int,
    saved: float,
) -> None:
    """Stop a run before its end: `saved` seconds of its progress are kept, and the job goes back into the queue."""
    strike_event(events, clock, j)
    leave(jobs, running, releases, clock, j)
    left = jobs[j].work - jobs[j].overhead - saved
    jobs[j].overhead = jobs[j].restart_cost
    jobs[j].work = left + jobs[j].restart_cost
    enqueue(jobs, queue, clock, j)


@kernel
def take_off(queue: Places, clock: Records, j: int) -> None:
    """Take a waiting job off the queue, wherever it stands."""
    line = waiting_jobs(queue, clock)
    for place in range(len(line)):
        if line[place] == j:
            take_at(queue, clock, place)
            return


@kernel
def promise(jobs: Records, releases: Records, clock: Records, j: int, to: int) -> None:
    """Strike a running job's nodes from the calendar: they are promised to on-demand job `to`."""
    remove_release(releases, clock, jobs[j].expected_end, j)
    jobs[j].promised = to


@kernel
def release_promise(jobs: Records, releases: Records, clock: Records, j: int, to: int) -> None:
    """Put a running job's nodes back into the calendar, if they are still promised to on-demand job `to`."""
    if jobs[j].promised == to:
        jobs[j].promised = NOBODY
        add_release(releases, clock, jobs[j].expected_end, jobs[j].nodes, j)


@kernel
def stall(jobs: Records, events: Records, clock: Records, j: int, seconds: float) -> None:
    """Let a running job make no progress for a while, so that it ends that much later."""
    jobs[j].work += seconds
    jobs[j].overhead += seconds
    strike_event(events, clock, j)
    push_event(events, clock, jobs[j].start + jobs[j].work, j)
