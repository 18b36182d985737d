"""Sizes, times and counts in files and options of workflows, each with a message that says what is accepted."""

from __future__ import annotations

import math

from scheduler.options.table import PIB, Kind, Option
from scheduler.options.values import canonical
from traces.durations import parse_duration
from traces.errors import InputError

_SIZE = Option("size", Kind.SIZE, "SIZE", "", "", minimum=0, maximum=PIB, example="512M, 2G")
_MOST_CPUS = 65_536


def size(where: str, text: str) -> int:
    """Read a size.

    Parameters
    ----------
    where : str
        The value's place, for the message.
    text : str
        A number with a binary unit (`512M`), or bytes.

    Returns
    -------
    int
        Bytes.

    Raises
    ------
    InputError
        For anything else.
    """
    return int(canonical(_SIZE, text, where))


def positive_size(where: str, text: str) -> int:
    """Read a size above nothing; see `size`."""
    found = size(where, text)
    if found == 0:
        raise InputError(f"{where}: {text!r} is nothing; expected a SIZE above 0 (512M, 2G)")
    return found


def seconds(where: str, text: str) -> float:
    """Read a time in seconds or with a unit.

    Raises
    ------
    InputError
        Where it is none, or has no end.
    """
    try:
        found = parse_duration(text)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    if not math.isfinite(found):
        raise InputError(f"{where}: a task's time has to end; expected a TIME (90, 10m, 1h30m)")
    return found


def count(where: str, text: str) -> int:
    """Read a number of processors.

    Raises
    ------
    InputError
        Where it is none.
    """
    if not text.isascii() or not text.isdecimal() or not 1 <= int(text[:9]) <= _MOST_CPUS:
        raise InputError(f"{where}: {text[:40]!r} is not accepted; expected a whole number from 1 to {_MOST_CPUS}")
    return int(text)


def size_words(value: float) -> str:
    """Write bytes for people: `1.5 GiB`."""
    scaled, unit = float(value), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB", "PiB"):
        if abs(scaled) < 1024:
            break
        scaled, unit = scaled / 1024, larger
    return f"{scaled:.3g} {unit}"
