"""`tierwise explain`: what it prints for jobs that were looked at, and for those that were not."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from typer.testing import CliRunner

from scheduler.cli.app import application
from scheduler.controller.journal import CLOSED, Explanation, Journal, Plan, read_explanations
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
    assert "  spared: it would lose 9; the plan for job 7 is in state reserve since " in done.output


def test_programs_get_a_list(journal: Path) -> None:
    done = CliRunner().invoke(application(), ["explain", "8", "--json", "--journal", str(journal)])
    (found,) = json.loads(done.output)
    assert found.pop("changed") > 1.0
    assert found == {"job": 8, "made": 1.0, "text": "spared: it would lose 9", "plan": 7, "state": "reserve"}
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


def test_while_a_controller_has_it_open_what_came_of_the_plan_is_said_and_nothing_is_written(journal: Path) -> None:
    writing = Journal(journal)
    (plan,) = writing.open_plans()
    writing.move(plan, CLOSED)
    before = journal.read_bytes()
    done = CliRunner().invoke(application(), ["explain", "8", "--json", "--journal", str(journal)])
    assert json.loads(done.output)[0]["state"] == "closed"
    assert journal.read_bytes() == before
    writing.close()


def test_a_journal_from_before_plans_were_named_is_taken_on(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    with closing(sqlite3.connect(path)) as old:
        old.execute("CREATE TABLE explanations (job INTEGER NOT NULL, made REAL NOT NULL, text TEXT NOT NULL)")
        old.execute("INSERT INTO explanations VALUES (8, 1.0, 'spared')")
        old.commit()
    Journal(path).close()
    assert read_explanations(path, 8) == (Explanation(1.0, "spared", None, None, None),)
