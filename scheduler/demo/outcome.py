"""What came of the demo: from the cluster's accounting, the controller's journal and the jobs' own logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from cosim.policies import POLICIES, policy
from cosim.preemption import Point
from cosim.snapshot import Request
from scheduler.demo.playing import Played, Step
from scheduler.demo.scenario import DemoJob, Scenario
from scheduler.slurm.observe import snapshot
from scheduler.slurm.runs import Run

COMPARED = ("dp", "exact", "smallest", "greedy", "slurm", "youngest")
"""The policies that are asked about the moment of the decision: ours, the oracle, and rules in use elsewhere."""


@dataclass(frozen=True)
class JobOutcome:
    """What came of a job.

    Attributes
    ----------
    asked : DemoJob
        What was asked for.
    number : int
        Its id.
    state : str
        How it ended.
    runs : tuple of Run
        By the accounting, in order.
    lost : float
        What its interrupted runs had done and not saved, and the restarts, by its own log [node-seconds].
    resumed : float or None
        From which second of its work its last run went on; None where it was not interrupted.
    checkpoints : tuple of float
        When it wrote one [s].
    explanation : str
        What `tierwise explain` says of it.
    """

    asked: DemoJob
    number: int
    state: str
    runs: tuple[Run, ...]
    lost: float
    resumed: float | None
    checkpoints: tuple[float, ...]
    explanation: str

    @property
    def interrupted(self) -> bool:
        """Whether it made room."""
        return self.resumed is not None


@dataclass(frozen=True)
class Alternative:
    """What a policy would have done at the moment of the decision.

    Attributes
    ----------
    policy, meaning : str
        Its name, and what it does.
    victims : tuple of str
        Names of the jobs that would have made room.
    lost : float
        What they would have lost [node-seconds].
    delay : float
        How long the on-demand job would have waited from then on [s].
    """

    policy: str
    meaning: str
    victims: tuple[str, ...]
    lost: float
    delay: float


@dataclass(frozen=True)
class Outcome:
    """All of it.

    Attributes
    ----------
    scenario : Scenario
        What was played.
    slurm : str
        Slurm's release.
    jobs : tuple of JobOutcome
        The jobs, the on-demand job last.
    submitted, latency : float
        When the on-demand job was submitted, and how long it took from there to its first line [s].
    decided_lost : float
        What the decision said that would be lost [node-seconds].
    alternatives : tuple of Alternative
        What each policy says about the very same moment.
    seconds : float
        How long the demo took [s].
    """

    scenario: Scenario
    slurm: str
    jobs: tuple[JobOutcome, ...]
    submitted: float
    latency: float
    decided_lost: float
    alternatives: tuple[Alternative, ...]
    seconds: float

    @property
    def on_demand(self) -> JobOutcome:
        """The on-demand job."""
        return self.jobs[-1]

    @property
    def victims(self) -> tuple[str, ...]:
        """Names of the jobs that made room."""
        return tuple(job.asked.name for job in self.jobs if job.interrupted)

    @property
    def lost(self) -> float:
        """What was lost, by the jobs' own logs [node-seconds]."""
        return sum(job.lost for job in self.jobs)

    @property
    def lost_by_accounting(self) -> float:
        """Node-seconds held beyond what the work takes; each launch is in it too."""
        held = sum(run.node_seconds for job in self.jobs for run in job.runs)
        return held - sum(job.asked.nodes * job.asked.work for job in self.jobs)

    @property
    def good(self) -> bool:
        """Whether all jobs completed, and the on-demand job started in time."""
        completed = all(job.state == "completed" for job in self.jobs)
        return completed and self.latency <= self.scenario.tolerated + _LAUNCH

    def as_dict(self) -> dict[str, Any]:
        """Return it for `json.dumps`."""
        return {
            "slurm": self.slurm,
            "nodes": self.scenario.nodes,
            "good": self.good,
            "seconds": round(self.seconds, 1),
            "on_demand": {
                "job": self.on_demand.number,
                "name": self.on_demand.asked.name,
                "nodes": self.on_demand.asked.nodes,
                "tolerated_seconds": self.scenario.tolerated,
                "latency_seconds": round(self.latency, 3),
            },
            "victims": list(self.victims),
            "lost_node_seconds": {
                "decided": round(self.decided_lost, 3),
                "by_jobs_own_logs": round(self.lost, 3),
                "by_accounting": round(self.lost_by_accounting, 3),
            },
            "jobs": [_job_as_dict(job) for job in self.jobs],
            "policies": [
                {
                    "policy": found.policy,
                    "victims": list(found.victims),
                    "lost_node_seconds": round(found.lost, 3),
                    "delay_seconds": round(found.delay, 3),
                }
                for found in self.alternatives
            ],
        }


_LAUNCH = 10.0  # Slurm starts the job in time; its first line comes when the node has launched it [s]


def _job_as_dict(job: JobOutcome) -> dict[str, Any]:
    return {
        "job": job.number,
        "name": job.asked.name,
        "nodes": job.asked.nodes,
        "work_seconds": job.asked.work,
        "checkpoint_every_seconds": job.asked.every or None,
        "state": job.state,
        "lost_node_seconds": round(job.lost, 3),
        "resumed_from_second": job.resumed,
        "runs": [
            {"start": run.start, "end": run.end, "state": run.state, "nodes": list(run.node_names)} for run in job.runs
        ],
        "explanation": job.explanation,
    }


def outcome(scenario: Scenario, played: Played, runs: Sequence[Run], slurm: str, seconds: float) -> Outcome:
    """Put together what came of it.

    Parameters
    ----------
    scenario : Scenario
        What was played.
    played : Played
        What was seen of it.
    runs : sequence of Run
        The accounting.
    slurm : str
        Slurm's release.
    seconds : float
        How long it took [s].

    Returns
    -------
    Outcome
        All of it.
    """
    found = tuple(_job(scenario, job, played, runs) for job in scenario.jobs)
    first = played.logs[scenario.on_demand.name][0]
    return Outcome(
        scenario=scenario,
        slurm=slurm,
        jobs=found,
        submitted=played.submitted,
        latency=first.time - played.submitted,
        decided_lost=sum(victim.loss for victim in played.plan.victims),
        alternatives=alternatives(scenario, played),
        seconds=seconds,
    )


def _job(scenario: Scenario, job: DemoJob, played: Played, runs: Sequence[Run]) -> JobOutcome:
    number, log = played.numbers[job.name], played.logs[job.name]
    last = {step.run: step for step in log}
    final = log[-1].run
    stopped = [step for run, step in last.items() if run < final]
    return JobOutcome(
        asked=job,
        number=number,
        state=played.states[job.name],
        runs=tuple(run for run in runs if run.job == number),
        lost=job.nodes * sum(step.done - step.saved + scenario.restart_cost for step in stopped),
        resumed=next(step.saved for step in log if step.run == final) if stopped else None,
        checkpoints=_checkpoints(log),
        explanation=played.explanations.get(job.name, ""),
    )


def _checkpoints(log: Sequence[Step]) -> tuple[float, ...]:
    """Return when a job saved more than before; its end is none."""
    found, saved = [], 0.0
    for step in log[:-1]:
        if step.saved > saved:
            saved = step.saved
            found.append(step.time)
    return tuple(found)


def alternatives(scenario: Scenario, played: Played) -> tuple[Alternative, ...]:
    """Ask each policy about the moment of the decision, with what the cluster showed then.

    Parameters
    ----------
    scenario : Scenario
        What was played.
    played : Played
        What was seen of it.

    Returns
    -------
    tuple of Alternative
        In the order of `COMPARED`.
    """
    nodes, jobs = played.before
    now, job = played.plan.made, played.waiting
    window = max(0.0, (job.submit or now) + scenario.tolerated - now)
    request = Request(scenario.on_demand.nodes, job.time_limit, window)
    moment = snapshot(now, nodes, jobs)
    names = {str(number): name for name, number in played.numbers.items()}
    asked = ((name, policy(name).decide(moment, request).chosen) for name in COMPARED)
    return tuple(_alternative(name, chosen, now, names) for name, chosen in asked if chosen is not None)


def _alternative(name: str, chosen: Point, now: float, names: Mapping[str, str]) -> Alternative:
    victims = tuple(names[victim.id] for victim in chosen.victims)
    return Alternative(name, POLICIES[name][0], victims, chosen.lost_node_seconds, chosen.start - now)
