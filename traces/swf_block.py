"""A clean block of Standard Workload Format lines, parsed as a whole by array operations.

Whether the block is clean is checked on whole arrays too: only digits, signs, points and blanks; a minus only at the
start of a number and before a digit; 18 numbers on every line, none too large to be exact. So this path accepts
nothing that `traces.swf_lines` would repair or reject, and whatever it does not accept goes there.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

from traces.raw import Integers
from traces.sources import Block
from traces.swf_lines import LARGEST, WHOLE_FIELDS

FIELDS = 18
_MINUS, _ZERO, _BLANK, _NEW_LINE = ord("-"), ord("0"), ord(" "), ord("\n")

Codes = npt.NDArray[np.uint8]
Flags = npt.NDArray[np.bool_]


def parse_clean(block: Block) -> tuple[npt.NDArray[np.int64] | npt.NDArray[np.float64], Integers] | None:
    """Parse a block of job lines.

    Parameters
    ----------
    block : Block
        Lines of bytes.

    Returns
    -------
    tuple of (array of shape (jobs, 18), array of int64) or None
        The numbers, integers where all are, and the line of each job; None where anything is unusual.
    """
    data = block.data
    if not data.endswith(b"\n") or data.endswith((b"\n\n", b"\n\r\n")):
        data = data.rstrip() + b"\n"
    points = data.translate(None, b"0123456789- \t\r\n")
    if points.strip(b"."):
        return None
    codes = np.frombuffer(data, np.uint8)
    breaks = np.flatnonzero(codes == _NEW_LINE)
    starts = _starts(codes)
    if not (_eighteen_a_line(starts, breaks) and _signs_lead(codes, starts)):
        return None
    numbers = _parsed(data, float if points else int, FIELDS * len(breaks))
    if numbers is None or numbers.max() > LARGEST or numbers.min() < -LARGEST:
        return None
    table = numbers.reshape(-1, FIELDS)
    if points and any(np.any(table[:, index] % 1) for index in WHOLE_FIELDS):
        return None
    return table, np.arange(block.first_line, block.first_line + len(breaks), dtype=np.int64)


def _starts(codes: Codes) -> Flags:
    """Mark the characters at which a number starts."""
    solid = codes > _BLANK
    starts = solid.copy()
    np.greater(solid[1:], solid[:-1], out=starts[1:])
    return starts


def _eighteen_a_line(starts: Flags, breaks: Integers) -> bool:
    """Whether each line holds 18 numbers."""
    if np.count_nonzero(starts) != FIELDS * len(breaks):
        return False
    lines = np.concatenate(([0], breaks[:-1] + 1))
    # Counting in bytes is ten times as fast. A line of 18 + 256 numbers would pass for one of 18, but then the total,
    # which was checked first, could not be right, since no line has fewer than 18.
    return bool(np.all(np.add.reduceat(starts.view(np.uint8), lines, dtype=np.uint8) == FIELDS))


def _signs_lead(codes: Codes, starts: Flags) -> bool:
    """Whether each minus stands at the start of a number and before a digit."""
    minus = codes == _MINUS
    # The last character is a line break, so that each minus has a next one.
    before_other = minus[:-1] & (codes[1:] < _ZERO)
    return not before_other.any() and not (minus & ~starts).any()


def _parsed(data: bytes, kind: type, count: int) -> npt.NDArray[np.int64] | npt.NDArray[np.float64] | None:
    """Parse text in which numbers are separated by blanks; None where something in it is no such number."""
    dtype: type[np.float64] | type[np.int64] = np.float64 if kind is float else np.int64
    # NumPy tells of text that is no number by a warning or, in later releases, by an error.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            numbers: npt.NDArray[Any] = np.fromstring(data, dtype=dtype, sep=" ")
        except (DeprecationWarning, ValueError):
            return None
    # More numbers than runs of characters means that one run held two, such as 1.2.3.
    return numbers if len(numbers) == count else None
