"""Brute force for the preemption decision, written from the design's text alone, and random snapshots to ask about.

All times of a small snapshot are whole multiples of its `unit` of seconds, so the brute force counts in integers and
looks at every multiple in the window (and, where asked, between them): it knows nothing of candidate starts, of bounds
or of how the package computes a loss.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from cosim.snapshot import Request, RunningJob, Snapshot, id_order


@dataclass(frozen=True)
class Case:
    """A snapshot and a request as plain values."""

    now: float
    free: int
    jobs: list[RunningJob]
    request: Request
    unit: Fraction

    @property
    def snapshot(self) -> Snapshot:
        return Snapshot.of(self.now, self.free, self.jobs)


def small_case(rng: random.Random, most_jobs: int = 14) -> Case:
    """Draw a case with few jobs and many ties: small whole numbers, times on a grid of a second or a quarter of one."""
    unit = rng.choice([Fraction(1), Fraction(1, 4)])
    now = rng.randint(0, 60)
    jobs = []
    for number in rng.sample(range(1, 200), rng.randint(0, most_jobs)):
        start = rng.randint(now - 40, now)
        cost = rng.choice([0, 0, 1, 2, 5])
        jobs.append(
            RunningJob(
                id=str(number) if rng.random() < 0.9 else f"{number}_{rng.randint(1, 12)}",
                nodes=rng.choice([1, 1, 2, 2, 4, rng.randint(1, 9)]),
                start=float(start * unit),
                expected_end=float(rng.randint(max(start, now - 3), now + 60) * unit),
                checkpoint_interval=rng.choice([None, float(rng.randint(1, 15) * unit)]),
                checkpoint_cost=float(cost * unit),
                restart_cost=float(rng.choice([0, 0, 1, 3]) * unit),
                on_demand_checkpoint=rng.random() < 0.3,
                preemptible=rng.random() < 0.85,
            )
        )
    everything = sum(job.nodes for job in jobs)
    request = Request(
        nodes=rng.randint(1, max(1, everything)),
        duration=1.0,
        max_delay=float(rng.choice([0, rng.randint(1, 30), rng.randint(1, 30)]) * unit),
        delay_weight=rng.choice([0.0, 0.0625, 0.25, 1.0, 3.0]),
    )
    return Case(float(now * unit), rng.randint(0, 3), jobs, request, unit)


@dataclass(frozen=True)
class Answer:
    """What brute force finds: None for `start` where nothing is feasible."""

    start: float | None
    victims: list[str]
    frontier: list[tuple[float, float]]
    frontier_victims: list[list[str]]


def brute_force(case: Case, between: int = 1) -> Answer:
    """Look at every set of victims at every multiple of ``unit / between`` in the window."""
    step = case.unit / between
    now = _whole(case.now, step)
    jobs = sorted(case.jobs, key=lambda job: id_order(job.id))
    frontier: list[tuple[int, int, list[str]]] = []
    for t in range(now, _whole(case.now + case.request.max_delay, step) + 1):
        found = _cheapest_set(case, jobs, t, now, step)
        if found is not None and (not frontier or found[0] < frontier[-1][1]):
            frontier.append((t, *found))
    if not frontier:
        return Answer(None, [], [], [])
    weight = Fraction(case.request.delay_weight) * case.request.nodes
    start, _, victims = min(frontier, key=lambda point: (point[1] + weight * (point[0] - now), point[0]))
    return Answer(
        float(start * step),
        victims,
        [(float(t * step), float(loss * step)) for t, loss, _ in frontier],
        [chosen for _, _, chosen in frontier],
    )


def _whole(seconds: float, step: Fraction) -> int:
    steps = Fraction(seconds) / step
    assert steps.denominator == 1
    return steps.numerator


def _cheapest_set(case: Case, jobs: list[RunningJob], t: int, now: int, step: Fraction) -> tuple[int, list[str]] | None:
    available = case.free
    candidates = []
    for job in jobs:
        if _whole(job.expected_end, step) <= t:
            available += job.nodes
        elif job.preemptible:
            candidates.append((job.id, job.nodes, _loss(job, t, now, step)))
    # One number orders the sets: loss, number of victims, nodes freed, and last the lowest ids. The ids' part is a
    # binary fraction, taken off: of two sets as large as each other, that with the lower id first has the larger one.
    count = len(candidates)
    freed, keys = [0], [0]
    for place, (_, nodes, loss) in enumerate(candidates):
        key = (((loss << 8) + 1 << 12) + nodes << count) - (1 << (count - 1 - place))
        freed += [before + nodes for before in freed]
        keys += [before + key for before in keys]
    enough = [(key, chosen) for chosen, key in enumerate(keys) if available + freed[chosen] >= case.request.nodes]
    if not enough:
        return None
    _, chosen = min(enough)
    victims = [candidate for place, candidate in enumerate(candidates) if chosen >> place & 1]
    return sum(loss for _, _, loss in victims), [job_id for job_id, _, _ in victims]


def _loss(job: RunningJob, t: int, now: int, step: Fraction) -> int:
    cost, restart = _whole(job.checkpoint_cost, step), _whole(job.restart_cost, step)
    newest = _whole(job.start, step)
    if job.checkpoint_interval is not None:
        interval = _whole(job.checkpoint_interval, step)
        begins = newest + interval
        while begins + cost <= t:
            newest = begins + cost
            begins += interval
    ways = [t - newest + restart]
    if job.on_demand_checkpoint and t - cost >= now:
        ways.append(cost + restart)
    return job.nodes * min(ways)


def large_case(rng: np.random.Generator, jobs: int, nodes: int, max_delay: float, fractional: bool = False) -> Case:
    """Draw a machine in use: node counts over three decades, checkpoints every 5 minutes to 2 hours for most jobs."""
    now = 1_000_000.0
    weights = rng.lognormal(0, 1.5, jobs)
    sizes = np.maximum(1, weights / weights.sum() * nodes * 0.97).astype(int)
    jitter = rng.random((jobs, 5)) if fractional else np.zeros((jobs, 5))
    running = [
        RunningJob(
            id=str(place + 1),
            nodes=int(sizes[place]),
            start=float(now - rng.integers(60, 86_400) + jitter[place, 0]),
            expected_end=float(now + rng.integers(30, 86_400) + jitter[place, 1]),
            checkpoint_interval=float(rng.integers(300, 7_200) + jitter[place, 2]) if rng.random() < 0.8 else None,
            checkpoint_cost=float(rng.integers(5, 300) + jitter[place, 3]),
            restart_cost=float(rng.integers(10, 300) + jitter[place, 4]),
            on_demand_checkpoint=bool(rng.random() < 0.2),
            preemptible=bool(rng.random() < 0.9),
        )
        for place in range(jobs)
    ]
    free = max(0, nodes - int(sizes.sum()))
    return Case(now, free, running, Request(int(rng.integers(1, nodes // 2)), 3600.0, max_delay), Fraction(1))
