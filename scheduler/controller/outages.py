"""What is lost is said once, and once that it is back: a log that says it each second hides the rest."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from scheduler.controller.events import Say, event

_MOST_REASONS = 20


@dataclass
class Outage:
    """One thing that may be lost.

    Attributes
    ----------
    say : Say
        Takes the events.
    what : str
        What it is, for people.
    back : str
        The name of the event that says that it is back.
    """

    say: Say
    what: str
    back: str
    _since: float | None = field(default=None, init=False)
    _said: set[str] = field(default_factory=set, init=False)

    @property
    def lasts(self) -> bool:
        """Whether it is lost now."""
        return self._since is not None

    def lost(self, name: str, reason: str, *, once_for: str = "") -> None:
        """Say that it is lost, if that was not said.

        Parameters
        ----------
        name : str
            The event's name.
        reason : str
            Why, in one line.
        once_for : str
            Each of these is said once; by default the event.
        """
        self._since = time.monotonic() if self._since is None else self._since
        key = once_for or name
        if key not in self._said and len(self._said) < _MOST_REASONS:
            self._said.add(key)
            self.say(event(name, f"{self.what}, each cycle tries again: {reason}", reason=reason))

    def over(self) -> None:
        """Say that it is back, if it was lost."""
        if self._since is not None:
            seconds = time.monotonic() - self._since
            self._since = None
            self._said.clear()
            self.say(event(self.back, f"{self.what}: that is over after {seconds:.0f} s", seconds=round(seconds, 1)))
