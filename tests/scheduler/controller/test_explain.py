"""`tierwise explain`: what it prints for jobs that were looked at, and for those that were not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scheduler.cli.app import application
from scheduler.controller.journal import Journal, Plan
from traces.errors import InputError


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    path = tmp_path / "journal.sqlite"
    written = Journal(path)
    written.begin(Plan(7, 1.0, 2.0, ("n1",), (), "tierwise-7", 99.0, "alice", ""), {8: "spared: it would lose 9"})
    written.close()
    return path


def test_a_job_that_was_looked_at_is_explained(journal: Path) -> None:
    done = CliRunner().invoke(application(), ["explain", "8", "--journal", str(journal)])
    assert done.output.endswith("  spared: it would lose 9\n")


def test_programs_get_a_list(journal: Path) -> None:
    done = CliRunner().invoke(application(), ["explain", "8", "--json", "--journal", str(journal)])
    assert json.loads(done.output) == [{"job": 8, "made": 1.0, "text": "spared: it would lose 9"}]
    done = CliRunner().invoke(application(), ["explain", "9", "--json", "--journal", str(journal)])
    assert json.loads(done.output) == []


def test_a_job_nobody_looked_at_gets_one_line(journal: Path) -> None:
    done = CliRunner().invoke(application(), ["explain", "9", "--journal", str(journal)])
    assert isinstance(done.exception, InputError)
    assert str(done.exception) == f"job 9: no decision in {journal} looked at it"


def test_a_file_that_is_no_journal_gets_one_line(tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_text("no database, but long enough to look like one of another kind\n" * 30)
    done = CliRunner().invoke(application(), ["explain", "9", "--journal", str(path)])
    assert isinstance(done.exception, InputError)
    assert "file is not a database" in str(done.exception)
