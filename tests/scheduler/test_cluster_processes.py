"""Processes are told apart from all others, and ended for certain."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from scheduler.cluster import processes, record
from scheduler.cluster.processes import Identity
from scheduler.cluster.record import Daemon, Record
from traces.errors import InputError


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    child = subprocess.Popen(["sleep", "60"])
    yield child
    child.kill()
    child.wait()


def known(child: subprocess.Popen[bytes]) -> Identity:
    found = processes.identity(child.pid)
    assert found is not None
    return found


def test_another_process_with_the_same_id_is_not_taken_for_it(sleeper: subprocess.Popen[bytes]) -> None:
    found = known(sleeper)
    assert processes.alive(found)
    for other in (replace(found, started=found.started - 1), replace(found, boot="another")):
        assert not processes.alive(other)
        assert processes.end([other], grace=0.1) == []
    assert sleeper.poll() is None


def test_a_zombie_has_ended(sleeper: subprocess.Popen[bytes]) -> None:
    found = known(sleeper)
    assert processes.end([found], grace=5.0) == []
    assert processes.identity(sleeper.pid) is None  # though nobody has asked for its status
    assert sleeper.wait() == -signal.SIGTERM


def test_a_process_that_does_not_listen_is_killed() -> None:
    child = subprocess.Popen(["sh", "-c", "trap '' TERM; echo; while :; do sleep 0.1; done"], stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    began = time.monotonic()
    assert processes.end([known(child)], grace=0.3) == []
    assert 0.3 <= time.monotonic() - began < 3
    assert child.wait() == -signal.SIGKILL
    child.stdout.close()


def test_a_name_with_blanks_and_parentheses_does_not_mislead(tmp_path: Path) -> None:
    program = tmp_path / "a) R 1 (b"
    shutil.copy("/bin/sleep", program)
    child = subprocess.Popen([program, "60"])
    try:
        assert processes.parent(child.pid) == os.getpid()
        assert known(child).started > 1
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize(
    ("program", "place", "ours"),
    [
        ("slurmd", "c", True),
        ("slurmd-wlm", "c", True),
        ("slurmdfoo", "c", False),
        ("sleep", "c", False),
        ("slurmd", "c2", False),
    ],
)
def test_a_daemon_is_known_by_its_program_and_a_file_it_holds_open(
    tmp_path: Path, program: str, place: str, ours: bool
) -> None:
    (tmp_path / "c").mkdir()
    (tmp_path / "c2").mkdir()
    shutil.copy("/bin/sleep", tmp_path / program)
    with (tmp_path / place / "log").open("wb") as log:
        child = subprocess.Popen([tmp_path / program, "60"], stdout=log)
    try:
        assert (known(child) in processes.daemons_of(tmp_path / "c")) is ours
    finally:
        child.kill()
        child.wait()


@pytest.mark.parametrize(
    ("variables", "ours"),
    [
        ({"SLURM_CONF": "c/slurm.conf", "SLURM_JOB_ID": "1", "SLURMD_NODENAME": "n1"}, True),
        ({"SLURM_CONF": "c/slurm.conf", "SLURM_JOB_ID": "1"}, False),
        ({"SLURM_CONF": "c2/slurm.conf", "SLURM_JOB_ID": "1", "SLURMD_NODENAME": "n1"}, False),
    ],
)
def test_a_process_that_left_its_step_is_known_by_its_environment(
    tmp_path: Path, variables: dict[str, str], ours: bool
) -> None:
    given = {**variables, "SLURM_CONF": str(tmp_path / variables["SLURM_CONF"])}
    child = subprocess.Popen(["sh", "-c", "sleep 60 & echo; wait"], env={**os.environ, **given}, stdout=subprocess.PIPE)
    assert child.stdout is not None
    child.stdout.readline()
    try:
        found = processes.steps_of(tmp_path / "c")
        assert len(found) == (2 if ours else 0)
        assert (known(child) in found) is ours
    finally:
        processes.end([*processes.steps_of(tmp_path / "c"), *processes.steps_of(tmp_path / "c2")], grace=1.0)
        child.kill()
        child.wait()
        child.stdout.close()


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert record.read(tmp_path) is None
    daemon = Daemon("n1", ("/usr/sbin/slurmd", "-N", "n1"), Identity(5, 77, "boot"), 10001)
    written = Record(str(tmp_path), "24.11.05", 1, accounting=False, daemons=(Daemon("munged", ("munged",)), daemon))
    record.write(written)
    assert record.read(tmp_path) == written
    assert written.with_daemon(replace(daemon, port=2)).daemon("n1").port == 2
    with pytest.raises(InputError, match="has no daemon 'n7', expected one of munged, n1"):
        written.daemon("n7")


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": 2}', '{"format": 1}', "null", '{"format": 1, "x": 1}'])
def test_a_record_of_something_else_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / record.FILE).write_text(text)
    with pytest.raises(InputError, match="is no record of a cluster that this release can read"):
        record.read(tmp_path)
