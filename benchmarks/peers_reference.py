"""FCFS and EASY written for reading, not for speed, to check the tools that `peers.py` times.

The rules, at every second in which something happens: first every job that ends then gives its
processors back and every job submitted then joins the queue; then jobs leave the head of the queue
for as long as the head fits. Under EASY [1]_ the head that does not fit gets a reservation: its
*shadow time* is the earliest moment at which, by the requested times, enough processors are free,
and the *extra* processors are those that will then be left over. A later job may start at once if
it fits and either ends, by its request, no later than the shadow time, or needs no more than the
extra processors.

References
----------
.. [1] A. W. Mu'alem, D. G. Feitelson, "Utilization, predictability, workloads, and user runtime
   estimates in scheduling the IBM SP2 with backfilling", IEEE TPDS 12(6), 2001.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from pathlib import Path

ORIGIN = 1000
"""Second of the first submission in a normalised trace: AccaSim takes a clock of 0 for no clock at all."""

SUBMISSION, END = range(2)
"""Kinds of events, in the order in which those of one second are taken."""


@dataclass(frozen=True)
class Job:
    """One rigid job; times in seconds."""

    number: int
    submit: int
    run: int
    processors: int
    request: int


@dataclass(frozen=True)
class Trace:
    """Jobs in order of submission, numbered from 1, and how many lines could not be used."""

    jobs: list[Job]
    dropped: int


def read_swf(path: Path, processors: int) -> Trace:
    """Read the jobs that every tool can run the same way.

    Parameters
    ----------
    path : Path
        A file in the Standard Workload Format.
    processors : int
        Size of the machine.

    Returns
    -------
    Trace
        Jobs sorted by submission, the first one submitted at `ORIGIN`. A request below the run time
        is raised to it. Lines without a run time, or wider than the machine, are dropped.
    """
    rows = []
    dropped = 0
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.lstrip().startswith(";"):
            continue
        field = line.split()
        submit, run = int(float(field[1])), int(float(field[3]))
        width = int(field[7]) if int(field[7]) > 0 else int(field[4])
        if run <= 0 or not 0 < width <= processors:
            dropped += 1
            continue
        rows.append((submit, run, width, max(run, int(float(field[8])))))
    rows.sort(key=lambda row: row[0])
    shift = ORIGIN - rows[0][0] if rows else 0
    jobs = [Job(n, submit + shift, *rest) for n, (submit, *rest) in enumerate(rows, start=1)]
    return Trace(jobs, dropped)


def write_swf(path: Path, jobs: list[Job], processors: int) -> None:
    """Write jobs so that each of the tools reads the same thing from the file.

    Parameters
    ----------
    path : Path
        Where to write.
    jobs : list of Job
        What to write; some tools read the allocated and some the requested processors, so both are set.
    processors : int
        Size of the machine, for the header.
    """
    header = ["; Version: 2.2", f"; MaxJobs: {len(jobs)}", f"; MaxNodes: {processors}", f"; MaxProcs: {processors}"]
    rows = [
        f"{j.number} {j.submit} -1 {j.run} {j.processors} -1 -1 {j.processors} {j.request} -1 1 1 1 1 1 1 -1 -1"
        for j in jobs
    ]
    path.write_text("\n".join([*header, *rows]) + "\n", encoding="utf-8")


def reference_starts(jobs: list[Job], processors: int, *, easy: bool, together: bool = True) -> dict[int, int]:
    """Start time of every job.

    Parameters
    ----------
    jobs : list of Job
        Jobs in order of submission, none wider than the machine.
    processors : int
        Size of the machine.
    easy : bool
        Backfill by EASY; plain FCFS otherwise.
    together : bool
        Decide once all that happens in a second has happened. Otherwise decide after each event, the
        submissions of a second before its ends; a job whose requested time is over then counts as gone.

    Returns
    -------
    dict of int to int
        Job number to start time in seconds.
    """
    starts: dict[int, int] = {}
    queue: list[Job] = []
    running: list[Job] = []
    agenda = [(job.submit, SUBMISSION, job.number, job) for job in jobs]
    while agenda:
        events = [heapq.heappop(agenda)]
        now = events[0][0]
        while together and agenda and agenda[0][0] == now:
            events.append(heapq.heappop(agenda))
        for _, kind, _, job in events:
            if kind == SUBMISSION:
                queue.append(job)
            else:
                running.remove(job)
        for job in _startable(queue, running, starts, now, processors, easy=easy):
            starts[job.number] = now
            heapq.heappush(agenda, (now + job.run, END, len(starts), job))
            running.append(job)
        queue = [job for job in queue if job.number not in starts]
    return starts


def _startable(
    queue: list[Job], running: list[Job], starts: dict[int, int], now: int, processors: int, *, easy: bool
) -> list[Job]:
    """Jobs of the queue that start now."""
    ends = [(starts[job.number] + job.request, job.processors) for job in running]
    ends = [(end, width) for end, width in ends if end > now]
    free = processors - sum(width for _, width in ends)
    chosen: list[Job] = []
    for job in queue:
        if job.processors > free:
            break
        chosen.append(job)
        ends.append((now + job.request, job.processors))
        free -= job.processors
    waiting = queue[len(chosen) :]
    if not easy or not waiting:
        return chosen
    shadow, extra = _reservation(waiting[0], free, ends)
    for job in waiting[1:]:
        in_time = now + job.request <= shadow
        if job.processors <= free and (in_time or job.processors <= extra):
            chosen.append(job)
            free -= job.processors
            extra -= 0 if in_time else job.processors
    return chosen


def _reservation(head: Job, free: int, ends: list[tuple[int, int]]) -> tuple[int, int]:
    """Shadow time of the job at the head, and the processors left over at it."""
    for shadow, _ in sorted(ends):
        at_shadow = free + sum(width for end, width in ends if end <= shadow)
        if at_shadow >= head.processors:
            return shadow, at_shadow - head.processors
    message = f"job {head.number} asks for more processors than there are"
    raise ValueError(message)
