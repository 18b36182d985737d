from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trace_lines import SWF_HEADER, swf_line

from traces import InputError, Treatments, read
from traces.raw import Tally
from traces.sources import Block
from traces.swf_block import parse_clean
from traces.swf_lines import parse_lines

Write = Callable[..., Path]


def test_all_eighteen_fields_are_kept(write_file: Write) -> None:
    path = write_file("; UnixStartTime: 1000000000\n5 20 3 40 8 1.5 2048 16 60 4096 1 7 3 9 2 4 1 33\n")
    trace = read([path])
    wanted = {
        "job_id": "5",
        "submit": 1000000020.0,
        "start": 1000000023.0,
        "end": 1000000063.0,
        "run_time": 40.0,
        "allocated_nodes": 8,
        "average_cpu_time": 1.5,
        "used_memory": 2048 * 1024.0,
        "nodes": 16,
        "requested_nodes": 16,
        "requested_time": 60.0,
        "requested_memory": 4096 * 1024.0,
        "status": 1,
        "state": "completed",
        "user": "7",
        "group": "3",
        "executable": "9",
        "queue": "2",
        "partition": "4",
        "preceding_job": "1",
        "think_time": 33.0,
    }
    assert {name: trace.column(name)[0] for name in wanted} == wanted


def test_unknown_fields_are_unknown_and_not_minus_one(write_file: Write) -> None:
    trace = read([write_file("1 0 -1 10 4 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1 -1\n")])
    assert np.isnan(trace.column("start")[0])
    assert trace.column("requested_time")[0] == np.inf
    assert trace.column("nodes")[0] == 4  # the allocated ones, where no others are known
    assert [trace.column(name)[0] for name in ("user", "queue", "preceding_job")] == ["", "", ""]
    assert trace.column("state")[0] == "unknown"


def test_the_header_names_machine_queues_and_partitions(write_file: Write) -> None:
    header = (
        "; Computer: Test\n;MaxNodes: 50 (two of them broken)\n;  MaxProcs: 100\n; UnixStartTime: none\n"
        "; TimeZoneString: Europe/Berlin\n; Queue: 2 batch\n; Partition: 1 - big\n; Note: 5 fish\n"
    )
    trace = read([write_file(header + swf_line())])
    assert (trace.machine.name, trace.machine.nodes, trace.machine.time_zone) == ("Test", 100, "Europe/Berlin")
    assert trace.machine.queues == ((2, "batch"),)
    assert trace.machine.partitions == ((1, "big"),)
    assert trace.column("queue")[0] == "batch"
    assert any("unixstarttime" in note for note in trace.summary.notes)


def test_processors_become_whole_nodes(write_file: Write) -> None:
    header = "; MaxNodes: 25\n; MaxProcs: 100\n"
    trace = read([write_file(header + swf_line(requested=5))], processors_per_node=4)
    assert trace.column("nodes")[0] == 2
    assert trace.machine.nodes == 25


@pytest.mark.parametrize("packing", ["plain", "gz", "xz", "bz2", "zip"])
def test_the_packing_is_found_by_content_whatever_the_name(write_file: Write, packing: str) -> None:
    text = (SWF_HEADER + swf_line()).encode()
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("folder/trace.txt", text)
    packed = {
        "plain": text,
        "gz": gzip.compress(text),
        "xz": lzma.compress(text),
        "bz2": bz2.compress(text),
        "zip": archive.getvalue(),
    }
    assert len(read([write_file(packed[packing], "name.dat")])) == 1


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_ends_of_every_system_are_read(write_file: Write, ending: str) -> None:
    text = (SWF_HEADER + swf_line(1) + swf_line(2)).replace("\n", ending)
    assert len(read([write_file(text)])) == 2


def test_a_last_line_without_its_end_is_read_when_it_is_whole(write_file: Write) -> None:
    trace = read([write_file(swf_line(1) + swf_line(2).rstrip("\n"))])
    assert len(trace) == 2
    assert trace.summary.problems == ()


def test_a_last_line_that_breaks_off_is_dropped_and_counted(write_file: Write) -> None:
    trace = read([write_file(swf_line(1) + "2 5 10 100 4 -1")])
    (problem,) = trace.summary.problems
    assert (problem.kind, problem.dropped) == ("truncated_line", 1)
    assert "trace.swf:2: 6 fields instead of 18" in problem.examples[0]
    assert (trace.summary.rows_read, trace.summary.rows_kept) == (2, 1)


def test_comments_among_the_jobs_are_skipped(write_file: Write) -> None:
    trace = read([write_file(swf_line(1) + "; a remark\n\n" + swf_line(2))])
    assert len(trace) == 2


def test_fields_separated_by_commas_are_repaired_and_counted(write_file: Write) -> None:
    trace = read([write_file(swf_line(1) + swf_line(2).replace(" ", ","))])
    (problem,) = trace.summary.problems
    assert (len(trace), problem.kind, problem.repaired) == (2, "wrong_delimiter", 1)


@pytest.mark.parametrize(
    ("field", "text"),
    [(1, "1.5"), (3, "ten"), (3, "1-2"), (3, "--5"), (3, "-"), (3, "."), (3, "1.2.3"), (3, "nan"), (3, "1_0")],
)
def test_a_field_that_is_no_number_drops_its_line_and_is_named(write_file: Write, field: int, text: str) -> None:
    parts = swf_line(2).split()
    parts[field - 1] = text
    trace = read([write_file(swf_line(1) + " ".join(parts) + "\n")])
    (problem,) = trace.summary.problems
    assert (problem.kind, problem.dropped) == ("malformed_line", 1)
    assert f"trace.swf:2: field {field}: {text!r}" in problem.examples[0]


def test_a_number_too_large_to_be_exact_drops_its_line(write_file: Write) -> None:
    trace = read([write_file(swf_line(1) + swf_line(2, run=10**30))])
    assert trace.summary.problems[0].kind == "malformed_line"


def test_bursts_of_a_job_whose_whole_run_has_a_line_are_dropped(write_file: Write) -> None:
    lines = swf_line(1, run=50) + swf_line(1, run=20, status=2) + swf_line(1, run=30, status=3) + swf_line(2, status=3)
    trace = read([write_file(lines)])
    assert trace.column("job_id").tolist() == ["1", "2"]
    assert {problem.kind: problem.dropped for problem in trace.summary.problems} == {"partial_execution": 2}


def test_a_refused_problem_stops_with_one_line_that_says_what_to_do(write_file: Write) -> None:
    path = write_file(swf_line(1) + "1 2 3\n")
    with pytest.raises(InputError, match=r"trace.swf:2: .*malformed_line=drop"):
        read([path], treatments=Treatments(malformed_line="refuse"))


_TOKENS = st.sampled_from(
    ["0", "-1", "7", "1.5", "-", ".", "-.5", "1-2", "x", "12345678901234567890", "9" * 400, "1e5", "+3", "007", "-0"]
)
_LINES = st.lists(
    st.tuples(
        st.lists(_TOKENS, min_size=17, max_size=19),
        st.sampled_from([" ", "\t", "  "]),
        st.sampled_from(["\n", "\r\n", " \n", "\n\n"]),
    ),
    min_size=1,
    max_size=4,
)


@given(_LINES, st.booleans())
def test_the_quick_path_accepts_nothing_that_the_careful_one_treats_otherwise(
    lines: list[tuple[list[str], str, str]], cut: bool
) -> None:
    data = "".join(blank.join(tokens) + end for tokens, blank, end in lines).encode()
    block = Block(3, data.rstrip() if cut else data, complete=not cut)
    quick = parse_clean(block)
    if quick is not None:
        tally = Tally(Treatments())
        numbers, line, _, rows = parse_lines(block, "x", tally)
        assert tally.problems() == ()
        assert np.array_equal(quick[0], numbers)
        assert np.array_equal(quick[1], line)
        assert rows == len(line)


@given(st.lists(st.lists(st.integers(-(2**53), 2**53), min_size=18, max_size=18), min_size=1, max_size=5))
def test_the_quick_path_takes_every_clean_block(rows: list[list[int]]) -> None:
    data = "".join(" ".join(map(str, row)) + "\n" for row in rows).encode()
    quick = parse_clean(Block(1, data))
    assert quick is not None
    assert quick[0].tolist() == rows
