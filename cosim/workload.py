"""What is replayed: the jobs of one or more traces, with what a trace does not say drawn from a seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from cosim.checkpoints import CheckpointRules, daly_interval
from cosim.kernel.state import JOB, Records
from cosim.snapshot import Booleans, Floats, id_order
from traces.errors import InputError
from traces.table import Trace

_STREAM_ON_DEMAND, _STREAM_CHECKPOINT, _STREAM_COST, _STREAM_RESTART, _STREAM_SIGNAL = range(5)
_HOUR = 3600.0
_DIGITS_OF_AN_INT64 = 18


@dataclass(frozen=True)
class OnDemandRule:
    """Which jobs are on-demand.

    Attributes
    ----------
    kind : str
        `trace` (those that the trace marks), `share` (of the jobs), `users` (share of the users) or `queue`.
    share : float
        For `share` and `users`: 0 to 1.
    queue : str
        For `queue`: its name.
    """

    kind: str = "trace"
    share: float = 0.0
    queue: str = ""


AS_MARKED = OnDemandRule()
"""The jobs that the trace marks are on-demand."""

HOURLY = CheckpointRules()
"""A checkpoint each hour; writing it and restarting from it take a minute each."""


@dataclass(frozen=True)
class Workload:
    """The jobs of a replay, ready for the machine.

    Attributes
    ----------
    jobs : records, shape (jobs,)
        Of `cosim.kernel.state.JOB`, in order of submission.
    ids : str array, shape (jobs,)
        The jobs' ids.
    users, queues : str arrays, shape (jobs,)
        As in the trace.
    nodes : int
        The machine's size.
    notes : tuple of str
        What was assumed because the trace does not say it.
    """

    jobs: Records
    ids: npt.NDArray[np.str_]
    users: npt.NDArray[np.str_]
    queues: npt.NDArray[np.str_]
    nodes: int
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.jobs)


def build(
    trace: Trace,
    *,
    nodes: int | None = None,
    extra_on_demand: Trace | None = None,
    on_demand: OnDemandRule = AS_MARKED,
    checkpoints: CheckpointRules = HOURLY,
    priority: str = "fcfs",
    seed: int = 0,
) -> Workload:
    """Make the jobs of a replay.

    Parameters
    ----------
    trace : Trace
        The jobs.
    nodes : int, optional
        The machine's size; by default the trace's.
    extra_on_demand : Trace, optional
        Jobs that are all on-demand, on the same clock.
    on_demand : OnDemandRule
        Which jobs of `trace` are on-demand.
    checkpoints : CheckpointRules
        For jobs whose trace says nothing about checkpoints.
    priority : str
        `fcfs`, `sjf` or `wfp`: the queue's order.
    seed : int
        What is drawn is drawn from it: the same seed, the same jobs.

    Returns
    -------
    Workload
        The jobs, in order of submission.

    Raises
    ------
    InputError
        Where the machine's size is not known, a job is larger than it, or a rule matches nothing it could match.
    """
    size = nodes or trace.machine.nodes
    if not size:
        raise InputError("the trace does not say how many nodes the machine has: give it with --nodes N")
    parts = [trace] if extra_on_demand is None else [trace, extra_on_demand]
    columns = {name: np.concatenate([part.column(name) for part in parts]) for name in _NEEDED}
    marked = _on_demand(trace, on_demand, np.random.default_rng([seed, _STREAM_ON_DEMAND]))
    if extra_on_demand is not None:
        marked = np.concatenate([marked, np.ones(len(extra_on_demand), np.bool_)])
    order = np.argsort(columns["submit"], kind="stable")
    columns = {name: values[order] for name, values in columns.items()}
    if int(columns["nodes"].max()) > size:
        j = int(np.argmax(columns["nodes"]))
        raise InputError(
            f"job {columns['job_id'][j]}: {columns['nodes'][j]} nodes, but the machine has {size}: "
            "drop it from the trace or correct --nodes"
        )
    requests, notes = _requests(columns["requested_time"], columns["run_time"])
    jobs = _records(columns, marked[order], requests)
    _set_checkpoints(jobs, columns, checkpoints, seed)
    jobs["rank"] = _ranks(jobs, priority)
    jobs["id_rank"] = _id_ranks(columns["job_id"])
    return Workload(jobs, columns["job_id"], columns["user"], columns["queue"], int(size), notes)


_NEEDED = (
    "job_id",
    "submit",
    "run_time",
    "nodes",
    "requested_time",
    "user",
    "queue",
    "checkpoint_interval",
    "checkpoint_cost",
    "restart_cost",
    "preemptible",
)


def _on_demand(trace: Trace, rule: OnDemandRule, rng: np.random.Generator) -> Booleans:
    if rule.kind == "trace":
        return trace.column("on_demand").astype(np.bool_)
    if rule.kind == "queue":
        return _of_queue(trace, rule.queue)
    if rule.kind == "users":
        return _of_users(trace, rule.share, rng)
    chosen = np.zeros(len(trace), np.bool_)
    chosen[rng.choice(len(trace), round(rule.share * len(trace)), replace=False)] = True
    return chosen


def _of_queue(trace: Trace, name: str) -> Booleans:
    queues = trace.column("queue")
    chosen: Booleans = queues == name
    if not chosen.any():
        known = sorted({str(queue) for queue in np.unique(queues)} - {""})
        names = ", ".join(known[:10]) + (" ..." if len(known) > 10 else "") if known else "no queues at all"
        raise InputError(f"--on-demand queue:{name}: no job of the trace is in that queue; it has {names}")
    return chosen


def _of_users(trace: Trace, share: float, rng: np.random.Generator) -> Booleans:
    users, of_job = np.unique(trace.column("user"), return_inverse=True)
    if len(users) == 1 and users[0] == "":
        raise InputError("--on-demand users:SHARE: the trace does not say whose the jobs are; give a SHARE of the jobs")
    chosen = np.zeros(len(users), np.bool_)
    chosen[rng.choice(len(users), round(share * len(users)), replace=False)] = True
    return chosen[of_job]


def _requests(requested: Floats, run_time: Floats) -> tuple[Floats, tuple[str, ...]]:
    """Fill in missing wall time limits by the largest limit in sight, as a partition's own limit would be."""
    unknown = ~np.isfinite(requested)
    if not unknown.any():
        return np.maximum(requested, 1.0), ()
    known = requested[~unknown]
    if len(known):
        limit, source = float(known.max()), "the largest limit in the trace"
    else:
        longest = float(run_time.max())
        limit, source = max(1.0, math.ceil(longest / _HOUR)) * _HOUR, "the longest run time, rounded up to an hour"
    note = f"{int(unknown.sum())} of {len(requested)} jobs have no wall time limit: taken as {limit:.0f} s, {source}"
    return np.maximum(np.where(unknown, limit, requested), 1.0), (note,)


def _records(columns: dict[str, npt.NDArray[np.generic]], on_demand: Booleans, requests: Floats) -> Records:
    jobs: Records = np.zeros(len(requests), JOB)
    for name in ("submit", "run_time", "nodes", "preemptible"):
        jobs[name] = columns[name]
    jobs["work"] = columns["run_time"]
    jobs["request"] = requests
    jobs["on_demand"] = on_demand
    for name in ("first_start", "finish"):
        jobs[name] = np.nan
    jobs["reserved"] = math.inf
    return jobs


def _set_checkpoints(
    jobs: Records, columns: dict[str, npt.NDArray[np.generic]], rules: CheckpointRules, seed: int
) -> None:
    count = len(jobs)

    def stream(which: int) -> np.random.Generator:
        return np.random.default_rng([seed, which])

    def given_or(name: str, drawn: Floats) -> Floats:
        given = columns[name].astype(np.float64)
        interval = name == "checkpoint_interval"
        wrong = given <= 0 if interval else (given < 0) | np.isinf(given)
        if wrong.any():
            j = int(np.argmax(wrong))
            expected = "seconds above 0" if interval else "a finite number of seconds, at least 0"
            raise InputError(f"job {columns['job_id'][j]}: {name} is {given[j]:g}, expected {expected}")
        return np.where(np.isnan(given), drawn, given)

    jobs["cost"] = given_or("checkpoint_cost", rules.cost.sample(stream(_STREAM_COST), count))
    jobs["restart_cost"] = given_or("restart_cost", rules.restart_cost.sample(stream(_STREAM_RESTART), count))
    if rules.every is None:
        every = np.full(count, math.inf)
    elif isinstance(rules.every, str):
        if not (jobs["cost"] > 0).all():
            raise InputError("--checkpoint-every daly: needs a --checkpoint-cost above 0 s")
        every = daly_interval(jobs["cost"], jobs["nodes"], rules.node_mtbf)
    else:
        every = np.maximum(rules.every.sample(stream(_STREAM_CHECKPOINT), count), 1.0)
    jobs["interval"] = given_or("checkpoint_interval", every)
    jobs["on_demand_checkpoint"] = stream(_STREAM_SIGNAL).random(count) < rules.on_demand_share


def _ranks(jobs: Records, priority: str) -> npt.NDArray[np.int64]:
    """Return the place of each job in a queue of fixed order: on-demand jobs first, ties by submission."""
    keys: Sequence[npt.NDArray[np.generic]] = [np.arange(len(jobs))]
    if priority == "sjf":
        keys = [*keys, jobs["request"]]
    order = np.lexsort([*keys, 1 - jobs["on_demand"]])
    ranks = np.empty(len(jobs), np.int64)
    ranks[order] = np.arange(len(jobs))
    return ranks


def _id_ranks(ids: npt.NDArray[np.str_]) -> npt.NDArray[np.int64]:
    """Return the place of each job by ascending id; ids that are plain numbers are ordered without parsing each."""
    if ids.dtype.itemsize <= _DIGITS_OF_AN_INT64 * ids.dtype.alignment and np.strings.isdecimal(ids).all():
        order = np.argsort(ids.astype(np.int64), kind="stable")
    else:
        order = np.array(sorted(range(len(ids)), key=lambda j: id_order(str(ids[j]))), np.int64)
    ranks = np.empty(len(ids), np.int64)
    ranks[order] = np.arange(len(ids))
    return ranks
