"""Snapshots and requests: what they accept, and in which order they keep jobs."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cosim.snapshot import Request, RunningJob, Snapshot, id_order
from traces.errors import InputError


def job(job_id: str = "1", **known: object) -> RunningJob:
    return RunningJob(**{"id": job_id, "nodes": 1, "start": 0.0, "expected_end": 10.0, **known})  # type: ignore[arg-type]


def test_ids_are_ordered_as_people_order_them() -> None:
    ids = ["12_10", "9", "12_3", "a2", "10", "a10", "12"]
    assert sorted(ids, key=id_order) == ["9", "10", "12", "12_3", "12_10", "a2", "a10"]


@given(st.lists(st.text(max_size=20), max_size=10))
def test_any_ids_can_be_ordered(ids: list[str]) -> None:
    assert len({id_order(job_id) for job_id in ids}) == len(set(ids))
    sorted(ids, key=id_order)


def test_columns_follow_the_ids_whatever_the_order_given() -> None:
    jobs = [job("10", nodes=10), job("9", nodes=9, checkpoint_interval=5.0)]
    for given_order in (jobs, jobs[::-1]):
        snapshot = Snapshot.of(1.0, 3, given_order)
        assert (snapshot.ids, snapshot.nodes.tolist()) == (["9", "10"], [9, 10])
        assert snapshot.checkpoint_interval.tolist() == [5.0, math.inf]
        assert len(snapshot) == 2


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"nodes": 0}, "nodes is 0, expected at least 1"),
        ({"checkpoint_interval": 0.0}, "checkpoint_interval is 0.0"),
        ({"checkpoint_interval": math.nan}, "checkpoint_interval is nan"),
        ({"checkpoint_cost": -1.0}, "checkpoint_cost is -1.0"),
        ({"restart_cost": math.inf}, "restart_cost is inf"),
        ({"start": math.nan}, "start is nan"),
        ({"expected_end": -1.0}, "expected a time at or after start"),
        ({"expected_end": math.nan}, "expected_end is nan"),
    ],
)
def test_a_job_that_cannot_be_is_refused(known: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        job(**known)


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"nodes": 0}, "nodes is 0"),
        ({"duration": 0.0}, "duration is 0.0"),
        ({"max_delay": -1.0}, "max_delay is -1.0"),
        ({"max_delay": math.inf}, "max_delay is inf"),
        ({"delay_weight": math.nan}, "delay_weight is nan"),
    ],
)
def test_a_request_that_cannot_be_is_refused(known: dict[str, float], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Request(**{"nodes": 1, "duration": 1.0, **known})  # type: ignore[arg-type]


def test_a_snapshot_that_contradicts_itself_is_refused() -> None:
    with pytest.raises(InputError, match="occurs twice"):
        Snapshot.of(5.0, 0, [job(), job()])
    with pytest.raises(InputError, match="after now"):
        Snapshot.of(5.0, 0, [job(start=6.0)])
    with pytest.raises(InputError, match="free_nodes is -1"):
        Snapshot.of(5.0, -1, [])
    with pytest.raises(InputError, match="now is nan"):
        Snapshot.of(math.nan, 0, [])
