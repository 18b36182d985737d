"""Slurm's output: recorded on 22.05.8, 24.11.5 and 26.05.5; `record.py` played the same jobs on the later two."""

from __future__ import annotations

from pathlib import Path

import pytest

DATA = Path(__file__).parent / "data"
RECORDED_AT = 1_796_077_549.0


@pytest.fixture
def output():
    """Return a reader of the files in `data/`."""
    return lambda name: (DATA / name).read_bytes()


@pytest.fixture
def at_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Put the clock of the plain shape back to when its output was recorded."""
    monkeypatch.setattr("scheduler.slurm.shape_plain.time.time", lambda: RECORDED_AT)
