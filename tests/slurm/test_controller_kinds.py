"""Array tasks, heterogeneous jobs, drained nodes and jobs in COMPLETING, when room is made on a real cluster."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest
from test_controller_live import PATIENCE, Live, live, room

from scheduler.slurm.commands import CommandSlurm
from scheduler.slurm.seam import Job

__all__ = ["live", "room"]  # fixtures

pytestmark = pytest.mark.slurm


class Seen:
    """The room's cluster, as the seam shows it."""

    def __init__(self, room: Live) -> None:
        self.slurm = CommandSlurm(room.cluster.environment)

    def jobs(self) -> dict[int, Job]:
        return {job.id: job for job in self.slurm.jobs()}

    def tasks(self, array: str) -> dict[str, Job]:
        return {job.array_task: job for job in self.slurm.jobs() if job.array_job_id == int(array)}

    def until(self, condition: Callable[[], bool]) -> None:
        deadline = time.monotonic() + 2 * PATIENCE
        while not condition():
            assert time.monotonic() < deadline, self.slurm.jobs()
            time.sleep(0.2)

    def until_all(self, state: str, *jobs: str) -> None:
        self.until(lambda: {self.jobs()[int(job)].state for job in jobs} == {state})

    def left_behind(self) -> bool:
        return bool(self.slurm.reservations())


@pytest.fixture
def seen(room: Live) -> Seen:
    return Seen(room)


def test_one_task_of_an_array_makes_room_and_its_sibling_runs_on(room: Live, seen: Seen) -> None:
    room.batch(4)
    array = room.batch(14, "--array=3,7")
    # The later one has less to lose.
    seen.until(lambda: {task for task, job in seen.tasks(array).items() if job.state == "running"} == {"3", "7"})
    room.start_controller()
    urgent = room.batch(1, "--on-demand=0")
    seen.until_all("completed", urgent)
    seen.until(lambda: {job.state for job in seen.tasks(array).values()} == {"completed"})
    assert {task: job.restarts for task, job in seen.tasks(array).items()} == {"3": 0, "7": 1}
    seen.until(lambda: not seen.left_behind())


def test_a_heterogeneous_job_makes_room_with_all_its_components(room: Live, seen: Seen, tmp_path: Path) -> None:
    script = tmp_path / "both.sh"
    script.write_text(
        "#!/bin/sh\n#SBATCH --nodes=1 --exclusive\n#SBATCH hetjob\n#SBATCH --nodes=1 --exclusive\nsleep 5\n"
    )
    leader = room.run("sbatch", "--parsable", "--requeue", "--output=/dev/null", "--time=5", str(script))

    def components() -> list[Job]:
        return [job for job in seen.slurm.jobs() if job.het_job_id == int(leader)]

    seen.until(lambda: [job.state for job in components()] == ["running"] * 2)
    room.start_controller()
    urgent = room.batch(1, "--on-demand=0")
    seen.until_all("completed", urgent)
    seen.until(lambda: [job.state for job in components()] == ["completed"] * 2)
    assert [job.restarts for job in components()] == [1, 1]
    seen.until(lambda: not seen.left_behind())


def test_a_drained_node_is_no_part_of_a_plan_and_stays_as_it_is(room: Live, seen: Seen) -> None:
    room.run("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=test")
    try:
        victim = room.batch(4)
        seen.until_all("running", victim)
        room.start_controller()
        urgent = room.batch(3, "--on-demand=0")
        seen.until_all("running", urgent)
        assert seen.jobs()[int(urgent)].nodes == ("n1",)
        assert [reservation.nodes for reservation in seen.slurm.reservations()] == [("n1",)]
        seen.until_all("completed", urgent, victim)
        assert seen.jobs()[int(victim)].restarts == 1
        assert {node.name for node in seen.slurm.nodes() if "drain" in node.states} == {"n2"}
    finally:
        room.run("scontrol", "update", "NodeName=n2", "State=RESUME")
    seen.until(lambda: not any("drain" in node.states for node in seen.slurm.nodes()))


def test_a_node_that_a_completing_job_still_holds_is_waited_for_and_nobody_is_preempted(
    room: Live, seen: Seen, tmp_path: Path
) -> None:
    script = tmp_path / "slow.sh"
    script.write_text("#!/bin/sh\ntrap '' TERM\nsleep 10\n")
    room.write_policy('[defaults]\non_demand = true\non_demand_max_delay = "5m"\ndelay_weight = 0\n')
    options = ("--parsable", "--exclusive", "--nodes=1", "--requeue", "--output=/dev/null", "--time=5")
    going = room.run("sbatch", *options, str(script))
    staying = room.batch(14)
    seen.until_all("running", going, staying)
    held = seen.jobs()[int(going)].nodes
    time.sleep(2)  # the script has to have set its trap
    seen.slurm.cancel(int(going))
    seen.until(lambda: "completing" in seen.jobs()[int(going)].flags)
    room.start_controller()
    urgent = room.batch(1, "--on-demand=2m")
    seen.until(lambda: seen.left_behind() or seen.jobs()[int(urgent)].state != "pending")
    assert "completing" in seen.jobs()[int(going)].flags
    assert [reservation.nodes for reservation in seen.slurm.reservations()] == [held]
    seen.until_all("completed", urgent, staying)
    assert [seen.jobs()[int(job)].restarts for job in (going, staying)] == [0, 0]
