"""Room for short jobs that are to be expected: an ensemble that has just run tasks will run more."""

from __future__ import annotations

from dataclasses import dataclass, replace

HOLD = 2.0
"""Seconds for which what short jobs held at once is expected again, until it is known better. Room is made for a job
when it registers, too: to have kept too little costs its start some milliseconds, to keep much costs all others."""

LONGEST_HOLD = 60.0
"""The most that is learnt from a gap between two tasks [s]."""


@dataclass(frozen=True)
class Expected:
    """What short jobs are expected to hold again.

    Attributes
    ----------
    most : int
        The most that they held together lately [bytes].
    at : float
        When they last did [s].
    hold : float
        How long that is expected from then on [s].
    given_up : int
        What was expected last and given up, for others to use [bytes].
    held_until : float
        When that was last held [s].
    """

    most: int = 0
    at: float = 0.0
    hold: float = HOLD
    given_up: int = 0
    held_until: float = 0.0

    def headroom(self, held: int) -> int:
        """Return what to keep free beside what short jobs hold now [bytes]."""
        return max(0, self.most - held)


def noted(state: Expected, now: float, held: int) -> Expected:
    """Take note of what short jobs hold, or are promised, now [bytes].

    Where half and more of what was given up comes back within `LONGEST_HOLD`, it was given up too early: from then on
    room is kept for twice that gap (this project's own rule).
    """
    gap = now - state.held_until
    if state.given_up and held * 2 >= state.given_up:
        learnt = state.hold if gap > LONGEST_HOLD else min(LONGEST_HOLD, max(state.hold, 2 * gap))
        state = replace(state, hold=learnt, given_up=0)
    if held >= state.most:
        return replace(state, most=held, at=now)
    if now - state.at > state.hold:
        return Expected(held, now, state.hold, state.most, state.at)
    return state
