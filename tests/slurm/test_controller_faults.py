"""What dies while room is made, on a real cluster: all jobs complete, one on-demand job ran, and nothing is left."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from flags_cluster import FlagsCluster, started
from test_controller_live import PATIENCE, TIERWISE, Live

from scheduler.controller.journal import STATES
from scheduler.slurm.commands import CommandSlurm

pytestmark = pytest.mark.slurm

DYING = Path(__file__).with_name("dying_controller.py")
POLICY = """
[defaults]
on_demand = true
on_demand_max_delay = "5m"
checkpoint_signal = "USR1"
checkpoint_cost = "4s"
"""
GOES_ON = "trap '' USR1\nif [ \"${SLURM_RESTART_COUNT:-0}\" -eq 0 ]; then sleep 150; fi\n"
LEAVES = """
if [ "${SLURM_RESTART_COUNT:-0}" -gt 0 ]; then exit 0; fi
trap 'scontrol requeue $SLURM_JOB_ID; exit 0' USR1
sleep 150 & wait
"""


@pytest.fixture(scope="module")
def live() -> Iterator[FlagsCluster]:
    with started() as found:
        yield found


class Fault(Live):
    """Two batch jobs hold the cluster, an on-demand job wants it whole."""

    def __init__(self, flags: FlagsCluster, folder: Path) -> None:
        super().__init__(flags, folder)
        self.flags, self.folder = flags, folder
        self.policy = folder / "policy.toml"
        self.policy.write_text(POLICY)
        self.runs = flags.scratch / f"{folder.name}-runs"

    def fill(self, script: str = GOES_ON) -> list[int]:
        common = ("--exclusive", "--nodes=1", "--requeue", "--output=/dev/null")
        jobs = [self.flags.submitted(*common, script=script) for _ in range(2)]
        self.flags.until(lambda: {self.flags.state(job) for job in jobs} == {"RUNNING"})
        # What they lose by a kill has to be more than two checkpoints and the wait for them cost, 16 node-seconds.
        time.sleep(12)
        return jobs

    def urgent(self, seconds: int = 5) -> int:
        common = ("--exclusive", "--nodes=2", "--output=/dev/null", "--on-demand=4m")
        return self.flags.submitted(*common, script=f"echo $SLURM_JOB_ID >> {self.runs}\nsleep {seconds}\n")

    def journal_states(self) -> list[str]:
        if not self.journal.exists():
            return []
        try:
            with sqlite3.connect(f"file:{self.journal}?mode=ro", uri=True) as database:
                return [row[0] for row in database.execute("SELECT state FROM plans ORDER BY made")]
        except sqlite3.OperationalError:  # it is being made
            return []

    def until_journal(self, *states: str) -> None:
        self.wait(lambda: bool(set(self.journal_states()) & set(states)))

    def wait(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 2 * PATIENCE
        while not condition():
            assert time.monotonic() < deadline, (self.journal_states(), self.cluster.run("squeue").stdout)
            time.sleep(0.1)

    def reservations(self) -> list[str]:
        return [found.name for found in CommandSlurm(self.cluster.environment).reservations()]

    def ends_well(self, jobs: list[int], urgent: int) -> None:
        self.wait(lambda: {self.flags.state(job) for job in (*jobs, urgent)} == {"COMPLETED"})
        self.wait(lambda: not self.reservations())
        assert self.runs.read_text().split() == [str(urgent)]
        assert self.flags.drained() == []


@pytest.fixture
def room(live: FlagsCluster, tmp_path: Path) -> Iterator[Fault]:
    found = Fault(live, tmp_path)
    try:
        yield found
    finally:
        if found.controller is not None and found.controller.poll() is None:
            found.controller.terminate()
            found.controller.wait(timeout=30)
        found.cluster.run("scancel", "--user=root")
        found.wait(lambda: not found.cluster.run("squeue", "--noheader").stdout)


@pytest.mark.parametrize("kills", [("before", "after"), ("after",)], ids=["before and after", "after"])
def test_killed_at_each_state_of_the_journal_at_each_write(room: Fault, kills: tuple[str, ...]) -> None:
    jobs = room.fill()
    urgent = room.urgent(seconds=20)
    seen: list[str] = []
    for _ in range(12):
        for when in kills:
            command = [sys.executable, str(DYING), str(room.policy), str(room.journal), when]
            done = subprocess.run(command, env=room.environment, check=False, timeout=PATIENCE, capture_output=True)
            assert done.returncode == -9, done.stderr.decode()
        seen += room.journal_states()
        if "closed" in seen:
            break
    # Killed between the requeue and its write, the next controller may find the on-demand job running already.
    passed = {"hand_over"} if "before" in kills else set()
    assert [s for s in dict.fromkeys(seen) if s not in passed] == [s for s in STATES if s not in passed]
    room.start_controller()
    room.ends_well(jobs, urgent)
    restarts = [room.flags.jobs()[job]["restart_cnt"] for job in jobs]
    assert restarts == [1, 1]


def test_slurmctld_is_killed_during_a_preemption(room: Fault) -> None:
    jobs = room.fill()
    room.start_controller()
    urgent = room.urgent()
    room.until_journal("signal")
    room.cluster.kill(["slurmctld"])
    time.sleep(5)  # the time to requeue passes meanwhile
    room.cluster.start("slurmctld")
    room.wait(lambda: room.cluster.run("scontrol", "ping").returncode == 0)
    room.ends_well(jobs, urgent)


def test_a_slurmd_dies_during_a_preemption(room: Fault) -> None:
    jobs = room.fill()
    room.start_controller()
    urgent = room.urgent()
    room.until_journal("signal")
    room.cluster.kill(["n1"])
    time.sleep(6)
    room.cluster.start("n1")
    room.ends_well(jobs, urgent)


def test_the_disk_under_the_journal_is_full_during_a_preemption(room: Fault) -> None:
    disk = room.folder / "disk"
    disk.mkdir()
    jobs = room.fill()
    words = [*TIERWISE, "controller", "--policy", str(room.policy), "--journal", str(disk / "journal.sqlite")]
    mount = f'mount -t tmpfs -o size=2m none {disk} && exec "$@"'
    command = ["unshare", "--mount", "sh", "-c", mount, "sh", *words, "--interval", "0.2"]
    log = room.folder / "log"
    with log.open("wb") as file:
        room.controller = subprocess.Popen(command, env=room.environment, stderr=file)
    inside = Path(f"/proc/{room.controller.pid}/root{disk}")
    room.journal = inside / "journal.sqlite"
    urgent = room.urgent()
    room.wait(lambda: "decided" in _events(log))
    with (inside / "filler").open("wb", buffering=0) as filler:
        while _wrote(filler.write):
            pass
    room.wait(lambda: "journal_lost" in _events(log))
    (inside / "filler").unlink()
    room.ends_well(jobs, urgent)
    assert "journal_back" in _events(log)


def _wrote(write: Callable[[bytes], int]) -> bool:
    try:
        return write(bytes(512)) > 0
    except OSError:
        return False


def _events(log: Path) -> list[str]:
    return [json.loads(line)["event"] for line in log.read_text().splitlines() if line.endswith("}")]


def test_a_job_that_requeues_itself_after_its_checkpoint_makes_room_early(room: Fault) -> None:
    room.policy.write_text(POLICY.replace('"4s"', '"40s"'))
    jobs = room.fill(LEAVES)
    time.sleep(40)  # by then a kill would lose more than the checkpoint costs
    room.start_controller()
    urgent = room.urgent(seconds=1)
    began = time.monotonic()
    room.wait(room.runs.exists)
    assert time.monotonic() - began < 35
    room.ends_well(jobs, urgent)
