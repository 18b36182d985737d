"""Times and amounts as people read them: the clock of the time axes, durations, and text that is safe to show."""

from __future__ import annotations

import html
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from cosim.engine import Replayed
from cosim.snapshot import Floats
from traces.durations import format_duration

EPOCH_FROM = 1e8
"""Times from here on are POSIX timestamps (1973 and later), smaller ones count from the trace's start [s]."""

EPOCH_UNTIL = 2.5e11
"""Times from here on are not timestamps either: the year 9892 is the last that a browser's date axis is sure of [s]."""

_HOUR = 3600.0
_LONGEST_TEXT = 60


@dataclass(frozen=True)
class Clock:
    """How the time axes of a report count.

    Attributes
    ----------
    dates : bool
        Whether times are dates (UTC), or else hours since the trace's time zero.
    """

    dates: bool

    @property
    def title(self) -> str:
        """What the axis counts."""
        return "time (UTC)" if self.dates else "hours since the trace's time zero"

    @property
    def axis_type(self) -> str:
        """The type of the axis, in plotly's words."""
        return "date" if self.dates else "linear"

    @property
    def per_second(self) -> float:
        """Axis units in a second: dates are counted in milliseconds."""
        return 1e3 if self.dates else 1.0 / _HOUR

    def at(self, seconds: Floats) -> Floats:
        """Return times as axis values."""
        return np.round(seconds * self.per_second, 0 if self.dates else 6)

    def text(self, seconds: Floats) -> list[str]:
        """Return times as text, to the second."""
        if self.dates:
            stamps = np.floor(seconds).astype("datetime64[s]")
            return [str(stamp).replace("T", " ") for stamp in np.datetime_as_string(stamps)]
        return ["+" + duration(second) for second in seconds.tolist()]


def clock_of(replays: Mapping[str, Replayed]) -> Clock:
    """Return the clock that suits the times of some replays."""
    first = min((float(replayed.jobs["submit"].min()) for replayed in replays.values()), default=0.0)
    last = max((float(replayed.jobs["finish"].max()) for replayed in replays.values()), default=0.0)
    return Clock(dates=first >= EPOCH_FROM and last < EPOCH_UNTIL)


def duration(seconds: float) -> str:
    """Write a duration to the second, or to the tenth of a second where it is a short one."""
    return format_duration(round(seconds, 1) if abs(seconds) < 10 else round(seconds))


def plain(text: str) -> str:
    """Return text from a trace so that HTML and plotly's labels show it literally, cut to a length that fits.

    Plotly knows few entities, so quotes stay as they are: not for attributes. It fills in ``%{...}`` in some labels,
    so an opening brace does not stay.
    """
    shown = text if len(text) <= _LONGEST_TEXT else text[: _LONGEST_TEXT - 1] + "\N{HORIZONTAL ELLIPSIS}"
    return html.escape(shown, quote=False).replace("{", "&#123;")


SQUEEZED_TICKS = (
    (0.0, "0"),
    (1.0, "1 s"),
    (10.0, "10 s"),
    (60.0, "1 min"),
    (600.0, "10 min"),
    (_HOUR, "1 h"),
    (6 * _HOUR, "6 h"),
    (24 * _HOUR, "1 d"),
    (168 * _HOUR, "1 wk"),
    (720 * _HOUR, "30 d"),
    (8760 * _HOUR, "1 y"),
    (87600 * _HOUR, "10 y"),
)
"""Ticks of an axis of durations that is logarithmic and still has a place for zero."""


def squeeze(seconds: Floats) -> Floats:
    """Return durations on a scale that is linear below a second and logarithmic above: ``log10(1 + seconds)``."""
    return np.round(np.log1p(np.clip(seconds, 0.0, None)) / math.log(10.0), 5)


def squeezed_axis(longest: float) -> dict[str, Any]:
    """Return a plotly axis for squeezed durations from zero to a longest one [s]."""
    ticks = [(at, text) for at, text in SQUEEZED_TICKS if at <= max(longest, 1.0) * 1.3]
    top = math.log10(1.0 + max(longest, 1.0)) * 1.04
    return {
        "type": "linear",
        "range": [-0.02 * top, top],
        "tickmode": "array",
        "tickvals": [round(math.log10(1.0 + at), 5) for at, _ in ticks],
        "ticktext": [text for _, text in ticks],
    }
