"""Joint decisions against all ways there are, on small machines."""

from __future__ import annotations

import itertools
import random

import pytest

from cosim.joint import decide_jointly, servable
from cosim.losses import seconds_lost
from cosim.preemption import decide, starts_to_try
from cosim.snapshot import Request, RunningJob, Snapshot

NOW = 1000.0


def random_snapshot(source: random.Random) -> Snapshot:
    jobs = [
        RunningJob(
            str(number),
            source.randint(1, 4),
            NOW - source.randint(0, 400),
            NOW + source.choice([30, 80, 5000]),
            checkpoint_interval=source.choice([None, 100]),
            checkpoint_cost=source.choice([0, 10]),
            restart_cost=source.choice([0, 20]),
            on_demand_checkpoint=source.random() < 0.3,
            preemptible=source.random() < 0.8,
        )
        for number in range(1, 5)
    ]
    return Snapshot.of(NOW, source.randint(0, 2), jobs)


def losses_at(snapshot: Snapshot, t: float) -> list[float]:
    seconds, _ = seconds_lost(
        t,
        NOW,
        snapshot.start,
        snapshot.checkpoint_interval,
        snapshot.checkpoint_cost,
        snapshot.restart_cost,
        snapshot.on_demand_checkpoint,
    )
    return [lost * int(nodes) for lost, nodes in zip(seconds.tolist(), snapshot.nodes.tolist(), strict=True)]


def least_cost(snapshot: Snapshot, requests: list[Request]) -> float | None:
    """Try each start of each request with each time (a request's start) or none for each victim."""
    widest = max(requests, key=lambda request: request.max_delay)
    times = starts_to_try(snapshot, widest).tolist()
    lost = {t: losses_at(snapshot, t) for t in times}
    jobs = range(len(snapshot))
    best: float | None = None
    for starts in itertools.product(*([t for t in times if t - NOW <= r.max_delay] for r in requests)):
        delay = sum(r.delay_weight * r.nodes * (t - NOW) for r, t in zip(requests, starts, strict=True))
        ways = [
            [None, *(t for t in set(starts) if snapshot.preemptible[j] and snapshot.expected_end[j] > t)] for j in jobs
        ]
        for goes in itertools.product(*ways):
            cost = delay + sum(lost[t][j] for j, t in enumerate(goes) if t is not None)
            if (best is None or cost < best) and enough(snapshot, requests, starts, goes):
                best = cost
    return best


def enough(
    snapshot: Snapshot, requests: list[Request], starts: tuple[float, ...], goes: tuple[float | None, ...]
) -> bool:
    for t in starts:
        gone = [snapshot.expected_end[j] <= t or (at is not None and at <= t) for j, at in enumerate(goes)]
        had = snapshot.free_nodes + sum(int(snapshot.nodes[j]) for j, free in enumerate(gone) if free)
        if had < sum(r.nodes for r, start in zip(requests, starts, strict=True) if start <= t):
            return False
    return True


@pytest.mark.parametrize("seed", range(25))
def test_the_joint_decision_is_the_best_of_all_ways(seed: int) -> None:
    source = random.Random(seed)
    snapshot = random_snapshot(source)
    requests = [Request(source.randint(1, 5), 600, source.choice([0, 60]), source.choice([0, 1])) for _ in range(2)]
    found = decide_jointly(snapshot, requests)
    assert found is not None
    kept = [requests[place] for place in servable(snapshot, requests)]
    assert [one.request for one in found.served] == list(servable(snapshot, requests))
    if kept:
        assert found.cost == pytest.approx(least_cost(snapshot, kept), abs=0.01)
    else:
        assert all(least_cost(snapshot, [request]) is None for request in requests)
    if len(kept) == 1:
        assert least_cost(snapshot, requests) is None


@pytest.mark.parametrize("seed", range(10))
def test_one_request_costs_what_the_single_decision_costs(seed: int) -> None:
    source = random.Random(seed)
    snapshot, request = random_snapshot(source), Request(source.randint(1, 6), 600, 60, 0.5)
    chosen, found = decide(snapshot, request).chosen, decide_jointly(snapshot, [request])
    assert found is not None
    assert bool(found.served) == (chosen is not None)
    if chosen is not None:
        expected = chosen.lost_node_seconds + 0.5 * request.nodes * (chosen.start - NOW)
        assert found.cost == pytest.approx(expected, abs=0.01)


def test_two_that_share_one_victim_lose_less_than_one_after_the_other() -> None:
    jobs = [
        RunningJob("1", 2, NOW - 50, 9000),
        RunningJob("2", 4, NOW - 30, 9000),
        RunningJob("3", 2, NOW - 55, 9000),
    ]
    request = Request(2, 600, 0)
    found = decide_jointly(Snapshot.of(NOW, 0, jobs), [request, request])
    assert found is not None
    assert [victim.id for point in found.points for victim in point.victims] == ["2"]
    assert found.cost == 120.0


def test_where_not_all_can_be_served_it_is_the_first_that_fit() -> None:
    snapshot = Snapshot.of(NOW, 0, [RunningJob("1", 4, NOW - 50, 9000)])
    assert servable(snapshot, [Request(3, 60, 0), Request(2, 60, 0), Request(1, 60, 0)]) == (0, 2)
