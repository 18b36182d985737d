"""What a preemption decision looks at: a snapshot of the machine and a request for nodes.

Both are plain data. A snapshot keeps its jobs as columns, one array a field, since the decision works on whole
columns and a large machine runs thousands of jobs; `Snapshot.of` takes them one by one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from traces.errors import InputError

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Booleans = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class RunningJob:
    """One running job, as a person or a file states it.

    Attributes
    ----------
    id : str
        The job's id.
    nodes : int
        Nodes it holds, at least 1.
    start : float
        When this run of it started [s].
    expected_end : float
        When it ends at the latest, by its wall time limit [s]; infinite where that is not known.
    checkpoint_interval : float or None
        Seconds from the start of one checkpoint to the start of the next; None: it writes none.
    checkpoint_cost : float
        Seconds that writing one checkpoint takes.
    restart_cost : float
        Seconds that a restart takes before work goes on.
    on_demand_checkpoint : bool
        Whether it writes a checkpoint when it is signalled.
    preemptible : bool
        Whether it may be a victim at all.
    priority : int
        Its priority in the site's own order of victims (Slurm: of its QOS or partition); lower goes first.
        Only the `slurm` policy looks at it.
    """

    id: str
    nodes: int
    start: float
    expected_end: float
    checkpoint_interval: float | None = None
    checkpoint_cost: float = 0.0
    restart_cost: float = 0.0
    on_demand_checkpoint: bool = False
    preemptible: bool = True
    priority: int = 0

    def __post_init__(self) -> None:
        problem = _problem_of(self)
        if problem:
            raise InputError(f"job {self.id!r}: {problem}")


def _problem_of(job: RunningJob) -> str | None:
    if job.nodes < 1:
        return f"nodes is {job.nodes}, expected at least 1"
    if job.checkpoint_interval is not None and not job.checkpoint_interval > 0:
        return f"checkpoint_interval is {job.checkpoint_interval}, expected seconds above 0, or none at all"
    for name in ("checkpoint_cost", "restart_cost"):
        value = getattr(job, name)
        if not 0 <= value < math.inf:
            return f"{name} is {value}, expected seconds of at least 0"
    if not math.isfinite(job.start):
        return f"start is {job.start}, expected a time in seconds"
    if math.isnan(job.expected_end) or job.expected_end < job.start:
        return f"expected_end is {job.expected_end}, expected a time at or after start ({job.start})"
    return None


@dataclass(frozen=True)
class Request:
    """An on-demand job's request.

    Attributes
    ----------
    nodes : int
        Nodes asked for, at least 1.
    duration : float
        Seconds they are asked for.
    max_delay : float
        How many seconds late the start may be.
    delay_weight : float
        What a second of delay of one node is worth, in lost node-seconds.
    """

    nodes: int
    duration: float
    max_delay: float = 0.0
    delay_weight: float = 1.0

    def __post_init__(self) -> None:
        if self.nodes < 1:
            raise InputError(f"request: nodes is {self.nodes}, expected at least 1")
        if not self.duration > 0:
            raise InputError(f"request: duration is {self.duration}, expected seconds above 0")
        for name in ("max_delay", "delay_weight"):
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise InputError(f"request: {name} is {value}, expected a finite number of at least 0")


def id_order(job_id: str) -> tuple[tuple[int, int, str], ...]:
    """Order job ids as people do: 9 before 10, `12_3` before `12_10`.

    Parameters
    ----------
    job_id : str
        A job's id.

    Returns
    -------
    tuple
        A sort key.
    """
    parts = re.findall(r"\d+|\D+", job_id, flags=re.ASCII)
    return tuple((0, int(part), part) if part[0] in "0123456789" else (1, 0, part) for part in parts)


@dataclass(frozen=True)
class Snapshot:
    """The machine at one moment: all columns have one entry a running job, in ascending order of the ids.

    Attributes
    ----------
    now : float
        The moment [s].
    free_nodes : int
        Nodes that nobody holds.
    ids : sequence of str
        The running jobs' ids, ascending (see `id_order`).
    nodes, start, expected_end, checkpoint_interval, checkpoint_cost, restart_cost : arrays
        As in `RunningJob`; `checkpoint_interval` is infinite where a job writes no checkpoints.
    on_demand_checkpoint, preemptible : arrays of bool
        As in `RunningJob`.
    priority : array of int
        As in `RunningJob`.
    """

    now: float
    free_nodes: int
    ids: Sequence[str]
    nodes: Integers
    start: Floats
    expected_end: Floats
    checkpoint_interval: Floats
    checkpoint_cost: Floats
    restart_cost: Floats
    on_demand_checkpoint: Booleans
    preemptible: Booleans
    priority: Integers = field(default_factory=lambda: np.zeros(0, np.int64))

    def __len__(self) -> int:
        return len(self.nodes)

    @classmethod
    def of(cls, now: float, free_nodes: int, jobs: Iterable[RunningJob]) -> Snapshot:
        """Make a snapshot of jobs given one by one, in any order.

        Parameters
        ----------
        now : float
            The moment [s].
        free_nodes : int
            Nodes that nobody holds.
        jobs : iterable of RunningJob
            The running jobs.

        Returns
        -------
        Snapshot
            With the jobs in ascending order of their ids.

        Raises
        ------
        InputError
            Where an id occurs twice, a job starts after `now`, or `free_nodes` is negative.
        """
        ordered = sorted(jobs, key=lambda job: id_order(job.id))
        _check(now, free_nodes, ordered)
        never = math.inf
        return cls(
            now=now,
            free_nodes=free_nodes,
            ids=[job.id for job in ordered],
            nodes=np.array([job.nodes for job in ordered], np.int64),
            start=np.array([job.start for job in ordered], np.float64),
            expected_end=np.array([job.expected_end for job in ordered], np.float64),
            checkpoint_interval=np.array([job.checkpoint_interval or never for job in ordered], np.float64),
            checkpoint_cost=np.array([job.checkpoint_cost for job in ordered], np.float64),
            restart_cost=np.array([job.restart_cost for job in ordered], np.float64),
            on_demand_checkpoint=np.array([job.on_demand_checkpoint for job in ordered], np.bool_),
            preemptible=np.array([job.preemptible for job in ordered], np.bool_),
            priority=np.array([job.priority for job in ordered], np.int64),
        )


def _check(now: float, free_nodes: int, ordered: Sequence[RunningJob]) -> None:
    if not math.isfinite(now):
        raise InputError(f"now is {now}, expected a time in seconds")
    if free_nodes < 0:
        raise InputError(f"free_nodes is {free_nodes}, expected at least 0")
    for before, job in pairwise(ordered):
        if before.id == job.id:
            raise InputError(f"job {job.id!r} occurs twice: each running job is listed once")
    for job in ordered:
        if job.start > now:
            raise InputError(
                f"job {job.id!r}: start is {job.start}, after now ({now}): only running jobs belong in a snapshot"
            )
