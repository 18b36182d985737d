"""What holds for a job that Slurm knows, and which line or flag says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scheduler.policy import load
from scheduler.policy.of_job import named, of_job
from scheduler.slurm.fake import FakeSlurm
from scheduler.slurm.seam import Job, Submission
from traces.errors import InputError

POLICY = '[defaults]\ncheckpoint_every = "30m"\nrestart_cost = 20\n\n[user.alice]\ndelay_weight = 2\n'


def submitted(record: str, **options: str) -> tuple[FakeSlurm, Job]:
    slurm = FakeSlurm(record=lambda _: record)
    return slurm, slurm.job(slurm.submit(Submission("", "a", 1, 600, options=options)))


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "policy.toml"
    path.write_text(POLICY)
    return path


def test_what_the_job_says_of_itself_wins_over_the_default(policy: Path) -> None:
    _, job = submitted(json.dumps({"tierwise": 1, "checkpoint_every": 600, "on_demand": 120}))
    found = of_job(load(policy), "c", job)
    assert found.values["checkpoint_every"] == 600
    assert found.origin["checkpoint_every"] == "the job's own --checkpoint-every"
    assert found.values["restart_cost"] == 20
    assert found.origin["restart_cost"] == f"{policy}:3 [defaults]"
    assert found.asked == {"on_demand": 120, "checkpoint_every": 600}
    # Asking is no right: whether it may be on-demand stays the policy's.
    assert found.values["on_demand"] is False
    assert found.origin["on_demand"] == "built in"


@pytest.mark.parametrize("record", ["", "no JSON", '{"tierwise": 1, "checkpoint_every": "\\u001b[2J"}', "[]"])
def test_a_record_that_nobody_of_ours_wrote_says_nothing(policy: Path, record: str) -> None:
    _, job = submitted(record)
    found = of_job(load(policy), "c", job)
    assert found.asked == {}
    assert found.values["checkpoint_every"] == 1800


def test_a_job_is_found_by_its_number_and_another_is_one_line(policy: Path) -> None:
    slurm, job = submitted("")
    assert named(slurm.jobs(), str(job.id)) == job
    with pytest.raises(InputError, match=r"--job '99': Slurm knows no such job now \(1 jobs known\)"):
        named(slurm.jobs(), "99")
