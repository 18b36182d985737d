"""Backing off: where most of what we moved out comes back by itself, we are wrong about the job, and stop."""

from __future__ import annotations

from dataclasses import dataclass, replace

WINDOW = 5.0
"""Seconds over which what went and what came back are compared."""

LEAST = 4096
"""Pages that must have gone in a window before it says anything: 16 MiB."""

HARM = 0.5
"""Share of what went that may come back by itself within the window."""

SHORTEST, LONGEST = 5.0, 160.0
"""Seconds of standing back: doubled each time that it does not help, back to the shortest after a good window."""


@dataclass(frozen=True)
class BackOff:
    """What is known about our own harm.

    Attributes
    ----------
    since : float
        When the window began [s].
    went, came_back : int
        Pages that we moved out, and of those the ones that came back by themselves, in the window.
    until : float
        When we may move again [s].
    period : float
        How long the next standing back is [s].
    """

    since: float = 0.0
    went: int = 0
    came_back: int = 0
    until: float = 0.0
    period: float = SHORTEST

    def is_on(self, now: float) -> bool:
        """Tell whether nothing may be moved out."""
        return now < self.until


def noted(state: BackOff, now: float, went: int, came_back: int) -> BackOff:
    """Take note of what went and came back since the last call.

    Parameters
    ----------
    state : BackOff
        What was known.
    now : float
        Seconds of any clock that does not go back.
    went, came_back : int
        Pages.

    Returns
    -------
    BackOff
        With a new window where the old one was over.
    """
    state = replace(state, went=state.went + went, came_back=state.came_back + came_back)
    if now - state.since < WINDOW:
        return state
    fresh = replace(state, since=now, went=0, came_back=0)
    if state.went < LEAST:
        return fresh
    if state.came_back > state.went * HARM:
        return replace(fresh, until=now + state.period, period=min(state.period * 2, LONGEST))
    return replace(fresh, period=SHORTEST)
