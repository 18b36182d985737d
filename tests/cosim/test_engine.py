"""Replays as a whole: the same seed, the same result; work per job; what the machine tells a policy."""

from __future__ import annotations

import math
from unittest.mock import patch

import numpy as np
import pytest
from replays import jobs_of, play_trace, rules_of, trace_of

from cosim.engine import Scenario, replay
from cosim.kernel import loop
from cosim.machine import OVERRUN_GRACE, Machine, Rules
from cosim.outages import Outage
from cosim.policies import policy
from cosim.workload import OnDemandRule, build
from traces.generator import theta_like

DAY = 86400.0


def same(first: np.ndarray, second: np.ndarray) -> bool:
    """Say whether two arrays of records agree in every field (the bytes between fields are nobody's)."""
    return all(np.array_equal(first[name], second[name]) for name in first.dtype.names)


@pytest.mark.parametrize("decided_by", ["dp", "random"])
def test_the_same_seed_gives_the_same_replay_to_the_last_bit(decided_by):
    def once():
        return play_trace(
            theta_like(days=6.0, seed=3),
            priority="wfp",
            decided_by=decided_by,
            max_delay=600.0,
            checkpoints=rules_of(every=1800.0, cost=60.0, restart=60.0, share=0.5),
            outages=(Outage(1641189600.0 + DAY, 1641189600.0 + 2 * DAY, 300),),
            seed=11,
        )

    first, second = once(), once()
    assert same(first.jobs, second.jobs)
    assert first.interrupted == second.interrupted
    assert first.decisions == second.decisions
    assert len(first.decisions) > 10


def test_another_seed_gives_other_on_demand_jobs():
    trace = theta_like(days=3.0, seed=3, on_demand_share=0.0)
    chosen = [build(trace, on_demand=OnDemandRule("share", 0.3), seed=seed).jobs["on_demand"] for seed in (0, 0, 1)]
    assert (chosen[0] == chosen[1]).all()
    assert (chosen[0] != chosen[2]).any()


def test_a_workload_can_be_replayed_twice():
    workload = build(theta_like(days=2.0), checkpoints=rules_of())
    scenario = Scenario(Rules(workload.nodes), policy("dp"))
    first, second = replay(workload, scenario), replay(workload, scenario)
    assert np.isnan(workload.jobs["finish"]).all()
    assert same(first.jobs, second.jobs)


def test_the_work_for_each_job_does_not_grow_with_the_length_of_the_trace():
    def per_job(days: float) -> tuple[float, float]:
        """Return the moments that a job causes, and the mean length of all that a pass may have to go through."""
        moments, lengths = 0, 0

        class Counting(Machine):
            def advance(self, until, *, watch):
                nonlocal moments, lengths
                moments += 1
                clock = self._clock[0]
                lengths += int(clock["queued"]) + int(clock["releases"]) + int(clock["events"])
                return super().advance(until, watch=watch)

        workload = build(theta_like(days=days, seed=1, load=0.7), checkpoints=rules_of())
        with patch("cosim.engine.Machine", Counting), patch("cosim.machine._MOMENTS", 1):
            replay(workload, Scenario(Rules(workload.nodes, "easy", "wfp"), policy("dp")))
        return moments / len(workload), lengths / moments

    short, long = per_job(15.0), per_job(120.0)
    assert 1 < long[0] < 1.1 * short[0]
    assert 1 < long[1] < 2 * short[1]  # over eight times the jobs


def test_progress_counts_up_to_all_jobs():
    workload = build(theta_like(days=2.0), checkpoints=rules_of())
    told: list[tuple[int, int]] = []
    replay(workload, Scenario(Rules(workload.nodes)), lambda done, jobs: told.append((done, jobs)))
    assert told[-1] == (len(workload), len(workload))
    assert told == sorted(told)


def test_ctrl_c_is_heard_between_two_bouts_of_compiled_code():
    workload = build(theta_like(days=2.0), checkpoints=rules_of())

    def interrupted(_done, _jobs):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        replay(workload, Scenario(Rules(workload.nodes)), interrupted)


def test_a_trace_of_one_job():
    replayed = play_trace(jobs_of(1, {"submit": 17.0, "run": 3, "nodes": 1}), decided_by="dp")
    assert replayed.jobs["finish"].tolist() == [20.0]


def test_all_jobs_at_the_same_second_run_one_after_the_other():
    trace = trace_of(
        4, submit=np.zeros(50), run_time=np.full(50, 10.0), requested_time=np.full(50, 10.0), nodes=[4] * 50
    )
    for backfill in ("none", "easy", "conservative"):
        replayed = play_trace(trace, backfill=backfill)
        assert replayed.jobs["first_start"].tolist() == [10.0 * k for k in range(50)]


def machine_with(*rows, until: float) -> Machine:
    workload = build(jobs_of(10, *rows), checkpoints=rules_of(restart=5.0))
    machine = Machine(workload.jobs.copy(), Rules(10), ask=True)
    assert machine.advance(0.0, watch=False) == loop.ATTENTION
    machine.arrivals()
    machine.schedule()
    assert machine.advance(until, watch=False) == loop.ATTENTION
    return machine


def test_a_policy_sees_the_requests_and_not_the_run_times():
    job = {"submit": 0, "run": 30, "nodes": 4, "request": 100}
    snapshot, places = machine_with(job, until=10.0).snapshot()
    assert (snapshot.now, snapshot.free_nodes) == (10.0, 6)
    assert places.tolist() == [0]
    assert snapshot.expected_end.tolist() == [100.0]
    assert snapshot.start.tolist() == [0.0]
    assert snapshot.restart_cost.tolist() == [5.0]


def test_a_job_that_has_outlived_its_limit_is_expected_to_end_within_the_grace_and_then_not_at_all():
    job = {"submit": 0, "run": 1000, "nodes": 4, "request": 100}
    for now, expected in ((100.0, 100 + OVERRUN_GRACE), (150.0, 100 + OVERRUN_GRACE), (220.0, math.inf)):
        snapshot, _ = machine_with(job, until=now).snapshot()
        assert snapshot.expected_end.tolist() == [expected]
        assert snapshot.preemptible.all()


def test_a_policy_sees_who_may_be_a_victim():
    rows = [
        {"submit": 0, "run": 100, "nodes": 1},
        {"submit": 0, "run": 100, "nodes": 2, "preemptible": False},
        {"submit": 0, "run": 100, "nodes": 3},
    ]
    machine = machine_with(*rows, until=10.0)
    machine.promise(2, 0)
    snapshot, _ = machine.snapshot()
    assert snapshot.preemptible.tolist() == [True, False, False]
    assert snapshot.expected_end.tolist() == [100.0, 100.0, math.inf]
    machine.release_promise(2, 1)  # promised to another one: nothing happens
    assert machine.is_promised(2, 0)
    machine.release_promise(2, 0)
    assert machine.snapshot()[0].preemptible.tolist() == [True, False, True]
