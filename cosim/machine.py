"""The replayed machine: the compiled loop's state with a handle for each thing that can be done to it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cosim import ahead
from cosim.kernel import backfill as kernel_backfill
from cosim.kernel import loop
from cosim.kernel import queue as kernel_queue
from cosim.kernel.state import (
    CLOCK,
    EVENT,
    NOBODY,
    QUEUED,
    RELEASE,
    RUNNING,
    Records,
    add_release,
    remove_release,
    scratch_for,
    start_job,
)
from cosim.preemption import CHECKPOINT, last_checkpoint
from cosim.snapshot import Integers, Snapshot

BACKFILL = {
    "none": kernel_backfill.NONE,
    "easy": kernel_backfill.EASY,
    "conservative": kernel_backfill.CONSERVATIVE,
}
"""The ways to backfill, by name."""

PRIORITY = {"fcfs": kernel_queue.FIXED, "sjf": kernel_queue.FIXED, "wfp": kernel_queue.WFP}
"""The orders of the queue, by name."""

OVERRUN_GRACE = 120.0
"""How long after its limit a running job is still expected to end by itself [s].

Schedulers end a job some time after its limit (slurm.conf(5): KillWait, OverTimeLimit). Nine in ten of Theta's jobs of
2022 that outlived their limit ended within 117 s of it. A job later than this is taken to run on for good.
"""

_MOMENTS = 20_000  # events in one go: some 50 ms, so that progress shows and Ctrl-C is heard


class InterruptedRun(NamedTuple):
    """A run that was stopped before its end.

    Attributes
    ----------
    job : int
        The job's place in the workload.
    start, end : float
        From when until when it ran [s].
    saved : float
        Seconds of progress that its checkpoint holds.
    overhead : float
        Seconds that were no progress: its restart, and checkpoints that it was signalled for.
    how : str
        `kill` or `checkpoint`, by a preemption; or `outage`.
    """

    job: int
    start: float
    end: float
    saved: float
    overhead: float
    how: str


@dataclass(frozen=True)
class Rules:
    """How the batch queue is run.

    Attributes
    ----------
    nodes : int
        The machine's size.
    backfill : str
        One of `BACKFILL`.
    priority : str
        One of `PRIORITY`.
    """

    nodes: int
    backfill: str = "easy"
    priority: str = "fcfs"


class Machine:
    """A machine with a batch queue, in replayed time.

    Parameters
    ----------
    jobs : records, shape (jobs,)
        Of `cosim.kernel.state.JOB`, in order of submission; changed in place.
    rules : Rules
        The machine's size and how its queue is run.
    ask : bool
        Whether a policy decides about on-demand jobs.
    planned_outages : int
        Outages that will be entered into the calendar of releases.
    """

    def __init__(self, jobs: Records, rules: Rules, *, ask: bool, planned_outages: int = 0) -> None:
        self.jobs = jobs
        self.jobs["promised"] = NOBODY
        self.rules = rules
        self.interrupted: list[InterruptedRun] = []
        self._ask = ask
        self._queue = np.zeros(2 * len(jobs) + 1, np.int64)
        self._running = np.zeros(len(jobs) + 1, np.int64)
        self._events: Records = np.zeros(len(jobs) + 2, EVENT)
        self._releases: Records = np.zeros(2 * len(jobs) + planned_outages + 2, RELEASE)
        self._clock: Records = np.zeros(1, CLOCK)
        self._scratch = scratch_for(len(jobs), len(self._releases))
        self._clock["free"] = rules.nodes
        self._clock["wake"] = math.inf
        self._clock["now"] = jobs["submit"][0] if len(jobs) else 0.0
        self._asked = np.zeros(int(np.count_nonzero(jobs["on_demand"])) + 1, np.int64)

    @property
    def now(self) -> float:
        """The time [s]."""
        return float(self._clock["now"][0])

    @property
    def free(self) -> int:
        """Nodes that nobody holds."""
        return int(self._clock["free"][0])

    @property
    def done(self) -> int:
        """Jobs that have ended."""
        return int(self._clock["done"][0])

    @property
    def running(self) -> Integers:
        """The running jobs, in ascending order of their ids."""
        places = self._running[: int(self._clock["running"][0])]
        return places[np.argsort(self.jobs["id_rank"][places])]

    def advance(self, until: float, *, watch: bool) -> int:
        """Let time pass until somebody has to look (see `cosim.kernel.loop.advance`).

        Parameters
        ----------
        until : float
            A moment at which to stop, infinite for none [s].
        watch : bool
            Whether to stop whenever a run has ended.

        Returns
        -------
        int
            `loop.FINISHED`, `loop.ATTENTION` or `loop.BUDGET`.
        """
        self._clock["watch"] = watch
        return ahead.advance(
            self.jobs,
            self._queue,
            self._running,
            self._events,
            self._releases,
            self._clock,
            self._asked,
            self._scratch,
            PRIORITY[self.rules.priority],
            BACKFILL[self.rules.backfill],
            self._ask,
            float(until),
            _MOMENTS,
        )

    def schedule(self) -> None:
        """Run a scheduling pass over the batch queue."""
        loop.schedule(
            self.jobs,
            self._queue,
            self._running,
            self._events,
            self._releases,
            self._clock,
            self._scratch,
            PRIORITY[self.rules.priority],
            BACKFILL[self.rules.backfill],
        )

    def arrivals(self) -> list[int]:
        """Return the on-demand jobs that arrived since the last call."""
        count = int(self._clock["new_on_demand"][0])
        self._clock["new_on_demand"] = 0
        return [int(j) for j in self._asked[:count]]

    def is_queued(self, j: int) -> bool:
        """Say whether job j waits in the batch queue."""
        return bool(self.jobs["status"][j] == QUEUED)

    def is_running(self, j: int) -> bool:
        """Say whether job j runs."""
        return bool(self.jobs["status"][j] == RUNNING)

    def enqueue(self, j: int) -> None:
        """Put job j into the batch queue."""
        kernel_queue.enqueue(self.jobs, self._queue, self._clock, j)

    def take_off(self, j: int) -> None:
        """Take job j off the batch queue."""
        loop.take_off(self._queue, self._clock, j)

    def start(self, j: int) -> None:
        """Start job j, which is not in the queue, on free nodes."""
        start_job(self.jobs, self._running, self._events, self._releases, self._clock, j)

    def hold(self, nodes: int) -> None:
        """Take free nodes out of everybody's reach (negative: give them back)."""
        self._clock["free"] -= nodes

    def expect(self, time: float, nodes: int, owner: int) -> None:
        """Enter nodes that come free at a time into the calendar; `owner` is negative and unique."""
        add_release(self._releases, self._clock, float(time), nodes, owner)

    def forget(self, time: float, owner: int) -> None:
        """Strike what `expect` entered."""
        remove_release(self._releases, self._clock, float(time), owner)

    def promise(self, j: int, to: int) -> None:
        """Promise a running job's nodes to on-demand job `to`."""
        loop.promise(self.jobs, self._releases, self._clock, j, to)

    def is_promised(self, j: int, to: int) -> bool:
        """Say whether job j still runs the run whose nodes were promised to on-demand job `to`."""
        return bool(self.jobs["promised"][j] == to)

    def release_promise(self, j: int, to: int) -> None:
        """Take the promise to on-demand job `to` back, if job j still runs the run that it was given for."""
        loop.release_promise(self.jobs, self._releases, self._clock, j, to)

    def signal(self, j: int) -> None:
        """Let running job j write a checkpoint from now on, which it does not make progress during."""
        loop.stall(self.jobs, self._events, self._clock, j, float(self.jobs["cost"][j]))

    def interrupt(self, j: int, how: str) -> None:
        """Stop job j now and put it back into the queue; what it keeps depends on `how`.

        Parameters
        ----------
        j : int
            A running job.
        how : str
            `CHECKPOINT`: it was signalled and has just written its checkpoint, so it keeps all its progress;
            otherwise it keeps its progress up to its newest checkpoint by interval. A checkpoint that it was
            signalled for in vain is not relied on.
        """
        job = self.jobs[j]
        start, now, overhead = float(job["start"]), self.now, float(job["overhead"])
        newest = now if how == CHECKPOINT else last_checkpoint(now, start, float(job["interval"]), float(job["cost"]))
        saved = max(0.0, newest - start - overhead)
        self.interrupted.append(InterruptedRun(j, start, now, saved, overhead, how))
        loop.interrupt(self.jobs, self._queue, self._running, self._events, self._releases, self._clock, j, saved)

    def snapshot(self) -> tuple[Snapshot, Integers]:
        """Return what a policy may see, and the job behind each place of it.

        On-demand jobs are nobody's victims. Neither are jobs that are promised to an on-demand job, whose nodes come
        back to nobody else at their end either.
        """
        now, jobs, places = self.now, self.jobs, self.running
        limit = jobs["expected_end"][places]
        late = np.where(limit + OVERRUN_GRACE > now, limit + OVERRUN_GRACE, math.inf)
        expected = np.where(limit > now, limit, late)
        promised = jobs["promised"][places] != NOBODY
        return Snapshot(
            now=now,
            free_nodes=self.free,
            ids=[str(j) for j in places.tolist()],
            nodes=jobs["nodes"][places],
            start=jobs["start"][places],
            expected_end=np.where(promised, math.inf, expected),
            checkpoint_interval=jobs["interval"][places],
            checkpoint_cost=jobs["cost"][places],
            restart_cost=jobs["restart_cost"][places],
            on_demand_checkpoint=jobs["on_demand_checkpoint"][places] != 0,
            preemptible=(jobs["preemptible"][places] != 0) & (jobs["on_demand"][places] == 0) & ~promised,
            priority=np.zeros(len(places), np.int64),
        ), places
