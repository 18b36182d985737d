"""The rules in use elsewhere: what each takes first, and what all of them promise."""

from __future__ import annotations

import copy
import dataclasses
import random

import numpy as np
import pytest
from preemption_reference import large_case, small_case

from cosim.policies import POLICIES, policy
from cosim.preemption import starts_to_try
from cosim.snapshot import Request, RunningJob, Snapshot
from traces.errors import InputError

QUICK = [name for name in POLICIES if name != "exact"]


def columns(snapshot: Snapshot) -> list[object]:
    values = [getattr(snapshot, field.name) for field in dataclasses.fields(snapshot)]
    return [value.tolist() if isinstance(value, np.ndarray) else value for value in values]


@pytest.mark.parametrize("name", POLICIES)
def test_each_policy_is_pure(name: str) -> None:
    for seed in range(20):
        case = small_case(random.Random(seed), most_jobs=8)
        snapshot = case.snapshot
        before = copy.deepcopy(columns(snapshot))
        first = policy(name, 3).decide(snapshot, case.request)
        assert policy(name, 3).decide(snapshot, case.request) == first
        assert columns(snapshot) == before


@pytest.mark.parametrize("name", QUICK)
def test_dp_never_loses_more_than_another_policy_at_the_same_start(name: str) -> None:
    dp, other = policy("dp"), policy(name)
    asked = 0
    for seed in range(150):
        case = small_case(random.Random(seed)) if seed % 2 else large_case(np.random.default_rng(seed), 60, 512, 900.0)
        for t in starts_to_try(case.snapshot, case.request)[:10]:
            least, point = dp.at(case.snapshot, case.request, t), other.at(case.snapshot, case.request, t)
            assert (least is None) == (point is None)
            if least and point:
                asked += 1
                assert least.lost_node_seconds <= point.lost_node_seconds + 1e-6
    assert asked > 100


@pytest.mark.parametrize("name", QUICK)
def test_victims_of_each_policy_are_enough_and_none_could_be_spared(name: str) -> None:
    for seed in range(150):
        case = small_case(random.Random(seed))
        snapshot = case.snapshot
        for point in policy(name).decide(snapshot, case.request).frontier:
            ended = int(snapshot.nodes[snapshot.expected_end <= point.start].sum())
            freed = [int(snapshot.nodes[place]) for place in point.places]
            beyond = case.free + ended + sum(freed) - case.request.nodes
            assert beyond >= 0
            assert all(beyond < nodes for nodes in freed)
            assert all(snapshot.preemptible[place] for place in point.places)


def test_policies_agree_on_what_can_be_met() -> None:
    for seed in range(150):
        case = small_case(random.Random(seed))
        decisions = [policy(name).decide(case.snapshot, case.request) for name in QUICK]
        assert len({decision.most_nodes for decision in decisions}) == 1
        assert len({decision.chosen is None for decision in decisions}) == 1


JOBS = [
    RunningJob("1", 4, 100.0, 9000.0, priority=2),
    RunningJob("2", 4, 900.0, 9000.0, priority=3),
    RunningJob("3", 8, 950.0, 9000.0, priority=1),
    RunningJob("4", 2, 0.0, 9000.0, checkpoint_interval=995.0, priority=2),
]


@pytest.mark.parametrize(
    ("name", "nodes", "victims"),
    [
        ("slurm", 8, ["3"]),  # the lowest priority first
        ("slurm", 10, ["3", "4"]),  # then the smaller of two of the same priority
        ("youngest", 4, ["3"]),
        ("youngest", 9, ["2", "3"]),
        ("smallest", 2, ["4"]),  # 5 s since its checkpoint, on 2 nodes
        ("smallest", 4, ["2"]),  # 2 loses as much as 3 does, and the lower id goes first; 4 need not go then
        ("greedy", 8, ["3"]),  # 4, then 3 at 50 s a node; 4 need not go then
    ],
)
def test_each_rule_takes_its_own_first(name: str, nodes: int, victims: list[str]) -> None:
    point = policy(name).at(Snapshot.of(1000.0, 0, JOBS), Request(nodes, 60.0), 1000.0)
    assert point is not None
    assert [victim.id for victim in point.victims] == victims


def test_policies_without_foresight_start_at_once_where_they_can() -> None:
    snapshot = Snapshot.of(
        1000.0, 0, [RunningJob("1", 4, 0.0, 9000.0, checkpoint_interval=1000.0, checkpoint_cost=5.0)]
    )
    request = Request(4, 60.0, 60.0)
    starts = {name: policy(name).decide(snapshot, request).chosen.start for name in QUICK}  # type: ignore[union-attr]
    assert starts == {
        "dp": 1005.0,
        "slurm": 1000.0,
        "youngest": 1000.0,
        "smallest": 1005.0,
        "greedy": 1005.0,
        "random": 1000.0,
    }


def test_random_draws_anew_with_another_seed() -> None:
    snapshot = Snapshot.of(10.0, 0, [RunningJob(str(n), 1, 0.0, 9000.0) for n in range(50)])
    drawn = {policy("random", seed).at(snapshot, Request(5, 60.0), 10.0).places for seed in range(5)}  # type: ignore[union-attr]
    assert len(drawn) > 1


def test_an_unknown_policy_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InputError, match="expected one of dp, slurm, youngest, smallest, greedy, random, exact"):
        policy("fair")
