"""The decision against brute force and against its own promises."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import random
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from preemption_reference import Answer, Case, brute_force, large_case, small_case

from cosim.losses import candidate_starts, last_checkpoint, loss_on_a_node, seconds_lost
from cosim.preemption import Decision, decide, points_at, starts_to_try
from cosim.snapshot import Request, RunningJob, Snapshot
from traces.errors import InputError


def summary(decision: Decision) -> Answer:
    chosen = decision.chosen
    return Answer(
        chosen.start if chosen else None,
        [victim.id for victim in chosen.victims] if chosen else [],
        [(point.start, point.lost_node_seconds) for point in decision.frontier],
        [[victim.id for victim in point.victims] for point in decision.frontier],
    )


@pytest.mark.parametrize("block", range(10))
def test_equals_brute_force_on_2000_snapshots_of_up_to_14_jobs(block: int) -> None:
    for seed in range(block * 200, block * 200 + 200):
        case = small_case(random.Random(seed))
        assert summary(decide(case.snapshot, case.request)) == brute_force(case), f"seed {seed}"


def test_no_start_between_the_ones_tried_beats_the_frontier() -> None:
    for seed in range(300):
        case = small_case(random.Random(10_000 + seed), most_jobs=8)
        assert summary(decide(case.snapshot, case.request)) == brute_force(case, between=4), f"seed {seed}"


def test_no_random_start_beats_the_frontier_of_a_large_machine() -> None:
    rng = np.random.default_rng(7)
    for seed in range(10):
        case = large_case(np.random.default_rng(seed), 60, 4392, 1800.0, fractional=bool(seed % 2))
        snapshot, request = case.snapshot, case.request
        frontier = decide(snapshot, request).frontier
        for t in snapshot.now + 1800 * rng.random(50):
            least = min((p.lost_node_seconds for p in frontier if p.start <= t), default=math.inf)
            for point in points_at(snapshot, request, np.array([t])):
                assert point.lost_node_seconds >= least - 1e-3


def test_interpreted_kernels_decide_as_compiled_ones_do() -> None:
    program = (
        "import random, json; from preemption_reference import small_case; from cosim.preemption import decide;"
        "cases = [small_case(random.Random(seed)) for seed in range(60)];"
        "decisions = [decide(case.snapshot, case.request) for case in cases];"
        "print(json.dumps([[[p.start, p.lost_node_seconds, p.places] for p in d.frontier] for d in decisions]))"
    )
    answers = []
    for disabled in ("0", "1"):
        environment = {**os.environ, "NUMBA_DISABLE_JIT": disabled, "PYTHONPATH": str(Path(__file__).parent)}
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        answers.append(json.loads(done.stdout))
    assert answers[0] == answers[1]
    assert any(frontier for frontier in answers[0])


def test_each_loss_kernel_equals_its_plain_twin() -> None:
    rng = np.random.default_rng(3)
    for _ in range(200):
        start, cost, restart = rng.integers(0, 50) / 4, rng.integers(0, 20) / 4, rng.integers(0, 20) / 4
        interval = math.inf if rng.random() < 0.2 else rng.integers(1, 40) / 4
        now = start + rng.integers(0, 100) / 4
        t = now + rng.integers(0, 50) / 4
        on_demand = bool(rng.random() < 0.5)
        checkpoint = (t, start, interval, cost)
        assert last_checkpoint(*checkpoint) == last_checkpoint.py_func(*checkpoint)
        one = (t, now, start, interval, cost, restart, on_demand)
        assert loss_on_a_node(*one) == loss_on_a_node.py_func(*one)
    snapshot = large_case(rng, 50, 4392, 1800.0).snapshot
    columns = (snapshot.start, snapshot.checkpoint_interval, snapshot.checkpoint_cost)
    many = (snapshot.now + 9, snapshot.now, *columns, snapshot.restart_cost, snapshot.on_demand_checkpoint)
    for compiled, plain in zip(seconds_lost(*many), seconds_lost.py_func(*many), strict=True):
        assert np.array_equal(compiled, plain)
    window = (snapshot.now, 1800.0, snapshot.start, snapshot.expected_end, *columns[1:])
    flags = (snapshot.on_demand_checkpoint, snapshot.preemptible)
    assert np.array_equal(candidate_starts(*window, *flags), candidate_starts.py_func(*window, *flags))


def job(job_id: str = "1", nodes: int = 1, **known: object) -> RunningJob:
    return RunningJob(**{"id": job_id, "nodes": nodes, "start": 0.0, "expected_end": 9000.0, **known})  # type: ignore[arg-type]


def one(snapshot: Snapshot, nodes: int, delay: float = 0.0, weight: float = 1.0) -> Decision:
    return decide(snapshot, Request(nodes, 60.0, delay, weight))


def test_a_victim_with_a_fresh_checkpoint_costs_only_its_restart() -> None:
    fresh = job("1", 4, checkpoint_interval=980.0, checkpoint_cost=20.0, restart_cost=30.0)
    decision = one(Snapshot.of(1000.0, 0, [fresh, job("2", 4)]), 4)
    assert decision.chosen is not None
    assert [(v.id, v.how, v.loss) for v in decision.chosen.victims] == [("1", "kill", 120.0)]


def test_a_checkpoint_counts_once_it_is_complete_not_when_it_begins() -> None:
    writing = job(checkpoint_interval=990.0, checkpoint_cost=20.0)
    decision = one(Snapshot.of(1000.0, 0, [writing]), 1, delay=60.0)
    assert [(p.start, p.lost_node_seconds) for p in decision.frontier] == [(1000.0, 1000.0), (1010.0, 0.0)]


def test_a_victim_that_checkpoints_on_demand_is_signalled_no_earlier_than_now() -> None:
    able = job(checkpoint_cost=50.0, restart_cost=7.0, on_demand_checkpoint=True)
    decision = one(Snapshot.of(1000.0, 0, [able]), 1, delay=60.0)
    assert [(p.start, p.victims[0].how, p.lost_node_seconds) for p in decision.frontier] == [
        (1000.0, "kill", 1007.0),
        (1050.0, "checkpoint", 57.0),
    ]


def test_at_equal_loss_a_victim_is_killed_rather_than_signalled() -> None:
    able = job(start=950.0, checkpoint_cost=50.0, on_demand_checkpoint=True)
    snapshot = Snapshot.of(950.0, 0, [able])
    (point,) = points_at(snapshot, Request(1, 60.0, 50.0), np.array([1000.0]))
    assert (point.victims[0].how, point.lost_node_seconds) == ("kill", 50.0)


def test_a_job_that_is_not_preemptible_is_waited_for_and_never_a_victim() -> None:
    decision = one(Snapshot.of(1000.0, 0, [job(preemptible=False, expected_end=1030.0)]), 1, delay=60.0)
    assert decision.chosen is not None
    assert (decision.chosen.start, decision.chosen.victims) == (1030.0, ())


def test_a_request_that_cannot_be_met_says_how_many_nodes_could_be_had() -> None:
    jobs = [job("1", 3, preemptible=False), job("2", 4), job("3", 5, preemptible=False, expected_end=1010.0)]
    decision = one(Snapshot.of(1000.0, 2, jobs), 12, delay=10.0)
    assert (decision.chosen, decision.frontier, decision.most_nodes) == (None, (), 11)


def test_free_nodes_alone_preempt_nobody() -> None:
    decision = one(Snapshot.of(1000.0, 8, [job("1", 3)]), 8, delay=600.0)
    assert decision.chosen is not None
    assert decision.chosen.victims == ()
    assert len(decision.frontier) == 1


def test_ties_go_to_fewer_victims_then_fewer_nodes_then_lower_ids() -> None:
    fresh = {"start": 1000.0}
    few = Snapshot.of(1000.0, 0, [job("1", 2, **fresh), job("2", 2, **fresh), job("3", 5, **fresh)])
    assert [v.id for v in one(few, 4).chosen.victims] == ["3"]  # type: ignore[union-attr]
    tight = Snapshot.of(1000.0, 0, [job("1", 6, **fresh), job("2", 5, **fresh)])
    assert [v.id for v in one(tight, 4).chosen.victims] == ["2"]  # type: ignore[union-attr]
    numeric = Snapshot.of(1000.0, 0, [job("10", 4, **fresh), job("9", 4, **fresh)])
    assert [v.id for v in one(numeric, 4).chosen.victims] == ["9"]  # type: ignore[union-attr]


def test_the_delay_weight_moves_the_choice_along_the_frontier() -> None:
    snapshot = Snapshot.of(1000.0, 0, [job(nodes=4, checkpoint_interval=1000.0, checkpoint_cost=60.0)])
    starts = [one(snapshot, 4, 300.0, weight).chosen.start for weight in (0.0, 16.0, 17.0)]  # type: ignore[union-attr]
    assert starts == [1060.0, 1060.0, 1000.0]


def test_an_empty_machine_and_a_job_of_unknown_end() -> None:
    assert one(Snapshot.of(0.0, 0, []), 1).chosen is None
    decision = one(Snapshot.of(1000.0, 0, [job(expected_end=math.inf)]), 1, delay=60.0)
    assert decision.chosen is not None
    assert decision.chosen.lost_node_seconds == 1000.0


def test_a_window_with_a_million_starts_is_refused() -> None:
    snapshot = Snapshot.of(1000.0, 0, [job(checkpoint_interval=0.001)])
    with pytest.raises(InputError, match="checkpoint_interval"):
        one(snapshot, 1, delay=86_400.0)


def test_losses_of_a_century_on_a_large_machine_do_not_overflow() -> None:
    jobs = [job(str(n), 100_000, expected_end=4e9) for n in range(1, 1001)]
    decision = one(Snapshot.of(3e9, 0, jobs), 50_000_000)
    assert decision.chosen is not None
    assert len(decision.chosen.victims) == 500
    assert decision.chosen.lost_node_seconds == 500 * 100_000 * 3e9


cases = st.integers(0, 2**32).map(lambda seed: small_case(random.Random(seed)))


@given(cases)
@settings(max_examples=150, deadline=None)
def test_along_the_frontier_starts_rise_and_losses_fall(case: Case) -> None:
    frontier = decide(case.snapshot, case.request).frontier
    for earlier, later in pairwise(frontier):
        assert earlier.start < later.start
        assert earlier.lost_node_seconds > later.lost_node_seconds


@given(cases, st.integers(1, 5))
@settings(max_examples=150, deadline=None)
def test_more_free_nodes_never_lose_more_at_any_start(case: Case, more: int) -> None:
    richer = dataclasses.replace(case, free=case.free + more)
    for t in starts_to_try(case.snapshot, case.request):
        before = points_at(case.snapshot, case.request, np.array([t]))
        after = points_at(richer.snapshot, case.request, np.array([t]))
        assert not before or after[0].lost_node_seconds <= before[0].lost_node_seconds


@given(cases)
@settings(max_examples=150, deadline=None)
def test_victims_make_room_and_none_of_them_could_stay(case: Case) -> None:
    snapshot, request = case.snapshot, case.request
    for point in decide(snapshot, request).frontier:
        ended = int(snapshot.nodes[snapshot.expected_end <= point.start].sum())
        freed = [int(snapshot.nodes[place]) for place in point.places]
        beyond = case.free + ended + sum(freed) - request.nodes
        assert beyond >= 0
        assert all(beyond < nodes for nodes in freed)
        assert all(snapshot.preemptible[place] for place in point.places)
        assert point.lost_node_seconds == sum(victim.loss for victim in point.victims)


@given(cases)
@settings(max_examples=50, deadline=None)
def test_a_longer_window_keeps_what_the_shorter_one_found(case: Case) -> None:
    longer = dataclasses.replace(case.request, max_delay=case.request.max_delay + 5.0)
    short = decide(case.snapshot, case.request).frontier
    assert decide(case.snapshot, longer).frontier[: len(short)] == short
