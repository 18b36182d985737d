"""Submits the demo's jobs to the cluster, and watches and tells what becomes of them."""

from __future__ import annotations

import json
import shlex
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from scheduler.controller.journal import Journal, Plan
from scheduler.demo.errors import DemoError
from scheduler.demo.scenario import DemoJob, Scenario
from scheduler.demo.site import Site
from scheduler.demo.telling import Row, Teller
from scheduler.slurm.seam import Job, Node, Submission
from scheduler.slurm.values import ENDED

BATCH_JOB = Path(__file__).with_name("batch_job.py")
_PATIENCE = 150.0  # for each thing that is waited for; the machine may be busy [s]
_LOOK_EVERY = 0.3  # [s]
_LIMIT = 300.0  # wall time limit of the jobs [s]


@dataclass(frozen=True)
class Step:
    """A line of a job's own log.

    Attributes
    ----------
    time : float
        When [s].
    run : int
        Which run, from 0.
    done, saved : float
        What is done, and what the newest checkpoint holds [s of work].
    """

    time: float
    run: int
    done: float
    saved: float


@dataclass(frozen=True)
class Played:
    """What was seen of it.

    Attributes
    ----------
    numbers : dict of str to int
        The jobs' ids by name.
    before : tuple
        Nodes and jobs just before the on-demand job was submitted.
    submitted : float
        When it was submitted [s].
    waiting : Job
        The on-demand job as it was first seen.
    plan : Plan
        What the controller decided.
    explanations : dict of str to str
        By job name, what `tierwise explain` says of it.
    states : dict of str to str
        How each job ended.
    logs : dict of str to tuple of Step
        The jobs' own logs.
    """

    numbers: Mapping[str, int]
    before: tuple[tuple[Node, ...], tuple[Job, ...]]
    submitted: float
    waiting: Job
    plan: Plan
    explanations: Mapping[str, str]
    states: Mapping[str, str]
    logs: Mapping[str, tuple[Step, ...]]


def play(scenario: Scenario, site: Site, tell: Teller) -> Played:
    """Run all of it.

    Parameters
    ----------
    scenario : Scenario
        Which jobs.
    site : Site
        The cluster.
    tell : Teller
        Takes what happens.

    Returns
    -------
    Played
        After all jobs have ended.

    Raises
    ------
    DemoError
        Where something does not happen in time.
    SlurmError
        Where Slurm refuses something.
    """
    scene = _Scene(scenario, site, tell)
    began = 0.0
    for job in scenario.batch:
        if job.after and not began:
            scene.until("the first jobs to run", scene.all_run)
            began = time.monotonic()
        scene.rest(began + job.after)
        scene.submit(job)
    scene.until("all batch jobs to run", scene.all_run)
    scene.rest(began + scenario.on_demand.after)
    before = site.slurm.look()
    tell.say(f"all {scenario.nodes} nodes are taken, and now a job comes that cannot wait:")
    submitted = time.time()
    scene.submit(scenario.on_demand)
    waiting = scene.look()[scenario.on_demand.name]
    plan = scene.decided()
    explanations = scene.explain(plan)
    scene.until("all jobs to end", lambda jobs: all(job.state in ENDED and not job.flags for job in jobs.values()))
    states = {name: job.state for name, job in scene.look().items()}
    logs = {job.name: scene.log(job) for job in scenario.jobs}
    return Played(scene.numbers, before, submitted, waiting, plan, explanations, states, logs)


@dataclass
class _Scene:
    scenario: Scenario
    site: Site
    tell: Teller
    numbers: dict[str, int] = field(default_factory=dict)
    _seen: dict[str, tuple[str, int]] = field(default_factory=dict)

    def submit(self, job: DemoJob) -> None:
        options = {"output": "/dev/null", "chdir": "/", "requeue": ""} | self._flags(job)
        words = [sys.executable, "-I", str(BATCH_JOB), str(self.site.files.jobs), job.name]
        words += [f"{number:g}" for number in (job.work, job.every, self.scenario.restart_cost)]
        script = f"#!/bin/sh\nexec {shlex.join(words)}\n"
        submission = Submission(script, job.name, job.nodes, _LIMIT, options=options)
        self.numbers[job.name] = self.site.slurm.submit(submission)
        flags = " ".join(f"--{name}={value}" for name, value in self._flags(job).items())
        self.tell.say(f"$ sbatch --nodes={job.nodes} {flags} {job.name}.sh   # job {self.numbers[job.name]}")

    def _flags(self, job: DemoJob) -> dict[str, str]:
        if job is self.scenario.on_demand:
            return {"on-demand": f"{self.scenario.tolerated:g}s"}
        return {
            "checkpoint-every": f"{job.every:g}s" if job.every else "none",
            "checkpoint-cost": f"{self.scenario.checkpoint_cost:g}s",
            "restart-cost": f"{self.scenario.restart_cost:g}s",
        }

    def rest(self, until: float) -> None:
        """Wait until a moment of the monotonic clock, and show the jobs meanwhile."""
        while (left := until - time.monotonic()) > 0:
            time.sleep(min(left, _LOOK_EVERY))
            self.look()

    def all_run(self, jobs: Mapping[str, Job]) -> bool:
        return all(job.state == "running" for job in jobs.values())

    def until(self, what: str, ready: Callable[[Mapping[str, Job]], bool]) -> None:
        end = time.monotonic() + _PATIENCE
        while not ready(self.look()):
            if time.monotonic() > end:
                states = ", ".join(f"{name} {state}" for name, (state, _) in self._seen.items())
                log = self.site.files.log
                raise DemoError(f"waited {_PATIENCE:g} s for {what}: {states}; the controller's log is {log}")
            time.sleep(_LOOK_EVERY)

    def look(self) -> dict[str, Job]:
        """Look at the jobs, and tell what is new."""
        self.site.check()
        known = {job.id: job for job in self.site.slurm.jobs()}
        jobs = {name: known[number] for name, number in self.numbers.items()}
        for name, job in jobs.items():
            state = (job.state, job.restarts)
            if self._seen.get(name, ("pending", 0)) != state and "completing" not in job.flags:
                self._seen[name] = state
                self._tell_change(name, job)
        self.tell.show([self._row(job, jobs.get(job.name)) for job in self.scenario.jobs])
        return jobs

    def _tell_change(self, name: str, job: Job) -> None:
        where = f"{job.node_count} nodes ({','.join(job.nodes)})" if len(job.nodes) > 1 else ",".join(job.nodes)
        if job.state == "running" and not job.restarts:
            self.tell.say(f"{name} runs on {where}")
        elif job.state == "running":
            saved = self.log(self._job(name))[-1].saved
            self.tell.say(f"{name} is back, on {where}; it goes on from second {saved:g}")
        elif job.state == "pending":
            self.tell.say(f"{name} makes room, and waits in the queue again")
        else:
            self.tell.say(f"{name} {job.state}")

    def _job(self, name: str) -> DemoJob:
        return next(job for job in self.scenario.jobs if job.name == name)

    def _row(self, job: DemoJob, seen: Job | None) -> Row:
        log = self.log(job)
        last = log[-1] if log else Step(0.0, -1, 0.0, 0.0)
        words = {"pending": "preempted" if seen is not None and seen.restarts else "waiting"}
        if job is self.scenario.on_demand:
            words["running"] = "on-demand"
        state = "not submitted" if seen is None else words.get(seen.state, seen.state)
        return Row(job.name, job.nodes, state, last.done, last.saved, job.work, last.run + 1)

    def log(self, job: DemoJob) -> tuple[Step, ...]:
        """Read a job's own log; its last line may be half written."""
        path = self.site.files.jobs / f"{job.name}.log"
        lines = path.read_text("utf-8").split("\n")[:-1] if path.is_file() else []
        return tuple(Step(**json.loads(line)) for line in lines)

    def decided(self) -> Plan:
        """Wait for the controller's decision."""
        found: list[Plan] = []
        number = self.numbers[self.scenario.on_demand.name]

        def ready(_jobs: Mapping[str, Job]) -> bool:
            found.extend(plan for plan in journal.open_plans() if plan.job == number)
            return bool(found)

        journal = Journal(self.site.files.journal)
        try:
            self.until("the controller to decide", ready)
        finally:
            journal.close()
        return found[0]

    def explain(self, plan: Plan) -> dict[str, str]:
        """Return and tell why each job was chosen or spared."""
        journal = Journal(self.site.files.journal)
        try:
            known = {name: journal.explanations(number) for name, number in self.numbers.items()}
        finally:
            journal.close()
        found = {name: texts[-1][1] for name, texts in known.items() if texts}
        victims = {victim.job for victim in plan.victims}
        self.tell.say("the controller has decided; `tierwise explain` says why:")
        for name, text in sorted(found.items(), key=lambda item: self.numbers[item[0]] not in victims):
            self.tell.say(f"{name}: {text.partition('; on-demand job')[0]}", more=True)
        return found
