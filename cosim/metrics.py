"""What a replay is judged by, as the literature defines it."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from cosim.engine import Replayed
from cosim.runs import Runs, runs_of
from cosim.snapshot import Floats

BOUNDED_SLOWDOWN_THRESHOLD = 10.0
"""Run times below this count as this [s]; the usual value (Feitelson et al. 1997)."""

_HOUR = 3600.0


@dataclass(frozen=True)
class Metrics:
    """The figures of one replay. Times in seconds, shares from 0 to 1.

    Attributes
    ----------
    jobs, on_demand_jobs : int
        All jobs, and the on-demand ones among them.
    makespan : float
        From the first submission to the last end (Feitelson and Rudolph, JSSPP 1998, section 4.1).
    utilisation : float
        Node-seconds of work that counted (each job's own run time), over nodes times makespan.
    utilisation_wasted : float
        Node-seconds that preemptions and outages cost, over nodes times makespan: work done twice, restarts,
        checkpoints written on demand.
    lost_node_hours : float
        The same node-seconds in node-hours.
    preemptions, outage_interruptions : int
        Runs stopped for an on-demand job, and by an outage.
    preempted_jobs : int
        Jobs that were preempted at least once.
    mean_wait, batch_mean_wait : float
        From submission to first start, over all jobs and over those not on-demand.
    mean_turnaround : float
        From submission to end (Feitelson and Rudolph 1998, "response time").
    bounded_slowdown_mean, batch_bounded_slowdown_mean : float
        ``max(1, turnaround / max(run time, 10 s))`` (Feitelson, Rudolph, Schwiegelshohn, Sevcik and Wong, "Theory and
        practice in parallel job scheduling", JSSPP 1997), over all jobs and over those not on-demand.
    on_demand_latency_mean, _p50, _p95, _p99 : float or None
        From submission to start of the on-demand jobs; None where there are none.
    on_demand_started_at_once, on_demand_started_in_time : float or None
        Share of the on-demand jobs that started when they were submitted, and within the delay they tolerate.
    """

    jobs: int
    on_demand_jobs: int
    makespan: float
    utilisation: float
    utilisation_wasted: float
    lost_node_hours: float
    preemptions: int
    outage_interruptions: int
    preempted_jobs: int
    mean_wait: float
    batch_mean_wait: float | None
    mean_turnaround: float
    bounded_slowdown_mean: float
    batch_bounded_slowdown_mean: float | None
    on_demand_latency_mean: float | None
    on_demand_latency_p50: float | None
    on_demand_latency_p95: float | None
    on_demand_latency_p99: float | None
    on_demand_started_at_once: float | None
    on_demand_started_in_time: float | None

    def as_dict(self) -> dict[str, int | float | None]:
        """Return the figures by name."""
        return asdict(self)


def bounded_slowdown(turnaround: Floats, run_time: Floats, threshold: float = BOUNDED_SLOWDOWN_THRESHOLD) -> Floats:
    """Return each job's bounded slowdown, ``max(1, turnaround / max(run time, threshold))``.

    Source: Feitelson, Rudolph, Schwiegelshohn, Sevcik and Wong, JSSPP 1997.

    Parameters
    ----------
    turnaround, run_time : float64 arrays, shape (jobs,)
        From submission to end, and the job's own run time [s].
    threshold : float
        Shorter run times count as this long [s].

    Returns
    -------
    float64 array, shape (jobs,)
        At least 1 each.
    """
    return np.maximum(1.0, turnaround / np.maximum(run_time, threshold))


def lost_node_seconds(replayed: Replayed, runs: Runs) -> Floats:
    """Return what each job's nodes did beyond its own run time: lost to preemptions and outages.

    Parameters
    ----------
    replayed : Replayed
        What happened.
    runs : Runs
        Its runs.

    Returns
    -------
    float64 array, shape (jobs,)
        Node-seconds. The decisions that were carried out count the same, and twice each restart whose run is stopped
        before its first checkpoint: by the definition such a run loses all its time, of which the restart is part.
    """
    lost = (runs.end - runs.start - runs.saved) * runs.nodes
    return np.bincount(runs.job, lost, len(replayed.jobs)).astype(np.float64)


def measure(replayed: Replayed, runs: Runs | None = None, threshold: float = BOUNDED_SLOWDOWN_THRESHOLD) -> Metrics:
    """Compute the figures of a replay.

    Parameters
    ----------
    replayed : Replayed
        What happened.
    runs : Runs, optional
        Its runs, where they are at hand.
    threshold : float
        Of the bounded slowdown [s].

    Returns
    -------
    Metrics
        All figures.
    """
    runs = runs or runs_of(replayed)
    jobs = replayed.jobs
    on_demand = jobs["on_demand"] != 0
    wait = jobs["first_start"] - jobs["submit"]
    turnaround = jobs["finish"] - jobs["submit"]
    slowdown = bounded_slowdown(turnaround, jobs["run_time"], threshold)
    makespan = float(jobs["finish"].max() - jobs["submit"].min())
    capacity = max(makespan, 1e-9) * replayed.workload.nodes
    lost = float(lost_node_seconds(replayed, runs).sum())
    stopped = np.array([run.how for run in replayed.interrupted], np.str_)
    preempted = {run.job for run in replayed.interrupted if run.how != "outage"}
    latency = wait[on_demand]
    at_once, in_time = _shares(latency, replayed.scenario.max_delay)
    p50, p95, p99 = (_percentile(latency, q) for q in (50, 95, 99))
    return Metrics(
        jobs=len(jobs),
        on_demand_jobs=int(on_demand.sum()),
        makespan=makespan,
        utilisation=float((jobs["run_time"] * jobs["nodes"]).sum()) / capacity,
        utilisation_wasted=lost / capacity,
        lost_node_hours=lost / _HOUR,
        preemptions=int((stopped != "outage").sum()),
        outage_interruptions=int((stopped == "outage").sum()),
        preempted_jobs=len(preempted),
        mean_wait=float(wait.mean()),
        batch_mean_wait=_mean(wait[~on_demand]),
        mean_turnaround=float(turnaround.mean()),
        bounded_slowdown_mean=float(slowdown.mean()),
        batch_bounded_slowdown_mean=_mean(slowdown[~on_demand]),
        on_demand_latency_mean=_mean(latency),
        on_demand_latency_p50=p50,
        on_demand_latency_p95=p95,
        on_demand_latency_p99=p99,
        on_demand_started_at_once=at_once,
        on_demand_started_in_time=in_time,
    )


def _mean(values: Floats) -> float | None:
    return float(values.mean()) if len(values) else None


def _percentile(values: Floats, q: float) -> float | None:
    return float(np.percentile(values, q)) if len(values) else None


def _shares(latency: Floats, max_delay: float) -> tuple[float | None, float | None]:
    if not len(latency):
        return None, None
    return float((latency == 0).mean()), float((latency <= max_delay).mean())
