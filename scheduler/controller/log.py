"""The controller's log: one JSON object a line, whatever a job is called."""

from __future__ import annotations

import contextlib
import json
import math
import os
import time
from dataclasses import dataclass

from scheduler.controller.events import DEBUG, ERROR, INFO, WARNING, Event

LEVELS = (DEBUG, INFO, WARNING, ERROR)
"""From the least to the most important."""

_LONGEST_TEXT = 2000
_MOST_ITEMS = 1000
_STANDARD_ERROR = 2


@dataclass(frozen=True)
class Log:
    """Writes events.

    Attributes
    ----------
    level : str
        The least important that is written.
    descriptor : int
        Where to.
    """

    level: str = INFO
    descriptor: int = _STANDARD_ERROR

    def __call__(self, event: Event) -> None:
        """Write an event; a log that cannot be written (its own disk is full, say) ends nothing."""
        if LEVELS.index(event.level) >= LEVELS.index(self.level):
            with contextlib.suppress(OSError):
                os.write(self.descriptor, line(event, time.time()).encode("ascii"))


def line(event: Event, now: float) -> str:
    """Return an event as a line of the log.

    Parameters
    ----------
    event : Event
        What has happened.
    now : float
        When [s].

    Returns
    -------
    str
        One JSON object in ASCII, and the only line break at its end: anything else is escaped. Long texts are cut.
    """
    head = {"time": round(now, 3), "level": event.level, "event": event.name, "message": event.message}
    values = {name: _plain(value) for name, value in {**head, **event.fields}.items()}
    return json.dumps(values, ensure_ascii=True, allow_nan=False) + "\n"


def _plain(value: object) -> object:
    if isinstance(value, str):
        return value if len(value) <= _LONGEST_TEXT else value[: _LONGEST_TEXT - 3] + "..."
    if isinstance(value, float):
        return value if math.isfinite(value) else None  # JSON has no word for infinity
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value[:_MOST_ITEMS]]
    if isinstance(value, dict):
        return {str(name): _plain(item) for name, item in value.items()}
    return value if value is None or isinstance(value, bool | int) else _plain(str(value))
