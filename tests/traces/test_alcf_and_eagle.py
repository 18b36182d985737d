"""Rows here are invented; the column names are those of the public files."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from traces import InputError, Trace, Treatments, read

Write = Callable[..., Path]

NEWER = [
    "JOB_NAME",
    "COBALT_JOBID",
    "MACHINE_NAME",
    "QUEUED_TIMESTAMP",
    "QUEUED_DATE_ID",
    "START_TIMESTAMP",
    "START_DATE_ID",
    "END_TIMESTAMP",
    "END_DATE_ID",
    "USERNAME_GENID",
    "PROJECT_NAME_GENID",
    "QUEUE_NAME",
    "WALLTIME_SECONDS",
    "RUNTIME_SECONDS",
    "NODES_USED",
    "NODES_REQUESTED",
    "CORES_USED",
    "CORES_REQUESTED",
    "LOCATION",
    "EXIT_STATUS",
    "ELIGIBLE_WAIT_SECONDS",
    "ELIGIBLE_WAIT_FACTOR",
    "QUEUED_WAIT_SECONDS",
    "QUEUED_WAIT_FACTOR",
    "REQUESTED_CORE_HOURS",
    "USED_CORE_HOURS",
    "CAPABILITY_USAGE_CORE_HOURS",
    "NONCAPABILITY_USAGE_CORE_HOURS",
    "BUCKETS3_A_USAGE_CORE_HOURS",
    "BUCKETS3_B_USAGE_CORE_HOURS",
    "BUCKETS3_C_USAGE_CORE_HOURS",
    "MACHINE_PARTITION",
    "EXIT_CODE",
    "MODE",
    "RESID",
    "DATA_LOAD_STATUS",
    "CAPABILITY",
    "SIZE_BUCKETS3",
    "PERCENTILE",
    "NUM_TASKS_SUBBLOCK",
    "NUM_TASKS_CONSECUTIVE",
    "NUM_TASKS_MULTILOCATION",
    "NUM_TASKS_SINGLE",
    "COBALT_NUM_TASKS",
    "IS_SINGLE",
    "IS_CONSECUTIVE",
    "IS_MULTILOCATION",
    "IS_SUBBLOCK",
    "IS_SUBBLOCK_ONLY",
    "IS_MULTILOCATION_ONLY",
    "IS_MULTILOCATION_SUBBLOCK",
    "IS_CONSECUTIVE_ONLY",
    "IS_SINGLE_ONLY",
    "IS_NO_TASKS",
    "IS_OTHER",
    "OVERBURN_CORE_HOURS",
    "IS_OVERBURN",
]

OLDER = [
    "QUEUED_TIMESTAMP",
    "START_TIMESTAMP",
    "END_TIMESTAMP",
    "QUEUED_DATE_ID",
    "START_DATE_ID",
    "END_DATE_ID",
    "RUNTIME_SECONDS",
    "WALLTIME_SECONDS",
    "REQUESTED_CORES",
    "USED_CORES",
    "REQUESTED_NODES",
    "USED_NODES",
    "REQUESTED_CORE_HOURS",
    "REQUESTED_CORE_SECONDS",
    "USED_CORE_HOURS",
    "USED_CORE_SECONDS",
    "COBALT_PROJECT_NAME_GENID",
    "COBALT_USER_NAME_GENID",
    "MACHINE_PARTITION",
    "EXIT_CODE",
    "QUEUE_GENID",
    "MODE",
    "MACHINE_NAME",
    "RESID",
    "DELETED_BY_GENID",
    "JOBID",
    "PROJECT_NAME_GENID",
]

EAGLE = [
    "job_id",
    "user",
    "account",
    "partition",
    "qos",
    "wallclock_req",
    "nodes_req",
    "processors_req",
    "gpus_req",
    "mem_req",
    "submit_time",
    "start_time",
    "end_time",
    "run_time",
    "state",
    "name",
    "work_dir",
    "submit_line",
]

CHICAGO = ZoneInfo("America/Chicago")


def local(text: str, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=CHICAGO, fold=fold).timestamp()


def newer_row(**changed: object) -> dict[str, object]:
    row: dict[str, object] = {
        "JOB_NAME": "506512.theta-sched.example",
        "COBALT_JOBID": 506512,
        "MACHINE_NAME": "theta",
        "QUEUED_TIMESTAMP": "2022-07-01 10:00:00",
        "START_TIMESTAMP": "2022-07-01 11:00:00",
        "START_DATE_ID": 20220701,
        "END_TIMESTAMP": "2022-07-01 11:30:00",
        "USERNAME_GENID": 111,
        "PROJECT_NAME_GENID": 222,
        "QUEUE_NAME": "default",
        "WALLTIME_SECONDS": "3600.0",
        "RUNTIME_SECONDS": "1800.0",
        "NODES_USED": "128.0",
        "NODES_REQUESTED": "128.0",
        "EXIT_STATUS": 0,
        "EXIT_CODE": 0,
    }
    return row | changed


def csv(columns: list[str], *rows: dict[str, object], quote: bool = False, delimiter: str = ",") -> str:
    def cell(value: object) -> str:
        return f'"{value}"' if quote else str(value)

    lines = [delimiter.join(cell(name) for name in columns)]
    lines += [delimiter.join(cell(row.get(name, 0)) for name in columns) for row in rows]
    return "\n".join(lines) + "\n"


def read_newer(write_file: Write, *rows: dict[str, object], **options: object) -> Trace:
    return read([write_file(csv(NEWER, *rows))], **options)  # type: ignore[arg-type]


def test_the_lists_of_columns_are_those_of_the_public_files() -> None:
    assert (len(NEWER), len(OLDER), len(EAGLE)) == (57, 27, 18)


@pytest.mark.parametrize("extra", [0, 10])
def test_57_and_67_columns_are_read_by_name_in_any_order(write_file: Write, extra: int) -> None:
    columns = [f"NEW_COLUMN_{number}" for number in range(extra)] + NEWER[::-1]
    trace = read([write_file(csv(columns, newer_row()))])
    wanted = {
        "job_id": "506512",
        "submit": local("2022-07-01 10:00:00"),
        "start": local("2022-07-01 11:00:00"),
        "end": local("2022-07-01 11:30:00"),
        "run_time": 1800.0,
        "requested_time": 3600.0,
        "nodes": 128,
        "allocated_nodes": 128,
        "state": "completed",
        "user": "111",
        "account": "222",
        "queue": "default",
    }
    assert {name: trace.column(name)[0] for name in wanted} == wanted
    assert (trace.machine.name, trace.machine.nodes, trace.machine.time_zone) == ("theta", 4392, "America/Chicago")


def test_a_packed_file_with_quotes_and_fractions_of_seconds_is_read(write_file: Write) -> None:
    text = csv(NEWER, newer_row(QUEUED_TIMESTAMP="2022-07-01 10:00:00.250000"), quote=True)
    trace = read([write_file(gzip.compress(text.encode()))])
    assert trace.column("submit")[0] == local("2022-07-01 10:00:00") + 0.25


def test_the_older_form_of_mira_is_read_with_and_without_its_hash(write_file: Write) -> None:
    row = {
        "QUEUED_TIMESTAMP": "2014-12-09 09:00:00.000000",
        "START_TIMESTAMP": "2014-12-31 13:00:00.000000",
        "START_DATE_ID": 20141231,
        "END_TIMESTAMP": "2014-12-31 14:00:00.000000",
        "RUNTIME_SECONDS": "3600.0000",
        "WALLTIME_SECONDS": "7200.0000",
        "REQUESTED_NODES": "1000.0000",
        "USED_NODES": "1024.0000",
        "COBALT_USER_NAME_GENID": 5,
        "COBALT_PROJECT_NAME_GENID": 8,
        "PROJECT_NAME_GENID": 9,
        "EXIT_CODE": 143,
        "QUEUE_GENID": 77,
        "MACHINE_NAME": "mira",
        "JOBID": 378400,
    }
    for mark in ("", "#"):
        trace = read([write_file(mark + csv(OLDER, row, quote=True))])
        assert trace.column("job_id")[0] == "378400"
        assert trace.column("nodes")[0] == 1000
        assert trace.column("allocated_nodes")[0] == 1024
        assert trace.column("state")[0] == "failed"
        assert trace.column("user")[0] == "5"
        assert trace.column("account")[0] == "9"
        assert trace.column("submit")[0] == local("2014-12-09 09:00:00")
        assert trace.machine.nodes == 49152


def test_a_start_with_the_date_id_0_never_was(write_file: Write) -> None:
    bogus = newer_row(START_DATE_ID=0, START_TIMESTAMP="1970-01-01 00:00:00", RUNTIME_SECONDS=0)
    trace = read_newer(write_file, newer_row(), bogus | {"JOB_NAME": "7.theta"})
    assert len(trace) == 1
    assert [problem.kind for problem in trace.summary.problems] == ["never_started"]
    ran = read_newer(write_file, newer_row(START_DATE_ID=0))
    assert np.isnan(ran.column("start")[0])
    assert ran.column("run_time")[0] == 1800


def test_a_run_across_the_end_of_daylight_saving_is_settled_by_its_run_time(write_file: Write) -> None:
    # In Chicago, 6 November 2022 has 01:30 twice, an hour apart.
    trace = read_newer(
        write_file,
        newer_row(
            QUEUED_TIMESTAMP="2022-11-06 00:30:00",
            START_TIMESTAMP="2022-11-06 01:30:00",
            END_TIMESTAMP="2022-11-06 01:40:00",
            RUNTIME_SECONDS=4200,
            WALLTIME_SECONDS=14400,
        ),
        newer_row(
            JOB_NAME="2.x",
            QUEUED_TIMESTAMP="2022-11-06 00:30:00",
            START_TIMESTAMP="2022-11-06 01:30:00",
            END_TIMESTAMP="2022-11-06 03:00:00",
            RUNTIME_SECONDS=5400,
            WALLTIME_SECONDS=14400,
        ),
        newer_row(
            JOB_NAME="3.x",
            QUEUED_TIMESTAMP="2022-11-06 00:30:00",
            START_TIMESTAMP="2022-11-06 00:30:00",
            END_TIMESTAMP="2022-11-06 03:00:00",
            RUNTIME_SECONDS=12600,
            WALLTIME_SECONDS=14400,
        ),
    )
    start, end = trace.column("start"), trace.column("end")
    assert start.tolist() == [
        local("2022-11-06 01:30:00", fold=0),
        local("2022-11-06 01:30:00", fold=1),
        local("2022-11-06 00:30:00"),
    ]
    assert (end - start).tolist() == [4200, 5400, 12600]
    (problem,) = trace.summary.problems
    assert (problem.kind, problem.repaired) == ("clock_change", 2)


def test_submissions_in_the_repeated_hour_stay_in_the_order_of_the_file(write_file: Write) -> None:
    times = ["01:50:00", "01:10:00", "02:10:00"]
    rows = [
        newer_row(
            JOB_NAME=f"{number}.x",
            QUEUED_TIMESTAMP=f"2022-11-06 {time}",
            START_TIMESTAMP="2022-11-06 05:00:00",
            END_TIMESTAMP="2022-11-06 05:30:00",
        )
        for number, time in enumerate(times)
    ]
    trace = read_newer(write_file, *rows)
    assert trace.column("job_id").tolist() == ["0", "1", "2"]
    assert np.diff(trace.column("submit")).tolist() == [20 * 60, 60 * 60]


def test_a_time_that_the_clocks_skipped_is_still_one_time(write_file: Write) -> None:
    row = newer_row(
        QUEUED_TIMESTAMP="2022-03-13 01:00:00",
        START_TIMESTAMP="2022-03-13 02:30:00",
        END_TIMESTAMP="2022-03-13 04:00:00",
        RUNTIME_SECONDS=1800,
    )
    trace = read_newer(write_file, row)
    assert trace.column("end")[0] - trace.column("start")[0] == 1800
    assert trace.summary.problems[0].kind == "clock_change"


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"NODES_REQUESTED": "many"}, "nodes_requested: 'many' is not a number"),
        ({"NODES_REQUESTED": "1.5"}, "nodes_requested: '1.5' is not a whole number"),
        ({"QUEUED_TIMESTAMP": "2022-02-31 10:00:00"}, "queued_timestamp: '2022-02-31 10:00:00' is not a time"),
        ({"RUNTIME_SECONDS": "1 h"}, "runtime_seconds: '1 h' is not a number"),
    ],
)
def test_a_bad_field_drops_its_line_and_is_named(write_file: Write, changed: dict[str, object], what: str) -> None:
    trace = read_newer(write_file, newer_row(), newer_row(JOB_NAME="2.x", **changed))
    (problem,) = trace.summary.problems
    assert (len(trace), problem.kind, problem.dropped) == (1, "malformed_line", 1)
    assert f"trace.swf:3: {what}" in problem.examples[0]


def test_a_wrong_delimiter_is_found_by_the_header(write_file: Write) -> None:
    trace = read([write_file(csv(NEWER, newer_row(), delimiter=";"))])
    assert [problem.kind for problem in trace.summary.problems] == ["wrong_delimiter"]
    with pytest.raises(InputError, match="separated by ';' instead of ','"):
        read([write_file(csv(NEWER, newer_row(), delimiter=";"))], treatments=Treatments(wrong_delimiter="refuse"))


def test_files_joined_with_their_headers_are_read(write_file: Write) -> None:
    text = csv(NEWER, newer_row())
    trace = read([write_file(text + text.replace("506512", "506513"))])
    assert len(trace) == 2
    assert "1 repeated header lines were skipped" in trace.summary.notes[0]


def eagle_row(**changed: object) -> dict[str, object]:
    row: dict[str, object] = {
        "job_id": 42,
        "user": "user1",
        "account": "account1",
        "partition": "standard",
        "wallclock_req": "3600.0",
        "nodes_req": 2,
        "submit_time": "2019-01-01 08:00:00",
        "start_time": "2019-01-01 08:00:01",
        "end_time": "2019-01-01 08:10:01",
        "run_time": "600.0",
        "state": "COMPLETED",
        "name": "name1",
    }
    return row | changed


def test_the_eagle_form_is_read(write_file: Write) -> None:
    trace = read([write_file(csv(EAGLE, eagle_row(name="größe, klein"), quote=True))])
    assert trace.column("submit")[0] == datetime.fromisoformat("2019-01-01T08:00:00Z").timestamp()
    assert trace.column("name")[0] == "größe, klein"
    assert (trace.column("queue")[0], trace.column("state")[0]) == ("standard", "completed")
    mountain = read([write_file(csv(EAGLE, eagle_row()))], time_zone="America/Denver")
    assert mountain.column("submit")[0] - trace.column("submit")[0] == 7 * 3600


def test_jobs_of_eagle_that_never_ran_or_still_run_are_dropped(write_file: Write) -> None:
    rows = [
        eagle_row(),
        eagle_row(job_id=2, state="CANCELLED by 1000", start_time="", end_time="", run_time=0),
        eagle_row(job_id=3, state="RUNNING", end_time="Unknown"),
    ]
    trace = read([write_file(csv(EAGLE, *rows))])
    assert {problem.kind: problem.dropped for problem in trace.summary.problems} == {
        "never_started": 1,
        "not_finished": 1,
    }


def test_a_latin_1_name_is_read_and_counted(write_file: Write) -> None:
    text = csv(EAGLE, eagle_row(), eagle_row(job_id=43, name="größe"))
    trace = read([write_file(text.encode("latin-1"))])
    assert trace.column("name").tolist() == ["name1", "größe"]
    (problem,) = trace.summary.problems
    assert (problem.kind, problem.repaired, problem.examples[0][-20:]) == (
        "stray_encoding",
        1,
        "trace.swf:3: not UTF-8"[-20:],
    )


def test_a_quote_that_does_not_end_drops_its_line_only(write_file: Write) -> None:
    rows = [eagle_row(), eagle_row(job_id=43, name='"open'), eagle_row(job_id=44)]
    trace = read([write_file(csv(EAGLE, *rows))])
    assert trace.column("job_id").tolist() == ["42", "44"]
    assert "a quoted field does not end" in trace.summary.problems[0].examples[0]


def test_an_endless_name_is_cut_and_counted(write_file: Write) -> None:
    trace = read([write_file(csv(EAGLE, eagle_row(name="x" * 5000)))])
    assert trace.column("name")[0] == "x" * 128
    assert [problem.kind for problem in trace.summary.problems] == ["long_text"]
