"""Rows of a file with a header line: splitting them, and reading columns of text as numbers, times and limits."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np

from traces.detection import split_header
from traces.durations import parse_limit
from traces.errors import InputError
from traces.localtime import Flags, Floats, Stamps, read_stamps
from traces.problems import REPAIR
from traces.raw import Integers, Tally
from traces.sources import Progress, blocks, decoded_lines
from traces.table import Array

BATCH = 20_000
"""Rows that become arrays at a time; text as Python objects takes ten times the room of arrays."""
LONGEST_TEXT = 128
"""Characters of a field at most."""
_SHOWN = 40
_MISSING = frozenset({"", "none", "null", "nan", "unknown", "n/a", "na", "invalid"})

Mend = Callable[[list[str], Sequence[str]], list[str] | None]
"""Tries to make a row with too many fields fit the header; None where it cannot."""


@dataclass(frozen=True)
class Rows:
    """Some rows of a file, by column.

    Attributes
    ----------
    line : array of int64
        Line of each row.
    texts : Mapping of str to array of str
        The wanted columns that the file has, by their names in lower case.
    """

    line: Integers
    texts: Mapping[str, Array]

    def __len__(self) -> int:
        return len(self.line)


@dataclass
class Count:
    """What `read_rows` counts beside the problems."""

    rows: int = 0
    headers: int = 0


def read_rows(
    path: Path,
    wanted: frozenset[str],
    tally: Tally,
    *,
    delimiter: str,
    count: Count,
    mend: Mend | None = None,
    progress: Progress | None = None,
) -> Iterator[Rows]:
    """Read a file with a header line in batches of rows.

    Parameters
    ----------
    path : Path
        The file.
    wanted : frozenset of str
        Names of the columns to keep, in lower case.
    tally : Tally
        Where problems are counted.
    delimiter : str
        What the format separates fields by; what the file does is found by its header.
    count : Count
        Counts the rows and the repeated headers.
    mend : callable, optional
        Tries to repair rows with too many fields (`pipe_in_name`).
    progress : Progress, optional
        Called with bytes read and size.

    Yields
    ------
    Rows
        `BATCH` rows at most.
    """
    source = str(path)
    splitter: _Splitter | None = None
    lines: list[int] = []
    kept: list[list[str]] = []
    for block in blocks(path, tally, progress):
        texts = decoded_lines(block, source, tally)
        for offset, text in enumerate(texts):
            if not text or text.isspace():
                continue
            number = block.first_line + offset
            if splitter is None:
                splitter = _Splitter(text, f"{source}:{number}", wanted, delimiter, mend, tally)
                continue
            if text == splitter.header:
                count.headers += 1  # files joined with cat
                continue
            count.rows += 1
            last = not block.complete and offset == len(texts) - 1
            row = splitter.split(text, f"{source}:{number}", last)
            if row is not None:
                lines.append(number)
                kept.append(row)
                if len(kept) == BATCH:
                    yield splitter.rows(lines, kept)
                    lines, kept = [], []
    if splitter is None:
        raise InputError(f"{source}: holds nothing but blank lines; a trace has at least one job")
    if kept:
        yield splitter.rows(lines, kept)


class _Splitter:
    """Splits the lines of a file as its header says."""

    def __init__(
        self, header: str, where: str, wanted: frozenset[str], delimiter: str, mend: Mend | None, tally: Tally
    ) -> None:
        found = split_header(header)
        if found is None:
            raise InputError(f"{where}: is no header line that is known: {header[:_SHOWN]!r}")
        _, self.delimiter, self.names = found
        if self.delimiter != delimiter:
            tally.meet(
                "wrong_delimiter", 1, [f"{where}: fields separated by {self.delimiter!r} instead of {delimiter!r}"]
            )
        self.header, self.mend, self.tally = header, mend, tally
        # The first of two columns with the same name counts.
        self.places = {name: self.names.index(name) for name in self.names if name in wanted}
        self.quoted = delimiter == ","

    def split(self, text: str, where: str, last: bool) -> list[str] | None:
        """Return the wanted fields of a line, or None where it had to be left out."""
        parts = self._parts(text)
        if parts is not None and len(parts) > len(self.names) and self.mend is not None:
            mended = self.mend(parts, self.names)
            if mended is not None:
                shown = [f"{where}: {len(parts)} fields instead of {len(self.names)}"]
                if self.tally.meet("pipe_in_name", 1, shown) != REPAIR:
                    return None
                parts = mended
        if parts is None or len(parts) != len(self.names):
            few = parts is None or len(parts) < len(self.names)
            kind = "truncated_line" if last and few else "malformed_line"
            found = "a quoted field does not end" if parts is None else f"{len(parts)} fields"
            self.tally.meet(kind, 1, [f"{where}: {found}, expected {len(self.names)} fields: {text[:_SHOWN]!r}"])
            return None
        fields = [parts[place] for place in self.places.values()]
        return self._cut(fields, where) if len(text) > LONGEST_TEXT else fields

    def _cut(self, fields: list[str], where: str) -> list[str] | None:
        """Cut names that would make the whole column as wide as they are."""
        for name, value in zip(self.places, fields, strict=True):
            if len(value) > LONGEST_TEXT:
                shown = [f"{where}: {name}: {len(value)} characters: {value[:_SHOWN]!r}"]
                if self.tally.meet("long_text", 1, shown) != REPAIR:
                    return None
        return [value[:LONGEST_TEXT] for value in fields]

    def _parts(self, text: str) -> list[str] | None:
        if not self.quoted or '"' not in text:
            return text.split(self.delimiter)
        try:
            return next(csv.reader([text], delimiter=self.delimiter, strict=True), None)
        except csv.Error:
            return None

    def rows(self, lines: list[int], kept: list[list[str]]) -> Rows:
        """Turn rows into columns."""
        columns = zip(*kept, strict=True)
        texts = {
            name: np.char.strip(np.array(values, dtype=np.str_))
            for name, values in zip(self.places, columns, strict=True)
        }
        return Rows(np.array(lines, dtype=np.int64), texts)


class Fields:
    """Reads columns of text, and remembers the rows in which a field is not what it should be.

    Parameters
    ----------
    rows : Rows
        The rows.
    zone : ZoneInfo
        Time zone of local times.
    """

    def __init__(self, rows: Rows, zone: ZoneInfo) -> None:
        self.rows, self.zone = rows, zone
        self.bad: Flags = np.zeros(len(rows), bool)
        self._why: dict[int, str] = {}

    def __contains__(self, name: str) -> bool:
        return name in self.rows.texts

    def text(self, *names: str) -> Array:
        """Return the first of the columns that is there, else empty text."""
        for name in names:
            if name in self:
                return self.rows.texts[name]
        return np.zeros(len(self.rows), "<U1")

    def number(self, *names: str) -> Floats:
        """Return the first of the columns that is there as numbers; NaN where missing."""
        for name in names:
            if name in self:
                return self._numbers(name)
        return np.full(len(self.rows), np.nan)

    def count(self, *names: str) -> Integers:
        """Return a column as whole numbers, -1 where missing; `1.0` is whole."""
        values = self.number(*names)
        name = next((name for name in names if name in self), "")
        odd = ~np.isnan(values) & ((values != np.floor(values)) | (np.abs(values) > 2**53))
        self.refuse(odd, name, "a whole number")
        return np.where(np.isnan(values) | odd, -1, values).astype(np.int64)

    def limit(self, name: str) -> Floats:
        """Return a column of durations or wall time limits as Slurm prints them [s]; infinite where unknown."""
        values, index = np.unique(self.text(name), return_inverse=True)
        seconds = np.full(len(values), np.nan)
        for row, value in enumerate(values):
            try:
                seconds[row] = parse_limit(str(value))
            except InputError:
                continue
        result = seconds[index]
        self.refuse(np.isnan(result), name, "a duration")
        return result

    def stamps(self, *names: str) -> Stamps:
        """Return a column of times in both readings."""
        stamps = read_stamps(self.text(*names), self.zone)
        name = next((name for name in names if name in self), "")
        self.refuse(stamps.bad, name, "a time such as 2022-01-31 08:00:00")
        return stamps

    def refuse(self, wrong: Flags, name: str, wanted: str) -> None:
        """Remember rows in which a field is wrong, and what was wanted there."""
        for row in np.flatnonzero(wrong & ~self.bad):
            shown = str(self.rows.texts[name][row])[:_SHOWN]
            self._why[int(row)] = f"{name}: {shown!r} is not {wanted}"
        self.bad |= wrong

    def whys(self, source: str) -> Iterator[str]:
        """Yield `file:line: field: what is wrong` for the bad rows."""
        for row in np.flatnonzero(self.bad):
            yield f"{source}:{self.rows.line[row]}: {self._why[int(row)]}"

    def _numbers(self, name: str) -> Floats:
        texts = self.rows.texts[name]
        try:
            values = texts.astype(np.float64)
        except ValueError:
            values = np.array([_number(str(text)) for text in texts])
            wrong = np.isnan(values) & ~np.isin(np.char.lower(texts), list(_MISSING))
            self.refuse(wrong, name, "a number")
        return values


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
