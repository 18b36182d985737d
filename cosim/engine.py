"""The replayer: plays a workload against a machine, a queue discipline and a preemption policy."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from cosim.kernel import loop
from cosim.kernel.state import DONE, JOB, Records
from cosim.machine import InterruptedRun, Machine, Rules
from cosim.on_demand import Decided, OnDemand
from cosim.outages import Outage, OutageClock
from cosim.policies import PreemptionPolicy
from cosim.workload import Workload

_STREAM_OUTAGES = 100


@dataclass(frozen=True)
class Scenario:
    """Everything about a replay but the jobs.

    Attributes
    ----------
    rules : Rules
        The machine's size and how its batch queue is run.
    policy : PreemptionPolicy or None
        Who decides about on-demand jobs; None: they wait at the queue's head, and nobody is preempted.
    max_delay : float
        How late an on-demand job may start [s].
    delay_weight : float
        What a node-second of delay is worth in lost node-seconds.
    outages : tuple of Outage
        Nodes that fail and come back.
    seed : int
        Which nodes fail is drawn from it.
    """

    rules: Rules
    policy: PreemptionPolicy | None = None
    max_delay: float = 600.0
    delay_weight: float = 1.0
    outages: tuple[Outage, ...] = ()
    seed: int = 0


@dataclass(frozen=True)
class Replayed:
    """What happened.

    Attributes
    ----------
    workload : Workload
        The jobs that were played.
    scenario : Scenario
        How.
    jobs : records, shape (jobs,)
        Of `cosim.kernel.state.JOB`: each job's first start, last start and finish, among others.
    interrupted : tuple of InterruptedRun
        All runs that a preemption or an outage stopped.
    decisions : tuple of Decided
        All decisions that found a start.
    seconds : float
        What the replaying took, decisions included [s].
    """

    workload: Workload
    scenario: Scenario
    jobs: Records
    interrupted: tuple[InterruptedRun, ...]
    decisions: tuple[Decided, ...]
    seconds: float


def replay(workload: Workload, scenario: Scenario, progress: Callable[[int, int], None] | None = None) -> Replayed:
    """Play a workload.

    Parameters
    ----------
    workload : Workload
        The jobs; left unchanged.
    scenario : Scenario
        The machine, the queue, the policy.
    progress : callable, optional
        Called now and then with the jobs that have ended and the jobs there are.

    Returns
    -------
    Replayed
        When each job started and ended, and what was preempted.
    """
    began = time.perf_counter()
    jobs = workload.jobs.copy()
    ask = scenario.policy is not None
    machine = Machine(jobs, scenario.rules, ask=ask, planned_outages=len(scenario.outages))
    on_demand = (
        OnDemand(machine, scenario.policy, scenario.max_delay, scenario.delay_weight) if scenario.policy else None
    )
    rng = np.random.default_rng([scenario.seed, _STREAM_OUTAGES])
    outages = OutageClock(machine, on_demand, scenario.outages, rng)
    while True:
        until = min(on_demand.next_time if on_demand else np.inf, outages.next_time)
        reason = machine.advance(until, watch=on_demand is not None and on_demand.watching)
        if progress:
            progress(machine.done, len(jobs))
        if reason == loop.FINISHED:
            break
        if reason == loop.ATTENTION:
            outages.step()
            if on_demand:
                on_demand.step()
            machine.schedule()
    if machine.done != len(jobs):
        stuck = int(np.flatnonzero(jobs["status"] != DONE)[0])
        raise RuntimeError(f"the replay stopped with job {workload.ids[stuck]} unfinished")
    return Replayed(
        workload,
        scenario,
        jobs,
        tuple(machine.interrupted),
        tuple(on_demand.decisions) if on_demand else (),
        time.perf_counter() - began,
    )


def rehearse(scenario: Scenario, *, on_demand: bool) -> float:
    """Load the compiled code (compile it, the first time after an installation) by a replay of three jobs.

    Parameters
    ----------
    scenario : Scenario
        What is to be replayed.
    on_demand : bool
        Whether on-demand jobs will occur.

    Returns
    -------
    float
        What it took [s]: this is start-up, and no part of a replay.
    """
    began = time.perf_counter()
    jobs = np.zeros(3, JOB)
    jobs["submit"] = (0.0, 0.0, 5.0)
    jobs["run_time"] = jobs["work"] = (20.0, 10.0, 5.0)
    jobs["request"] = 30.0
    jobs["nodes"] = (3, 3, 4)
    jobs["rank"] = (1, 2, 0) if on_demand else (0, 1, 2)
    jobs["id_rank"] = (0, 1, 2)
    jobs["interval"] = jobs["reserved"] = np.inf
    jobs["first_start"] = jobs["finish"] = np.nan
    jobs["preemptible"] = 1
    jobs["on_demand"] = (0, 0, on_demand)
    names = np.array(["1", "2", "3"])
    small = replace(scenario, rules=replace(scenario.rules, nodes=6), outages=())
    replay(Workload(jobs, names, names, names, 6), small)
    return time.perf_counter() - began
