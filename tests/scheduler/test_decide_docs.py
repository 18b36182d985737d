"""The examples of docs/preemption.md are what the command prints."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from cosim.decision_json import parse
from cosim.preemption import decide
from scheduler.cli.app import main
from scheduler.cli.decide import described

PAGE = Path(__file__).resolve().parents[2] / "docs" / "preemption.md"


def example(name: str) -> str:
    found = re.search(rf"<!-- example: {re.escape(name)} -->\n```\w*\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert found, f"no example {name} in {PAGE.name}"
    return found[1]


def test_the_example_is_answered_as_the_page_shows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "example.json"
    file.write_text(example("example.json"))
    assert main(["decide", str(file)]) == 0
    assert json.loads(capsys.readouterr().out) == json.loads(example("answer"))


def test_the_table_is_what_a_terminal_shows() -> None:
    snapshot, request = parse(example("example.json"), "the page")
    assert described(decide(snapshot, request), snapshot, request) == example("table").rstrip("\n")


def test_the_shared_example_is_decided_by_exact(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "shared.json"
    file.write_text(example("shared.json"))
    assert main(["decide", str(file), "--policy", "exact"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["start"], answer["nodes"], len(answer["victims"])) == (100.0, ["a", "b"], 1)
    assert main(["decide", str(file)]) == 2
