"""The accounting as a trace, with a sacct that is none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from scheduler.cli.snapshot import trace_import
from scheduler.slurm.history import history
from scheduler.slurm.seam import SlurmError
from traces import read
from traces.errors import InputError
from traces.sacct import FORMAT

ROWS = f"""{FORMAT.replace(",", "|")}
101|it's; "a" | b|alice|physics|main|1700000000|1700000010|1700000110|100|2|10|COMPLETED
102|b|bob|chem|main|1700000005|1700000200|1700000260|60|4|UNLIMITED|CANCELLED by 1001
103|c|bob|chem|main|1700000006|Unknown|Unknown|0|1|10|PENDING
"""


@pytest.fixture
def sacct(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}/usr/bin{os.pathsep}/bin")

    def make(text: str, status: int = 0) -> Path:
        (tmp_path / "rows").write_text(text)
        for name, script in (
            ("sacct", f'printf "%s\\n" "$@" "$SLURM_TIME_FORMAT" >{tmp_path}/said; cat {tmp_path}/rows; exit {status}'),
            ("scontrol", "exit 0"),
        ):
            (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
            (tmp_path / name).chmod(0o755)
        return tmp_path / "said"

    return make


def test_all_jobs_of_all_users_are_asked_for_in_posix_time(sacct):
    said = sacct(ROWS)
    trace = history("2024-01-01", "now")
    *arguments, times = said.read_text().splitlines()
    assert arguments == [
        *("--allusers", "--allocations", "--parsable2", f"--format={FORMAT}"),
        *("--starttime=2024-01-01", "--endtime=now"),
    ]
    assert times == "%s"
    assert list(trace.column("job_id")) == ["101", "102"]
    assert list(trace.column("start") - trace.column("submit")) == [10.0, 195.0]


@pytest.mark.parametrize("value", ["", "-S", "--version", "a b", "2024;id", "$(id)", "x" * 60])
def test_a_time_is_no_option(sacct, value):
    sacct(ROWS)
    with pytest.raises(InputError, match="is no time"):
        history(value)


def test_an_empty_window_is_said(sacct):
    sacct(ROWS.splitlines()[0] + "\n")
    with pytest.raises(InputError, match="the accounting has no jobs from 2024-01-01 to now"):
        history("2024-01-01")


def test_a_cluster_without_accounting_is_one_line(sacct):
    sacct("", 1)
    with pytest.raises(SlurmError, match="read the accounting: sacct exited with 1"):
        history("2024-01-01")


def test_import_writes_a_trace(sacct, tmp_path, capsys):
    sacct(ROWS)
    trace_import(tmp_path / "out.parquet", start="2024-01-01", nodes=8, treat=[], as_json=True)
    assert '"jobs": 2' in capsys.readouterr().out
    assert len(read([tmp_path / "out.parquet"])) == 2


def test_import_from_elsewhere_is_an_error(tmp_path):
    with pytest.raises(InputError, match="--from 'slurmdbd' is not known"):
        trace_import(tmp_path / "out.parquet", source="slurmdbd")
