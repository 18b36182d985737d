"""Invented records in the shapes that sacct of Slurm 22.05, 24.11 and 26.05 prints."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import numpy as np
import pytest

from traces import InputError, Trace, Treatments, read

Write = Callable[..., Path]

HEADER = "JobID|JobName|User|Account|Partition|Submit|Start|End|ElapsedRaw|NNodes|TimelimitRaw|State"
JOB = "123|run|ann|phys|batch|2024-05-01T10:00:00|2024-05-01T10:05:00|2024-05-01T10:15:00|600|4|30|COMPLETED"


def utc(text: str) -> float:
    return datetime.fromisoformat(text + "+00:00").timestamp()


def dump(*lines: str, header: str = HEADER) -> str:
    return "\n".join([header, *lines]) + "\n"


def problems(trace: Trace) -> dict[str, int]:
    return {problem.kind: problem.count for problem in trace.summary.problems}


def test_a_job_of_sacct_is_read(write_file: Write) -> None:
    trace = read([write_file(dump(JOB))])
    wanted = {
        "job_id": "123",
        "submit": utc("2024-05-01T10:00:00"),
        "start": utc("2024-05-01T10:05:00"),
        "end": utc("2024-05-01T10:15:00"),
        "run_time": 600.0,
        "nodes": 4,
        "requested_time": 1800.0,
        "state": "completed",
        "user": "ann",
        "account": "phys",
        "queue": "batch",
        "name": "run",
    }
    assert {name: trace.column(name)[0] for name in wanted} == wanted
    assert problems(trace) == {}


def test_times_are_local_times_of_the_zone_that_is_given(write_file: Write) -> None:
    trace = read([write_file(dump(JOB))], time_zone="Europe/Berlin")
    assert trace.column("submit")[0] == utc("2024-05-01T08:00:00")


def test_times_in_seconds_or_with_an_offset_are_absolute(write_file: Write) -> None:
    lines = [
        JOB.replace("2024-05-01T10:00:00", "1714557600"),
        JOB.replace("123", "124").replace("2024-05-01T10:00:00", "2024-05-01T12:00:00+0200"),
    ]
    trace = read([write_file(dump(*lines))], time_zone="UTC")
    assert trace.column("submit").tolist() == [utc("2024-05-01T10:00:00")] * 2


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [
        ("30:00", 1800),
        ("2-12", 216000),
        ("1-00:00:00", 86400),
        ("UNLIMITED", math.inf),
        ("Partition_Limit", math.inf),
        ("", math.inf),
    ],
)
def test_limits_are_read_in_every_form_that_slurm_prints(write_file: Write, limit: str, seconds: float) -> None:
    header = HEADER.replace("TimelimitRaw", "Timelimit")
    trace = read([write_file(dump(JOB.replace("|30|", f"|{limit}|"), header=header))])
    assert trace.column("requested_time")[0] == seconds


@pytest.mark.parametrize(("raw", "seconds"), [("90", 5400), ("UNLIMITED", math.inf), ("Partition_Limit", math.inf)])
def test_the_raw_limit_counts_minutes(write_file: Write, raw: str, seconds: float) -> None:
    lines = [JOB, JOB.replace("123", "124").replace("|30|", f"|{raw}|")]
    assert read([write_file(dump(*lines))]).column("requested_time").tolist() == [1800, seconds]


def test_elapsed_is_read_where_the_raw_one_was_not_asked_for(write_file: Write) -> None:
    header = HEADER.replace("ElapsedRaw", "Elapsed")
    trace = read([write_file(dump(JOB.replace("|600|", "|1-00:10:00|"), header=header))])
    assert trace.column("run_time")[0] == 87000


def test_start_and_end_do_where_neither_was(write_file: Write) -> None:
    header = HEADER.replace("|ElapsedRaw", "")
    trace = read([write_file(dump(JOB.replace("|600|", "|"), header=header))])
    assert trace.column("run_time")[0] == 600


def test_steps_are_no_jobs_but_array_tasks_and_components_are(write_file: Write) -> None:
    lines = [JOB.replace("123|", f"{name}|", 1) for name in ("123", "123.batch", "123.0", "124_7", "125+1")]
    trace = read([write_file(dump(*lines))])
    assert trace.column("job_id").tolist() == ["123", "124_7", "125+1"]
    assert trace.summary.rows_read == 3
    assert "2 lines of job steps" in trace.summary.notes[0]


def test_jobs_that_never_started_or_have_not_ended_are_dropped_with_the_reason(write_file: Write) -> None:
    times = "2024-05-01T10:00:00|2024-05-01T10:05:00|2024-05-01T10:15:00|600"
    lines = [
        JOB,
        JOB.replace("123", "2")
        .replace(times, "2024-05-01T10:00:00|None|2024-05-01T10:01:00|0")
        .replace("COMPLETED", "CANCELLED by 1000"),
        JOB.replace("123", "3_[1-9]")
        .replace(times, "2024-05-01T10:00:00|Unknown|Unknown|0")
        .replace("COMPLETED", "PENDING"),
        JOB.replace("123", "4")
        .replace("10:15:00", "Unknown")
        .replace("2024-05-01TUnknown", "Unknown")
        .replace("COMPLETED", "RUNNING"),
    ]
    trace = read([write_file(dump(*lines))])
    assert trace.column("job_id").tolist() == ["123"]
    assert problems(trace) == {"not_finished": 2, "never_started": 1}


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("CANCELLED by 1000", "cancelled"),
        ("CANCELLED+", "cancelled"),
        ("TIMEOUT", "timeout"),
        ("NODE_FAIL", "node_fail"),
        ("OUT_OF_MEMORY", "out_of_memory"),
        ("OUT_OF_ME+", "out_of_memory"),
        ("PREEMPTED", "preempted"),
        ("FAILED", "failed"),
        ("PUZZLED", "unknown"),
    ],
)
def test_states_of_slurm(write_file: Write, word: str, state: str) -> None:
    assert read([write_file(dump(JOB.replace("COMPLETED", word)))]).column("state")[0] == state


def test_a_requeued_job_keeps_both_of_its_runs_under_different_ids(write_file: Write) -> None:
    again = JOB.replace("COMPLETED", "PREEMPTED")
    trace = read([write_file(dump(again, JOB))])
    assert trace.column("job_id").tolist() == ["123", "123#2"]
    assert problems(trace) == {"duplicate_id": 1}


def test_pipes_in_a_job_name_are_given_back_to_it(write_file: Write) -> None:
    trace = read([write_file(dump(JOB, JOB.replace("123|run", "124|a|b||c")))])
    assert trace.column("name").tolist() == ["run", "a|b||c"]
    assert trace.column("nodes").tolist() == [4, 4]
    assert problems(trace) == {"pipe_in_name": 1}


def test_pipes_in_another_free_text_are_found_by_what_then_makes_sense(write_file: Write) -> None:
    header = HEADER + "|WorkDir"
    trace = read([write_file(dump(JOB + "|/home", JOB.replace("123", "124") + "|/a|b", header=header))])
    assert trace.column("state").tolist() == ["completed", "completed"]
    assert trace.column("name").tolist() == ["run", "run"]


def test_a_row_that_no_name_explains_is_dropped(write_file: Write) -> None:
    trace = read([write_file(dump(JOB, JOB + "|x|y"))])
    assert problems(trace) == {"malformed_line": 1}


def test_a_trailing_separator_as_sacct_p_in_lower_case_prints_it(write_file: Write) -> None:
    assert len(read([write_file(dump(JOB + "|", header=HEADER + "|"))])) == 1


def test_a_missing_field_says_how_to_call_sacct(write_file: Write) -> None:
    with pytest.raises(InputError, match=r"not asked for NNodes; .*--format=JobID"):
        read([write_file("JobID|Submit|ElapsedRaw\n1|2024-05-01T10:00:00|5\n")])
    with pytest.raises(InputError, match="ElapsedRaw"):
        read([write_file("JobID|Submit|NNodes\n1|2024-05-01T10:00:00|5\n")])


def plain_job(**changed: object) -> dict[str, object]:
    """Return a job as openapi/v0.0.38 of Slurm 22.05 has it."""
    job: dict[str, object] = {
        "job_id": 123,
        "array": {"job_id": 0, "task": None, "task_id": None},
        "het": {"job_id": 0, "job_offset": None},
        "name": "run",
        "user": "ann",
        "group": "staff",
        "account": "phys",
        "partition": "batch",
        "allocation_nodes": 4,
        "state": {"current": "COMPLETED", "reason": "None"},
        "time": {"submission": 1000, "start": 1300, "end": 1900, "elapsed": 600, "eligible": 1000, "limit": 30},
        "tres": {"requested": [{"type": "cpu", "count": 64}, {"type": "node", "count": 4}], "allocated": []},
        "steps": [{"step": {"id": "123.batch"}}],
    }
    return job | changed


def set_number(number: float | None, *, infinite: bool = False) -> dict[str, object]:
    return {"set": number is not None and not infinite, "infinite": infinite, "number": number or 0}


def parser_job(**changed: object) -> dict[str, object]:
    """Return a job as data_parser/v0.0.42 of Slurm 24.11 has it."""
    job = plain_job(
        array={"job_id": 0, "task_id": set_number(None), "task": ""},
        het={"job_id": 0, "job_offset": set_number(None)},
        state={"current": ["COMPLETED"], "reason": "None"},
    )
    job["time"] = {"submission": 1000, "start": 1300, "end": 1900, "elapsed": 600, "limit": set_number(30)}
    return job | changed


def json_dump(*jobs: object) -> str:
    return json.dumps({"meta": {"plugin": {"name": "x"}}, "jobs": list(jobs), "errors": [], "warnings": []}, indent=1)


@pytest.mark.parametrize("job", [plain_job(), parser_job()])
def test_both_shapes_of_numbers_in_json_are_read(write_file: Write, job: dict[str, object]) -> None:
    trace = read([write_file(json_dump(job))])
    wanted = {
        "job_id": "123",
        "submit": 1000.0,
        "start": 1300.0,
        "end": 1900.0,
        "run_time": 600.0,
        "nodes": 4,
        "allocated_nodes": 4,
        "requested_time": 1800.0,
        "state": "completed",
        "user": "ann",
        "group": "staff",
        "account": "phys",
        "queue": "batch",
        "name": "run",
    }
    assert {name: trace.column(name)[0] for name in wanted} == wanted


def test_json_on_one_line_and_without_blanks_is_read(write_file: Write) -> None:
    jobs = [plain_job(job_id=number, comment="x" * 500) for number in range(1, 4001)]
    text = json.dumps({"jobs": jobs}, separators=(",", ":"))
    assert len(text) > 2 << 20
    assert len(read([write_file(text)])) == 4000


@pytest.mark.parametrize(
    ("limit", "seconds"),
    [
        (set_number(90), 5400),
        (set_number(None, infinite=True), math.inf),
        (set_number(None), math.inf),
        (None, math.inf),
    ],
)
def test_limits_in_json_count_minutes(write_file: Write, limit: object, seconds: float) -> None:
    job = parser_job()
    job["time"] = {**job["time"], "limit": limit}  # type: ignore[dict-item]
    assert read([write_file(json_dump(job))]).column("requested_time")[0] == seconds


def test_array_tasks_and_components_in_json_have_the_ids_that_sacct_prints(write_file: Write) -> None:
    trace = read(
        [
            write_file(
                json_dump(
                    parser_job(job_id=9, array={"job_id": 7, "task_id": set_number(3)}),
                    plain_job(job_id=12, het={"job_id": 11, "job_offset": 1}),
                    plain_job(job_id=21, array={"job_id": 20, "task_id": 0}),
                )
            )
        ]
    )
    assert trace.column("job_id").tolist() == ["7_3", "11+1", "20_0"]


def test_json_jobs_that_never_ran_are_dropped(write_file: Write) -> None:
    never = plain_job(job_id=2, state={"current": ["CANCELLED"]})
    never["time"] = {"submission": 1000, "start": 0, "end": 1100, "elapsed": 0, "limit": 30}
    pending = plain_job(job_id=3, state={"current": ["PENDING"]})
    trace = read([write_file(json_dump(plain_job(), never, pending))])
    assert problems(trace) == {"not_finished": 1, "never_started": 1}


def test_an_eligible_time_in_the_place_of_the_start_is_corrected(write_file: Write) -> None:
    late, prompt = plain_job(), plain_job(job_id=124)
    late["time"] = {"submission": 1000, "eligible": 1000, "start": 1000, "end": 1900, "elapsed": 600, "limit": 30}
    prompt["time"] = {"submission": 1000, "eligible": 1000, "start": 1000, "end": 1600, "elapsed": 600, "limit": 30}
    trace = read([write_file(json_dump(late, prompt))])
    assert trace.column("start").tolist() == [1300, 1000]
    assert problems(trace) == {}


def test_the_marks_of_slurm_for_no_value_are_no_numbers(write_file: Write) -> None:
    job = plain_job(array={"job_id": 0, "task_id": 4294967294})
    job["time"] = {"submission": 1000, "start": 1300, "end": 1900, "elapsed": 600, "limit": 4294967295}
    trace = read([write_file(json_dump(job))])
    assert trace.column("requested_time")[0] == math.inf
    assert trace.column("job_id")[0] == "123"


@pytest.mark.parametrize("record", [5, None, [], {}, {"job_id": 1}, plain_job(time=None), plain_job(job_id="x")])
def test_a_record_that_is_no_job_is_dropped_and_named(write_file: Write, record: object) -> None:
    trace = read([write_file(json_dump(plain_job(), record))])
    assert problems(trace) == {"malformed_line": 1}
    assert "trace.swf:2: is no job of sacct" in trace.summary.problems[0].examples[0]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("{", "ends early"),
        ("[1, 2]", "expected an object"),
        ("{}", "has no array 'jobs'"),
        ('{"jobs": 5}', "has no array 'jobs'"),
        ('{"jobs": [', "ends early|no complete"),
        ('{"jobs": [{"job_id": 1,', "no complete JSON document"),
        ('{"jobs": [1 2]}', "expected ',' or ']'"),
        ('{"jobs": []}', "holds no job"),
        ('{"jobs": [' + "[" * 100_000, "nested too deeply"),
        ('{"a" 5}', "expected ':'"),
    ],
)
def test_json_that_is_something_else_or_cut_off_is_refused(write_file: Write, text: str, what: str) -> None:
    with pytest.raises(InputError, match=what):
        read([write_file(text)])


def test_a_value_without_end_is_refused_in_little_memory(write_file: Write) -> None:
    with pytest.raises(InputError, match="no complete JSON document"):
        read([write_file('{"jobs": ["' + "x" * (40 << 20))])


def test_a_canonical_csv_is_read_with_its_truth_values(write_file: Write) -> None:
    text = "job_id,submit,run_time,nodes,on_demand,preemptible,checkpoint_interval\na,0,5,1,true,No,60\nb,1,5,1,,,\n"
    trace = read([write_file(text)])
    assert trace.column("on_demand").tolist() == [True, False]
    assert trace.column("preemptible").tolist() == [False, True]
    assert trace.column("checkpoint_interval")[0] == 60
    assert np.isnan(trace.column("checkpoint_interval")[1])


def test_a_refusal_while_reading_rows_names_the_line(write_file: Write) -> None:
    with pytest.raises(InputError, match=r"trace\.swf:3: nnodes: 'x' is not a number"):
        read(
            [write_file(dump(JOB, JOB.replace("|4|", "|x|")))],
            treatments=Treatments(malformed_line="refuse"),
        )
