"""The Young/Daly checkpoint interval against values computed from the published formula by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from cosim.checkpoints import NODE_MTBF, daly_interval


def work(cost: float, mtbf: float) -> float:
    """Return the work between two checkpoints of a job on one node."""
    return float(daly_interval(np.array([cost]), np.array([1]), mtbf)[0]) - cost


def test_the_interval_is_that_of_equation_37():
    # d = 60 s, M = 86400 s: sqrt(2 d M) = 3219.938, d / 2M = 3.47222e-4 with square root 1.86339e-2, so that
    # 3219.938 * (1 + 6.21130e-3 + 3.85802e-5) - 60 = 3180.062.
    assert work(60.0, 86400.0) == pytest.approx(3180.062, abs=0.001)


def test_with_cheap_checkpoints_the_interval_is_youngs():
    assert work(1e-3, 1e6) == pytest.approx(math.sqrt(2 * 1e-3 * 1e6), rel=1e-4)


def test_with_a_checkpoint_as_dear_as_two_failures_the_work_is_the_time_between_failures():
    assert work(200.0, 100.0) == 100.0
    assert work(250.0, 100.0) == 100.0


def test_a_job_of_many_nodes_fails_as_often_as_its_nodes_together():
    of_job = daly_interval(np.array([60.0, 60.0]), np.array([1, 1000]), NODE_MTBF)
    alone = daly_interval(np.array([60.0]), np.array([1]), NODE_MTBF / 1000)
    assert of_job[1] == alone[0] < of_job[0]


def test_the_interval_wastes_least_where_failures_come_at_random():
    # Daly's expected time (ibid., equation 20, restart R = 0): M * (exp((tau + d) / M) - 1) / tau a second of work.
    cost, mtbf = 300.0, 20_000.0

    def seconds_for_each(tau: float) -> float:
        return mtbf * math.expm1((tau + cost) / mtbf) / tau

    best = min((seconds_for_each(float(tau)), tau) for tau in range(100, 20_000, 10))
    found = work(cost, mtbf)
    assert found == pytest.approx(best[1], rel=0.01)
    assert seconds_for_each(found) <= best[0] * (1 + 1e-6)
