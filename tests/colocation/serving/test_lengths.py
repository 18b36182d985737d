"""What is learnt about the lengths of answers, and what the cache will hold by it."""

from __future__ import annotations

import numpy as np

from colocation.serving.futures import horizons, load
from colocation.serving.lengths import BUCKET, Lengths

NONE = np.empty(0, np.int64)


def learnt(*, limit: int = 640, seen: int = 400, generated: int = 100) -> Lengths:
    found = Lengths(1, limit)
    for _ in range(seen):
        found.ended(0, generated)
    return found


def test_an_application_that_nobody_has_seen_may_take_any_length_up_to_the_limit() -> None:
    survival = Lengths(2, 640).survival(NONE, NONE)
    assert survival[0, 0] == 1
    assert np.isclose(survival[0, 20], 1 - 20 / 41)
    assert survival[0, 40] > 0


def test_what_has_been_seen_often_is_expected() -> None:
    survival = learnt().survival(NONE, NONE)[0]
    assert survival[100 // BUCKET] > 0.9
    assert survival[100 // BUCKET + 1] < 0.1


def test_a_request_that_outlives_its_prediction_is_expected_to_go_on() -> None:
    survival = learnt().survival(NONE, NONE)
    one = np.array([0])
    ahead = np.array([0, 2])
    young = load(np.array([300]), one, np.array([0]), survival, ahead)
    late = load(np.array([300]), one, np.array([300]), survival, ahead)
    assert young.mean[0, 1] > 0.9 * (300 + 2 * BUCKET)
    assert late.mean[0, 1] > 0.6 * (300 + 2 * BUCKET)
    assert late.variance[0, 1] > young.variance[0, 1]


def test_requests_that_still_run_keep_long_answers_from_being_overlooked() -> None:
    found = Lengths(1, 640)
    for _ in range(16):
        found.ended(0, 16)
    running = np.full(100, 320)
    with_running = found.survival(np.zeros(100, np.int64), running)[0, 20]
    without = learnt(seen=16, generated=16).survival(NONE, NONE)[0, 20]
    assert with_running > 0.7 > 0.3 > without


def test_another_application_with_little_history_leans_on_all() -> None:
    found = Lengths(2, 640)
    for _ in range(400):
        found.ended(0, 100)
    survival = found.survival(NONE, NONE)
    other = found.classes(np.array([1]), np.array([10]))[0]
    assert survival[other, 100 // BUCKET + 1] < 0.3


def test_the_horizons_begin_now_and_end_at_the_limit() -> None:
    for buckets in (1, 2, 40, 2000):
        found = horizons(buckets)
        assert found[0] == 0
        assert found[-1] >= buckets
        assert np.all(np.diff(found) > 0)
