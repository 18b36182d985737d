"""Durations that are the same for every job, or drawn for each from a distribution."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cosim.snapshot import Floats
from traces.durations import format_duration, parse_duration
from traces.errors import InputError

_PARAMETERS = {
    "constant": ("the duration",),
    "uniform": ("the least", "the most"),
    "exponential": ("the mean",),
    "lognormal": ("the median", "sigma"),
}

FORMS = "TIME, uniform:LEAST:MOST, exponential:MEAN or lognormal:MEDIAN:SIGMA"
"""What `parse` accepts, for messages and help texts."""


@dataclass(frozen=True)
class Draw:
    """A distribution of durations.

    Attributes
    ----------
    kind : str
        `constant`, `uniform`, `exponential` or `lognormal`.
    first, second : float
        Its parameters: duration; least and most; mean; median [all in s] and sigma (of the logarithm).
    """

    kind: str
    first: float
    second: float = 0.0

    def described(self) -> str:
        """Return the distribution in words, such as `1h` or `uniform from 5m to 1h`."""
        first = format_duration(self.first)
        if self.kind == "uniform":
            return f"uniform from {first} to {format_duration(self.second)}"
        if self.kind == "exponential":
            return f"exponential with mean {first}"
        if self.kind == "lognormal":
            return f"lognormal with median {first} and sigma {self.second:g}"
        return first

    def sample(self, rng: np.random.Generator, size: int) -> Floats:
        """Draw durations.

        Parameters
        ----------
        rng : numpy.random.Generator
            Where randomness comes from.
        size : int
            How many.

        Returns
        -------
        float64 array, shape (size,)
            Durations [s], at least 0.
        """
        if self.kind == "uniform":
            return rng.uniform(self.first, self.second, size)
        if self.kind == "exponential":
            return rng.exponential(self.first, size)
        if self.kind == "lognormal":
            return self.first * rng.lognormal(0.0, self.second, size)
        return np.full(size, self.first)


def parse(text: str) -> Draw:
    """Read a distribution of durations.

    Parameters
    ----------
    text : str
        `10m`, `uniform:5m:1h`, `exponential:20m` or `lognormal:10m:0.5`.

    Returns
    -------
    Draw
        The distribution.

    Raises
    ------
    InputError
        Where the text is none of these, or a duration is negative or without an end.
    """
    kind, *values = text.split(":")
    if kind not in _PARAMETERS or kind == "constant":
        return Draw("constant", _duration(text, text))
    names = _PARAMETERS[kind]
    if len(values) != len(names):
        raise InputError(f"{text!r}: {kind} takes {' and '.join(names)}, separated by colons; expected {FORMS}")
    first = _duration(values[0], text)
    if kind == "lognormal":
        return Draw(kind, first, _sigma(values[1], text))
    second = _duration(values[1], text) if kind == "uniform" else 0.0
    if kind == "uniform" and second < first:
        raise InputError(f"{text!r}: the most ({values[1]}) is below the least ({values[0]})")
    return Draw(kind, first, second)


def _duration(text: str, whole: str) -> float:
    seconds = parse_duration(text)
    if not 0 <= seconds < float("inf"):
        raise InputError(f"{whole!r}: {text!r} is no duration between zero and infinity; expected {FORMS}")
    return seconds


def _sigma(text: str, whole: str) -> float:
    try:
        sigma = float(text)
    except ValueError:
        sigma = -1.0
    if not 0 <= sigma <= 10:
        raise InputError(f"{whole!r}: sigma is {text!r}, expected a number from 0 to 10")
    return sigma
