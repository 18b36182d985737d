from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from trace_lines import SWF_HEADER, swf_line

from traces import SCHEMA, InputError, Machine, Trace, read, theta_like, write
from traces.writing import atomic

Write = Callable[..., Path]

_COUNT = st.integers(1, 10**6)
_UNKNOWN_OR = st.one_of(st.just(-1), st.integers(0, 10**6))
_FIELDS = st.tuples(
    st.integers(0, 10**9),  # submit
    _UNKNOWN_OR,  # wait
    st.integers(0, 10**6),  # run time
    _COUNT,  # allocated processors
    st.one_of(_UNKNOWN_OR, st.floats(0, 1e6).map(lambda value: round(value, 3))),  # average CPU time
    _UNKNOWN_OR,  # used memory
    st.one_of(st.just(-1), _COUNT),  # requested processors
    st.one_of(st.just(-1), _COUNT),  # requested time
    _UNKNOWN_OR,  # requested memory
    st.sampled_from([-1, 0, 1]),  # status
    _UNKNOWN_OR,  # user
    _UNKNOWN_OR,  # group
    _UNKNOWN_OR,  # application
    _UNKNOWN_OR,  # queue
    _UNKNOWN_OR,  # partition
    _UNKNOWN_OR,  # preceding job
    _UNKNOWN_OR,  # think time
)


def same(one: Trace, other: Trace) -> bool:
    return all(
        np.array_equal(one.column(column.name), other.column(column.name), equal_nan=column.dtype == "float64")
        for column in SCHEMA
    )


def rows_of(path: Path) -> list[list[float]]:
    lines = [line for line in path.read_text().splitlines() if not line.startswith(";")]
    return [[float(part) for part in line.split()] for line in lines]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(rows=st.lists(_FIELDS, min_size=1, max_size=6), origin=st.sampled_from([0, 1_000_000_000]))
def test_all_eighteen_fields_survive_swf_to_table_to_swf(
    tmp_path: Path, rows: list[tuple[float, ...]], origin: int
) -> None:
    rows = sorted(rows, key=lambda row: row[0])
    source, target = tmp_path / "in.swf", tmp_path / "out.swf"
    lines = [f"{number} " + " ".join(map(str, row)) for number, row in enumerate(rows, start=1)]
    source.write_text(f"; UnixStartTime: {origin}\n" + "\n".join(lines) + "\n")
    first = read([source])
    write(first, target)
    assert rows_of(target) == rows_of(source)
    assert same(first, read([target]))


@pytest.mark.parametrize("name", ["t.swf", "t.swf.gz", "t.parquet", "t.csv", "t.csv.gz"])
def test_a_trace_comes_back_from_every_format(tmp_path: Path, name: str) -> None:
    trace = theta_like(200, on_demand_share=0)
    lost = write(trace, tmp_path / name)
    back = read([tmp_path / name])
    unchanged = [column.name for column in SCHEMA if column.name not in lost]
    if ".swf" in name:
        assert lost == ["account"]
        unchanged = [field for field in unchanged if field not in ("status", "state", "user", "requested_nodes")]
    else:
        assert lost == []
    for field in unchanged:
        equal_nan = trace.column(field).dtype.kind == "f"
        assert np.array_equal(trace.column(field), back.column(field), equal_nan=equal_nan), field


def test_parquet_keeps_machine_and_units(tmp_path: Path) -> None:
    trace = theta_like(20)
    machine = Machine("M", 5000, 7.0, "Europe/Berlin", ((1, "a"),), ((2, "b"),))
    trace = Trace(trace.columns, machine)
    path = tmp_path / "t.parquet"
    write(trace, path)
    back = read([path])
    assert back.machine == machine
    assert same(trace, back)
    schema = pq.read_schema(path)
    assert schema.field("used_memory").metadata[b"unit"] == b"bytes"


def test_parquet_of_another_program_is_read_by_its_columns(tmp_path: Path) -> None:
    path = tmp_path / "foreign.parquet"
    table = pa.table({"submit": [1.0, None], "start": [3.0, 4.0], "run_time": [5, 6], "nodes": [1, 2], "x": ["a", "b"]})
    pq.write_table(table, path)
    trace = read([path])
    assert trace.column("submit").tolist() == [1.0, 4.0]
    assert trace.column("job_id").tolist() == ["1", "2"]


@pytest.mark.parametrize("cut", [4, 100, 3000])
def test_damaged_parquet_is_refused(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "t.parquet"
    write(theta_like(20), path)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(InputError, match="damaged Parquet"):
        read([path])


def test_parquet_with_foreign_metadata_or_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(InputError, match="has no column submit"):
        read([path])
    table = pa.table({"submit": [1], "run_time": [1], "nodes": [1]})
    pq.write_table(table.replace_schema_metadata({"tierwise": "{}"}), path)
    with pytest.raises(InputError, match="metadata"):
        read([path])
    pq.write_table(pa.table({"submit": [[1]], "run_time": [1], "nodes": [1]}), path)
    with pytest.raises(InputError, match="submit"):
        read([path])


def test_names_get_numbers_in_swf_and_the_header_says_which(tmp_path: Path, write_file: Write) -> None:
    text = "job_id,submit,run_time,nodes,queue,user,preceding_job\na,0,5,1,long,ann,\nb,1,5,1,7,bob,a\nc,2,5,1,,,zz\n"
    path = tmp_path / "t.swf"
    write(read([write_file(text)]), path)
    assert "; Queue: 8 long" in path.read_text()
    assert "replaced by 1, 2" in path.read_text()
    back = read([path])
    assert back.column("queue").tolist() == ["long", "7", ""]
    assert back.column("preceding_job").tolist() == ["", "1", ""]
    assert len(set(back.column("user"))) == 3


def test_times_of_other_formats_become_relative_to_the_first_in_swf(tmp_path: Path, write_file: Write) -> None:
    text = "job_id,submit,run_time,nodes\n1,1600000000.5,5,1\n2,1600000010,5,1\n"
    path = tmp_path / "t.swf"
    trace = read([write_file(text)])
    write(trace, path)
    assert "; UnixStartTime: 1600000000" in path.read_text()
    assert [row[1] for row in rows_of(path)] == [0.5, 10]
    assert np.array_equal(read([path]).column("submit"), trace.column("submit"))


@pytest.mark.parametrize("name", ["t", "t.txt", "t.gz", "t.parquet.gz", "absent/t.swf"])
def test_a_name_that_cannot_be_written_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"accepted are \.swf|no directory"):
        write(theta_like(2), tmp_path / name)


def test_a_directory_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t.swf").mkdir()
    with pytest.raises(InputError, match="is a directory"):
        write(theta_like(2), tmp_path / "t.swf")


@pytest.mark.parametrize("error", [KeyboardInterrupt, InputError, MemoryError])
def test_an_interrupt_leaves_the_old_file_and_nothing_else(tmp_path: Path, error: type[BaseException]) -> None:
    path = tmp_path / "t.swf"
    path.write_text("old")
    with pytest.raises(error), atomic(path) as stream:
        stream.write(b"half")
        raise error
    assert [file.name for file in tmp_path.iterdir()] == ["t.swf"]
    assert path.read_text() == "old"


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No space left"), atomic(tmp_path / "t.swf"):
        raise OSError(28, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_a_result_is_as_readable_as_any_new_file(tmp_path: Path) -> None:
    write(theta_like(2), tmp_path / "t.swf")
    (tmp_path / "other").touch()
    assert (tmp_path / "t.swf").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_the_same_trace_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("t.swf", "t.swf.gz", "t.parquet", "t.csv.gz"):
        write(theta_like(100, seed=3), tmp_path / name)
        once = (tmp_path / name).read_bytes()
        write(theta_like(100, seed=3), tmp_path / name)
        assert (tmp_path / name).read_bytes() == once


def test_a_written_swf_is_clean(tmp_path: Path, write_file: Write) -> None:
    path = tmp_path / "t.swf"
    write(read([write_file(SWF_HEADER + swf_line(9, run=5000) + swf_line(3))]), path)
    assert [row[0] for row in rows_of(path)] == [9, 3]
    assert all(len(row) == 18 for row in rows_of(path))
