"""What happens to jobs and nodes while a plan is carried out, and what the controller makes of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_controller_in_memory import POLICY, START, Room

from scheduler.slurm.seam import Reservation

ON_A_SIGNAL = POLICY + 'checkpoint_signal = "USR1"\ncheckpoint_cost = "20s"\n'


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path, ON_A_SIGNAL)


def test_a_victim_that_requeues_itself_after_its_checkpoint_makes_room_before_the_planned_start(room: Room) -> None:
    job = room.batch(4)
    room.slurm.advance(1000)
    urgent = room.batch(4, 60, on_demand="60")
    room.run(5)
    assert [entry[1] for entry in room.slurm.signals] == [job]
    room.slurm.requeue(job)
    room.run(2)
    assert (room.state(urgent), room.slurm.job(job).restarts) == ("running", 1)
    assert room.slurm.job(urgent).start == pytest.approx(START + 1005, abs=2)
    room.run(6000, 10)
    assert (room.state(job), room.slurm.job(job).restarts) == ("completed", 1)


def test_a_victim_that_ends_by_itself_is_not_run_again(room: Room) -> None:
    job = room.batch(4)
    room.slurm.advance(1000)
    urgent = room.batch(4, 60, on_demand="60")
    room.run(5)
    room.slurm.end(job)
    room.run(100)
    assert (room.state(job), room.state(urgent)) == ("completed", "completed")
    assert room.slurm.job(job).restarts == 0
    assert room.slurm.reservations() == ()


def test_a_job_whose_checkpoint_takes_longer_than_the_grace_is_not_signalled(tmp_path: Path) -> None:
    room = Room(tmp_path, ON_A_SIGNAL + 'checkpoint_grace = "19s"\n')
    job = room.batch(4)
    room.slurm.advance(1000)
    urgent = room.batch(4, 60, on_demand="60")
    room.run(30)
    assert room.slurm.signals == []
    assert (room.state(job), room.state(urgent)) == ("pending", "running")


def test_a_planned_node_that_is_drained_makes_the_controller_decide_anew(room: Room) -> None:
    first = room.batch(2)
    room.slurm.advance(1000)
    second = room.batch(2)
    room.slurm.advance(100)
    urgent = room.batch(2, 60, on_demand="60")
    room.run(5)
    (plan,) = room.journal.open_plans()
    room.slurm.set_node(plan.nodes[0], "drain")
    room.run(40)
    (again,) = room.journal.open_plans()
    assert plan.nodes[0] not in again.nodes
    assert room.state(urgent) == "running"
    assert {victim.job for plan in (plan, again) for victim in plan.victims} == {first, second}


def test_an_on_demand_job_that_loses_a_node_is_served_again(room: Room) -> None:
    job = room.batch(4)
    urgent = room.batch(2, 60, on_demand="0")
    room.run(5)
    assert room.state(urgent) == "running"
    room.slurm.set_node(room.slurm.job(urgent).nodes[0], "down")
    room.run(100)
    assert (room.state(urgent), room.slurm.job(urgent).restarts) == ("completed", 1)
    assert room.slurm.reservations() == ()
    assert room.slurm.job(job).state == "pending"


def test_reservations_of_a_lost_journal_go_and_those_of_others_stay(room: Room) -> None:
    for node, name in (("n1", "tierwise-7"), ("n2", "tierwise-night"), ("n3", "maintenance")):
        room.slurm.reserve(Reservation(name, (node,), START, START + 9999, ("root",)))
    room.run(2)
    assert {known.name for known in room.slurm.reservations()} == {"tierwise-night", "maintenance"}
    assert "reservation tierwise-7: no plan knows it, it is gone" in room.said


def test_a_reservation_of_an_open_plan_outlives_a_restart(room: Room) -> None:
    room.batch(4)
    room.slurm.advance(1000)
    urgent = room.batch(4, 60, on_demand="60")
    room.run(3)
    room.start_controller()
    room.run(3)
    assert [known.name for known in room.slurm.reservations()] == [f"tierwise-{urgent}"]


def test_an_array_task_is_a_victim_by_itself(room: Room) -> None:
    tasks = [room.batch(2) for _ in range(2)]
    for task, place in zip(tasks, "12", strict=True):
        room.slurm.change(task, array_job_id=tasks[0], array_task=place)
    room.slurm.advance(10)
    urgent = room.batch(2, 60, on_demand="0")
    room.run(3)
    assert sorted(room.state(task) for task in tasks) == ["pending", "running"]
    assert room.state(urgent) == "running"


def test_components_of_a_heterogeneous_job_go_together_by_the_leader(room: Room) -> None:
    parts = [room.batch(2) for _ in range(2)]
    for offset, part in enumerate(parts):
        room.slurm.change(part, het_job_id=parts[0], het_offset=offset)
    room.slurm.advance(10)
    urgent = room.batch(4, 60, on_demand="0")
    room.controller.cycle(room.slurm.now)
    (plan,) = room.journal.open_plans()
    assert (plan.job, sorted(plan.nodes)) == (urgent, ["n1", "n2", "n3", "n4"])
    requeued = [about for request, about in room.slurm.faults.requests if request == "requeue"]
    assert requeued == [parts[0]]


@pytest.mark.parametrize("fields", [{"array_task": "1-3"}, {"het_job_id": 2}], ids=["waiting array", "heterogeneous"])
def test_an_on_demand_job_of_several_parts_waits_its_turn(room: Room, fields: dict[str, object]) -> None:
    job = room.batch(4)
    urgent = room.batch(4, 60, on_demand="0")
    room.slurm.change(urgent, **fields)
    room.run(5)
    assert (room.state(job), room.state(urgent)) == ("running", "pending")
    assert room.journal.open_plans() == ()


@pytest.mark.parametrize("flag", ["configuring", "completing"])
def test_a_job_that_comes_or_goes_is_no_victim(room: Room, flag: str) -> None:
    job = room.batch(4)
    room.slurm.change(job, flags=frozenset({flag}))
    room.slurm.advance(10)
    urgent = room.batch(4, 60, on_demand="0")
    room.run(5)
    assert not [request for request in room.slurm.faults.requests if request[0] == "requeue"]
    assert (room.state(job), room.state(urgent)) == ("running", "pending")


def test_nodes_that_complete_are_waited_for(tmp_path: Path) -> None:
    room = Room(tmp_path)
    room.slurm._completing = 20.0
    job = room.batch(4)
    room.slurm.advance(10)
    room.slurm.end(job)
    urgent = room.batch(4, 60, on_demand="60")
    room.run(40)
    assert (room.state(job), room.state(urgent)) == ("completed", "running")
    assert room.slurm.job(job).restarts == 0


def test_two_on_demand_jobs_share_the_one_victim_that_costs_less_than_two(tmp_path: Path) -> None:
    room = Room(tmp_path)
    small = room.batch(1)
    room.slurm.advance(450)
    other = room.batch(1)
    room.slurm.advance(50)
    large = room.batch(2)
    room.slurm.advance(230)  # 730 and 280 node-seconds for the small ones, 460 for the large one
    urgent = [room.batch(1, 60, on_demand="0") for _ in range(2)]
    room.run(5)
    assert [room.state(job) for job in urgent] == ["running", "running"]
    assert [room.state(job) for job in (small, other, large)] == ["running", "running", "pending"]
    assert room.slurm.job(large).restarts == 1
    assert "decided together with 1 more on-demand jobs" in room.journal.explanations(urgent[0])[0][1]
    room.run(8000, 10)
    assert {room.state(job) for job in (small, other, large, *urgent)} == {"completed"}
    assert room.slurm.reservations() == ()
