"""Scans: told from other patterns, kept supplied, and played against replacement by recency and the best possible."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from memory_tiers.policy.views import Walk
from memory_tiers.policy.walks import TRUSTED, Pace, followed, suspected, window
from tests.memory_tiers.views import PAGES, region


def chunks(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def test_touches_one_after_the_other_become_a_trusted_walk() -> None:
    walk = followed(None, chunks(*range(40)), chunks(0, 1))
    for first in range(2, 20, 2):
        walk = followed(walk, chunks(*range(first, 40)), chunks(first, first + 1))
    assert walk is not None
    assert walk.position == 19
    assert walk.trust > TRUSTED


def test_a_walk_is_recognised_over_the_part_that_is_present_and_around_the_end() -> None:
    # Chunks 0 to 9 are present: the next touch that can be seen after 29 is that of 10.
    walk = followed(Walk(29, 0.9), chunks(*range(10, 30)), chunks(10, 11))
    assert walk is not None
    assert (walk.position, walk.trust > 0.9) == (11, True)


def test_touches_all_over_are_not_trusted() -> None:
    generator = np.random.default_rng(7)
    walk: Walk | None = None
    for _ in range(50):
        walk = followed(walk, np.arange(4000), np.sort(generator.choice(4000, 20, replace=False)))
    assert walk is not None
    assert walk.trust < 0.3


def test_what_was_just_left_behind_goes_and_what_comes_next_comes() -> None:
    going, coming = window(region([1, 1, 1, 1, 0, 0, 0, 0], walk=Walk(3)), 4 * PAGES, Pace(ahead=2, batch=2, lead=0))
    assert list(coming) == [4, 5]
    assert list(going) == [3, 2]


def test_nothing_goes_for_something_that_is_needed_later() -> None:
    # The scan stands before the end: chunk 7 is present and comes next, 0 to 5 come before 6 does.
    going, coming = window(region([1, 1, 1, 1, 1, 1, 0, 1], walk=Walk(6)), 7 * PAGES, Pace(ahead=2, batch=2, lead=0))
    assert not len(going)
    assert not len(coming)


def test_a_smaller_share_takes_effect_at_once() -> None:
    going, coming = window(region([1] * 8, walk=Walk(3)), 4 * PAGES, Pace(ahead=2, batch=2, lead=0))
    assert list(going) == [3, 2, 1, 0]
    assert not len(coming)


def test_a_scan_that_overtook_us_is_met_further_on() -> None:
    view = region([1] * 4 + [0] * 12, walk=Walk(5, overtaken=2))
    _, coming = window(view, 4 * PAGES, Pace(ahead=2, batch=2, lead=8))
    assert list(coming) == [10, 11]


def test_a_cyclic_scan_misses_little_more_than_the_best_possible() -> None:
    count, share, passes = 100, 60, 8
    view = region([1] * share + [0] * (count - share))
    brought = 0
    position, trusted = -1, Walk(0, 1.0)
    for _ in range(passes):
        for chunk in range(count):
            view = replace(view, walk=replace(trusted, position=position % count))
            going, coming = window(view, share * PAGES, Pace(ahead=4, batch=4, lead=0))
            view.present[going], view.swapped[going], view.ahead[going] = 0, PAGES, False
            view.present[coming], view.swapped[coming], view.ahead[coming] = PAGES, 0, True
            brought += len(coming)
            assert view.present.sum() <= share * PAGES
            assert view.present[chunk], f"the scan waits for chunk {chunk}"
            view.ahead[chunk] = False
            position = chunk
    best = passes * (count - share)
    assert brought <= best + passes * 8
    assert brought < passes * count / 2, "recency would bring back every chunk in every pass"


def test_after_a_late_look_a_scan_is_suspected_where_touched_borders_on_far() -> None:
    present = chunks(1, 1, 0, 0, 1, 1, 1, 0)
    first = suspected(None, present, chunks(0, 1, 4, 5, 6))
    assert first is not None
    assert first.position == 1
    second = suspected(first, present, chunks(0, 1, 4, 5, 6))
    assert second is not None
    assert second.position == 6
    everywhere = np.tile(chunks(1, 0), 20)
    assert suspected(None, everywhere, np.flatnonzero(everywhere)) is None
