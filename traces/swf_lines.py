"""The Standard Workload Format line by line, for blocks in which something is unusual."""

from __future__ import annotations

import math
import re

import numpy as np
import numpy.typing as npt

from traces.problems import REPAIR
from traces.raw import Integers, Tally
from traces.sources import Block, decoded_lines

_FIELDS = 18
LARGEST = float(2**53)
"""Numbers beyond this are no longer exact, and are no job's."""
WHOLE_FIELDS = (0, 4, 7, 10, 11, 12, 13, 14, 15, 16)
"""The fields that hold ids and counts, from 0."""
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?", re.ASCII)
_DELIMITERS = (",", ";", "|")
_SHOWN = 40


def parse_lines(block: Block, source: str, tally: Tally) -> tuple[npt.NDArray[np.float64], Integers, list[str], int]:
    """Parse job lines one at a time, and say what is wrong with those that cannot be used.

    Parameters
    ----------
    block : Block
        The lines.
    source : str
        The file, as messages name it.
    tally : Tally
        Where the problems are counted.

    Returns
    -------
    numbers : array of float64, shape (jobs, 18)
        The fields of the usable lines.
    lines : array of int64
        Their line numbers.
    comments : list of str
        Comment lines among them.
    rows_read : int
        Job lines, with those that were not usable.

    Raises
    ------
    InputError
        Where a problem is to be refused.
    """
    rows: list[list[float]] = []
    numbers: list[int] = []
    comments: list[str] = []
    count = 0
    text = decoded_lines(block, source, tally)
    for offset, line in enumerate(text):
        number = block.first_line + offset
        stripped = line.strip()
        if not stripped or stripped.startswith((";", "#")):
            if stripped:
                comments.append(stripped)
            continue
        count += 1
        last = not block.complete and offset == len(text) - 1
        row = _parse_line(stripped, f"{source}:{number}", last, tally)
        if row is not None:
            rows.append(row)
            numbers.append(number)
    table = np.array(rows, dtype=np.float64).reshape(-1, _FIELDS)
    return table, np.array(numbers, dtype=np.int64), comments, count


def _parse_line(line: str, where: str, last: bool, tally: Tally) -> list[float] | None:
    """Return the 18 numbers of a job line, or None where it had to be left out."""
    parts = line.split()
    if len(parts) != _FIELDS:
        other = _split_otherwise(line)
        if other is not None:
            treatment = tally.meet(
                "wrong_delimiter", 1, [f"{where}: fields separated by {other[0]!r} instead of blanks"]
            )
            parts = other[1] if treatment == REPAIR else parts
    if len(parts) != _FIELDS:
        kind = "truncated_line" if last and len(parts) < _FIELDS else "malformed_line"
        found = f"{where}: {len(parts)} fields instead of 18: {line[:_SHOWN]!r}"
        tally.count(kind, 1, tally.treatment(kind), [found])
        return None
    values: list[float] = []
    for index, part in enumerate(parts):
        value = float(part) if _NUMBER.fullmatch(part) else math.nan
        if not abs(value) <= LARGEST or (index in WHOLE_FIELDS and value != int(value)):
            kind = "truncated_line" if last and index == _FIELDS - 1 else "malformed_line"
            wanted = "a whole number" if index in WHOLE_FIELDS else "a number"
            found = f"{where}: field {index + 1}: {part[:_SHOWN]!r} is not {wanted}"
            tally.count(kind, 1, tally.treatment(kind), [found])
            return None
        values.append(value)
    return values


def _split_otherwise(line: str) -> tuple[str, list[str]] | None:
    """Split at a delimiter of another format where that gives 18 fields."""
    for delimiter in _DELIMITERS:
        parts = [part.strip() for part in line.strip(delimiter).split(delimiter)]
        if len(parts) == _FIELDS and all(parts):
            return delimiter, parts
    return None
