"""The cluster in memory: what only it can do. What it shares with the real one is in tests/slurm."""

from __future__ import annotations

import pytest

from scheduler.slurm.fake import FakeSlurm
from scheduler.slurm.seam import Reservation, SlurmError, SlurmUnreachableError, Submission


def submit(slurm: FakeSlurm, nodes: int = 1, limit: float = 600.0, **options: str) -> int:
    return slurm.submit(Submission("", "a", nodes, limit, options=options))


def test_jobs_start_and_end_as_time_passes():
    slurm = FakeSlurm(run_time=lambda _: 90.0)
    first, second = submit(slurm, 3), submit(slurm, 2)
    assert (slurm.job(first).state, slurm.job(second).state) == ("running", "pending")
    slurm.advance(100)
    assert slurm.job(first).state == "completed"
    assert slurm.job(second).start == slurm.now - 10


def test_a_job_ends_at_its_limit():
    slurm = FakeSlurm(run_time=lambda _: 1e9)
    number = submit(slurm, limit=60)
    slurm.advance(60)
    assert slurm.job(number).state == "timeout"


def test_nodes_of_an_ended_job_stay_held_while_it_completes():
    slurm = FakeSlurm(completing=5.0)
    number = submit(slurm, 4)
    slurm.end(number)
    assert slurm.job(number).flags == {"completing"}
    assert all("completing" in node.states for node in slurm.nodes())
    waits = submit(slurm)
    assert slurm.job(waits).state == "pending"
    slurm.advance(5)
    assert slurm.job(waits).state == "running"


def test_a_requeued_job_comes_back_after_the_delay_with_a_new_run():
    slurm = FakeSlurm(requeue_delay=120.0, run_time=lambda _: 300.0)
    number = submit(slurm)
    slurm.advance(100)
    slurm.requeue(number)
    slurm.advance(119)
    assert slurm.job(number).state == "pending"
    slurm.advance(1)
    assert (slurm.job(number).state, slurm.job(number).restarts) == ("running", 1)
    slurm.advance(300)
    assert slurm.job(number).state == "completed"


def test_jobs_of_a_node_that_goes_down_are_requeued_where_they_may_be():
    slurm = FakeSlurm(["n1", "n2"], requeue_delay=120.0)
    first, second = submit(slurm), submit(slurm, **{"no-requeue": ""})
    slurm.set_node("n1", "down")
    slurm.set_node("n2", "down")
    assert (slurm.job(first).state, slurm.job(second).state) == ("pending", "node_fail")
    slurm.advance(200)
    assert slurm.job(first).state == "pending"
    slurm.set_node("n1")
    assert slurm.job(first).nodes == ("n1",)


def test_a_reservation_ends_by_itself():
    slurm = FakeSlurm(["n1"])
    slurm.reserve(Reservation("r", ("n1",), slurm.now, slurm.now + 60))
    number = submit(slurm)
    slurm.advance(59)
    assert slurm.job(number).state == "pending" and "reserved" in slurm.nodes()[0].states
    slurm.advance(1)
    assert slurm.job(number).state == "running" and slurm.reservations() == ()


def test_a_job_does_not_start_into_a_reservation_that_is_to_come():
    slurm = FakeSlurm(["n1"])
    slurm.reserve(Reservation("r", ("n1",), slurm.now + 60, slurm.now + 120))
    assert slurm.job(submit(slurm, limit=120)).state == "pending"
    assert slurm.job(submit(slurm, limit=60)).state == "running"


def test_a_fault_may_come_before_or_after_the_request_is_carried_out():
    slurm = FakeSlurm()
    number = submit(slurm)
    slurm.faults.order("requeue", times=2)
    for _ in range(2):
        with pytest.raises(SlurmUnreachableError):
            slurm.requeue(number)
    assert slurm.job(number).restarts == 0
    slurm.faults.order("requeue", SlurmError("no"), carried_out=True)
    with pytest.raises(SlurmError, match=r"^no$"):
        slurm.requeue(number)
    assert slurm.job(number).restarts == 1
    assert slurm.faults.requests.count(("requeue", number)) == 3


def test_a_controller_that_is_down_answers_nothing():
    slurm = FakeSlurm()
    slurm.faults.down = True
    for request in (slurm.jobs, slurm.nodes, slurm.reservations, slurm.version, slurm.configuration):
        with pytest.raises(SlurmUnreachableError):
            request()


def test_signals_are_kept_and_may_end_a_job():
    slurm = FakeSlurm()
    number = submit(slurm)
    slurm.on_signal = lambda job, _: slurm.end(job)
    slurm.signal(number, "USR1")
    assert slurm.signals == [(slurm.now, number, "USR1")]
    assert slurm.job(number).state == "completed"


def test_a_record_may_stand_for_job_submit_lua():
    slurm = FakeSlurm(record=lambda submission: f"for {submission.name}")
    assert slurm.job(submit(slurm)).admin_comment == "for a"
