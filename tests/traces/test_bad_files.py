from __future__ import annotations

import gzip
import io
import os
import time
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from trace_lines import SWF_HEADER, swf_line

from traces import InputError, Treatments, read
from traces.sources import LONGEST_LINE

Write = Callable[..., Path]


def refusal(*paths: Path | str, **options: object) -> str:
    with pytest.raises(InputError) as caught:
        read(list(paths), **options)  # type: ignore[arg-type]
    message = str(caught.value)
    assert "\n" not in message
    assert len(message) < 1200
    return message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert "no such file" in refusal(tmp_path / "absent.swf")


def test_a_directory(tmp_path: Path) -> None:
    assert "is a directory" in refusal(tmp_path)


def test_a_name_with_a_nul() -> None:
    assert "cannot be opened" in refusal("a\0b")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file; run the tests as an ordinary user")
def test_a_file_without_permission(write_file: Write) -> None:
    path = write_file(swf_line())
    path.chmod(0)
    assert "read permission" in refusal(path)


def test_a_file_without_permission_as_the_system_reports_it(write_file: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = write_file(swf_line())
    monkeypatch.setattr(Path, "open", denied)
    assert "read permission" in refusal(path)


@pytest.mark.parametrize("content", [b"", b"\n\n  \n", b"\xef\xbb\xbf"])
def test_an_empty_file(write_file: Write, content: bytes) -> None:
    message = refusal(write_file(content))
    assert "a trace has at least one job" in message


def test_a_file_with_header_comments_only(write_file: Write) -> None:
    assert "holds no job" in refusal(write_file(SWF_HEADER))


@pytest.mark.parametrize("content", [b"\x7fELF\x02\x01\x01\0\0\0", bytes(range(256)) * 300])
def test_a_binary_file(write_file: Write, content: bytes) -> None:
    assert "is a binary file; expected a job trace" in refusal(write_file(content))


def test_text_that_is_no_trace_lists_the_known_formats(write_file: Write) -> None:
    message = refusal(write_file("Dear reader,\nthis is a letter.\n"))
    assert "trace.swf:1" in message
    assert "Standard Workload Format" in message
    assert "sacct --json" in message


def test_sacct_output_without_its_header_says_which_flag_does_that(write_file: Write) -> None:
    assert "--noheader" in refusal(write_file("12|batch|2024-01-01T00:00:00|COMPLETED\n"))


def test_a_truncated_gz_is_refused(write_file: Write) -> None:
    whole = gzip.compress((swf_line() * 5000).encode())
    assert "end before their end mark" in refusal(write_file(whole[:-20]))


def test_the_complete_lines_of_a_truncated_gz_can_be_had(write_file: Write) -> None:
    text = "".join(swf_line(number, submit=number * 37 % 1000 + number) for number in range(1, 5001))
    whole = gzip.compress(text.encode())
    path = write_file(whole[: len(whole) // 2])
    trace = read([path], treatments=Treatments(truncated_archive="drop"))
    assert 1000 < len(trace) < 5000
    kinds = {problem.kind for problem in trace.summary.problems}
    assert "truncated_archive" in kinds


def test_a_damaged_gz(write_file: Write) -> None:
    whole = bytearray(gzip.compress((SWF_HEADER + swf_line() * 100).encode()))
    whole[30] ^= 0xFF
    refusal(write_file(bytes(whole)))


def test_a_truncated_zip(write_file: Write) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("trace.swf", swf_line() * 1000)
    assert "damaged" in refusal(write_file(archive.getvalue()[:-30]))


def test_a_zip_of_several_files(write_file: Write) -> None:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("a.swf", swf_line())
        file.writestr("b.swf", swf_line())
    assert "holds 2 files (a.swf, b.swf)" in refusal(write_file(archive.getvalue()))


def test_a_foreign_packing_says_how_to_unpack_it(write_file: Write) -> None:
    assert "unzstd" in refusal(write_file(b"\x28\xb5\x2f\xfd" + b"x" * 50))


@pytest.mark.parametrize("letter", [b"1", b" ", b"x", b"\t", b"{", b'"'])
def test_an_endless_line_is_refused_quickly_and_in_little_memory(tmp_path: Path, letter: bytes) -> None:
    # Packed, the 50 MB of it are 50 kB; the two gigabytes of the real thing only take longer to make.
    path = tmp_path / "long.swf"
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(50):
            file.write(letter * 1_000_000)
    tracemalloc.start()
    begun = time.perf_counter()
    try:
        refusal(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 150_000_000
    assert time.perf_counter() - begun < 10


@pytest.mark.parametrize("header", [SWF_HEADER + swf_line(), "jobid|submit|nnodes|elapsedraw|state\n"])
def test_an_endless_line_after_good_ones_is_named(write_file: Write, header: str) -> None:
    path = write_file(header + "9" * (3 * LONGEST_LINE) + "\n")
    message = refusal(path)
    assert f"trace.swf:{header.count(chr(10)) + 1}: the line is longer than 1 MiB" in message


def test_a_sparse_file_of_two_gigabytes_is_refused_at_once(tmp_path: Path) -> None:
    path = tmp_path / "sparse.swf"
    with path.open("wb") as file:
        file.truncate(2 << 30)
    begun = time.perf_counter()
    assert "binary" in refusal(path)
    assert time.perf_counter() - begun < 2


def test_byte_order_marks_are_repaired_and_counted(write_file: Write) -> None:
    text = SWF_HEADER + swf_line()
    for content in (text.encode("utf-8-sig"), text.encode("utf-16")):
        trace = read([write_file(content)])
        assert [problem.kind for problem in trace.summary.problems] == ["byte_order_mark"]


def test_what_only_starts_like_utf_16_is_refused(write_file: Write) -> None:
    assert "UTF-16" in refusal(write_file(b"\xff\xfe" + b"\x00\xd8" * 50))


def test_no_file_at_all() -> None:
    assert "no trace file named" in refusal()


def test_absolute_and_relative_times_do_not_join(write_file: Write) -> None:
    relative = write_file(swf_line(), "relative.swf")
    absolute = write_file(swf_line(submit=1_600_000_000), "absolute.swf")
    assert "cannot be joined" in refusal(relative, absolute)


@pytest.mark.parametrize("options", [{"nodes": 0}, {"processors_per_node": 0}, {"time_zone": "Mars/Olympus"}])
def test_options_out_of_range(write_file: Write, options: dict[str, object]) -> None:
    path = write_file("jobid|submit|nnodes|elapsedraw|state\n1|2024-01-01T00:00:00|1|5|COMPLETED\n")
    refusal(path, **options)
