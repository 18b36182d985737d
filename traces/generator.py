"""Made-up traces of any length: one with the load of Theta, and a plain one for timing replays.

Both draw everything with one seeded NumPy generator, as whole arrays, so that the same seed gives the same trace and
a million jobs take seconds. Both are calibrated: the work of the jobs that were drawn sets the time over which
they arrive, so that work over capacity is the load that was asked for, whatever the draw.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from traces import theta
from traces.errors import InputError
from traces.ids import id_texts
from traces.raw import Integers
from traces.summary import Summary
from traces.table import SCHEMA, Array, Machine, Trace

Floats = npt.NDArray[np.float64]

DAY = 86400.0
_HOUR = 3600.0
_YEAR_DAYS = 365.0
_ORIGIN = 1641189600.0
"""Monday 3 January 2022, midnight US Central Standard Time, as POSIX time [s]."""
_MOST_JOBS = 100_000_000
_Z90 = 1.2815515655446004
"""90th percentile of the standard normal distribution."""


def theta_like(
    jobs: int | None = None,
    days: float | None = None,
    *,
    seed: int = 0,
    nodes: int = theta.NODES,
    load: float = theta.LOAD,
    on_demand_share: float = 0.1,
) -> Trace:
    """Make a trace with Theta's mix of sizes, requested times, run times and arrivals.

    The figures and their sources are those of `traces.theta`. A job's size class is drawn first, then its nodes and
    requested time within the class, then the part of the request that it uses. Submissions come in runs of like jobs;
    the runs arrive as a Poisson process whose rate follows hour and weekday. No job runs beyond its request: one that
    uses all of it ends by `timeout`.

    Parameters
    ----------
    jobs : int, optional
        Number of jobs.
    days : float, optional
        Days over which they are submitted. With neither, one year; with `jobs` alone, as long as the load takes; with
        `days` alone, as many jobs as the load takes; with both, the load follows from them.
    seed : int
        Seed; the same seed and arguments give the same trace (with the same NumPy, which does not promise equal
        streams between its releases).
    nodes : int
        Nodes of the machine. Job sizes scale with it, from Theta's 4,392.
    load : float
        Node-seconds of work over node-seconds of capacity, while jobs are submitted; below 1, or queues grow for ever.
    on_demand_share : float
        Share of the jobs that are on-demand, drawn evenly over all of them and put in the queue `on-demand`.

    Returns
    -------
    Trace
        The trace; times are POSIX seconds from January 2022 on.

    Raises
    ------
    InputError
        Where a number is out of its range.
    """
    _check(jobs=jobs, days=days, nodes=nodes, load=load, on_demand_share=on_demand_share, seed=seed)
    rng = np.random.default_rng(seed)
    if jobs is None:
        span = (days if days is not None else _YEAR_DAYS) * DAY
        wanted = load * nodes * span
        draw = _theta_jobs(rng, math.ceil(wanted / _mean_work(nodes)) * 5 // 4 + 100, nodes)
        # Of the jobs drawn, those whose work fills the time; a trace of at least one job.
        jobs = min(max(1, int(np.searchsorted(np.cumsum(draw.work()), wanted))), len(draw.nodes))
        draw = draw.first(jobs)
    else:
        draw = _theta_jobs(rng, jobs, nodes).first(jobs)
        span = days * DAY if days is not None else float(draw.work().sum()) / (nodes * load)
    submit = _ORIGIN + _arrivals(rng, draw.run_of_job, span)
    on_demand = np.zeros(jobs, bool)
    on_demand[rng.permutation(jobs)[: round(on_demand_share * jobs)]] = True
    user = _users(rng, draw.run_of_job)
    order = np.argsort(submit, kind="stable")
    return _trace(
        {
            "submit": submit[order],
            "run_time": draw.run_time[order],
            "nodes": draw.nodes[order],
            "requested_time": draw.requested[order],
            "on_demand": on_demand[order],
            "user": _named("user", user[order]),
            "account": _named("project", user[order] // theta.USERS_PER_ACCOUNT),
            "queue": np.array(["default", "on-demand"])[on_demand[order].astype(np.int64)],
        },
        Machine(name="Theta-like", nodes=nodes, origin=_ORIGIN, queues=((1, "default"), (2, "on-demand"))),
        f"made up, Theta-like, seed {seed}",
    )


def synthetic(jobs: int, *, nodes: int = 256, load: float = 0.85, seed: int = 0) -> Trace:
    """Make a plain trace: Poisson arrivals, sizes that favour powers of two, log-normal run times.

    Made for timing replayers on equal terms, not as a model of a machine. That sizes favour one node and powers
    of two, and that users ask for several times what they use, is what Lublin and Feitelson found in production logs
    ("The workload on parallel supercomputers: modeling the characteristics of rigid jobs", J. Parallel Distrib.
    Comput. 63(11), 2003); the numbers here are round ones.

    Parameters
    ----------
    jobs : int
        Number of jobs.
    nodes : int
        Nodes of the machine.
    load : float
        Node-seconds of work over node-seconds of capacity, while jobs are submitted.
    seed : int
        Seed; the same seed and arguments give the same trace.

    Returns
    -------
    Trace
        The trace; times count from 0.

    Raises
    ------
    InputError
        Where a number is out of its range.
    """
    _check(jobs=jobs, days=None, nodes=nodes, load=load, on_demand_share=0.0, seed=seed)
    rng = np.random.default_rng(seed)
    exponent = rng.uniform(0.0, math.log2(nodes) if nodes > 1 else 0.0, jobs)
    # A quarter of the jobs are serial, half are powers of two, the others of any size.
    kind = rng.random(jobs)
    size = np.where(kind < 0.75, np.exp2(np.floor(exponent)), np.rint(np.exp2(exponent)))
    size = np.clip(np.where(kind < 0.25, 1, size), 1, nodes).astype(np.int64)
    # Median 15 minutes, a tenth beyond 2.5 hours, none beyond a day.
    run_time = np.clip(np.rint(rng.lognormal(math.log(900.0), 1.75, jobs)), 1, DAY)
    # People ask for round times, up to ten times what they use: to the next 5 minutes, above an hour to the next.
    asked = run_time * np.exp(rng.exponential(0.7, jobs).clip(0, math.log(10.0)))
    grain = np.where(asked > _HOUR, _HOUR, 300.0)
    requested = np.ceil(asked / grain) * grain
    span = float((size * run_time).sum()) / (nodes * load)
    submit = np.floor(np.sort(rng.uniform(0.0, span, jobs)))
    submit -= submit[0]
    return _trace(
        {
            "submit": submit,
            "run_time": run_time,
            "nodes": size,
            "requested_time": requested,
            "user": _named("user", rng.integers(0, 64, jobs)),
        },
        Machine(name="synthetic", nodes=nodes),
        f"made up, synthetic, seed {seed}",
    )


class _Draw:
    """Jobs drawn so far: which run of submissions each belongs to, its nodes, request and run time."""

    def __init__(self, run_of_job: Integers, nodes: Integers, requested: Floats, run_time: Floats) -> None:
        self.run_of_job, self.nodes, self.requested, self.run_time = run_of_job, nodes, requested, run_time

    def first(self, count: int) -> _Draw:
        """Return the first jobs."""
        return _Draw(self.run_of_job[:count], self.nodes[:count], self.requested[:count], self.run_time[:count])

    def work(self) -> Floats:
        """Return the node-seconds of each job."""
        return self.nodes * self.run_time


def _theta_jobs(rng: np.random.Generator, at_least: int, nodes: int) -> _Draw:
    """Draw runs of like jobs until there are enough."""
    lengths = _pick(rng, np.arange(1, len(theta.RUNS) + 1), theta.RUNS, at_least)
    runs = int(np.searchsorted(np.cumsum(lengths), at_least)) + 1
    kind = _pick(rng, np.arange(len(theta.CLASSES)), [group.share for group in theta.CLASSES], runs)
    size = np.empty(runs, np.int64)
    requested = np.empty(runs)
    for number, group in enumerate(theta.CLASSES):
        rows = np.flatnonzero(kind == number)
        size[rows] = _sizes(rng, group, len(rows))
        requested[rows] = _pick(
            rng, np.array([time for time, _ in group.requests]), [share for _, share in group.requests], len(rows)
        )
    if nodes != theta.NODES:
        size = np.clip(np.rint(size * (nodes / theta.NODES)), 1, nodes).astype(np.int64)
    run_of_job = np.repeat(np.arange(runs), lengths[:runs])
    used = np.empty(len(run_of_job))
    for number, group in enumerate(theta.CLASSES):
        rows = np.flatnonzero(kind[run_of_job] == number)
        used[rows] = np.interp(rng.random(len(rows)), np.linspace(0.0, 1.0, len(group.used)), group.used)
    asked = requested[run_of_job]
    return _Draw(run_of_job, size[run_of_job], asked, np.maximum(1.0, np.rint(used * asked)))


def _sizes(rng: np.random.Generator, group: theta.SizeClass, count: int) -> Integers:
    """Draw node counts of a size class: the common ones, and the rest log-uniform over the class."""
    common = [share for _, share in group.sizes]
    choice = _pick(rng, np.arange(len(common) + 1), [*common, max(0.0, 1.0 - sum(common))], count)
    rest = np.exp(rng.uniform(math.log(group.lowest), math.log(group.highest + 1), count)).astype(np.int64)
    listed = np.array([size for size, _ in group.sizes] + [0])[choice]
    return np.where(listed > 0, listed, np.minimum(rest, group.highest))


def _mean_work(nodes: int) -> float:
    """Return the expected node-seconds of a Theta-like job, a guess of how many to draw."""
    total = 0.0
    for group in theta.CLASSES:
        size = sum(count * share for count, share in group.sizes) / sum(share for _, share in group.sizes)
        time = sum(seconds * share for seconds, share in group.requests) / sum(share for _, share in group.requests)
        total += group.share * max(1.0, size * nodes / theta.NODES) * time * float(np.mean(group.used))
    return total


def _arrivals(rng: np.random.Generator, run_of_job: Integers, span: float) -> Floats:
    """Return when each job is submitted, in whole seconds from 0 [s]."""
    runs = int(run_of_job[-1]) + 1
    hours = np.arange(math.ceil(span / _HOUR) + 1)
    rate = np.array(theta.BY_HOUR)[hours % 24] * np.array(theta.BY_WEEKDAY)[hours // 24 % 7]
    edges = np.minimum(hours * _HOUR, span)
    passed = np.concatenate(([0.0], np.cumsum(rate[:-1] * np.diff(edges))))
    # A Poisson process of known count is a sorted sample; the rate's integral maps it to the clock.
    starts = np.interp(np.sort(rng.random(runs)) * passed[-1], passed, edges)
    sigma = math.log(theta.RUN_GAP_90 / theta.RUN_GAP_MEDIAN) / _Z90
    gaps = np.minimum(rng.lognormal(math.log(theta.RUN_GAP_MEDIAN), sigma, len(run_of_job)), 600.0)
    first = np.concatenate(([True], run_of_job[1:] != run_of_job[:-1]))
    gaps[first] = 0.0
    passed_gaps = np.cumsum(gaps)
    within_run = passed_gaps - passed_gaps[np.flatnonzero(first)][run_of_job]
    submitted: Floats = np.floor(starts[run_of_job] + within_run)
    return submitted


def _users(rng: np.random.Generator, run_of_job: Integers) -> Integers:
    """Return the number of each job's user; a run of like submissions has one."""
    weights = [1.0 / rank for rank in range(1, theta.USERS + 1)]
    return _pick(rng, np.arange(1, theta.USERS + 1), weights, int(run_of_job[-1]) + 1)[run_of_job]


def _pick(rng: np.random.Generator, values: Array, weights: tuple[float, ...] | list[float], count: int) -> Integers:
    """Draw values with given weights."""
    edges = np.cumsum(weights)
    index = np.searchsorted(edges / edges[-1], rng.random(count), side="right")
    return values[np.minimum(index, len(values) - 1)].astype(np.int64)


def _named(prefix: str, numbers: Array) -> Array:
    """Return `user7` for 7, and so on."""
    values, index = np.unique(numbers, return_inverse=True)
    return np.array([f"{prefix}{value}" for value in values])[index]


def _trace(known: dict[str, Array], machine: Machine, what: str) -> Trace:
    """Make the trace, with the columns that nobody drew unknown."""
    count = len(known["submit"])
    known["job_id"] = id_texts(np.arange(1, count + 1))
    known["state"] = np.array(["completed", "timeout"])[(known["run_time"] >= known["requested_time"]).astype(np.int64)]
    known["requested_nodes"] = known["allocated_nodes"] = known["nodes"]
    columns = {column.name: known[column.name] if column.name in known else column.filled(count) for column in SCHEMA}
    return Trace(columns, machine, Summary(files=(what,), rows_read=count, rows_kept=count))


def _check(*, jobs: int | None, days: float | None, nodes: int, load: float, on_demand_share: float, seed: int) -> None:
    """Refuse numbers out of their range."""
    for name, value, good, wanted in (
        ("jobs", jobs, jobs is None or 1 <= jobs <= _MOST_JOBS, f"from 1 to {_MOST_JOBS}"),
        ("days", days, days is None or 0 < days <= 100_000, "above 0 and up to 100000"),
        ("nodes", nodes, 1 <= nodes <= 10_000_000, "from 1 to 10000000"),
        ("load", load, 0 < load <= 10, "above 0 and up to 10; below 1 the queue stays finite"),
        ("on_demand_share", on_demand_share, 0 <= on_demand_share <= 1, "from 0 to 1"),
        ("seed", seed, seed >= 0, "0 or above"),
    ):
        if not good:
            raise InputError(f"{name}={value} is out of range: expected {wanted}")
