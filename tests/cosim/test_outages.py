"""Nodes that fail: the file, and what happens to whoever is on them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from replays import jobs_of, play_trace, rules_of

from cosim.outages import Outage, read
from traces.errors import InputError


def test_a_file_of_outages_is_read_in_order_of_time(tmp_path):
    path = tmp_path / "outages.csv"
    path.write_text("start,end,nodes\n500,600.5,2\n\n10,20,1\n", encoding="utf-8")
    assert read(path) == (Outage(10.0, 20.0, 1), Outage(500.0, 600.5, 2))


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path):
    path = tmp_path / "outages.csv"
    path.write_bytes("\ufeffstart, end, nodes\r\n10,20,1\r\n".encode())
    assert read(path) == (Outage(10.0, 20.0, 1),)


def test_a_header_alone_means_no_outages(tmp_path):
    path = tmp_path / "outages.csv"
    path.write_text("start,end,nodes\n", encoding="utf-8")
    assert read(path) == ()


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", ":1: expected the header start,end,nodes"),
        ("10,20,1\n", ":1: expected the header start,end,nodes"),
        ("start,end,nodes\n10,20\n", ":2: '10,20' is no outage"),
        ("start,end,nodes\n1,2,1\nten,20,1\n", ":3: 'ten,20,1' is no outage"),
        ("start,end,nodes\n1,2,1.5\n", ":2: '1,2,1.5' is no outage"),
        ("start,end,nodes\n20,10,1\n", ":2: '20,10,1': expected START < END"),
        ("start,end,nodes\n10,inf,1\n", ":2: '10,inf,1': expected START < END"),
        ("start,end,nodes\nnan,20,1\n", ":2: 'nan,20,1': expected START < END"),
        ("start,end,nodes\n10,20,0\n", "at least 1 node"),
        ("start,end,nodes\n10,20,1,x\n", ":2: '10,20,1,x'"),
    ],
)
def test_a_line_that_is_no_outage_is_named_with_its_number(tmp_path, text, complaint):
    path = tmp_path / "outages.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(complaint)):
        read(path)


@pytest.mark.parametrize("name", ["missing.csv", "."])
def test_what_is_no_file_is_refused(tmp_path, name):
    with pytest.raises(InputError, match="cannot be read as a CSV file of outages"):
        read(tmp_path / name)


def test_a_binary_is_refused(tmp_path):
    path = tmp_path / "outages.csv"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(InputError, match="cannot be read"):
        read(path)


def test_a_job_on_a_node_that_fails_starts_over_from_its_newest_checkpoint():
    jobs = jobs_of(4, {"submit": 0, "run": 100, "nodes": 4})
    replayed = play_trace(
        jobs, outages=(Outage(50.0, 60.0, 1),), checkpoints=rules_of(every=20.0, cost=2.0, restart=5.0)
    )
    assert [(run.start, run.end, run.saved, run.how) for run in replayed.interrupted] == [(0, 50, 42, "outage")]
    assert replayed.jobs["start"].tolist() == [60]
    assert replayed.jobs["finish"].tolist() == [60 + 5 + 58]


def test_jobs_fit_around_nodes_that_are_down():
    jobs = jobs_of(4, {"submit": 10, "run": 20, "nodes": 2}, {"submit": 10, "run": 20, "nodes": 2})
    replayed = play_trace(jobs, outages=(Outage(0.0, 15.0, 2),))
    assert replayed.jobs["first_start"].tolist() == [10, 15]


def test_the_scheduler_knows_when_nodes_come_back():
    # The job of 4 nodes waits for the outage to end at 50; the job after it would not be through by then.
    jobs = jobs_of(4, {"submit": 10, "run": 20, "nodes": 4}, {"submit": 11, "run": 60, "nodes": 1})
    replayed = play_trace(jobs, outages=(Outage(0.0, 50.0, 2),))
    assert replayed.jobs["first_start"].tolist() == [50, 70]


def test_free_nodes_that_fail_stop_nobody():
    jobs = jobs_of(4, {"submit": 0, "run": 10, "nodes": 4}, {"submit": 60, "run": 10, "nodes": 4})
    replayed = play_trace(jobs, outages=(Outage(20.0, 30.0, 4),))
    assert replayed.interrupted == ()
    assert replayed.jobs["first_start"].tolist() == [0, 60]


def test_outages_that_overlap_never_take_more_nodes_than_there_are():
    jobs = jobs_of(4, {"submit": 0, "run": 10, "nodes": 4}, {"submit": 25, "run": 10, "nodes": 1})
    replayed = play_trace(jobs, outages=(Outage(20.0, 40.0, 3), Outage(30.0, 50.0, 9), Outage(39.0, 60.0, 1)))
    # The second job is on the one node that is left at 25 and loses it at 30; three come back at 40, and one fails.
    assert [(run.job, run.end) for run in replayed.interrupted] == [(1, 30)]
    assert replayed.jobs["start"].tolist() == [0, 40]


def test_an_outage_before_the_first_submission_and_one_after_the_last_end_do_no_harm():
    jobs = jobs_of(4, {"submit": 100, "run": 10, "nodes": 4})
    replayed = play_trace(jobs, outages=(Outage(1.0, 2.0, 4), Outage(500.0, 900.0, 4)))
    assert replayed.jobs["finish"].tolist() == [110]


def test_a_job_that_ends_in_the_second_of_an_outage_has_ended():
    replayed = play_trace(jobs_of(4, {"submit": 0, "run": 20, "nodes": 4}), outages=(Outage(20.0, 30.0, 4),))
    assert replayed.interrupted == ()


def test_an_on_demand_job_that_loses_a_node_asks_again():
    jobs = jobs_of(
        4,
        {"submit": 0, "run": 100, "nodes": 2, "on_demand": True},
        {"submit": 0, "run": 1000, "nodes": 2},
    )
    replayed = play_trace(jobs, decided_by="dp", outages=(Outage(50.0, 500.0, 2),), seed=3)
    hit = {run.job for run in replayed.interrupted if run.how == "outage"}
    assert 0 in hit  # by the seed
    assert [(decision.job, decision.time) for decision in replayed.decisions] == [(0, 0), (0, 50)]
    assert replayed.jobs["start"][0] == 50


def test_every_node_is_as_likely_to_fail_as_any_other():
    jobs = jobs_of(
        100,
        {"submit": 0, "run": 100, "nodes": 10},
        {"submit": 0, "run": 100, "nodes": 40},
    )
    hits = np.zeros(2)
    for seed in range(400):
        replayed = play_trace(jobs, outages=(Outage(50.0, 60.0, 1),), seed=seed)
        hits[[run.job for run in replayed.interrupted]] += 1
    assert hits / 400 == pytest.approx([0.1, 0.4], abs=0.08)
