"""The agent over a pretended kernel: whose pages it touches, whom it believes, and what it does in trouble."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from memory_tiers.agent.loop import Agent
from memory_tiers.agent.registry import Registry
from memory_tiers.agent.server import Caller
from memory_tiers.kernel.fake import FakeKernel, FakeProcess
from memory_tiers.kernel.types import PAGE
from memory_tiers.policy import Settings

MIB = 1 << 20
ROOT = Caller(1, 0, 0)


def pages(mib: int) -> Any:
    return np.ones(mib * MIB // PAGE, dtype=np.int8)


def agent_of(kernel: FakeKernel, near: int, file: Path | None = None) -> Agent:
    return Agent(kernel, Registry(kernel, file), lambda: near * MIB, Settings(), lambda *_, **__: None)


def say(agent: Agent, caller: Caller = ROOT, **fields: Any) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(agent.handle(json.dumps({"version": 1} | fields).encode(), caller))
    return answer


def test_a_capacity_job_beyond_its_share_is_moved_and_the_others_are_not() -> None:
    kernel = FakeKernel()
    big, solver = (kernel.add(FakeProcess(pid, pages=pages(64))) for pid in (10, 20))
    agent = agent_of(kernel, 96)
    say(agent, op="register", job=1, uid=1000, pid=10, record={"tier_class": "capacity"})
    say(agent, op="register", job=2, uid=1000, pid=20, record={"tier_class": "latency", "tier_dram": 64 * MIB})
    for _ in range(5):
        agent.tick()
    assert solver.far() == 0
    assert 32 * MIB < big.far() < 48 * MIB
    assert big.near() + solver.near() <= 96 * MIB


def test_a_scan_faults_less_and_less_as_the_agent_learns_it() -> None:
    kernel = FakeKernel()
    big = kernel.add(FakeProcess(10, pages=np.zeros(64 * MIB // PAGE, dtype=np.int8)))
    agent = agent_of(kernel, 40)
    say(agent, op="register", job=1, uid=1000, pid=10, record={"tier_class": "capacity"})
    faults = []
    for _ in range(6):
        before = big.faults
        for first in range(0, len(big.pages), 256):
            big.touch(first, first + 256)
            agent.tick()
            while agent.step() == 0.0:
                pass
        faults.append(big.faults - before)
    assert faults[-1] < len(big.pages) * 0.05
    assert big.near() < 44 * MIB


def test_processes_of_another_user_in_the_tree_are_left_alone() -> None:
    kernel = FakeKernel()
    kernel.add(FakeProcess(10, uid=1000, pages=pages(64)))
    other = kernel.add(FakeProcess(11, uid=2000, parent=10, pages=pages(64)))
    agent = agent_of(kernel, 32)
    say(agent, op="register", job=1, uid=1000, pid=10, record={"tier_class": "capacity"})
    agent.tick()
    assert other.far() == 0
    assert say(agent, op="status")["jobs"][0]["processes"] == [10]


def test_a_process_id_used_anew_is_not_taken_for_the_job() -> None:
    kernel = FakeKernel()
    kernel.add(FakeProcess(10, pages=pages(16)))
    agent = agent_of(kernel, 1)
    say(agent, op="register", job=1, uid=1000, pid=10, record={"tier_class": "capacity"})
    kernel.end(10)
    other = kernel.add(FakeProcess(10, uid=2000, pages=pages(16)))
    for _ in range(3):
        agent.tick()
    assert other.far() == 0


def test_a_user_registers_its_own_process_and_nothing_else() -> None:
    kernel = FakeKernel()
    kernel.add(FakeProcess(10, uid=1000))
    kernel.add(FakeProcess(20, uid=2000))
    agent = agent_of(kernel, 100)
    mallory = Caller(20, 2000, 2000)
    record = {"tier_class": "capacity"}
    assert "not 10" in say(agent, mallory, op="register", job=5, pid=10, record=record)["error"]
    assert "only root" in say(agent, mallory, op="register", job=5, cgroup="/job_1", record=record)["error"]
    assert say(agent, op="register", job=7, uid=1000, pid=10, record=record)["ok"]
    assert "not by you" in say(agent, mallory, op="register", job=7, record=record)["error"]
    assert "not registered by you" in say(agent, mallory, op="deregister", job=7)["error"]
    assert say(agent, mallory, op="register", job=8, record=record)["ok"]
    assert [job["job"] for job in say(agent, mallory, op="status")["jobs"]] == [8]
    assert [job["job"] for job in say(agent, op="status")["jobs"]] == [7, 8]


def test_a_user_cannot_fill_the_list_of_jobs() -> None:
    kernel = FakeKernel()
    kernel.add(FakeProcess(20, uid=2000))
    agent = agent_of(kernel, 100)
    answers = [say(agent, Caller(20, 2000, 2000), op="register", job=number) for number in range(1, 100)]
    assert sum(answer["ok"] for answer in answers) == 64


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"", "one JSON object"),
        (b"nonsense", "one JSON object"),
        (b"[" * 10000, "one JSON object"),
        (b'{"version":2,"op":"status"}', "version"),
        (b'{"version":1,"op":"explode"}', "op"),
        (b'{"version":1,"op":"register","job":-1}', "job"),
        (b'{"version":1,"op":"register","job":1,"record":{"tier_class":"huge"}}', "record.tier_class"),
        (b'{"version":1,"op":"register","job":1,"record":{"tier_dram":-5}}', "record.tier_dram"),
        (b'{"version":1,"op":"register","job":1,"record":{"tier_share":"../x"}}', "record.tier_share"),
    ],
)
def test_a_bad_request_is_answered_in_one_line_that_names_the_field(line: bytes, expected: str) -> None:
    answer = json.loads(agent_of(FakeKernel(), 100).handle(line, ROOT))
    assert not answer["ok"]
    assert expected in answer["error"]
    assert "\n" not in answer["error"]


def test_a_limit_is_set_on_a_capacity_job_and_lifted_at_the_end() -> None:
    kernel = FakeKernel()
    group = Path("/groups/job_1")
    kernel.add(FakeProcess(10, pages=pages(16)), group)
    agent = agent_of(kernel, 100)
    say(agent, op="register", job=1, uid=1000, record={"tier_class": "capacity"})
    agent._registry.jobs[1].group = group
    agent.tick()
    assert kernel.limits[group] is not None
    agent.undo()
    assert kernel.limits[group] is None


def test_a_kernel_that_refuses_everything_stops_neither_agent_nor_job() -> None:
    kernel = FakeKernel(refusing=errno.EPERM)
    big = kernel.add(FakeProcess(10, pages=pages(64)))
    agent = agent_of(kernel, 16)
    say(agent, op="register", job=1, uid=1000, pid=10, record={"tier_class": "capacity"})
    for _ in range(3):
        agent.tick()
    assert big.far() == 0
    assert agent.step() >= 0.0


def test_jobs_survive_a_restart_and_dead_ones_do_not(tmp_path: Path) -> None:
    kernel = FakeKernel()
    kernel.add(FakeProcess(10, uid=1000))
    kernel.add(FakeProcess(20, uid=2000))
    file = tmp_path / "state.json"
    agent = agent_of(kernel, 100, file)
    say(agent, op="register", job=1, uid=1000, pid=10, record={"tier_class": "capacity", "tier_dram": MIB})
    say(agent, Caller(20, 2000, 2000), op="register", job=2)
    kernel.end(20)
    again = Registry(kernel, file)
    again.load()
    assert list(again.jobs) == [1]
    assert again.jobs[1].record.tier_dram == MIB
    assert file.stat().st_mode & 0o077 == 0


def test_a_state_file_full_of_nonsense_is_left_aside(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    file.write_text("{")
    registry = Registry(FakeKernel(), file)
    registry.load()
    assert registry.jobs == {}


def test_a_job_is_found_by_its_step_daemon_where_there_are_no_groups() -> None:
    kernel = FakeKernel()
    kernel.add(FakeProcess(50, uid=0))
    kernel.daemons[50] = "slurmstepd: [77.batch]"
    kernel.add(FakeProcess(51, uid=1000, parent=50, pages=pages(64)))
    agent = agent_of(kernel, 32)
    say(agent, op="register", job=77, uid=1000, record={"tier_class": "capacity"})
    assert say(agent, op="status")["jobs"][0]["processes"] == [51]
    assert kernel.processes[51].far() > 0


def test_the_agent_yields_while_others_than_capacity_jobs_run() -> None:
    kernel = FakeKernel()
    kernel.add(FakeProcess(10, pages=pages(64)))
    kernel.add(FakeProcess(20, pages=pages(8)))
    agent = agent_of(kernel, 32)
    say(agent, op="register", job=1, uid=1000, pid=10, record={"tier_class": "capacity"})
    assert kernel.niceness == 0
    say(agent, op="register", job=2, uid=1000, pid=20, record={"tier_class": "short"})
    kernel.processes[10].touch(0, 64 * MIB // PAGE)
    agent.tick()
    assert kernel.niceness > 0


def test_an_agent_whose_moves_come_straight_back_stands_back(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("memory_tiers.agent.loop.time.monotonic", lambda: now[0])
    kernel = FakeKernel()
    big = kernel.add(FakeProcess(10, pages=pages(64)))
    agent = agent_of(kernel, 32)
    say(agent, op="register", job=1, uid=1000, pid=10, record={"tier_class": "capacity"})
    generator = np.random.default_rng(3)
    for _ in range(60):
        now[0] += 0.1
        for first in generator.permutation(len(big.pages) // 64) * 64:
            big.touch(first, first + 64)
        agent.tick()
    assert say(agent, op="status")["backed_off"]
    assert big.far() == 0


def test_room_is_kept_for_the_next_short_task_of_an_ensemble(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("memory_tiers.agent.loop.time.monotonic", lambda: now[0])
    kernel = FakeKernel()
    kernel.add(FakeProcess(10, pages=pages(16)))
    agent = agent_of(kernel, 100)
    task = {"record": {"tier_class": "short", "tier_dram": 16 * MIB}, "uid": 1000, "pid": 10}
    say(agent, op="register", job=5, **task)
    say(agent, op="deregister", job=5)
    agent.tick()
    assert say(agent, op="status")["headroom"] == 16 * MIB
    now[0] += 30
    agent.tick()
    assert say(agent, op="status")["headroom"] == 0


def test_a_scan_that_an_agent_meets_in_the_middle_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = FakeKernel()
    big = kernel.add(FakeProcess(10, pages=pages(64)))
    agent = agent_of(kernel, 40)
    say(agent, op="register", job=1, uid=1000, pid=10, record={"tier_class": "capacity"})
    at, faults = 0, []
    for turn in range(400):
        before = big.faults
        # The scan is quick: between two whole looks it goes around more than half of the region.
        for _ in range(3):
            big.touch(at, at + 512)
            at = (at + 512) % len(big.pages)
            while agent.step() == 0.0:
                pass
        if turn % 10 == 9:
            agent.tick()
        faults.append(big.faults - before)
    assert sum(faults[-100:]) < 0.1 * 100 * 3 * 512
