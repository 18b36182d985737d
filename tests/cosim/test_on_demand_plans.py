"""Starts that lie ahead: what happens until then can make them earlier, cheaper or impossible."""

from __future__ import annotations

import pytest
from replays import jobs_of, play_trace, rules_of
from test_on_demand import RESTART, A, B, C, batch, starts, stopped, urgent

from cosim.outages import Outage

SIGNALS = rules_of(share=1.0)


def test_a_job_that_ends_by_itself_meanwhile_spares_the_victim():
    jobs = jobs_of(
        8, batch(4, checkpoint_interval=100.0), batch(4, run=107, request=1000, preemptible=False), urgent(105, 4)
    )
    replayed = play_trace(jobs, decided_by="dp", max_delay=60)
    assert replayed.decisions[0].start == 110
    assert starts(replayed) == [0, 0, 107]
    assert stopped(replayed) == []
    assert replayed.jobs["finish"][A] == 1000


def test_a_checkpoint_that_was_signalled_takes_its_time_even_if_it_was_in_vain():
    jobs = jobs_of(8, batch(4), batch(4, run=107, request=1000, preemptible=False), urgent(100, 4))
    replayed = play_trace(jobs, decided_by="dp", max_delay=60, checkpoints=SIGNALS)
    assert starts(replayed) == [0, 0, 107]
    assert stopped(replayed) == []
    assert replayed.jobs["finish"][A] == 1000 + 10


def test_a_start_ahead_at_an_expected_end_signals_its_victim_in_time_for_it():
    jobs = jobs_of(8, batch(4), batch(4, run=125, preemptible=False), urgent(100, 8))
    replayed = play_trace(jobs, decided_by="dp", max_delay=60, delay_weight=0, checkpoints=SIGNALS)
    assert starts(replayed) == [0, 0, 125]
    assert stopped(replayed) == [(A, 125, 115, "checkpoint")]


def test_a_victim_that_is_spared_before_its_signal_loses_nothing():
    jobs = jobs_of(
        12,
        batch(4),
        batch(4, run=112, request=125, preemptible=False),
        batch(4, run=107, request=1000, preemptible=False),
        urgent(100, 8),
    )
    replayed = play_trace(jobs, decided_by="dp", max_delay=60, delay_weight=0, checkpoints=SIGNALS)
    assert replayed.decisions[0].start == 125
    assert starts(replayed)[3] == 112
    assert stopped(replayed) == []
    assert replayed.jobs["finish"][A] == 1000


def test_a_victim_that_would_end_while_it_writes_its_checkpoint_has_not_ended():
    jobs = jobs_of(4, batch(4, run=105, request=2000), urgent(100, 4))
    replayed = play_trace(jobs, decided_by="dp", max_delay=60, checkpoints=SIGNALS)
    assert starts(replayed) == [0, 110]
    assert stopped(replayed) == [(A, 110, 100, "checkpoint")]
    assert replayed.jobs["finish"][A] == 160 + RESTART + 5


def test_only_the_victims_still_needed_at_the_start_are_preempted_and_the_dearest_are_spared_first():
    jobs = jobs_of(
        6,
        batch(2, checkpoint_interval=100.0, restart_cost=1.0),
        batch(2, checkpoint_interval=100.0, restart_cost=5.0),
        batch(2, run=107, request=1000, preemptible=False),
        urgent(105, 4),
    )
    replayed = play_trace(jobs, decided_by="dp", max_delay=60)
    assert replayed.decisions[0].victims == 2
    assert starts(replayed) == [0, 0, 0, 110]
    assert stopped(replayed) == [(A, 110, 110, "kill")]


def test_an_expected_end_that_does_not_come_makes_it_ask_again_and_nobody_is_preempted_in_vain():
    jobs = jobs_of(4, batch(2, run=130, request=100, preemptible=False), batch(2), urgent(90, 4))
    replayed = play_trace(jobs, decided_by="dp", max_delay=60)
    # At 100 the first job should have ended; it does at 130, and only then is the second one preempted.
    assert [(decision.time, decision.start) for decision in replayed.decisions] == [(90, 100), (130, 130)]
    assert starts(replayed) == [0, 0, 130]
    assert stopped(replayed) == [(B, 130, 0, "kill")]


def test_an_expected_end_that_does_not_come_makes_a_victim_of_the_job_where_it_may_be_one():
    jobs = jobs_of(4, batch(4, run=130, request=100), urgent(90, 4))
    replayed = play_trace(jobs, decided_by="dp", max_delay=60)
    assert starts(replayed) == [0, 100]
    assert stopped(replayed) == [(A, 100, 0, "kill")]


def test_nodes_held_for_a_start_ahead_are_given_to_nobody_else():
    jobs = jobs_of(6, batch(4, checkpoint_interval=100.0), urgent(105, 6), batch(2, submit=106, run=3))
    replayed = play_trace(jobs, decided_by="dp", max_delay=60)
    assert starts(replayed) == [0, 110, 160]


def test_a_victim_promised_to_one_on_demand_job_is_not_promised_to_the_next():
    jobs = jobs_of(8, batch(4, checkpoint_interval=100.0), batch(4), urgent(105, 4), urgent(106, 4))
    replayed = play_trace(jobs, decided_by="dp", max_delay=60)
    assert starts(replayed) == [0, 0, 110, 106]
    assert sorted(stopped(replayed)) == [(A, 110, 110, "kill"), (B, 106, 0, "kill")]


def test_two_starts_ahead_are_served_in_the_order_in_which_they_were_decided():
    jobs = jobs_of(
        12,
        batch(4, checkpoint_interval=100.0),
        batch(4, checkpoint_interval=100.0),
        batch(4, run=108, request=1000, preemptible=False),
        urgent(105, 4),
        urgent(106, 4),
    )
    replayed = play_trace(jobs, decided_by="dp", max_delay=60)
    assert starts(replayed)[3:] == [108, 110]
    assert len(stopped(replayed)) == 1


@pytest.mark.parametrize("backfill", ["easy", "conservative"])
def test_nodes_freed_beyond_the_need_go_to_the_queue_at_the_start(backfill):
    jobs = jobs_of(5, batch(4, checkpoint_interval=100.0), urgent(105, 2, run=500), batch(3, submit=105, run=100))
    replayed = play_trace(jobs, decided_by="dp", max_delay=60, backfill=backfill)
    assert starts(replayed) == [0, 110, 110]


def test_an_outage_of_all_nodes_undoes_a_start_ahead():
    jobs = jobs_of(4, batch(2, checkpoint_interval=100.0), batch(2), urgent(60, 2))
    replayed = play_trace(jobs, decided_by="dp", max_delay=100, delay_weight=0, outages=(Outage(80.0, 85.0, 4),))
    assert replayed.decisions[0].start == 110
    assert starts(replayed) == [0, 0, 85]
    assert {run.how for run in replayed.interrupted} == {"outage"}


@pytest.mark.parametrize("seed", range(8))
def test_a_start_ahead_that_loses_nodes_to_an_outage_is_decided_anew_at_once(seed):
    jobs = jobs_of(8, batch(2, checkpoint_interval=100.0), batch(4, checkpoint_interval=95.0), urgent(60, 4))
    replayed = play_trace(
        jobs, decided_by="dp", max_delay=60, delay_weight=0, outages=(Outage(80.0, 900.0, 2),), seed=seed
    )
    hit = {run.job for run in replayed.interrupted if run.how == "outage"}
    assert replayed.decisions[0].start == 110
    if B in hit:  # what is left of its nodes is enough
        assert starts(replayed)[C] == 80
    else:  # the first job, or nodes that were held, are gone: the second job takes the first one's part
        assert [decision.time for decision in replayed.decisions] == [60, 80]
        assert starts(replayed)[C] == 105
        assert (B, 105, 105, "kill") in stopped(replayed)


def test_nodes_held_for_a_start_ahead_fail_like_all_others():
    jobs = jobs_of(8, batch(2, checkpoint_interval=100.0), urgent(105, 7))
    begun = set()
    for seed in range(12):
        outage = (Outage(106.0, 900.0, 1),)
        replayed = play_trace(jobs, decided_by="dp", max_delay=60, outages=outage, seed=seed)
        hit = {run.job for run in replayed.interrupted if run.how == "outage"}
        # Without its job a node of the two is enough; without a held node the victim is still needed.
        assert starts(replayed)[1] == (106 if A in hit else 110)
        begun.add(starts(replayed)[1])
    assert begun == {106, 110}
