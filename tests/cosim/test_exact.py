"""CP-SAT as the oracle of the dynamic programme, and on nodes that jobs share."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import numpy as np
import pytest
from preemption_reference import brute_force, large_case, small_case

from cosim.exact import CpSat, least_loss
from cosim.policies import POLICIES, policy
from cosim.preemption import decide
from cosim.shared import Node, SharedJob, SharedRequest, SharedSnapshot
from cosim.snapshot import Request, RunningJob, Snapshot
from traces.errors import InputError


@pytest.mark.parametrize("seed", range(30))
def test_decides_as_the_dynamic_programme_does_on_up_to_200_jobs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    case = large_case(rng, int(rng.integers(10, 201)), 4392, float(rng.choice([0, 30, 60])), bool(seed % 2))
    # Decisions are equal with all their parts: starts, losses, victims, and how each of them goes.
    assert CpSat().decide(case.snapshot, case.request) == decide(case.snapshot, case.request)


def test_decides_as_brute_force_does_ties_included() -> None:
    for seed in range(80):
        case = small_case(random.Random(seed))
        decision, expected = CpSat().decide(case.snapshot, case.request), brute_force(case)
        assert (decision.chosen.start if decision.chosen else None) == expected.start, f"seed {seed}"
        assert [[victim.id for victim in point.victims] for point in decision.frontier] == expected.frontier_victims


def test_at_one_start_it_agrees_with_the_dynamic_programme() -> None:
    dp = policy("dp")
    for seed in range(30):
        case = small_case(random.Random(seed))
        t = case.snapshot.now + case.request.max_delay
        point = CpSat().at(case.snapshot, case.request, t)
        assert point == dp.at(case.snapshot, case.request, t)
        assert least_loss(case.snapshot, case.request, t) == (point.lost_node_seconds if point else None)


RESOURCES = ("cpus", "gpus", "memory")


def shared_case(rng: random.Random) -> tuple[SharedSnapshot, SharedRequest]:
    """Draw a few nodes, each partly held by a few jobs."""
    nodes = [Node(f"n{place}", {name: rng.randint(0, 4) for name in RESOURCES}) for place in range(rng.randint(1, 5))]
    now = rng.randint(0, 50)
    jobs = []
    for number in rng.sample(range(1, 50), rng.randint(0, 7)):
        on = rng.sample([node.name for node in nodes], rng.randint(1, len(nodes)))
        start = now - rng.randint(0, 30)
        running = RunningJob(
            id=str(number),
            nodes=len(on),
            start=float(start),
            expected_end=float(now + rng.randint(0, 30)),
            checkpoint_interval=rng.choice([None, float(rng.randint(2, 12))]),
            checkpoint_cost=float(rng.randint(0, 3)),
            restart_cost=float(rng.randint(0, 3)),
            on_demand_checkpoint=rng.random() < 0.3,
            preemptible=rng.random() < 0.85,
        )
        jobs.append(SharedJob(running, {name: {r: rng.randint(0, 4) for r in RESOURCES} for name in on}))
    request = SharedRequest(
        nodes=rng.randint(1, len(nodes)),
        duration=1.0,
        max_delay=float(rng.randint(0, 12)),
        delay_weight=rng.choice([0.0, 0.5, 2.0]),
        per_node={"cpus": rng.randint(1, 8), "gpus": rng.randint(0, 5), "memory": rng.randint(0, 5)},
    )
    return SharedSnapshot.of_nodes(float(now), nodes, jobs), request


def fitting(snapshot: SharedSnapshot, request: SharedRequest, gone: set[int]) -> int:
    """Count the nodes that offer everything once some jobs are gone, from the allocations as they stand."""
    count = 0
    for node in range(len(snapshot.node_names)):
        has = Counter(dict(zip(snapshot.resources, snapshot.free[node].tolist(), strict=True)))
        for holder, place, held in zip(snapshot.holder, snapshot.place, snapshot.held.tolist(), strict=True):
            if int(place) == node and int(holder) in gone:
                has.update(dict(zip(snapshot.resources, held, strict=True)))
        count += all(has[name] >= amount for name, amount in request.per_node.items())
    return count


def shared_brute_force(snapshot: SharedSnapshot, request: SharedRequest) -> list[tuple[float, float, list[int]]]:
    frontier: list[tuple[float, float, list[int]]] = []
    for t in range(int(snapshot.now), int(snapshot.now + request.max_delay) + 1):
        ended = {j for j in range(len(snapshot)) if snapshot.expected_end[j] <= t}
        able = [j for j in range(len(snapshot)) if snapshot.preemptible[j] and j not in ended]
        loss = {j: own_loss(snapshot, j, t) for j in able}
        sets = itertools.chain.from_iterable(itertools.combinations(able, n) for n in range(len(able) + 1))
        found = [
            (sum(loss[j] for j in chosen), len(chosen), fit, list(chosen))
            for chosen in sets
            if (fit := fitting(snapshot, request, ended | set(chosen))) >= request.nodes
        ]
        if found and (not frontier or min(found)[0] < frontier[-1][1]):
            frontier.append((float(t), min(found)[0], min(found)[3]))
    return frontier


def own_loss(snapshot: SharedSnapshot, j: int, t: int) -> float:
    cost, restart = snapshot.checkpoint_cost[j], snapshot.restart_cost[j]
    newest = snapshot.start[j]
    begins = newest + snapshot.checkpoint_interval[j]
    while begins + cost <= t:
        newest, begins = begins + cost, begins + snapshot.checkpoint_interval[j]
    ways = [t - newest + restart]
    if snapshot.on_demand_checkpoint[j] and t - cost >= snapshot.now:
        ways.append(cost + restart)
    return float(snapshot.nodes[j] * min(ways))


@pytest.mark.parametrize("block", range(4))
def test_shared_nodes_are_decided_as_brute_force_does(block: int) -> None:
    met = 0
    for seed in range(block * 30, block * 30 + 30):
        snapshot, request = shared_case(random.Random(seed))
        decision, expected = CpSat().decide(snapshot, request), shared_brute_force(snapshot, request)
        found = [(point.start, point.lost_node_seconds, list(point.places)) for point in decision.frontier]
        assert found == expected, f"seed {seed}"
        met += bool(expected)
        everybody = {j for j in range(len(snapshot)) if snapshot.preemptible[j]} | {
            j for j in range(len(snapshot)) if snapshot.expected_end[j] <= snapshot.now + request.max_delay
        }
        assert decision.most_nodes == fitting(snapshot, request, everybody)
    assert met > 5


def test_whole_nodes_are_the_special_case_of_one_resource() -> None:
    for seed in range(40):
        case = small_case(random.Random(seed), most_jobs=8)
        names = (f"n{number}" for number in itertools.count())
        nodes = [Node(next(names), {"node": 1}) for _ in range(case.free)]
        jobs = []
        for job in case.jobs:
            own = [Node(next(names), {}) for _ in range(job.nodes)]
            nodes += own
            jobs.append(SharedJob(job, {node.name: {"node": 1} for node in own}))
        asked = case.request
        request = SharedRequest(asked.nodes, asked.duration, asked.max_delay, asked.delay_weight, {"node": 1})
        assert CpSat().decide(SharedSnapshot.of_nodes(case.now, nodes, jobs), request) == decide(
            case.snapshot, case.request
        )


def tiny() -> tuple[SharedSnapshot, SharedRequest]:
    running = RunningJob("1", 1, 0.0, 500.0)
    snapshot = SharedSnapshot.of_nodes(
        100.0, [Node("a", {"cpus": 2}), Node("b", {"cpus": 8})], [SharedJob(running, {"a": {"cpus": 6, "gpus": 1}})]
    )
    return snapshot, SharedRequest(2, 60.0, per_node={"cpus": 8})


def test_one_victim_makes_its_node_fit() -> None:
    decision = CpSat().decide(*tiny())
    assert decision.chosen is not None
    assert [victim.loss for victim in decision.chosen.victims] == [100.0]
    assert tiny()[0].free_nodes == 1


@pytest.mark.parametrize("name", [name for name in POLICIES if name != "exact"])
def test_policies_that_count_whole_nodes_refuse_and_name_the_one_that_does_not(name: str) -> None:
    snapshot, request = tiny()
    with pytest.raises(InputError, match="--policy exact"):
        policy(name).decide(snapshot, request)
    with pytest.raises(InputError, match="--policy exact"):
        policy(name).at(snapshot, request, 100.0)


def test_a_request_and_a_snapshot_of_different_kinds_are_refused() -> None:
    snapshot, request = tiny()
    with pytest.raises(InputError, match="per_node is missing"):
        CpSat().decide(snapshot, Request(1, 60.0))
    with pytest.raises(InputError, match="does not list its nodes"):
        CpSat().decide(Snapshot.of(0.0, 1, []), request)
    with pytest.raises(InputError, match="'fpgas', which no node has"):
        CpSat().decide(snapshot, SharedRequest(1, 60.0, per_node={"fpgas": 1}))


@pytest.mark.parametrize(
    ("nodes", "allocation", "message"),
    [
        (["a", "a"], {"a": {"cpus": 1}}, "node 'a' occurs twice"),
        (["a"], {"b": {"cpus": 1}}, "node 'b', which is not listed"),
        (["a"], {"a": {"cpus": -1}}, "expected at least 0"),
    ],
)
def test_a_snapshot_of_nodes_that_contradicts_itself_is_refused(
    nodes: list[str], allocation: dict[str, dict[str, int]], message: str
) -> None:
    job = SharedJob(RunningJob("1", 1, 0.0, 500.0), allocation)
    with pytest.raises(InputError, match=message):
        SharedSnapshot.of_nodes(0.0, [Node(name, {"cpus": 1}) for name in nodes], [job])


def test_a_job_on_other_than_its_nodes_and_a_request_for_nothing_are_refused() -> None:
    with pytest.raises(InputError, match="nodes is 2, expected 1"):
        SharedJob(RunningJob("1", 2, 0.0, 500.0), {"a": {"cpus": 1}})
    with pytest.raises(InputError, match="per_node"):
        SharedRequest(1, 60.0, per_node={"cpus": 0})
