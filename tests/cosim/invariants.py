"""What must hold of every replay, computed from what happened alone, and of the machine's books while it runs."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from cosim.engine import Replayed
from cosim.kernel.state import DONE
from cosim.machine import Machine
from cosim.metrics import measure

TOLERANCE = 1e-6  # relative and absolute; times are floats of up to ten digits before the point


class WatchedMachine(Machine):
    """A machine whose books are checked whenever a policy or an outage has acted."""

    def schedule(self) -> None:
        self.check_books()
        super().schedule()
        self.check_books()

    def check_books(self) -> None:
        """Every node is free, or comes back by the calendar, which is sorted and lists each owner once."""
        entries = self._releases[: int(self._clock["releases"][0])]
        assert self.free >= 0
        assert self.free + int(entries["nodes"].sum()) == self.rules.nodes, "nodes are missing or in the calendar twice"
        assert (np.diff(entries["time"]) >= 0).all(), "the calendar is not sorted"
        assert len(np.unique(entries["owner"])) == len(entries), "an owner is in the calendar twice"
        assert (entries["nodes"] > 0).all()


@dataclass(frozen=True)
class Run:
    """One run of a job."""

    job: int
    start: float
    end: float
    saved: float
    overhead: float
    how: str


def check(replayed: Replayed) -> None:
    """Fail where a replay breaks one of the rules; each is a function below."""
    assert (replayed.jobs["status"] == DONE).all()
    runs = _runs(replayed)
    for j, of_job in runs.items():
        _check_order(replayed, j, of_job)
        _check_progress(replayed, j, of_job)
        _check_who_may_be_stopped(replayed, j, of_job)
    _check_capacity(replayed, runs)
    _check_losses(replayed, runs)


def _runs(replayed: Replayed) -> dict[int, list[Run]]:
    """Return the runs of each job in order of time: those that were stopped, then the one that completed."""
    runs: dict[int, list[Run]] = defaultdict(list)
    for stopped in replayed.interrupted:
        runs[stopped.job].append(Run(*stopped))
    for j, job in enumerate(replayed.jobs):
        length = float(job["finish"]) - float(job["start"])
        overhead = float(job["overhead"])
        runs[j].append(Run(j, float(job["start"]), float(job["finish"]), length - overhead, overhead, "completed"))
    return runs


def _check_order(replayed: Replayed, j: int, runs: list[Run]) -> None:
    """No run starts before the job is submitted, and none before the one before it has ended."""
    job = replayed.jobs[j]
    assert runs[0].start >= job["submit"], f"job {j} starts before it is submitted"
    assert runs[0].start == job["first_start"]
    for run in runs:
        assert run.start <= run.end
    for before, after in pairwise(runs):
        assert before.end <= after.start, f"two runs of job {j} overlap"


def _check_progress(replayed: Replayed, j: int, runs: list[Run]) -> None:
    """All runs of a job together make the progress that it needs, and each keeps what its checkpoint holds."""
    job = replayed.jobs[j]
    restart, cost = float(job["restart_cost"]), float(job["cost"])
    assert math.isclose(sum(run.saved for run in runs), job["run_time"], rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    for number, run in enumerate(runs):
        signals = run.overhead - (restart if number else 0.0)
        assert signals > -TOLERANCE
        if not job["on_demand_checkpoint"] or cost == 0:
            assert abs(signals) < TOLERANCE, f"job {j} lost time to a signal that it knows nothing of"
        else:
            assert abs(signals - round(signals / cost) * cost) < TOLERANCE, f"job {j} wrote a part of a checkpoint"
        if run.how != "completed":
            expected = max(0.0, _newest(job, run) - run.start - run.overhead)
            assert math.isclose(run.saved, expected, rel_tol=TOLERANCE, abs_tol=TOLERANCE)


def _newest(job: np.void, run: Run) -> float:
    """Return up to when the run's newest checkpoint at its end reaches, by the design's definition."""
    if run.how == "checkpoint":
        return run.end
    interval, cost = float(job["interval"]), float(job["cost"])
    count = math.floor((run.end - run.start - cost + TOLERANCE) / interval)
    return run.start + count * interval + cost if count >= 1 else run.start


def _check_who_may_be_stopped(replayed: Replayed, j: int, runs: list[Run]) -> None:
    """A policy stops batch jobs that may be stopped; without outages an on-demand job starts once."""
    job = replayed.jobs[j]
    preempted = any(run.how in {"kill", "checkpoint"} for run in runs)
    assert {run.how for run in runs} <= {"kill", "checkpoint", "outage", "completed"}
    if preempted:
        assert job["preemptible"], f"job {j} is preempted, which it may not be"
        assert not job["on_demand"], f"on-demand job {j} is preempted"
        assert replayed.scenario.policy is not None
    if job["on_demand"] and not replayed.scenario.outages:
        assert len(runs) == 1, f"on-demand job {j} starts more than once"


def _down(replayed: Replayed) -> list[tuple[float, int]]:
    """Return the changes of the number of nodes that are down, as (time, nodes)."""
    outages = replayed.scenario.outages
    moments = sorted([(o.end, 0, k) for k, o in enumerate(outages)] + [(o.start, 1, k) for k, o in enumerate(outages)])
    left, down, changes = replayed.workload.nodes, {}, []
    for time, begins, k in moments:
        if begins:
            down[k] = min(outages[k].nodes, left)
        change = -down[k] if begins else down[k]
        left += change
        changes.append((time, -change))
    return changes


def _check_capacity(replayed: Replayed, runs: dict[int, list[Run]]) -> None:
    """At no moment are more nodes in use or down than there are."""
    changes = _down(replayed)
    for j, of_job in runs.items():
        nodes = int(replayed.jobs["nodes"][j])
        changes += [(run.start, nodes) for run in of_job] + [(run.end, -nodes) for run in of_job]
    in_use = 0
    for time, change in sorted(changes):  # what is given back at a moment comes before what is taken at it
        in_use += change
        assert in_use <= replayed.workload.nodes, f"{in_use} nodes in use or down at {time}"
    assert in_use == 0


def _check_losses(replayed: Replayed, runs: dict[int, list[Run]]) -> None:
    """Nodes are used for progress or lost, and lost is what the decisions said, by the definition of the design."""
    jobs = replayed.jobs
    every = [run for of_job in runs.values() for run in of_job]
    lost = math.fsum(int(jobs["nodes"][run.job]) * (run.end - run.start - run.saved) for run in every)
    used = math.fsum(int(jobs["nodes"][run.job]) * (run.end - run.start) for run in every)
    useful = float((jobs["nodes"] * jobs["run_time"]).sum())
    assert math.isclose(used, useful + lost, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    found = measure(replayed)
    assert math.isclose(found.lost_node_hours * 3600, lost, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    assert found.preemptions + found.outage_interruptions == len(replayed.interrupted)
    _check_decisions(replayed, [run for run in every if run.how in {"kill", "checkpoint"}])


def defined_loss(replayed: Replayed, run: Run) -> float:
    """Return what the design's definition charges for a preempted run [node-seconds]."""
    job = replayed.jobs[run.job]
    seconds = float(job["cost"]) if run.how == "checkpoint" else run.end - _newest(job, run)
    return int(job["nodes"]) * (seconds + float(job["restart_cost"]))


def _check_decisions(replayed: Replayed, preempted: list[Run]) -> None:
    """Whoever is preempted was decided for that moment, at the loss that was decided; decided victims may be spared."""
    carried_out: dict[float, float] = defaultdict(float)
    decided: dict[float, float] = defaultdict(float)
    for run in preempted:
        carried_out[run.end] += defined_loss(replayed, run)
    for decision in replayed.decisions:
        decided[decision.start] += decision.lost_node_seconds
        window = replayed.jobs["submit"][decision.job] + replayed.scenario.max_delay
        assert decision.time <= decision.start <= max(window, decision.time) + TOLERANCE
        assert (
            decision.start <= replayed.jobs["first_start"][decision.job]
            or replayed.jobs["first_start"][decision.job] >= decision.time
            or replayed.scenario.outages
        )
    for time, loss in carried_out.items():
        assert loss <= decided[time] * (1 + TOLERANCE) + TOLERANCE, f"more is lost at {time} than was decided"
        if replayed.scenario.max_delay == 0:
            assert math.isclose(loss, decided[time], rel_tol=TOLERANCE, abs_tol=TOLERANCE)
