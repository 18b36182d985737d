from __future__ import annotations

import hashlib

import numpy as np
import pytest

from traces import InputError, Trace, synthetic, theta, theta_like


def offered(trace: Trace) -> float:
    submit = trace.column("submit")
    work = (trace.column("nodes") * trace.column("run_time")).sum()
    return float(work / ((trace.machine.nodes or 0) * (submit[-1] - submit[0])))


def digest(trace: Trace) -> str:
    hasher = hashlib.sha256()
    for name, values in sorted(trace.columns.items()):
        hasher.update(name.encode() + values.tobytes())
    return hasher.hexdigest()


def test_the_same_seed_gives_the_same_bytes_and_another_seed_others() -> None:
    assert digest(theta_like(500, seed=4)) == digest(theta_like(500, seed=4))
    assert digest(theta_like(500, seed=4)) != digest(theta_like(500, seed=5))
    assert digest(synthetic(500, seed=4)) == digest(synthetic(500, seed=4))


def test_by_default_it_is_a_year_with_the_load_of_theta() -> None:
    trace = theta_like()
    days = (trace.column("submit")[-1] - trace.column("submit")[0]) / 86400
    assert days == pytest.approx(365, abs=2)
    assert offered(trace) == pytest.approx(theta.LOAD, rel=0.02)
    assert 20_000 < len(trace) < 30_000  # 23,911 in 2022
    assert trace.machine.nodes == 4392


@pytest.mark.parametrize("load", [0.4, 0.9])
def test_the_load_is_what_was_asked_for(load: float) -> None:
    assert offered(theta_like(20_000, load=load)) == pytest.approx(load, rel=0.03)
    assert offered(theta_like(days=200, load=load)) == pytest.approx(load, rel=0.03)
    assert offered(synthetic(20_000, load=load)) == pytest.approx(load, rel=0.03)


def test_jobs_and_days_are_what_was_asked_for() -> None:
    trace = theta_like(3000, 30)
    days = (trace.column("submit")[-1] - trace.column("submit")[0]) / 86400
    assert len(trace) == 3000
    assert days == pytest.approx(30, abs=1)
    assert len(theta_like(1)) == len(synthetic(1)) == len(theta_like(days=0.001)) == 1


def test_requests_keep_to_the_policy_of_the_queue_and_runs_to_their_requests() -> None:
    trace = theta_like(30_000)
    nodes, requested = trace.column("nodes"), trace.column("requested_time")
    assert nodes.min() >= 128
    assert nodes.max() <= 4392
    for group, hours in zip(theta.CLASSES, (3, 6, 9, 12, 24), strict=True):
        inside = (nodes >= group.lowest) & (nodes <= group.highest)
        assert requested[inside].max() <= hours * 3600
        assert inside.mean() == pytest.approx(group.share, abs=0.02)
    run_time = trace.column("run_time")
    assert run_time.min() >= 1
    assert (run_time <= requested).all()
    assert ((trace.column("state") == "timeout") == (run_time == requested)).all()


def test_arrivals_follow_hour_and_weekday() -> None:
    trace = theta_like(60_000)
    hours = (trace.column("submit") - (trace.machine.origin or 0)) // 3600
    by_hour = np.bincount((hours % 24).astype(int), minlength=24) / len(trace)
    by_day = np.bincount((hours // 24 % 7).astype(int), minlength=7) / len(trace)
    assert np.abs(by_hour - theta.BY_HOUR).max() < 0.01
    assert np.abs(by_day - np.array(theta.BY_WEEKDAY)).max() < 0.015


@pytest.mark.parametrize("share", [0.0, 0.1, 1.0])
def test_the_share_of_on_demand_jobs_is_exact(share: float) -> None:
    trace = theta_like(1000, on_demand_share=share)
    assert trace.column("on_demand").sum() == round(1000 * share)
    assert ((trace.column("queue") == "on-demand") == trace.column("on_demand")).all()


def test_sizes_scale_with_the_machine() -> None:
    small = theta_like(5000, nodes=64)
    assert small.column("nodes").min() >= 1
    assert small.column("nodes").max() <= 64
    assert offered(small) == pytest.approx(theta.LOAD, rel=0.05)
    assert theta_like(10, nodes=1).column("nodes").tolist() == [1] * 10
    assert synthetic(10, nodes=1).column("nodes").tolist() == [1] * 10


def test_the_plain_trace_favours_powers_of_two_and_overestimates() -> None:
    trace = synthetic(20_000)
    nodes = trace.column("nodes")
    assert nodes.min() == 1
    assert nodes.max() <= 256
    assert ((nodes & (nodes - 1)) == 0).mean() > 0.7
    assert (trace.column("requested_time") >= trace.column("run_time")).all()
    assert trace.column("submit")[0] == 0


@pytest.mark.parametrize(
    "options",
    [
        {"jobs": 0},
        {"days": 0.0},
        {"nodes": 0},
        {"load": 0.0},
        {"load": float("nan")},
        {"on_demand_share": 1.5},
        {"seed": -1},
    ],
)
def test_numbers_out_of_range_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(InputError, match="is out of range: expected"):
        theta_like(**options)  # type: ignore[arg-type]
