"""The engine in simulated time: every request is answered, and the cache never holds more than it can."""

from __future__ import annotations

import numpy as np
import pytest

from colocation.serving import POLICIES, Requests, Settings, measure, simulate
from colocation.serving import simulator as module
from colocation.serving.batch import Batch
from colocation.serving.costs import Costs

COSTS = Costs(step=0.01, token=0.001, cached=0.0)


def requests(*rows: tuple[float, int, int]) -> Requests:
    arrival, prompt, output = (np.array(values) for values in zip(*rows, strict=True))
    return Requests(arrival.astype(float), prompt, output, np.zeros(len(rows), np.int64), ("a",))


def random_requests(seed: int, count: int = 80) -> Requests:
    rng = np.random.default_rng(seed)
    rows = zip(np.sort(rng.uniform(0, 3, count)), rng.integers(1, 300, count), rng.integers(1, 200, count), strict=True)
    return requests(*rows)


def test_one_request_alone_takes_what_its_steps_take() -> None:
    served = simulate(requests((1.0, 100, 5)), Settings(1600, 10, costs=COSTS), "greedy")
    assert served.first[0] == pytest.approx(1.0 + 0.1)
    assert served.finish[0] == pytest.approx(1.0 + 0.1 + 4 * 0.01)


def test_a_long_prompt_is_computed_in_pieces() -> None:
    served = simulate(requests((0.0, 100, 1)), Settings(1600, 10, chunk=40, costs=COSTS), "full-input")
    assert served.first[0] == pytest.approx(0.04 + 0.04 + 0.02)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("seed", range(3))
def test_every_request_is_answered_and_the_cache_never_overflows(
    name: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, settings = random_requests(seed), Settings(900, 200, costs=COSTS)
    go_on = module._Engine._go_on
    seen = []

    def watched(engine: module._Engine) -> None:
        go_on(engine)
        seen.append(engine.batch.blocks(settings.block))

    monkeypatch.setattr(module._Engine, "_go_on", watched)
    served = simulate(asked, settings, name)
    assert max(seen) <= settings.cache // settings.block
    assert not np.isnan(served.finish).any()
    assert (served.first >= asked.arrival).all()
    assert (served.finish >= served.first).all()
    if name in ("reserve", "clairvoyant"):
        assert served.preemptions == 0


def test_greedy_loses_work_where_the_bound_loses_none() -> None:
    asked, settings = random_requests(7), Settings(900, 200, costs=COSTS)
    greedy, bound = (measure(asked, simulate(asked, settings, name)) for name in ("greedy", "clairvoyant"))
    assert greedy.preemptions > 0
    assert greedy.recomputed_tokens > 0
    assert bound.throughput_tokens_per_s > greedy.throughput_tokens_per_s


def test_a_prompt_that_can_never_fit_is_refused_at_once_and_delays_nobody() -> None:
    served = simulate(requests((0.0, 5000, 5), (0.0, 10, 5)), Settings(1600, 10, costs=COSTS), "predictive")
    assert served.refused == (0,)
    assert np.isnan(served.finish[0])
    assert not np.isnan(served.finish[1])


@pytest.mark.parametrize("name", POLICIES)
def test_a_request_that_outgrows_the_whole_cache_fails_and_the_others_go_on(name: str) -> None:
    served = simulate(requests((0.0, 100, 4000), (0.0, 10, 5)), Settings(1600, 4000, costs=COSTS), name)
    assert served.failed == (0,)
    assert not np.isnan(served.finish[1])


def test_steps_in_one_go_end_where_steps_one_by_one_do(monkeypatch: pytest.MonkeyPatch) -> None:
    asked, settings = random_requests(3), Settings(2000, 200, costs=Costs(0.01, 0.001, 1e-6))
    together = simulate(asked, settings, "clairvoyant")
    monkeypatch.setattr(Batch, "steps_that_fit", lambda *_: 1)
    one_by_one = simulate(asked, settings, "clairvoyant")
    assert together.preemptions == one_by_one.preemptions == 0
    assert together.finish[-1] == pytest.approx(one_by_one.finish[-1], rel=0.02)
