"""The engine's start times against those of the plain reference."""

from __future__ import annotations

import random

import numpy as np
import pytest
from reference import Job, start_times
from replays import play_trace, trace_of


def random_jobs(rng: random.Random, *, hidden: bool) -> tuple[list[Job], int]:
    """Make up to 60 jobs: bursts in the same second, jobs of the machine's size, runs of no length, one-job traces."""
    nodes = rng.choice([1, 2, 7, 16, 100, 4392])
    count = rng.choice([1, 2, 10, 30, 60])
    longest = rng.choice([4, 30, 5000])
    gap = longest * rng.choice([0.0, 0.3, 1.0])
    submit, jobs = 0, []
    for place in range(count):
        submit += rng.choice([0, 0, round(rng.expovariate(1) * gap)])
        width = nodes if rng.random() < 0.1 else rng.randint(1, max(1, nodes // rng.choice([1, 2, 8])))
        request = rng.randint(1, longest)
        run = request
        if hidden:
            run = rng.choice([0, request, rng.randint(0, request)])
        elif rng.random() < 0.1:
            run = 0
        jobs.append(Job(place, submit, run, request, width))
    return jobs, nodes


def engine_starts(jobs: list[Job], nodes: int, backfill: str, order: str) -> list[float]:
    trace = trace_of(
        nodes,
        submit=[job.submit for job in jobs],
        run_time=[job.run for job in jobs],
        requested_time=[job.request for job in jobs],
        nodes=[job.nodes for job in jobs],
    )
    return play_trace(trace, backfill=backfill, priority=order).jobs["first_start"].tolist()


@pytest.mark.parametrize("backfill", ["none", "easy", "conservative"])
def test_start_times_equal_the_reference_where_run_times_are_the_requests(backfill):
    rng = random.Random(1)
    for _ in range(200):
        jobs, nodes = random_jobs(rng, hidden=False)
        assert engine_starts(jobs, nodes, backfill, "fcfs") == start_times(jobs, nodes, backfill)


@pytest.mark.parametrize("order", ["fcfs", "sjf", "wfp"])
@pytest.mark.parametrize("backfill", ["none", "easy", "conservative"])
def test_start_times_equal_the_reference_where_run_times_are_hidden_from_the_scheduler(backfill, order):
    rng = random.Random(f"{backfill} {order}")
    for _ in range(100):
        jobs, nodes = random_jobs(rng, hidden=True)
        assert engine_starts(jobs, nodes, backfill, order) == start_times(jobs, nodes, backfill, order)


@pytest.mark.parametrize("order", ["fcfs", "sjf", "wfp"])
@pytest.mark.parametrize("backfill", ["none", "easy"])
def test_start_times_equal_the_reference_where_jobs_outlive_their_requests(backfill, order):
    rng = random.Random(f"late {backfill} {order}")
    for _ in range(60):
        jobs, nodes = random_jobs(rng, hidden=True)
        for job in jobs:
            job.run *= rng.choice([1, 2])
        assert engine_starts(jobs, nodes, backfill, order) == start_times(jobs, nodes, backfill, order)


def test_easy_starts_a_short_job_ahead_of_one_that_waits_and_delays_it_by_nothing():
    jobs = [Job(0, 0, 10, 10, 3), Job(1, 1, 10, 10, 4), Job(2, 2, 8, 8, 1), Job(3, 3, 8, 8, 1)]
    assert start_times(jobs, 4, "easy") == [0, 10, 2, 20]
    assert engine_starts(jobs, 4, "easy", "fcfs") == [0, 10, 2, 20]


def test_easy_and_conservative_differ_where_a_later_job_may_delay_all_but_the_first_waiting_one():
    jobs = [Job(0, 0, 10, 10, 4), Job(1, 1, 10, 10, 6), Job(2, 2, 10, 10, 8), Job(3, 3, 25, 25, 2)]
    easy = engine_starts(jobs, 8, "easy", "fcfs")
    conservative = engine_starts(jobs, 8, "conservative", "fcfs")
    assert easy == [0, 10, 28, 3]
    assert conservative == [0, 10, 20, 30]


def test_a_job_starts_in_the_second_in_which_another_ends():
    jobs = [Job(0, 0, 5, 5, 2), Job(1, 5, 5, 5, 2), Job(2, 5, 0, 1, 2), Job(3, 5, 1, 1, 2)]
    assert engine_starts(jobs, 2, "easy", "fcfs") == [0, 5, 10, 10]


def test_the_order_of_the_queue_is_stable_in_the_same_second():
    jobs = [Job(place, 0, 3, 3, 2) for place in range(6)]
    for order in ("fcfs", "sjf", "wfp"):
        assert engine_starts(jobs, 4, "easy", order) == [0, 0, 3, 3, 6, 6]


def test_wfp_lets_a_large_job_that_has_waited_long_for_its_length_go_first():
    jobs = [Job(0, 0, 100, 100, 4), Job(1, 1, 100, 100, 2), Job(2, 2, 10, 10, 4)]
    assert engine_starts(jobs, 4, "none", "fcfs") == [0, 100, 200]
    assert engine_starts(jobs, 4, "none", "wfp") == [0, 110, 100]


def test_times_of_day_as_posix_seconds_change_nothing():
    jobs, nodes = random_jobs(random.Random(7), hidden=True)
    later = [Job(job.place, job.submit + 1_640_995_200, job.run, job.request, job.nodes) for job in jobs]
    moved = np.array(engine_starts(later, nodes, "easy", "wfp")) - 1_640_995_200
    assert moved.tolist() == engine_starts(jobs, nodes, "easy", "wfp")
