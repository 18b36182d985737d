from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from trace_lines import SWF_HEADER, swf_line

from traces import KINDS, InputError, Trace, Treatments, parse_treatments, read

Write = Callable[..., Path]


def counts(trace: Trace) -> dict[str, tuple[int, int, int]]:
    return {problem.kind: (problem.repaired, problem.dropped, problem.kept) for problem in trace.summary.problems}


def canonical(*rows: str, header: str = "job_id,submit,start,end,run_time,nodes,requested_time") -> str:
    return "\n".join([header, *rows]) + "\n"


def test_a_clean_trace_has_no_problems(write_file: Write) -> None:
    trace = read([write_file(SWF_HEADER + swf_line())])
    assert counts(trace) == {}
    assert trace.summary.lines()[0] == "1 rows read, 1 kept, 0 dropped, 0 repairs"


def test_a_trace_with_one_job_is_a_trace(write_file: Write) -> None:
    assert len(read([write_file(swf_line())])) == 1


@pytest.mark.parametrize(
    ("line", "kind", "account"),
    [
        (swf_line(2, submit=-1), "missing_submit", (0, 1, 0)),
        (swf_line(2, submit=-7), "negative_time", (0, 1, 0)),
        (swf_line(2, wait=-5, submit=100), "start_before_submit", (1, 0, 0)),
        (swf_line(2, run=-1), "missing_run_time", (0, 1, 0)),
        (swf_line(2, run=-9), "missing_run_time", (0, 1, 0)),
        (swf_line(2, run=0), "zero_run_time", (0, 0, 1)),
        (swf_line(2, run=-1, status=5), "never_started", (0, 1, 0)),
        (swf_line(2, run=0, status=5), "never_started", (0, 1, 0)),
        (swf_line(2, allocated=0, requested=-1), "zero_nodes", (0, 1, 0)),
        (swf_line(2, allocated=-1, requested=0), "zero_nodes", (0, 1, 0)),
        (swf_line(2, requested=101), "larger_than_machine", (0, 1, 0)),
        (swf_line(2, limit=-1), "unknown_estimate", (0, 0, 1)),
        (swf_line(2, limit=0), "unknown_estimate", (0, 0, 1)),
        (swf_line(2, run=201), "over_limit", (0, 0, 1)),
        (swf_line(1), "duplicate_id", (1, 0, 0)),
    ],
)
def test_each_problem_gets_its_documented_treatment(
    write_file: Write, line: str, kind: str, account: tuple[int, int, int]
) -> None:
    trace = read([write_file(SWF_HEADER + swf_line(1) + line)])
    assert counts(trace) == {kind: account}
    assert len(trace) == 2 - account[1]
    example = next(iter(trace.summary.problems)).examples[0]
    assert "trace.swf:6: " in example  # file and line; then the field


@pytest.mark.parametrize(
    ("row", "kind", "account"),
    [
        ("a,,50,60,10,1,20", "missing_submit", (1, 0, 0)),
        ("a,0,50,60,,1,20", "missing_run_time", (1, 0, 0)),
        ("a,0,60,50,10,1,20", "end_before_start", (1, 0, 0)),
        ("a,0,50,70,10,1,20", "inconsistent_times", (0, 0, 1)),
        ("a,0,50,60,10,1,inf", "unknown_estimate", (0, 0, 1)),
    ],
)
def test_what_start_and_end_tell_repairs_what_is_missing(
    write_file: Write, row: str, kind: str, account: tuple[int, int, int]
) -> None:
    trace = read([write_file(canonical(row))])
    assert counts(trace) == {kind: account}
    assert trace.column("run_time")[0] == 10
    assert trace.column("end")[0] >= trace.column("start")[0]


def test_an_end_before_its_start_without_a_run_time_drops_the_job(write_file: Write) -> None:
    trace = read([write_file(canonical("a,0,60,50,,1,20", "b,0,1,2,1,1,20"))])
    assert counts(trace) == {"missing_run_time": (0, 1, 0)}


def test_each_job_is_dropped_for_one_reason(write_file: Write) -> None:
    trace = read([write_file(SWF_HEADER + swf_line(1) + swf_line(2, run=-1, requested=500, limit=-1))])
    assert sum(problem.dropped for problem in trace.summary.problems) == trace.summary.rows_dropped == 1


def test_every_row_read_is_kept_or_dropped_with_a_reason(write_file: Write) -> None:
    lines = [
        swf_line(1),
        swf_line(2, run=-1),
        "nonsense\n",
        swf_line(3, requested=999),
        swf_line(1),
        swf_line(4, submit=-3),
        "9 9",
    ]
    trace = read([write_file(SWF_HEADER + "".join(lines))])
    dropped = sum(problem.dropped for problem in trace.summary.problems)
    assert (trace.summary.rows_read, len(trace), dropped) == (7, 2, 5)


def test_unsorted_jobs_are_sorted_and_equal_times_keep_their_order(write_file: Write) -> None:
    submits = [5, 3, 3, 9, 3, 1]
    lines = [swf_line(number, submit=submit) for number, submit in enumerate(submits, start=1)]
    trace = read([write_file("".join(lines))])
    assert trace.column("job_id").tolist() == ["6", "2", "3", "5", "1", "4"]
    assert counts(trace) == {"unsorted": (3, 0, 0)}


def test_all_jobs_at_the_same_second_keep_their_order(write_file: Write) -> None:
    trace = read([write_file("".join(swf_line(number) for number in (3, 1, 2)))])
    assert trace.column("job_id").tolist() == ["3", "1", "2"]


def test_a_repeated_id_gets_a_suffix_that_no_other_job_has(write_file: Write) -> None:
    rows = [f"{name},{time},,,5,1,9" for time, name in enumerate(["7", "7", "7#2", "7"])]
    trace = read([write_file(canonical(*rows))])
    assert trace.column("job_id").tolist() == ["7", "7#3", "7#2", "7#4"]


def test_several_files_become_one_trace(write_file: Write) -> None:
    first = write_file(SWF_HEADER + swf_line(1, submit=10) + swf_line(2, submit=30), "a.swf")
    second = write_file("; MaxProcs: 300\n" + swf_line(1, submit=20, requested=200), "b.swf")
    trace = read([first, second])
    assert trace.column("job_id").tolist() == ["1", "1#2", "2"]
    assert trace.machine.nodes == 300
    assert len(trace.summary.files) == 2
    assert "b.swf:2: job_id: 1 occurs again" in trace.summary.problems[0].examples[0]


def test_the_person_knows_the_machine_better_than_the_header(write_file: Write) -> None:
    path = write_file(SWF_HEADER + swf_line(1) + swf_line(2, requested=150))
    assert len(read([path], nodes=200)) == 2
    assert len(read([path], nodes=50)) == 1


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (swf_line(run=-1), "missing_run_time: 3 dropped because the run time is missing"),
        (swf_line(run=0, status=5), "never_started: 3 dropped"),
        (swf_line(requested=1000), "larger_than_machine: 3 dropped"),
        ("1 2 3\n", "malformed_line: 3 dropped"),
    ],
)
def test_a_trace_that_leaves_no_job_is_an_error_that_says_why(write_file: Write, line: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        read([write_file(SWF_HEADER + line * 3)])
    assert "none of the 3 jobs can be used" in str(caught.value)
    assert reason in str(caught.value)


def test_a_trace_in_which_every_estimate_is_unknown_is_kept_with_infinite_ones(write_file: Write) -> None:
    trace = read([write_file("".join(swf_line(number, limit=-1) for number in range(1, 5)))])
    assert np.isinf(trace.column("requested_time")).all()
    assert counts(trace) == {"unknown_estimate": (0, 0, 4)}


def test_a_treatment_can_be_chosen_by_its_name(write_file: Write) -> None:
    path = write_file(swf_line(1, run=300) + swf_line(2))
    assert len(read([path], treatments=parse_treatments(["over_limit=drop"]))) == 1
    raised = read([path], treatments=Treatments(over_limit="repair"))
    assert raised.column("requested_time").tolist() == [300, 200]
    with pytest.raises(InputError, match=r"trace.swf:1: field 4 \(run time\): ran 300 s, asked for 200 s"):
        read([path], treatments=Treatments(over_limit="refuse"))


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_can_be_refused_and_its_default_is_allowed(kind: str) -> None:
    assert KINDS[kind].default in KINDS[kind].allowed
    assert "refuse" in KINDS[kind].allowed
    with pytest.raises(InputError, match="accepted are"):
        Treatments(**{kind: "wish"})


@pytest.mark.parametrize("word", ["over_limit", "nonsense=drop", "=drop", "over_limit=wish"])
def test_a_treatment_that_does_not_exist_is_refused(word: str) -> None:
    with pytest.raises(InputError, match=r"expected|accepted"):
        parse_treatments([word])


def test_the_summary_serves_people_and_programs(write_file: Write) -> None:
    trace = read([write_file(SWF_HEADER + swf_line(1) + swf_line(2, run=-1))])
    assert trace.summary.as_dict()["problems"]["missing_run_time"]["dropped"] == 1
    text = "\n".join(trace.summary.lines())
    assert "missing_run_time: 1 dropped (the run time is missing or negative)" in text
