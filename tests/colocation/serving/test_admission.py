"""Which requests are let in, by each policy."""

from __future__ import annotations

import itertools
import random
import time
from dataclasses import replace

import numpy as np
import pytest

from colocation.serving import POLICIES, policy
from colocation.serving.admission import View, peak
from colocation.serving.lengths import Lengths
from traces.errors import InputError

LIMIT = 1000


def view(capacity: int, running: list[tuple[int, int]], waiting: list[tuple[int, int]]) -> View:
    """Return a view of requests given as (tokens, tokens yet to come)."""
    held, left = (np.array([pair[k] for pair in running], np.int64) for k in (0, 1))
    prompt, more = (np.array([pair[k] for pair in waiting], np.int64) for k in (0, 1))
    none, fresh = np.zeros_like(held), np.zeros_like(prompt)
    limit, next_limit = np.full_like(held, LIMIT), np.full_like(prompt, LIMIT)
    free = capacity - int((-(-held // 16) * 16).sum())
    return View(
        capacity, free, 16, 2048, 256, held, none, none, limit, none, left, prompt, fresh, next_limit, fresh, more
    )


def brute_peak(held: list[int], left: list[int]) -> int:
    return max(
        sum(h + 15 + step for h, more in zip(held, left, strict=True) if more >= step) for step in range(max(left) + 1)
    )


def test_the_peak_is_that_of_every_single_step() -> None:
    rng = random.Random(1)
    for _ in range(300):
        count = rng.randint(1, 6)
        held, left = [rng.randint(1, 200) for _ in range(count)], [rng.randint(1, 60) for _ in range(count)]
        assert peak(np.array(held), np.array(left), 16) == brute_peak(held, left)


@pytest.mark.parametrize("name", POLICIES)
def test_nobody_is_let_into_a_full_cache(name: str) -> None:
    full = view(1600, [(1590, 100)], [(100, 10), (20, 10)])
    assert policy(name, Lengths(1, LIMIT)).admit(full) == 0


@pytest.mark.parametrize("name", POLICIES)
def test_all_are_let_into_a_cache_that_is_large_enough(name: str) -> None:
    roomy = view(10**6, [(1600, 100)], [(100, 10)] * 4)
    assert policy(name, Lengths(1, LIMIT)).admit(roomy) == 4


def test_the_policies_differ_in_what_they_hold_back() -> None:
    tight = view(4000, [(900, 100)], [(900, 100)] * 4)
    count = {name: policy(name, Lengths(1, LIMIT)).admit(tight) for name in POLICIES}
    assert count["greedy"] >= 2  # as far as a step's tokens go
    assert count["full-input"] == 3
    assert count["reserve"] == 1
    assert count["clairvoyant"] == 2
    assert count["predictive"] <= count["clairvoyant"]


def test_the_watermark_keeps_its_share_free() -> None:
    tight = view(2000, [], [(960, 10), (960, 10)])
    assert policy("full-input", Lengths(1, LIMIT)).admit(tight) == 2
    assert policy("watermark", Lengths(1, LIMIT)).admit(tight) == 1


def test_a_prompt_that_is_still_being_computed_counts_as_held() -> None:
    tight = view(5000, [(16, 10)], [(900, 10)])
    for name in ("full-input", "watermark", "predictive", "clairvoyant"):
        decider = policy(name, Lengths(1, LIMIT))
        assert decider.admit(tight) == 1
        assert decider.admit(replace(tight, pending=np.array([4200]))) == 0


def test_what_does_not_exist_is_one_line() -> None:
    with pytest.raises(InputError, match="'best' is no policy; expected some of greedy"):
        policy("best", Lengths(1, LIMIT))


def test_a_decision_over_a_thousand_requests_is_quick_enough_to_be_taken_at_each_step() -> None:
    lengths = Lengths(1, LIMIT)
    decider = policy("predictive", lengths)
    large = view(10**7, [(1000, 100)] * 1000, [(1000, 100)] * 8)
    decider.admit(large)
    best = min(_seconds(decider, large) for _ in itertools.repeat(None, 20))
    # The bar is 200 microseconds on a quiet machine (benchmarks); this one may be busy.
    assert best < 5e-3


def _seconds(decider: object, seen: View) -> float:
    began = time.perf_counter()
    decider.admit(seen)  # type: ignore[attr-defined]
    return time.perf_counter() - began
