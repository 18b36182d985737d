"""Room kept for an ensemble's next tasks: for how long, and what is learnt from tasks that came back later."""

from __future__ import annotations

from memory_tiers.policy.headroom import HOLD, LONGEST_HOLD, Expected, noted


def _played(state: Expected, *looks: tuple[float, int]) -> Expected:
    for now, held in looks:
        state = noted(state, now, held)
    return state


def test_what_short_jobs_held_is_kept_free_for_a_while_and_not_for_ever() -> None:
    state = _played(Expected(), (0.0, 100), (1.0, 40))
    assert state.headroom(40) == 60
    assert _played(state, (HOLD - 0.1, 0)).headroom(0) == 100
    assert _played(state, (HOLD + 0.1, 0)).headroom(0) == 0


def test_while_as_much_is_held_the_time_does_not_run() -> None:
    state = _played(Expected(), (0.0, 100), (50.0, 100), (50.0 + HOLD - 0.1, 0))
    assert state.headroom(0) == 100


def test_tasks_that_come_after_room_was_given_up_have_it_kept_for_twice_their_gap() -> None:
    gap = HOLD * 3
    state = _played(Expected(), (0.0, 100), (HOLD + 1, 0), (gap, 60), (gap, 0))
    assert state.hold == 2 * gap
    assert _played(state, (gap + 2 * gap - 0.1, 0)).headroom(0) == 60
    assert _played(state, (gap + 2 * gap + 0.1, 0)).headroom(0) == 0


def test_little_that_comes_back_or_much_that_comes_late_teaches_nothing() -> None:
    given_up = _played(Expected(), (0.0, 100), (HOLD + 1, 0))
    assert noted(given_up, HOLD + 2, 49).hold == HOLD
    assert noted(given_up, LONGEST_HOLD + 1, 100).hold == HOLD
    assert noted(given_up, LONGEST_HOLD - 1, 100).hold == LONGEST_HOLD
