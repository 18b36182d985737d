"""What is replayed: whose jobs are on-demand, and what is assumed where a trace is silent."""

from __future__ import annotations

import math

import numpy as np
import pytest
from replays import rules_of, trace_of

from cosim.workload import OnDemandRule, build
from traces.errors import InputError

COUNT = 200


def trace(count: int = COUNT, nodes: int | None = 8, **columns):
    defaults = {
        "submit": np.arange(count, dtype=float),
        "run_time": np.full(count, 60.0),
        "requested_time": np.full(count, 100.0),
        "nodes": np.ones(count, int),
    }
    return trace_of(nodes, **(defaults | columns))


def on_demand(given, kind: str, share: float = 0.0, queue: str = "", seed: int = 0):
    return build(given, on_demand=OnDemandRule(kind, share, queue), seed=seed).jobs["on_demand"] != 0


def test_the_jobs_that_the_trace_marks_are_on_demand_by_default():
    marks = np.arange(COUNT) % 3 == 0
    assert (build(trace(on_demand=marks)).jobs["on_demand"] == marks).all()


@pytest.mark.parametrize("share", [0.0, 0.1, 0.505, 1.0])
def test_a_share_of_the_jobs_is_that_many_jobs(share):
    assert on_demand(trace(), "share", share).sum() == round(share * COUNT)


def test_a_share_of_the_users_makes_all_jobs_of_each_on_demand():
    users = np.array([f"u{k % 10}" for k in range(COUNT)])
    chosen = on_demand(trace(user=users), "users", 0.3)
    of_user = {user: set(chosen[users == user].tolist()) for user in users}
    assert all(len(found) == 1 for found in of_user.values())
    assert chosen.sum() == 3 * COUNT / 10


def test_a_share_of_the_users_of_a_trace_without_users_is_refused():
    with pytest.raises(InputError, match="does not say whose the jobs are"):
        on_demand(trace(), "users", 0.3)


def test_a_queue_makes_its_jobs_on_demand():
    queues = np.where(np.arange(COUNT) < 5, "urgent", "batch")
    assert on_demand(trace(queue=queues), "queue", queue="urgent").tolist() == (queues == "urgent").tolist()


def test_a_queue_that_does_not_occur_is_refused_with_those_that_do():
    with pytest.raises(InputError, match=r"queue:night: .*it has batch, urgent"):
        on_demand(trace(queue=["urgent", *["batch"] * (COUNT - 1)]), "queue", queue="night")


def test_jobs_of_a_second_trace_are_all_on_demand_and_merged_by_submission():
    more = trace(3, submit=[-5.0, 50.5, 1e6], job_id=["a", "b", "c"])
    workload = build(trace(), extra_on_demand=more)
    assert workload.ids[workload.jobs["on_demand"] != 0].tolist() == ["a", "b", "c"]
    assert (np.diff(workload.jobs["submit"]) >= 0).all()
    assert len(workload) == COUNT + 3


def test_a_missing_limit_is_the_largest_one_of_the_trace_and_said_so():
    workload = build(trace(3, requested_time=[100.0, math.inf, 7200.0]))
    assert workload.jobs["request"].tolist() == [100.0, 7200.0, 7200.0]
    assert workload.notes == ("1 of 3 jobs have no wall time limit: taken as 7200 s, the largest limit in the trace",)


def test_without_any_limit_the_longest_run_time_counts_in_whole_hours():
    workload = build(trace(2, requested_time=[math.inf, math.nan], run_time=[10.0, 3700.0]))
    assert workload.jobs["request"].tolist() == [7200.0, 7200.0]
    assert "2 of 2 jobs have no wall time limit" in workload.notes[0]


def test_limits_of_less_than_a_second_count_as_one():
    workload = build(trace(3, requested_time=[0.0, 0.5, math.inf], run_time=[0.0, 0.0, 0.0]))
    assert workload.jobs["request"].tolist() == [1.0, 1.0, 1.0]


def test_a_machine_of_unknown_size_is_refused():
    with pytest.raises(InputError, match="--nodes N"):
        build(trace_of(None, submit=[0.0], run_time=[1.0], nodes=[1]))


def test_a_job_larger_than_the_machine_is_refused_by_name():
    with pytest.raises(InputError, match="job 2: 9 nodes, but the machine has 8"):
        build(trace_of(8, submit=[0.0, 1.0], run_time=[1.0, 1.0], nodes=[8, 9]))


def test_the_size_given_goes_before_that_of_the_trace():
    assert build(trace(), nodes=99).nodes == 99
    assert build(trace()).nodes == 8


def test_shortest_first_orders_by_the_request_and_on_demand_jobs_come_before_all():
    given = trace_of(
        8,
        submit=[0.0, 1.0, 2.0, 3.0],
        run_time=[1.0, 1.0, 1.0, 1.0],
        nodes=[1, 1, 1, 1],
        requested_time=[300.0, 100.0, 900.0, 100.0],
        on_demand=[False, False, True, False],
    )
    assert build(given, priority="sjf").jobs["rank"].tolist() == [3, 1, 0, 2]
    assert build(given, priority="fcfs").jobs["rank"].tolist() == [1, 2, 0, 3]


@pytest.mark.parametrize(
    ("ids", "ranks"),
    [
        (["10", "9", "100"], [1, 0, 2]),
        (["12_10", "12_3", "13"], [1, 0, 2]),
        (["13", "12_3", "2"], [2, 1, 0]),
        (["99999999999999999999", "3", "100000000000000000000"], [1, 0, 2]),
        (["b2", "b10", "7"], [1, 2, 0]),
    ],
)
def test_ids_are_ordered_as_people_do(ids, ranks):
    given = trace(3, job_id=ids)
    assert build(given).jobs["id_rank"].tolist() == ranks


def test_what_a_trace_says_of_checkpoints_goes_before_the_rules():
    given = trace(
        2, checkpoint_interval=[500.0, math.nan], checkpoint_cost=[math.nan, 3.0], restart_cost=[0.0, math.nan]
    )
    jobs = build(given, checkpoints=rules_of(every=1000.0, cost=20.0, restart=30.0)).jobs
    assert jobs["interval"].tolist() == [500.0, 1000.0]
    assert jobs["cost"].tolist() == [20.0, 3.0]
    assert jobs["restart_cost"].tolist() == [0.0, 30.0]


def test_without_checkpoints_a_job_has_an_infinite_interval():
    assert np.isinf(build(trace(), checkpoints=rules_of(every=None)).jobs["interval"]).all()


def test_daly_needs_checkpoints_that_cost_something():
    with pytest.raises(InputError, match="--checkpoint-cost above 0"):
        build(trace(), checkpoints=rules_of(every="daly", cost=0.0))


def test_a_share_of_the_jobs_can_checkpoint_on_demand():
    signalled = build(trace(5000), checkpoints=rules_of(share=0.25)).jobs["on_demand_checkpoint"]
    assert abs(signalled.mean() - 0.25) < 0.03
    assert build(trace(), checkpoints=rules_of(share=1.0)).jobs["on_demand_checkpoint"].all()
    assert not build(trace(), checkpoints=rules_of(share=0.0)).jobs["on_demand_checkpoint"].any()


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("checkpoint_interval", 0.0),
        ("checkpoint_interval", -5.0),
        ("checkpoint_cost", -1.0),
        ("restart_cost", math.inf),
    ],
)
def test_a_checkpoint_that_cannot_be_is_refused_by_job_and_column(column, value):
    with pytest.raises(InputError, match=f"job 2: {column} is {value:g}, expected"):
        build(trace(3, **{column: [math.nan, value, math.nan]}))
