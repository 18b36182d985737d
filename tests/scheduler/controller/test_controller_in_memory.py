"""The controller against a cluster in memory: who goes, who comes back, and what a crash leaves."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cosim import joint
from cosim.policies import policy
from scheduler.controller import deciding
from scheduler.controller.cycle import Controller
from scheduler.controller.deciding import Site
from scheduler.controller.events import DEBUG, Event
from scheduler.controller.journal import CLOSED, STATES, Journal, Plan
from scheduler.policy import load
from scheduler.slurm.fake import FakeSlurm
from scheduler.slurm.seam import SlurmError, Submission

START = 1_700_000_000.0

POLICY = """
[defaults]
on_demand = true
on_demand_max_delay = "10m"
"""


def record(submission: Submission) -> str:
    """Stand for job_submit.lua."""
    values = {name.replace("-", "_"): float(value) for name, value in submission.options.items()}
    return json.dumps({"tierwise": 1, **values}) if values else ""


class Room:
    """A cluster of four nodes with a controller that can be killed and started again."""

    def __init__(self, folder: Path, text: str = POLICY) -> None:
        self.slurm = FakeSlurm(now=START, record=record)
        path = folder / "policy.toml"
        path.write_text(text)
        self._journal = folder / "journal.sqlite"
        self.site = Site("tierwise", load(path), policy("dp"))
        self.said: list[str] = []
        self.start_controller()

    def start_controller(self, *, dry_run: bool = False) -> None:
        self.journal = Journal(self._journal)
        self.controller = Controller(self.slurm, self.journal, self.site, self._say, dry_run)

    def _say(self, event: Event) -> None:
        if event.level != DEBUG:
            self.said.append(event.message)

    def batch(self, nodes: int, time_limit: float = 3600, **options: str) -> int:
        named = {name.replace("_", "-"): value for name, value in options.items()}
        return self.slurm.submit(Submission("", "batch", nodes, time_limit, options=named))

    def run(self, seconds: float, step: float = 1.0) -> None:
        for _ in range(int(seconds / step)):
            self.controller.cycle(self.slurm.now)
            self.slurm.advance(step)

    def state(self, job: int) -> str:
        return self.slurm.job(job).state


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


def test_the_job_that_loses_least_makes_room_and_comes_back(room: Room) -> None:
    old = room.batch(2)
    room.slurm.advance(600)
    young = room.batch(2)
    room.slurm.advance(60)
    urgent = room.batch(2, 300, on_demand="0")
    room.run(5)
    assert (room.state(old), room.state(young), room.state(urgent)) == ("running", "pending", "running")
    room.run(5000, 10)
    assert [room.state(job) for job in (old, young, urgent)] == ["completed"] * 3
    assert room.slurm.job(young).restarts == 1
    assert room.slurm.reservations() == ()
    assert room.journal.open_plans() == ()


def test_it_waits_for_a_checkpoint_that_is_worth_it(room: Room) -> None:
    job = room.batch(4, checkpoint_every="100", checkpoint_cost="10")
    room.slurm.advance(105)
    urgent = room.batch(4, 60, on_demand="300")
    room.run(4)
    assert room.state(job) == "running"
    room.run(4)
    assert (room.state(job), room.state(urgent)) == ("pending", "running")
    assert room.slurm.job(urgent).start == pytest.approx(START + 110, abs=1.5)


def test_a_victim_is_signalled_before_it_goes_and_only_once(tmp_path: Path) -> None:
    room = Room(tmp_path, POLICY + 'checkpoint_signal = "USR1"\ncheckpoint_cost = "20s"\n')
    job = room.batch(4)
    room.slurm.advance(1000)
    urgent = room.batch(4, 60, on_demand="60")
    room.run(40)
    assert [(entry[1], entry[2]) for entry in room.slurm.signals] == [(job, "USR1")]
    assert (room.state(job), room.state(urgent)) == ("pending", "running")
    assert room.slurm.job(urgent).start == pytest.approx(START + 1020, abs=2)


def test_nobody_is_preempted_where_it_would_not_be_enough(room: Room) -> None:
    first = room.batch(3, 3600, on_demand="0")
    room.run(2)
    job = room.batch(1)
    room.slurm.advance(10)
    urgent = room.batch(2, 60, on_demand="0")
    room.run(10)
    assert (room.state(first), room.state(job), room.state(urgent)) == ("running", "running", "pending")
    assert room.slurm.reservations() == ()


def test_a_job_without_the_right_preempts_nobody(tmp_path: Path) -> None:
    room = Room(tmp_path, "[defaults]\non_demand = false\n")
    job = room.batch(4)
    urgent = room.batch(4, 60, on_demand="0")
    room.run(10)
    assert (room.state(job), room.state(urgent)) == ("running", "pending")


def test_a_delay_longer_than_permitted_preempts_nobody(room: Room) -> None:
    job = room.batch(4)
    room.batch(4, 60, on_demand="601")
    room.run(5)
    assert room.state(job) == "running"


def test_exempt_and_protected_jobs_are_spared(tmp_path: Path) -> None:
    room = Room(tmp_path, POLICY + 'exempt_time = "5m"\n')
    job = room.batch(4)
    room.slurm.advance(100)
    urgent = room.batch(4, 60, on_demand="0")
    room.run(100)
    assert (room.state(job), room.state(urgent)) == ("running", "pending")
    room.run(110)
    assert room.state(urgent) in ("running", "completed")


def test_an_on_demand_job_that_is_cancelled_leaves_no_reservation_and_no_victim(room: Room) -> None:
    job = room.batch(4, checkpoint_every="100", checkpoint_cost="10")
    room.slurm.advance(50)
    urgent = room.batch(4, 60, on_demand="300")
    room.run(3)
    assert room.slurm.reservations() != ()
    room.slurm.cancel(urgent)
    room.run(100)
    assert room.state(job) == "running"
    assert room.slurm.reservations() == ()


def test_two_on_demand_jobs_at_once_get_different_nodes(room: Room) -> None:
    jobs = [room.batch(1) for _ in range(4)]
    room.slurm.advance(100)
    urgent = [room.batch(2, 60, on_demand="0") for _ in range(2)]
    room.run(3)
    assert [room.state(job) for job in urgent] == ["running", "running"]
    room.run(4000, 10)
    assert [room.state(job) for job in jobs] == ["completed"] * 4


def test_a_dry_run_says_what_it_would_do_and_does_nothing(room: Room) -> None:
    job = room.batch(4)
    room.slurm.advance(100)
    room.batch(4, 60, on_demand="0")
    room.start_controller(dry_run=True)
    room.run(5)
    assert room.state(job) == "running"
    assert len(room.said) == 1
    assert room.said[0].startswith("would: on-demand job")


def test_a_dry_run_shows_start_nodes_and_victims_with_way_and_loss(room: Room) -> None:
    job = room.batch(4)
    room.slurm.advance(100)
    urgent = room.batch(4, 60, on_demand="0")
    room.start_controller(dry_run=True)
    shown: list[str] = []
    room.controller.show = shown.append
    room.run(5)
    names = ",".join(room.slurm.job(job).nodes)
    first = f"on-demand job {urgent}: would start 0 s from now on {names}"
    assert shown == [f"{first}\n  job {job}: requeue at once, loses 400 node-seconds"]


def test_one_on_demand_job_alone_never_goes_to_the_solver(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: object) -> None:
        pytest.fail("the solver was asked")

    monkeypatch.setattr(deciding, "decide_jointly", never)
    room.batch(4)
    room.slurm.advance(100)
    urgent = room.batch(4, 60, on_demand="0")
    room.run(5)
    assert room.state(urgent) == "running"


def test_without_time_for_the_solver_they_are_decided_one_after_the_other(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(joint, "BUDGET", 0.0)
    for _ in range(4):
        room.batch(1)
    room.slurm.advance(100)
    urgent = [room.batch(2, 60, on_demand="0") for _ in range(2)]
    room.run(5)
    assert [room.state(job) for job in urgent] == ["running"] * 2
    assert all("decided together" not in room.journal.explanations(job)[0][1] for job in urgent)


def test_why_a_job_was_chosen_or_spared_can_be_read_with_the_numbers(room: Room) -> None:
    old = room.batch(2)
    room.slurm.advance(600)
    young = room.batch(2)
    room.slurm.advance(60)
    room.batch(2, 300, on_demand="0")
    room.run(3)
    assert "chosen: it is requeued at once and loses 120 node-seconds" in room.journal.explanations(young)[0][1]
    assert "(60 s on each); it has no checkpoint since its start 60 s before" in room.journal.explanations(young)[0][1]
    spared = "spared: it would lose 1320 node-seconds on 2 nodes (660 s on each); those chosen lose 120 together"
    assert spared in room.journal.explanations(old)[0][1]


def test_why_names_the_checkpoint_since_which_a_victims_work_is_lost(room: Room) -> None:
    job = room.batch(4, checkpoint_every="100", checkpoint_cost="10")
    room.slurm.advance(250)
    room.batch(4, 60, on_demand="0")
    room.run(3)
    assert "its newest checkpoint was completed 40 s before" in room.journal.explanations(job)[0][1]


class _KilledError(Exception):
    """The controller has died here."""


@pytest.mark.parametrize("writes", range(1, 6))
@pytest.mark.parametrize("before", [True, False], ids=["before the write", "after the write"])
def test_killed_at_any_write_it_ends_in_the_same_state(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, writes: int, before: bool
) -> None:
    room = Room(tmp_path, POLICY + 'checkpoint_signal = "USR1"\ncheckpoint_cost = "20s"\n')
    job = room.batch(4, 2000)
    room.slurm.advance(1000)
    urgent = room.batch(4, 60, on_demand="60")
    count = 0
    original_begin, original_write = Journal.begin, Journal._write

    def counting(original):
        def write(*arguments: object) -> object:
            nonlocal count
            count += 1
            if count == writes and before:
                raise _KilledError
            result = original(*arguments)
            if count == writes:
                raise _KilledError
            return result

        return write

    monkeypatch.setattr(Journal, "begin", counting(original_begin))
    monkeypatch.setattr(Journal, "_write", counting(original_write))
    for _ in range(3000):
        try:
            room.controller.cycle(room.slurm.now)
        except _KilledError:
            room.start_controller()
        room.slurm.advance(1)
    assert count > writes
    assert (room.state(job), room.state(urgent)) == ("completed", "completed")
    assert room.slurm.job(job).restarts == 1
    assert len(room.slurm.signals) <= 1
    assert room.slurm.reservations() == ()
    assert room.journal.open_plans() == ()


def test_where_slurm_refuses_a_step_it_is_tried_again(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    job = room.batch(4)
    room.slurm.advance(100)
    urgent = room.batch(4, 60, on_demand="0")
    refusals = iter([True, True, False])
    requeue = room.slurm.requeue

    def reluctant(number: int, *, hold: bool = False) -> None:
        if next(refusals, False):
            raise SlurmError(f"requeue of job {number}: refused")
        requeue(number, hold=hold)

    monkeypatch.setattr(room.slurm, "requeue", reluctant)
    room.run(5)
    assert (room.state(job), room.state(urgent)) == ("pending", "running")
    assert sum("will be tried again" in line for line in room.said) == 2


def test_the_journal_gives_back_what_was_written(tmp_path: Path) -> None:
    plan = Plan(7, 1.0, 2.0, ("n1",), (), "tierwise-7", 99.0, "alice", "")
    journal = Journal(tmp_path / "journal.sqlite")
    journal.begin(plan, {7: "why"})
    for state in STATES:
        plan = journal.move(plan, state)
        journal.close()
        journal = Journal(tmp_path / "journal.sqlite")
        assert journal.open_plans() == (() if state == CLOSED else (plan,))
    assert journal.explanations(7) == ((1.0, "why"),)
