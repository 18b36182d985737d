"""Standing back: after harm, for longer each time, and not for a little or for nothing."""

from __future__ import annotations

from memory_tiers.policy.backing_off import LEAST, LONGEST, SHORTEST, WINDOW, BackOff, noted


def test_what_stays_away_is_no_harm() -> None:
    state = noted(BackOff(), WINDOW, 10 * LEAST, LEAST)
    assert not state.is_on(WINDOW)


def test_what_comes_back_by_itself_stops_us_for_longer_each_time() -> None:
    state, now, stops = BackOff(), 0.0, []
    for _ in range(8):
        now = max(now, state.until) + WINDOW
        state = noted(state, now, 2 * LEAST, 2 * LEAST)
        assert state.is_on(now)
        stops.append(state.until - now)
    assert stops[:3] == [SHORTEST, 2 * SHORTEST, 4 * SHORTEST]
    assert stops[-1] == LONGEST
    now = state.until + WINDOW
    assert noted(state, now, 2 * LEAST, 0).period == SHORTEST


def test_a_few_pages_say_nothing() -> None:
    assert not noted(BackOff(), WINDOW, LEAST - 1, LEAST - 1).is_on(WINDOW)


def test_within_a_window_it_adds_up() -> None:
    state = noted(BackOff(), 1.0, LEAST, 0)
    assert noted(state, WINDOW, 0, LEAST).is_on(WINDOW)
