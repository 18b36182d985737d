"""The agent as a process on the running kernel: what it moves, what it leaves, and what is left when it dies."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from memory_tiers.agent.server import ask
from memory_tiers.kernel import RealKernel
from tests.kernel.conftest import MIB, Holder

pytestmark = pytest.mark.kernel

PATIENCE = 60.0
JOB = 987_654_321
"""No other job of this machine has this number."""
TIERWISE = str(Path(sys.executable).with_name("tierwise"))


class Live:
    """A running agent, and a way to talk to it."""

    def __init__(self, socket: Path, *options: str) -> None:
        self.socket, self._options = socket, options
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            [TIERWISE, "agent", "--socket", str(self.socket), *self._options], stderr=subprocess.PIPE, text=True
        )
        until(self.answers)

    def answers(self) -> bool:
        try:
            return bool(self.say(op="status")["ok"])
        except OSError:
            return False

    def say(self, **fields: Any) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(ask(self.socket, json.dumps({"version": 1} | fields).encode(), PATIENCE))
        return answer

    def end(self, number: int = signal.SIGTERM) -> str:
        self.process.send_signal(number)
        _, log = self.process.communicate(timeout=PATIENCE)
        return log


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.05)


@pytest.fixture
def agent(kernel: RealKernel, tmp_path: Path) -> Iterator[Live]:
    live = Live(tmp_path / "agent.sock", "--near", "20M")
    yield live
    if live.process.poll() is None:
        live.end()


def far(kernel: RealKernel, holder: Holder) -> int:
    return int(kernel.residency(holder.process, holder.mapping.start, holder.mapping.end, MIB).swapped.sum()) * 4096


def capacity(holder: Holder, **more: Any) -> dict[str, Any]:
    record = {"tier_class": "capacity"}
    return {"op": "register", "job": JOB, "uid": os.getuid(), "pid": holder.process.pid, "record": record} | more


def in_group(holder: Holder, group: Path) -> None:
    (group / "cgroup.procs").write_text(str(holder.process.pid))


def test_a_capacity_job_is_brought_down_to_its_share_and_keeps_its_memory(
    kernel: RealKernel, far_tier: str, holder: Holder, agent: Live
) -> None:
    before = holder.checksum()
    assert agent.say(**capacity(holder)) == {"ok": True}
    until(lambda: far(kernel, holder) > 10 * MIB)
    assert holder.checksum() == before
    (job,) = agent.say(op="status")["jobs"]
    assert job["class"] == "capacity"
    assert job["processes"] == [holder.process.pid]
    assert job["moved_out"] >= 10 * MIB
    assert agent.say(op="deregister", job=JOB) == {"ok": True}
    assert agent.say(op="status")["jobs"] == []


def test_a_latency_job_is_left_alone(kernel: RealKernel, far_tier: str, holder: Holder, agent: Live) -> None:
    record = {"tier_class": "latency", "tier_dram": 20 * MIB, "tier_far": 0}
    agent.say(**capacity(holder, record=record))
    time.sleep(1.5)
    assert far(kernel, holder) == 0


def test_a_latency_job_gets_huge_pages_and_keeps_its_memory(kernel: RealKernel, holder: Holder, tmp_path: Path) -> None:
    before = holder.checksum()
    live = Live(tmp_path / "agent.sock", "--near", "400M")
    live.say(**capacity(holder, record={"tier_class": "latency"}))
    smaps = Path(f"/proc/{holder.process.pid}/smaps_rollup")
    huge = re.compile(r"AnonHugePages:\s+(\d+)")
    until(lambda: int(huge.findall(smaps.read_text())[0]) >= 16 * 1024)
    live.end()
    assert holder.checksum() == before


def test_no_limit_is_left_after_sigterm(
    kernel: RealKernel, far_tier: str, holder: Holder, group: Path, tmp_path: Path
) -> None:
    in_group(holder, group)
    live = Live(tmp_path / "agent.sock", "--near", "400M")
    live.say(**capacity(holder, pid=None, cgroup=str(group)))
    until(lambda: limit(kernel, group) is not None)
    live.end()
    assert limit(kernel, group) is None


def test_no_limit_is_left_after_sigkill(
    kernel: RealKernel, far_tier: str, holder: Holder, group: Path, tmp_path: Path
) -> None:
    in_group(holder, group)
    live = Live(tmp_path / "agent.sock", "--near", "400M")
    live.say(**capacity(holder, pid=None, cgroup=str(group)))
    until(lambda: limit(kernel, group) is not None)
    live.process.kill()
    live.process.wait()
    until(lambda: limit(kernel, group) is None)
    # What it looked after is known to the next one.
    live.start()
    until(lambda: [job["job"] for job in live.say(op="status")["jobs"]] == [JOB])
    live.end()


def test_a_second_agent_says_so_and_leaves_the_first_alone(agent: Live) -> None:
    words = [TIERWISE, "agent", "--socket", str(agent.socket)]
    second = subprocess.run(words, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert second.returncode == 2
    assert "another agent listens there" in second.stderr
    assert agent.say(op="status")["ok"]


def test_a_dry_run_moves_nothing(kernel: RealKernel, far_tier: str, holder: Holder, tmp_path: Path) -> None:
    live = Live(tmp_path / "dry.sock", "--near", "20M", "--dry-run")
    live.say(**capacity(holder))
    time.sleep(1.0)
    assert far(kernel, holder) == 0
    assert "would advise PAGEOUT" in live.end()


def test_an_ordinary_user_can_register_nobody_elses_process(holder: Holder, agent: Live) -> None:
    agent.socket.parent.chmod(0o711)
    for parent in agent.socket.parents:
        if str(parent).startswith("/tmp/"):
            parent.chmod(parent.stat().st_mode | 0o111)
    request = json.dumps({"version": 1} | capacity(holder, uid=65534))
    code = (
        "import os, socket, sys\n"
        "os.setgid(65534); os.setuid(65534)\n"
        "talk = socket.socket(socket.AF_UNIX)\n"
        "talk.connect(sys.argv[1]); talk.sendall(sys.argv[2].encode() + b'\\n'); print(talk.recv(4096).decode())\n"
    )
    said = subprocess.run(
        [sys.executable, "-c", code, str(agent.socket), request], capture_output=True, text=True, check=True
    )
    assert "you may register your own process" in said.stdout
    assert agent.say(op="status")["jobs"] == []


def test_a_caller_who_says_nothing_or_too_much_keeps_nobody_waiting(agent: Live) -> None:
    import socket

    silent = [socket.socket(socket.AF_UNIX) for _ in range(5)]
    for one in silent:
        one.connect(str(agent.socket))
    assert "longer than" in json.loads(ask(agent.socket, b"x" * 20000, PATIENCE))["error"]
    assert agent.say(op="status")["ok"]
    for one in silent:
        one.close()


def group_socket(group: Path) -> Path:
    return Path("/tmp") / f"{group.name}.sock"


def limit(kernel: RealKernel, group: Path) -> int | None:
    found = kernel.group_memory(group)
    assert found is not None
    return found.limit
