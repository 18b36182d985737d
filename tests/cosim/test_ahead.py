"""The loop as machine code on the disk: the same answers, without Numba, and never from a damaged file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from replays import play_trace

from cosim import ahead, jit
from cosim.kernel import loop
from traces.generator import theta_like

WITHOUT_NUMBA = """
import sys
from cosim.engine import Scenario, rehearse
from cosim.machine import Rules
rehearse(Scenario(Rules(4, {backfill!r}, {priority!r})), on_demand=False)
print("numba" in sys.modules)
"""


def in_a_process(code: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.parametrize(("backfill", "priority"), [("easy", "fcfs"), ("conservative", "wfp"), ("none", "sjf")])
def test_a_replay_without_a_policy_needs_no_numba(backfill: str, priority: str) -> None:
    if jit.FOLDER is None:
        pytest.skip("no folder of this user's own to keep machine code in")
    code = WITHOUT_NUMBA.format(backfill=backfill, priority=priority)
    in_a_process(code)
    assert ahead.is_kept()
    assert in_a_process(code) == "False"


@pytest.mark.parametrize("backfill", ["none", "easy", "conservative"])
@pytest.mark.parametrize("priority", ["fcfs", "wfp"])
def test_it_answers_as_numba_does(backfill: str, priority: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def ends() -> list[float]:
        found: list[float] = (
            play_trace(theta_like(jobs=300, seed=7), backfill=backfill, priority=priority).jobs["finish"].tolist()
        )
        return found

    kept = ends()
    monkeypatch.setattr(ahead, "advance", loop.advance)
    assert ends() == kept


def test_a_damaged_file_is_not_loaded() -> None:
    code = ahead._Code(("a", "b"), b"\x7fELF")
    packed = code.packed()
    assert ahead._unpacked(packed) == code
    assert ahead._unpacked(packed[:-1]) is None
    assert ahead._unpacked(b"") is None
    assert ahead._unpacked(packed[:40] + b"x" + packed[41:]) is None


def test_a_folder_that_cannot_be_written_costs_a_compilation_and_nothing_else(tmp_path: Path) -> None:
    ahead._keep(tmp_path / "absent" / "advance.o", ahead._Code((), b"code"))
    ahead._keep(None, ahead._Code((), b"code"))
    assert list(tmp_path.iterdir()) == []
