"""What becomes of on-demand jobs, in scenarios small enough to compute by hand."""

from __future__ import annotations

import pytest
from replays import jobs_of, play_trace, rules_of

A, B, C, D = range(4)
RESTART = 7.0


def batch(nodes: int, **more):
    """Return a batch job from second 0 on that runs for 1000 s."""
    return {"submit": 0, "run": 1000, "nodes": nodes, "restart_cost": RESTART, "checkpoint_cost": 10.0, **more}


def urgent(submit: int, nodes: int, run: int = 50, **more):
    return {"submit": submit, "run": run, "nodes": nodes, "on_demand": True, **more}


def starts(replayed) -> list[float]:
    return replayed.jobs["first_start"].tolist()


def stopped(replayed) -> list[tuple[int, float, float, str]]:
    return [(run.job, run.end, run.saved, run.how) for run in replayed.interrupted]


def test_a_victim_with_a_fresh_checkpoint_costs_only_what_it_did_since_and_its_restart():
    jobs = jobs_of(8, batch(4), batch(4, checkpoint_interval=100.0), urgent(115, 4))
    replayed = play_trace(jobs, decided_by="dp")
    assert starts(replayed) == [0, 0, 115]
    assert stopped(replayed) == [(B, 115, 110, "kill")]
    assert replayed.decisions[0].lost_node_seconds == 4 * (5 + RESTART)
    # It comes back when the on-demand job is done, 110 s of its work behind it and its restart before it.
    assert replayed.jobs["start"][B] == 165
    assert replayed.jobs["finish"].tolist() == [1000, 165 + RESTART + 1000 - 110, 165]


def test_a_start_waits_for_the_completion_of_a_checkpoint():
    jobs = jobs_of(4, batch(4, checkpoint_interval=100.0), urgent(105, 4))
    replayed = play_trace(jobs, decided_by="dp", max_delay=60)
    assert starts(replayed) == [0, 110]
    assert stopped(replayed) == [(A, 110, 110, "kill")]
    assert replayed.decisions[0].frontier == ((0.0, 4 * (105 + RESTART)), (5.0, 4 * RESTART))


def test_a_start_does_not_wait_where_delay_is_dearer_than_the_loss():
    jobs = jobs_of(4, batch(4, checkpoint_interval=100.0), urgent(105, 4))
    replayed = play_trace(jobs, decided_by="dp", max_delay=60, delay_weight=1000)
    assert starts(replayed) == [0, 105]
    assert stopped(replayed) == [(A, 105, 0, "kill")]


def test_a_victim_is_signalled_so_that_its_checkpoint_is_complete_at_the_start():
    jobs = jobs_of(4, batch(4), urgent(100, 4))
    replayed = play_trace(jobs, decided_by="dp", max_delay=60, checkpoints=rules_of(share=1.0))
    assert starts(replayed) == [0, 110]
    assert stopped(replayed) == [(A, 110, 100, "checkpoint")]
    assert replayed.decisions[0].lost_node_seconds == 4 * (10 + RESTART)
    assert replayed.jobs["finish"][A] == 160 + RESTART + 900


def test_a_restart_that_is_interrupted_is_done_once_more_and_no_more_than_that():
    jobs = jobs_of(4, batch(4), urgent(100, 4), urgent(153, 4))
    replayed = play_trace(jobs, decided_by="dp")
    assert [(run.start, run.end, run.saved, run.overhead) for run in replayed.interrupted] == [
        (0, 100, 0, 0),
        (150, 153, 0, RESTART),
    ]
    assert replayed.jobs["finish"][A] == 203 + RESTART + 1000


def test_nodes_that_are_free_are_taken_at_no_loss():
    replayed = play_trace(jobs_of(8, batch(4), urgent(10, 4)), decided_by="dp", max_delay=60)
    assert starts(replayed) == [0, 10]
    assert [decision.lost_node_seconds for decision in replayed.decisions] == [0]


def test_an_on_demand_job_goes_ahead_of_all_that_waits_where_no_policy_is_asked():
    jobs = jobs_of(4, batch(4), batch(4, submit=1), urgent(2, 4))
    replayed = play_trace(jobs, decided_by=None)
    assert starts(replayed) == [0, 1050, 1000]
    assert stopped(replayed) == []


@pytest.mark.parametrize("priority", ["fcfs", "sjf", "wfp"])
@pytest.mark.parametrize("backfill", ["none", "easy", "conservative"])
def test_nobody_is_preempted_where_that_could_not_free_enough(backfill, priority):
    jobs = jobs_of(4, batch(3, run=300, preemptible=False), batch(1), batch(2, submit=5), urgent(10, 4))
    replayed = play_trace(jobs, decided_by="dp", max_delay=60, backfill=backfill, priority=priority)
    # It waits at the queue's head; when the job that may not be preempted is gone, the other one is its victim.
    assert starts(replayed)[3] == 300
    assert stopped(replayed) == [(B, 300, 0, "kill")]
    assert [(decision.time, decision.job) for decision in replayed.decisions] == [(300, 3)]


def test_an_on_demand_job_larger_than_all_that_may_be_preempted_waits_for_the_end_of_the_rest():
    jobs = jobs_of(4, batch(4, preemptible=False), urgent(10, 2))
    replayed = play_trace(jobs, decided_by="dp", max_delay=60)
    assert starts(replayed) == [0, 1000]
    assert stopped(replayed) == []


def test_two_on_demand_jobs_of_the_same_second_take_a_victim_each():
    jobs = jobs_of(8, batch(4), batch(4), urgent(10, 4), urgent(10, 4))
    replayed = play_trace(jobs, decided_by="dp")
    assert starts(replayed) == [0, 0, 10, 10]
    assert sorted(stopped(replayed)) == [(A, 10, 0, "kill"), (B, 10, 0, "kill")]


def test_on_demand_jobs_are_no_victims_of_each_other():
    jobs = jobs_of(4, urgent(0, 4, run=100), urgent(10, 4))
    for policy in ("dp", "slurm", "youngest", "smallest", "greedy", "random"):
        replayed = play_trace(jobs, decided_by=policy, max_delay=10)
        assert starts(replayed) == [0, 100]
        assert stopped(replayed) == []


def test_victims_do_not_start_again_before_the_on_demand_job_in_the_same_second():
    jobs = jobs_of(4, batch(4, run=100), batch(4, submit=1, run=100), urgent(50, 4, run=10))
    replayed = play_trace(jobs, decided_by="dp")
    assert replayed.jobs["start"].tolist() == [60, 167, 50]
    assert replayed.jobs["finish"].tolist() == [167, 267, 60]


def test_a_job_of_no_length_is_an_on_demand_job_like_any_other():
    replayed = play_trace(jobs_of(4, batch(4), urgent(10, 4, run=0)), decided_by="dp")
    assert starts(replayed) == [0, 10]
    assert replayed.jobs["start"][A] == 10
