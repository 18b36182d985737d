"""How tasks of arrays are addressed, so that nothing is done to the whole array."""

from __future__ import annotations

import pytest

from scheduler.slurm.addresses import Addresses, address
from scheduler.slurm.documents import read_jobs
from scheduler.slurm.fake import FakeSlurm
from scheduler.slurm.seam import Submission

pytestmark = pytest.mark.usefixtures("at_the_time")


def test_each_job_has_its_address(output):
    jobs = read_jobs("list jobs", output("v38_jobs.json"))
    assert {job.id: address(job) for job in jobs} == {
        1: "1",
        2: "2_[2-6]",  # the tasks that wait; 2 alone would be all tasks, the running one as well
        3: "3",
        4: "2_1",
        5: "5",
        6: "6",
        7: "7",
        8: "8",
    }


@pytest.mark.parametrize(
    ("tasks", "addressed"),
    [("7", "5_7"), ("3-5,9", "5_[3-5,9]"), ("3-9:2", "5_[3,5,7,9]"), ("1,3-8:4,20-21", "5_[1,3,7,20-21]")],
)
def test_stepped_ranges_are_written_out(tasks, addressed):
    slurm = FakeSlurm()
    number = slurm.submit(Submission("", "a", 1, 60.0))
    slurm.change(number, array_job_id=5, array_task=tasks)
    assert address(slurm.job(number)) == addressed


def test_an_unknown_job_is_looked_for_once():
    looks = []
    addresses = Addresses(lambda: looks.append(1))
    assert addresses.of(5) is None
    assert len(looks) == 1


def test_a_job_that_was_seen_is_not_looked_for():
    slurm = FakeSlurm()
    number = slurm.submit(Submission("", "a", 1, 60.0))
    addresses = Addresses(lambda: pytest.fail("looked"))
    addresses.learn(slurm.jobs())
    addresses.plain(77)
    assert (addresses.of(number), addresses.of(77)) == (str(number), "77")
