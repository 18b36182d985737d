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


_FINER_TICKS = ((30.0, "30 s"), (120.0, "2 min"), (300.0, "5 min"), (1800.0, "30 min"), (2 * _HOUR, "2 h"))
_WIDE = 100.0  # with more than that between its ends, an axis has no room for the finer ticks


def squeezed_axis(longest: float, shortest: float = 0.0) -> dict[str, Any]:
    """Return a plotly axis for squeezed durations, from a shortest to a longest one [s]."""
    low, top = (float(squeeze(np.array([end]))[0]) for end in (shortest, max(longest, 1.0)))
    margin = 0.04 * (top - low) if shortest else 0.02 * top
    ticks = [*SQUEEZED_TICKS, *(_FINER_TICKS if shortest and longest < _WIDE * shortest else ())]
    at = squeeze(np.array([seconds for seconds, _ in ticks])).tolist()
    shown = sorted((place, text) for place, (_, text) in zip(at, ticks, strict=True) if place <= top + margin)
    return {
        "type": "linear",
        "range": [round(low - margin, 5), round(top + 0.04 * (top - low), 5)],
        "tickmode": "array",
        "tickvals": [place for place, _ in shown],
        "ticktext": [text for _, text in shown],
    }
