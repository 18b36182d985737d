"""What the report reduces a replay to: averages, curves, windows and places."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replays import jobs_of, play_trace
from report_samples import busy_trace, metrics_of, replays_of, unpacked

from cosim.metrics import lost_node_seconds
from cosim.on_demand import Decided
from cosim.outages import Outage
from cosim.report.curves import distribution, trade_off
from cosim.report.placement import place
from cosim.report.units import Clock, clock_of, duration, plain, squeeze, squeezed_axis
from cosim.report.usage import SPANS, usage_of, useful_parts
from cosim.report.window import window_of
from cosim.runs import COMPLETED, busy_nodes, runs_of


@pytest.mark.parametrize("policy", ["dp", "slurm", "none"])
@pytest.mark.parametrize("spans", [1, 7, 1000])
def test_averages_over_spans_add_up_to_the_node_seconds_of_the_metrics(policy, spans):
    outages = (Outage(1.6e9 + 9000, 1.6e9 + 20000, 30),)
    replayed = replays_of(busy_trace(), policy, outages=outages)[policy]
    runs = runs_of(replayed)
    assert (runs.how != COMPLETED).any()
    usage = usage_of(replayed, runs, spans)
    assert len(usage.useful) <= spans
    capacity = usage.span * replayed.workload.nodes
    jobs = replayed.jobs
    assert usage.useful.sum() * capacity == pytest.approx((jobs["run_time"] * jobs["nodes"]).sum())
    assert usage.wasted.sum() * capacity == pytest.approx(lost_node_seconds(replayed, runs).sum(), abs=1e-3)
    assert (usage.useful + usage.wasted <= 1 + 1e-9).all()


def test_each_span_holds_the_average_of_the_nodes_in_use_during_it():
    replayed = replays_of(busy_trace(jobs=40), "dp")["dp"]
    runs = runs_of(replayed)
    usage = usage_of(replayed, runs, 50)
    times, nodes = busy_nodes(runs)
    for span in range(len(usage.useful)):
        start, end = usage.start + span * usage.span, usage.start + (span + 1) * usage.span
        seconds = np.diff(np.clip(np.append(times, np.inf), start, end))
        average = (seconds * nodes).sum() / usage.span / replayed.workload.nodes
        assert usage.useful[span] + usage.wasted[span] == pytest.approx(average, abs=1e-9)


def test_spans_have_lengths_that_a_person_knows():
    replayed = replays_of(busy_trace(), "none")["none"]
    assert usage_of(replayed, runs_of(replayed)).span in SPANS


def test_a_run_after_an_interruption_is_useful_after_its_restart_only():
    trace = jobs_of(
        10,
        {"submit": 0, "run": 1000, "nodes": 10},
        {"submit": 500, "run": 100, "nodes": 10, "on_demand": True},
    )
    replayed = replays_of(trace, "slurm", max_delay=0.0)["slurm"]
    runs = runs_of(replayed)
    start, end = useful_parts(replayed, runs)
    assert runs.job.tolist() == [0, 1, 0]
    assert (start - runs.start).tolist() == [0.0, 0.0, 60.0]  # the restart cost of the samples
    assert (end - start).tolist() == [0.0, 100.0, 1000.0]


def _decided(job, time, *frontier):
    return Decided(time, job, time + frontier[0][0], frontier[0][1], 0, frontier)


def _replayed(decisions, submit, first_start, on_demand=None):
    count = len(submit)
    jobs = np.zeros(count, [("submit", "f8"), ("first_start", "f8"), ("on_demand", "i1")])
    jobs["submit"], jobs["first_start"] = submit, first_start
    jobs["on_demand"] = 1 if on_demand is None else on_demand
    return SimpleNamespace(decisions=tuple(decisions), jobs=jobs)


def test_the_trade_off_takes_of_each_frontier_the_least_loss_within_the_cap():
    replayed = _replayed(
        [
            _decided(0, 0.0, (0.0, 7200.0), (60.0, 3600.0), (300.0, 0.0)),
            _decided(1, 50.0, (100.0, 1800.0), (200.0, 360.0)),  # not to be had before 100 s
        ],
        submit=[0.0, 50.0],
        first_start=[60.0, 150.0],
    )
    curve = trade_off(replayed)
    assert curve.cap.tolist() == [0.0, 60.0, 200.0, 300.0]
    assert curve.lost_node_hours.tolist() == pytest.approx([2.5, 1.5, 1.1, 0.1])
    assert curve.delay.tolist() == pytest.approx([50.0, 80.0, 130.0, 250.0])


def test_the_trade_off_counts_a_jobs_last_decision_and_the_waits_that_no_decision_could_change():
    replayed = _replayed(
        [
            _decided(0, 0.0, (0.0, 1e9), (10.0, 0.0)),
            _decided(0, 40.0, (0.0, 3600.0), (20.0, 0.0)),
            _decided(0, 900.0, (0.0, 1e9), (20.0, 0.0)),  # requeued by an outage after it had started
        ],
        submit=[0.0, 0.0, 0.0],
        first_start=[60.0, 500.0, 9e9],
        on_demand=[1, 1, 0],
    )
    curve = trade_off(replayed)
    assert curve.lost_node_hours.tolist() == pytest.approx([1.0, 0.0])
    assert curve.delay.tolist() == pytest.approx([(40 + 500) / 2, (60 + 500) / 2])


def test_there_is_nothing_to_trade_where_no_decision_had_a_choice():
    assert trade_off(_replayed([], [0.0], [0.0])) is None
    assert trade_off(_replayed([_decided(0, 0.0, (0.0, 5.0))], [0.0], [0.0])) is None
    assert trade_off(replays_of(busy_trace(), "slurm")["slurm"]) is None


def test_more_delay_never_costs_more():
    curve = trade_off(replays_of(busy_trace(), "dp")["dp"], most_points=30)
    assert len(curve.cap) <= 30
    assert curve.cap[0] == 0
    assert (np.diff(curve.lost_node_hours) <= 1e-9).all()
    assert (np.diff(curve.delay) >= -1e-9).all()


def test_what_was_decided_costs_no_less_than_the_curve_at_the_largest_cap():
    replayed = replays_of(busy_trace(), "dp", delay_weight=0.0)["dp"]
    last = {decided.job: decided for decided in replayed.decisions}.values()
    curve = trade_off(replayed)
    assert curve.lost_node_hours[-1] == pytest.approx(sum(d.lost_node_seconds for d in last) / 3600)
    assert curve.delay[-1] <= metrics_of({"dp": replayed})["dp"].on_demand_latency_mean + 600


@given(st.lists(st.floats(0, 1e7), min_size=1, max_size=60), st.integers(2, 20))
@settings(max_examples=60, deadline=None)
def test_a_distribution_is_exact_wherever_it_is_given(values, points):
    x, share = distribution(np.array(values), points)
    for at, part in zip(x, share, strict=True):
        assert part == pytest.approx(np.mean(np.array(values) <= at))
    assert x[0] == min(values)
    assert (x[-1], share[-1]) == (max(values), 1.0)
    assert (np.diff(x) > 0).all()


def test_the_window_holds_the_most_preemptions_and_no_more_runs_than_can_be_drawn():
    replayed = replays_of(busy_trace(), "dp")["dp"]
    runs = runs_of(replayed)
    whole = window_of(replayed, runs)
    assert whole.whole
    assert whole.left_out == 0
    assert len(whole.drawn) == len(runs.job)
    part = window_of(replayed, runs, 60)
    assert not part.whole
    assert 0 < len(part.drawn) <= 60
    assert part.left_out == 0
    ends = runs.end[(runs.how == "kill") | (runs.how == "checkpoint")]
    length = part.end - part.start
    assert part.preemptions == max(np.sum((ends >= end) & (ends <= end + length)) for end in ends)
    inside = (runs.start < part.end) & (runs.end >= part.start)
    assert part.drawn.tolist() == np.flatnonzero(inside).tolist()


def test_without_preemptions_the_window_is_where_most_starts():
    replayed = replays_of(busy_trace(), "none")["none"]
    window = window_of(replayed, runs_of(replayed), 50)
    assert window.preemptions == 0
    assert 0 < len(window.drawn) <= 50


def test_runs_that_are_too_many_for_the_shortest_window_are_left_out_and_counted():
    rows = [{"submit": 5, "run": 0.5, "nodes": 1, "on_demand": number == 77} for number in range(100)]
    replayed = play_trace(jobs_of(200, *rows), decided_by="dp")
    window = window_of(replayed, runs_of(replayed), 10)
    assert len(window.drawn) == 10
    assert window.left_out == 90
    assert replayed.jobs["on_demand"][runs_of(replayed).job[window.drawn]].any()


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_runs_that_fit_together_get_nodes_of_their_own(data):
    machine = data.draw(st.integers(1, 30))
    runs = []
    for _ in range(data.draw(st.integers(1, 25))):
        start = data.draw(st.integers(0, 20))
        end = start + data.draw(st.integers(1, 8))
        used = max(sum(n for s, e, n in runs if s <= at < e) for at in range(start, end))
        if machine > used:
            runs.append((start, end, data.draw(st.integers(1, machine - used))))
    runs.sort()
    start, end, nodes = (np.array(column) for column in zip(*runs, strict=True))
    placed = place(start.astype(float), end.astype(float), nodes, machine)
    for at in range(30):
        taken = [
            node
            for (begins, ends, _), pieces in zip(runs, placed, strict=True)
            if begins <= at < ends
            for low, high in pieces
            for node in range(low, high)
        ]
        assert len(taken) == len(set(taken))
    assert [sum(high - low for low, high in pieces) for pieces in placed] == nodes.tolist()
    assert all(0 <= low < high <= machine for pieces in placed for low, high in pieces)


def test_a_run_without_length_gives_its_nodes_back_at_once():
    assert place(np.zeros(3), np.zeros(3), np.array([5, 5, 5]), 5) == [[(0, 5)]] * 3


def test_every_replay_finds_room_for_all_of_its_runs():
    replayed = replays_of(busy_trace(), "dp")["dp"]
    runs = runs_of(replayed)
    placed = place(runs.start, runs.end, runs.nodes, replayed.workload.nodes)
    assert [sum(high - low for low, high in pieces) for pieces in placed] == runs.nodes.tolist()


def test_a_timestamp_is_shown_as_a_date_and_seconds_since_a_start_as_hours():
    dates = clock_of(replays_of(busy_trace(30), "none"))
    assert dates == Clock(dates=True)
    assert dates.at(np.array([1.6e9])).tolist() == [1.6e12]
    assert dates.text(np.array([1.6e9])) == ["2020-09-13 12:26:40"]
    hours = clock_of(replays_of(busy_trace(30, since=0.0), "none"))
    assert hours == Clock(dates=False)
    assert hours.at(np.array([5400.0])).tolist() == [1.5]
    assert hours.text(np.array([5400.0])) == ["+1h 30m"]


def test_times_beyond_any_calendar_are_shown_as_hours():
    assert clock_of(replays_of(busy_trace(30, since=1e12), "none")) == Clock(dates=False)


def test_the_axis_of_waits_has_a_place_for_zero_and_for_the_longest():
    axis = squeezed_axis(40_000.0)
    assert squeeze(np.array([0.0])).tolist() == [0.0]
    assert axis["range"][0] < 0 < squeeze(np.array([40_000.0]))[0] < axis["range"][1]
    assert axis["ticktext"][:3] == ["0", "1 s", "10 s"]
    assert axis["tickvals"] == sorted(axis["tickvals"])


def test_durations_and_hostile_names_are_written_for_people():
    assert [duration(seconds) for seconds in (0.0, 0.25, 59.6, 5400.0)] == ["0s", "0.2s", "1m", "1h 30m"]
    assert plain("<b>&%{x}") == "&lt;b&gt;&amp;%&#123;x}"
    assert len(plain("x" * 1000)) == 60


def test_packed_arrays_come_back():
    from cosim.report.figures import packed

    assert unpacked(packed(np.array([1.5, -2.0]), "f4")).tolist() == [1.5, -2.0]
    assert unpacked(packed(np.array([3, 70000]), "i4")).tolist() == [3, 70000]
