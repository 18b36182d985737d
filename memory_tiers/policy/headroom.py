"""Room for short jobs that are to be expected: an ensemble that has just run tasks will run more."""

from __future__ import annotations

from dataclasses import dataclass

HOLD = 20.0
"""Seconds for which what short jobs held at once is expected again."""


@dataclass(frozen=True)
class Expected:
    """The most that short jobs held together lately [bytes], and when that was [s]."""

    most: int = 0
    at: float = 0.0

    def headroom(self, held: int) -> int:
        """Return what to keep free beside what short jobs hold now [bytes]."""
        return max(0, self.most - held)


def noted(state: Expected, now: float, held: int) -> Expected:
    """Take note of what short jobs hold, or are promised, now [bytes]."""
    if held >= state.most or now - state.at > HOLD:
        return Expected(held, now)
    return state
