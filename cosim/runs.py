"""All runs of a replay as one table: the ones that ended by themselves and the ones that were stopped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cosim.engine import Replayed
from cosim.snapshot import Floats, Integers

COMPLETED = "completed"
"""How a run ended that nothing stopped; the others are `kill`, `checkpoint` and `outage`."""


@dataclass(frozen=True)
class Runs:
    """Runs, in order of their starts, ties by job.

    Attributes
    ----------
    job : int64 array, shape (runs,)
        The job's place in the workload.
    start, end : float64 arrays, shape (runs,)
        From when until when [s].
    nodes : int64 array, shape (runs,)
        Nodes held.
    saved : float64 array, shape (runs,)
        Seconds of the run that were progress and not lost; over all runs of a job they add up to its run time.
    how : str array, shape (runs,)
        How it ended.
    """

    job: Integers
    start: Floats
    end: Floats
    nodes: Integers
    saved: Floats
    how: npt.NDArray[np.str_]


def runs_of(replayed: Replayed) -> Runs:
    """Collect the runs of a replay.

    Parameters
    ----------
    replayed : Replayed
        What happened.

    Returns
    -------
    Runs
        One more run than interruptions for each job.
    """
    stopped = replayed.interrupted
    jobs = replayed.jobs
    job = np.concatenate([np.arange(len(jobs)), np.array([run.job for run in stopped], np.int64)])
    start = np.concatenate([jobs["start"], np.array([run.start for run in stopped], np.float64)])
    end = np.concatenate([jobs["finish"], np.array([run.end for run in stopped], np.float64)])
    completed = jobs["finish"] - jobs["start"] - jobs["overhead"]
    saved = np.concatenate([completed, np.array([run.saved for run in stopped], np.float64)])
    how = np.concatenate([np.full(len(jobs), COMPLETED), np.array([run.how for run in stopped], np.str_)])
    order = np.lexsort((job, start))
    return Runs(job[order], start[order], end[order], jobs["nodes"][job[order]], saved[order], how[order])


def busy_nodes(runs: Runs, useful_seconds: Floats | None = None) -> tuple[Floats, Integers]:
    """Return the nodes in use over time, as steps.

    Parameters
    ----------
    runs : Runs
        The runs.
    useful_seconds : float64 array, shape (runs,), optional
        Count each run from its start for that long only; by default to its end.

    Returns
    -------
    times : float64 array
        Where the number changes, ascending [s].
    nodes : int64 array
        Nodes in use from each time on.
    """
    ends = runs.end if useful_seconds is None else runs.start + useful_seconds
    times, where = np.unique(np.concatenate([runs.start, ends]), return_inverse=True)
    change = np.bincount(where, np.concatenate([runs.nodes, -runs.nodes]).astype(np.float64), len(times))
    return times, np.rint(np.cumsum(change)).astype(np.int64)
