"""What a replay is judged by, on examples small enough to compute by hand."""

from __future__ import annotations

import numpy as np
import pytest
from replays import jobs_of, play_trace, rules_of

from cosim.metrics import bounded_slowdown, measure
from cosim.outages import Outage
from cosim.runs import busy_nodes, runs_of


@pytest.fixture(scope="module")
def small():
    """Return a replay of two batch jobs and two on-demand jobs, of which one preempts.

    The machine has 4 nodes. Job 1 holds 2 of them from 0 to 100. Job 2 holds the others from 0 on and completes
    checkpoints at 40 and 70. Job 3 (2 nodes, 20 s) comes at 65 and waits for the second of them, so that job 2 is
    preempted at 70 with 70 of its 200 s done. It restarts at 90, takes 5 s for that, and ends at 225. Job 4 comes at
    110 and finds 2 nodes free.
    """
    jobs = jobs_of(
        4,
        {"submit": 0, "run": 100, "nodes": 2, "preemptible": False},
        {"submit": 0, "run": 200, "nodes": 2},
        {"submit": 65, "run": 20, "nodes": 2, "on_demand": True},
        {"submit": 110, "run": 2, "nodes": 1, "on_demand": True},
    )
    checkpoints = rules_of(every=30.0, cost=10.0, restart=5.0)
    return play_trace(jobs, decided_by="dp", max_delay=30.0, checkpoints=checkpoints)


def test_the_example_happens_as_described(small):
    assert small.jobs["first_start"].tolist() == [0, 0, 70, 110]
    assert small.jobs["finish"].tolist() == [100, 90 + 5 + 130, 90, 112]
    assert [(run.end, run.saved) for run in small.interrupted] == [(70, 70)]


def test_each_figure_is_what_its_definition_gives(small):
    found = measure(small)
    assert (found.jobs, found.on_demand_jobs) == (4, 2)
    assert found.makespan == 225
    useful = 2 * 100 + 2 * 200 + 2 * 20 + 1 * 2
    assert found.utilisation == pytest.approx(useful / (4 * 225))
    assert found.lost_node_hours == pytest.approx(2 * 5 / 3600)
    assert found.utilisation_wasted == pytest.approx(2 * 5 / (4 * 225))
    assert (found.preemptions, found.preempted_jobs, found.outage_interruptions) == (1, 1, 0)
    assert found.mean_wait == pytest.approx(5 / 4)
    assert found.batch_mean_wait == 0
    assert found.mean_turnaround == pytest.approx((100 + 225 + 25 + 2) / 4)
    slowdowns = [1, 225 / 200, 25 / 20, 1]
    assert found.bounded_slowdown_mean == pytest.approx(np.mean(slowdowns))
    assert found.batch_bounded_slowdown_mean == pytest.approx(np.mean(slowdowns[:2]))
    assert found.on_demand_latency_mean == pytest.approx(2.5)
    assert found.on_demand_latency_p50 == pytest.approx(2.5)
    assert found.on_demand_latency_p95 == pytest.approx(4.75)
    assert found.on_demand_latency_p99 == pytest.approx(4.95)
    assert found.on_demand_started_at_once == 0.5
    assert found.on_demand_started_in_time == 1.0


def test_the_threshold_keeps_a_short_job_from_a_large_slowdown():
    turnaround, run_time = np.array([100.0, 100.0, 3.0, 0.0]), np.array([1.0, 50.0, 3.0, 0.0])
    assert bounded_slowdown(turnaround, run_time).tolist() == [10.0, 2.0, 1.0, 1.0]
    assert bounded_slowdown(turnaround, run_time, threshold=60.0).tolist() == [100 / 60, 100 / 60, 1.0, 1.0]


def test_the_threshold_given_is_the_one_used(small):
    assert measure(small, threshold=1000.0).bounded_slowdown_mean == 1.0


def test_figures_of_on_demand_jobs_are_unknown_where_there_are_none():
    found = measure(play_trace(jobs_of(4, {"submit": 0, "run": 10, "nodes": 4})))
    assert found.on_demand_latency_mean is None
    assert found.on_demand_latency_p99 is None
    assert found.on_demand_started_at_once is None
    assert found.batch_mean_wait == 0


def test_figures_of_batch_jobs_are_unknown_where_there_are_none():
    found = measure(play_trace(jobs_of(4, {"submit": 0, "run": 10, "nodes": 4, "on_demand": True})))
    assert found.batch_mean_wait is None
    assert found.batch_bounded_slowdown_mean is None


def test_an_outage_counts_as_lost_and_not_as_a_preemption():
    jobs = jobs_of(4, {"submit": 0, "run": 100, "nodes": 4})
    found = measure(play_trace(jobs, outages=(Outage(50.0, 60.0, 1),), checkpoints=rules_of(restart=5.0)))
    assert (found.preemptions, found.preempted_jobs, found.outage_interruptions) == (0, 0, 1)
    assert found.lost_node_hours == pytest.approx(4 * (50 + 5) / 3600)


def test_a_trace_in_which_nothing_takes_any_time_has_figures():
    found = measure(play_trace(jobs_of(4, {"submit": 0, "run": 0, "nodes": 4})))
    assert found.makespan == 0
    assert found.bounded_slowdown_mean == 1.0
    assert found.utilisation == 0.0


def test_runs_are_listed_in_order_of_their_starts_and_add_up_to_the_run_times(small):
    runs = runs_of(small)
    assert runs.job.tolist() == [0, 1, 2, 1, 3]
    assert runs.how.tolist() == ["completed", "kill", "completed", "completed", "completed"]
    assert np.bincount(runs.job, runs.saved).tolist() == small.jobs["run_time"].tolist()


def test_nodes_in_use_over_time_are_steps(small):
    times, nodes = busy_nodes(runs_of(small))
    assert times.tolist() == [0, 70, 90, 100, 110, 112, 225]
    assert nodes.tolist() == [4, 4, 4, 2, 3, 2, 0]
