"""The same jobs at the same times, under Tierwise and under Slurm's own preemption; what each made them lose."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.side_by_side import BATCH, URGENT, WAYS, Outcome, play_all, table
from cosim.exact import CpSat
from cosim.snapshot import Request
from scheduler.slurm.observe import snapshot

pytestmark = pytest.mark.slurm

LAUNCH = 3.0
"""How long a job may take to begin after Slurm's start of it, and Slurm to see its end [s]: this machine is shared."""


@pytest.fixture(scope="module")
def outcomes(installed: None) -> Iterator[dict[str, Outcome]]:
    folder = Path(tempfile.mkdtemp(prefix="tw-"))
    try:
        yield dict(zip(names := ("tierwise", "qos", "youngest"), play_all(names, folder), strict=True))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_what_was_lost_and_how_long_the_on_demand_job_waited_side_by_side(
    outcomes: dict[str, Outcome], capsys: pytest.CaptureFixture[str]
) -> None:
    with capsys.disabled():
        print(f"\n{table(list(outcomes.values()))}")
    ours, theirs = outcomes["tierwise"], (outcomes["qos"], outcomes["youngest"])
    for other in theirs:
        assert ours.lost < other.lost
        assert ours.lost_by_accounting < other.lost_by_accounting
    for found in outcomes.values():
        assert found.victims
        assert 0 < found.latency < 30
        # Each run's launch is in the accounting, and not in the jobs' own files.
        launches = LAUNCH * sum(batch.nodes * (1 + (batch.name in found.victims)) for batch in (*BATCH, URGENT))
        assert -launches < found.lost_by_accounting - found.lost < launches


def test_tierwises_choice_is_the_optimum_that_cp_sat_finds_for_that_moment(outcomes: dict[str, Outcome]) -> None:
    found = outcomes["tierwise"]
    nodes, jobs, urgent = found.seen
    plan = found.plan
    assert plan is not None
    assert urgent.submit is not None
    window = max(0.0, urgent.submit - plan.made)
    request = Request(URGENT.nodes, urgent.time_limit, window, WAYS["tierwise"].delay_weight)
    optimum = CpSat().decide(snapshot(plan.made, nodes, jobs), request).chosen
    assert optimum is not None
    assert sorted(victim.job for victim in plan.victims) == sorted(int(victim.id) for victim in optimum.victims)
    assert plan.start == optimum.start
    assert sum(victim.loss for victim in plan.victims) == pytest.approx(optimum.lost_node_seconds)
    # And those were the ones that were requeued, at about the loss that was told.
    names = {job.id: job.name for job in jobs}
    assert {names[victim.job] for victim in plan.victims} == set(found.victims)
    freed = sum(batch.nodes for batch in BATCH if batch.name in found.victims)
    assert found.lost == pytest.approx(optimum.lost_node_seconds, abs=LAUNCH * freed)


def test_all_jobs_complete_in_the_end(outcomes: dict[str, Outcome]) -> None:
    for found in outcomes.values():
        assert found.states == dict.fromkeys((batch.name for batch in (*BATCH, URGENT)), "completed"), found.way
