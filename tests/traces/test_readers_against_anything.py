"""Whatever the bytes: a trace or one line about what is wrong, and no other error."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_alcf_and_eagle import EAGLE, NEWER, OLDER
from test_sacct_records import HEADER, json_dump, parser_job, plain_job
from trace_lines import SWF_HEADER, swf_line

from traces import InputError, Trace, read, theta_like, write

_SETTINGS = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], deadline=None, max_examples=50
)
_CELL = st.one_of(
    st.sampled_from(
        [
            "",
            "0",
            "-1",
            "1",
            "128.0",
            "1e400",
            "nan",
            "inf",
            "-inf",
            "9" * 30,
            "Unknown",
            "None",
            "UNLIMITED",
            "2-12",
            "2022-01-01 00:00:00",
            "2022-11-06T01:30:00",
            "2022-03-13 02:30:00",
            "0001-01-01 00:00:00",
            "9999-12-31 23:59:59",
            "2022-01-01T00:00:00+25:00",
            "0001-01-01T00:00:00+12:00",
            "99999999999",
            "COMPLETED",
            "CANCELLED by 0",
            '"',
            '"x',
            "a|b",
            "a,b",
            "\x00",
            "\x0c",
            "é",
        ]
    ),
    st.text(max_size=6),
)
_HEADERS = [
    ",".join(NEWER[:20]),
    ",".join(OLDER),
    ",".join(EAGLE),
    HEADER,
    HEADER.replace("Raw", ""),
    "job_id,submit,start,end,run_time,nodes,requested_time,on_demand,state",
]


def check(path: Path) -> None:
    try:
        trace = read([path])
    except InputError as error:
        assert "\n" not in str(error)
    else:
        sane(trace)


def sane(trace: Trace) -> None:
    assert len(trace) >= 1
    assert (trace.column("submit") >= 0).all()
    assert (trace.column("run_time") >= 0).all()
    assert (trace.column("run_time") < float("inf")).all()
    assert (trace.column("nodes") >= 1).all()
    assert (trace.column("requested_time") > 0).all()
    assert len(set(trace.column("job_id").tolist())) == len(trace)
    dropped = sum(problem.dropped for problem in trace.summary.problems if problem.kind != "truncated_archive")
    assert dropped == trace.summary.rows_dropped


@_SETTINGS
@given(st.binary(max_size=300))
def test_any_bytes(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    check(path)


@_SETTINGS
@given(st.text(max_size=200), st.sampled_from([SWF_HEADER, "{", '{"jobs": [', *(header + "\n" for header in _HEADERS)]))
def test_any_text_behind_a_good_start(tmp_path: Path, text: str, start: str) -> None:
    path = tmp_path / "x"
    path.write_bytes((start + text).encode("utf-8", "surrogatepass"))
    check(path)


@_SETTINGS
@given(st.data(), st.sampled_from(_HEADERS))
def test_any_cells_under_a_good_header(tmp_path: Path, data: st.DataObject, header: str) -> None:
    delimiter = "|" if "|" in header else ","
    width = header.count(delimiter) + 1
    rows = data.draw(st.lists(st.lists(_CELL, min_size=width, max_size=width), min_size=1, max_size=4))
    text = "\n".join([header, *(delimiter.join(row) for row in rows)]) + "\n"
    path = tmp_path / "x"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    check(path)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "x", "30", "UNLIMITED", "1e999"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["set", "infinite", "number", "job_id", "current", "type", "x"]), inner, max_size=4
        )
    ),
    max_leaves=8,
)


@_SETTINGS
@given(st.data())
def test_any_values_in_json_records(tmp_path: Path, data: st.DataObject) -> None:
    job = dict(data.draw(st.sampled_from([plain_job(), parser_job()])))
    for name in data.draw(st.lists(st.sampled_from(sorted(job)), max_size=3)):
        job[name] = data.draw(_JSON)
    time = job.get("time")
    if isinstance(time, dict):
        job["time"] = {
            name: data.draw(_JSON) if data.draw(st.integers(0, 5)) == 0 else value for name, value in time.items()
        }
    path = tmp_path / "x"
    path.write_text(json_dump(plain_job(), job))
    check(path)


@_SETTINGS
@given(
    st.sampled_from(["swf", "gz", "parquet", "csv"]),
    st.lists(st.tuples(st.floats(0, 1), st.integers(0, 255)), max_size=4),
    st.floats(0, 1),
)
def test_good_files_with_some_bytes_changed_and_cut_anywhere(
    tmp_path_factory: pytest.TempPathFactory, tmp_path: Path, kind: str, changes: list[tuple[float, int]], end: float
) -> None:
    content = bytearray(_good(tmp_path_factory, kind))
    for place, value in changes:
        content[int(place * (len(content) - 1))] = value
    path = tmp_path / "x"
    path.write_bytes(content[: int(end * len(content)) + 1] if end < 0.9 else content)
    check(path)


_GOOD: dict[str, bytes] = {}


def _good(factory: pytest.TempPathFactory, kind: str) -> bytes:
    if not _GOOD:
        folder = factory.mktemp("good")
        for name in ("swf", "parquet", "csv"):
            write(theta_like(8), folder / f"t.{name}")
            _GOOD[name] = (folder / f"t.{name}").read_bytes()
        _GOOD["gz"] = gzip.compress((SWF_HEADER + swf_line() * 5).encode())
    return _GOOD[kind]
