"""What only a real Slurm can show of the commands: arrays, heterogeneous jobs, a controller that is away."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from cosim.decision_json import parse
from scheduler.cli import snapshot as cli
from scheduler.slurm.commands import CommandSlurm
from scheduler.slurm.observe import snapshot
from scheduler.slurm.seam import Job, SlurmError, SlurmUnreachableError, Submission
from scheduler.slurm.values import ENDED

pytestmark = pytest.mark.slurm

PATIENCE = 40.0
SLEEP = "#!/bin/sh\nexec sleep 600\n"


@pytest.fixture
def slurm(cluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[CommandSlurm]:
    for name, value in cluster.environment.items():
        monkeypatch.setenv(name, value)
    slurm = CommandSlurm()
    yield slurm
    for job in slurm.jobs():
        # A component of a heterogeneous job cannot be cancelled by itself.
        if job.state not in ENDED and job.het_offset == 0:
            slurm.cancel(job.id)
    until(slurm, lambda _: all(node.states == {"idle"} for node in slurm.nodes()))


def until(slurm: CommandSlurm, ready: Callable[[dict[int, Job]], bool]) -> dict[int, Job]:
    deadline = time.monotonic() + PATIENCE
    while not ready(jobs := {job.id: job for job in slurm.jobs()}):
        assert time.monotonic() < deadline, jobs
        time.sleep(0.3)
    return jobs


def submit(slurm: CommandSlurm, nodes: int = 1, **options: str) -> int:
    given = {"output": "/dev/null", "chdir": "/tmp", **{key.replace("_", "-"): value for key, value in options.items()}}
    return slurm.submit(Submission(SLEEP, "a", nodes, 3600.0, options=given))


def tasks(jobs: dict[int, Job], array: int) -> dict[str, Job]:
    return {job.array_task: job for job in jobs.values() if job.array_job_id == array}


def test_what_is_done_to_one_task_of_an_array_is_not_done_to_the_others(slurm):
    array = submit(slurm, array="1-4", nodes=1)
    running = lambda jobs: sum(job.state == "running" for job in tasks(jobs, array).values()) == 4  # noqa: E731
    found = tasks(until(slurm, running), array)
    # One of them has the array's own number for an id.
    with_the_arrays_id = next(job for job in found.values() if job.id == array)
    slurm.requeue(with_the_arrays_id.id, hold=True)
    after = tasks(until(slurm, lambda jobs: jobs[array].state == "pending" and not jobs[array].flags), array)
    states = {task: job.state for task, job in after.items() if job.id != array}
    assert set(states.values()) == {"running"} and len(states) == 3
    slurm.cancel(array)
    until(slurm, lambda jobs: jobs[array].state in ENDED)
    assert sum(job.state == "running" for job in tasks({job.id: job for job in slurm.jobs()}, array).values()) == 3


def test_waiting_tasks_are_one_record_and_are_cancelled_without_the_running_one(slurm):
    array = submit(slurm, array="1-200:2%1", nodes=1)
    jobs = until(slurm, lambda jobs: any(job.state == "running" for job in tasks(jobs, array).values()))
    found = tasks(jobs, array)
    waiting = next(job for job in found.values() if job.state == "pending")
    assert len(found) == 2 and waiting.id == array
    # All 99 of them, not cut to 64 letters.
    assert re.fullmatch(r"3-199:2|3(,\d+){98}", waiting.array_task)
    slurm.cancel(array)
    jobs = until(slurm, lambda jobs: all(job.state != "pending" for job in tasks(jobs, array).values()))
    assert sum(job.state == "running" for job in tasks(jobs, array).values()) == 1


def test_a_heterogeneous_job_is_requeued_as_a_whole_and_by_its_leader_alone(slurm, cluster):
    text = f"#!/bin/sh\n#SBATCH --output=/dev/null\n#SBATCH hetjob\n#SBATCH --ntasks=1\n{SLEEP}"
    leader = slurm.submit(Submission(text, "het", 1, 600.0, options={"chdir": "/tmp"}))
    jobs = until(
        slurm, lambda jobs: sum(job.het_job_id == leader and job.state == "running" for job in jobs.values()) == 2
    )
    component = next(job for job in jobs.values() if job.het_job_id == leader and job.id != leader)
    found = snapshot(time.time(), slurm.nodes(), list(jobs.values()))
    assert (list(found.ids), found.nodes.tolist(), found.preemptible.tolist()) == ([str(leader)], [2], [True])
    with pytest.raises(SlurmError):
        slurm.requeue(component.id)
    slurm.requeue(leader)
    after = until(slurm, lambda jobs: jobs[leader].state == "pending" and jobs[component.id].state == "pending")
    assert after[component.id].restarts == 1


def test_a_drained_node_shows_and_is_not_free(slurm, cluster):
    import subprocess

    subprocess.run(["scontrol", "update", "NodeName=n4", "State=DRAIN", "Reason=test"], check=True, timeout=30)
    try:
        nodes = slurm.nodes()
        assert "drain" in next(node for node in nodes if node.name == "n4").states
        assert snapshot(time.time(), nodes, ()).free_nodes == 3
    finally:
        subprocess.run(["scontrol", "update", "NodeName=n4", "State=RESUME"], check=True, timeout=30)


def test_a_controller_that_is_away_is_told_from_one_that_refuses(slurm, tmp_path: Path, monkeypatch):
    import os

    number = submit(slurm)
    conf = Path(os.environ["SLURM_CONF"]).read_text()
    elsewhere = tmp_path / "slurm.conf"
    elsewhere.write_text(re.sub(r"(?m)^SlurmctldPort=.*", "SlurmctldPort=1", conf))
    away = CommandSlurm({"SLURM_CONF": str(elsewhere)}, timeout=3.0)
    away._addresses.plain(number)
    for request in (away.jobs, away.configuration, lambda: away.requeue(number)):
        with pytest.raises(SlurmUnreachableError) as error:
            request()
        assert str(error.value).isprintable()
    patient = CommandSlurm({"SLURM_CONF": str(elsewhere)})
    with pytest.raises(SlurmUnreachableError, match="list jobs: "):
        patient.jobs()


def test_a_snapshot_of_the_cluster_is_read_by_decide(slurm, capsys):
    number = submit(slurm, nodes=3)
    until(slurm, lambda jobs: jobs[number].state == "running")
    cli.snapshot(request_nodes=2, duration="1h", max_delay="10m")
    text = capsys.readouterr().out
    read, request = parse(text, "snapshot")
    assert (read.free_nodes, list(read.ids), read.nodes.tolist()) == (1, [str(number)], [3])
    assert (request.nodes, request.duration, request.max_delay) == (2, 3600.0, 600.0)
    assert json.loads(text)["jobs"][0]["preemptible"]
