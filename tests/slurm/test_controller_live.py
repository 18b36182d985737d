"""The whole way on a real cluster: `sbatch --on-demand`, the job that loses least makes room, and comes back."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from flags_cluster import FlagsCluster, started

pytestmark = pytest.mark.slurm

TIERWISE = [sys.executable, "-c", "import sys; from scheduler.cli.app import main; sys.exit(main())"]
PATIENCE = 60.0


@pytest.fixture(scope="module")
def live() -> Iterator[FlagsCluster]:
    with started() as found:
        yield found


class Live:
    """A cluster of two nodes, and a controller that can be killed."""

    def __init__(self, flags: FlagsCluster, folder: Path) -> None:
        self.cluster = flags.cluster
        self.environment = {**os.environ, **flags.cluster.environment}
        self.journal = folder / "journal.sqlite"
        self._policy = folder / "policy.toml"
        self.write_policy("[defaults]\non_demand = true\n")
        self.controller: subprocess.Popen[bytes] | None = None

    def write_policy(self, text: str) -> None:
        self._policy.write_text(text)

    def start_controller(self) -> None:
        command = [*TIERWISE, "controller", "--policy", str(self._policy), "--journal", str(self.journal)]
        self.controller = subprocess.Popen([*command, "--interval", "0.3"], env=self.environment)

    def run(self, *command: str) -> str:
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def batch(self, seconds: int, *options: str) -> str:
        common = ("--parsable", "--exclusive", "--nodes=1", "--requeue", "--output=/dev/null", "--time=5")
        return self.run("sbatch", *common, *options, f"--wrap=sleep {seconds}")

    def states(self) -> dict[str, str]:
        lines = self.run("squeue", "--noheader", "--states=all", "--format=%i %T").splitlines()
        return dict(line.split() for line in lines)

    def until(self, condition: Callable[[dict[str, str]], bool]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition(self.states()):
            assert time.monotonic() < deadline, self.states()
            time.sleep(0.3)


@pytest.fixture
def room(live: FlagsCluster, tmp_path: Path) -> Iterator[Live]:
    found = Live(live, tmp_path)
    try:
        yield found
    finally:
        if found.controller is not None:
            found.controller.send_signal(signal.SIGTERM)
            found.controller.wait(timeout=30)
        subprocess.run(["scancel", "--user=root"], env=found.environment, check=False)
        found.until(lambda states: not {"RUNNING", "COMPLETING", "PENDING"} & set(states.values()))


def test_the_job_that_loses_least_makes_room_and_comes_back(room: Live) -> None:
    old = room.batch(25)
    room.until(lambda states: states[old] == "RUNNING")
    time.sleep(5)
    young = room.batch(15)
    room.until(lambda states: states[young] == "RUNNING")
    room.start_controller()
    urgent = room.batch(3, "--on-demand=0")
    room.until(lambda states: states[urgent] in ("RUNNING", "COMPLETED"))
    assert room.states()[old] == "RUNNING"
    assert room.states()[young] == "PENDING"
    room.until(lambda states: {states[job] for job in (old, young, urgent)} == {"COMPLETED"})
    why = room.run(*TIERWISE, "explain", young, "--journal", str(room.journal))
    assert "chosen: it is requeued at once and loses" in why
    assert "spared" in room.run(*TIERWISE, "explain", old, "--journal", str(room.journal))
    assert room.run("scontrol", "show", "reservation") == "No reservations in the system"


def test_killed_while_the_on_demand_job_runs_the_next_controller_clears_up(room: Live) -> None:
    jobs = [room.batch(12), room.batch(12)]
    room.until(lambda states: {states[job] for job in jobs} == {"RUNNING"})
    room.start_controller()
    urgent = room.batch(6, "--on-demand=0")
    room.until(lambda states: states[urgent] == "RUNNING")
    assert room.controller is not None
    room.controller.kill()
    room.controller.wait()
    room.start_controller()
    room.until(lambda states: {states[job] for job in (*jobs, urgent)} == {"COMPLETED"})
    deadline = time.monotonic() + PATIENCE
    while room.run("scontrol", "show", "reservation") != "No reservations in the system":
        assert time.monotonic() < deadline
        time.sleep(0.3)


def test_without_a_controller_ordinary_jobs_run_and_an_on_demand_job_waits_its_turn(room: Live) -> None:
    jobs = [room.batch(4), room.batch(4)]
    room.until(lambda states: {states[job] for job in jobs} == {"RUNNING"})
    urgent = room.batch(1, "--on-demand=0")
    time.sleep(2)
    assert room.states()[urgent] == "PENDING"
    room.until(lambda states: {states[job] for job in (*jobs, urgent)} == {"COMPLETED"})
