"""Local times as POSIX times, with the hours in mind that occur twice or never when clocks change.

A local time alone does not tell which of two hours it is in. So every time is kept in both readings until the rest
of the record settles it: end minus start must be the run time, and jobs are submitted in some order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from traces.errors import InputError
from traces.table import Array

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_QUARTER = 900
"""Clocks change at a quarter of an hour, in every zone since 1970 [s]."""
_FIRST_YEAR, _LAST_YEAR = 1971, 2199
_MISSING = frozenset({"", "unknown", "none", "n/a", "null", "nat", "nan", "0", "invalid"})
_ISO_LENGTHS = (16, 26)  # 2022-01-01 08:00 to 2022-01-01 08:00:00.000000


@dataclass(frozen=True)
class Stamps:
    """Times of a column in both readings.

    Attributes
    ----------
    early, late : array of float64
        POSIX seconds, NaN where missing; equal unless the clocks changed within that hour.
    bad : array of bool
        Rows with text that is no time.
    """

    early: Floats
    late: Floats
    bad: Flags

    @property
    def unclear(self) -> Flags:
        """Rows in which the readings differ."""
        return self.early < self.late


def zone_named(name: str) -> ZoneInfo:
    """Return a time zone.

    Parameters
    ----------
    name : str
        A name of the IANA database, such as `America/Chicago` or `UTC`.

    Raises
    ------
    InputError
        Where there is no such zone.
    """
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise InputError(
            f"time zone {name!r} is not known; expected a name such as UTC, America/Chicago or Europe/Berlin"
        ) from None


def read_stamps(texts: Array, zone: ZoneInfo) -> Stamps:
    """Read a column of times.

    Parameters
    ----------
    texts : array of str
        `2022-01-01 08:00:00` or with a `T`, with or without a fraction: local time of the zone. With an offset or a
        `Z`, or as whole seconds since 1970: absolute. `Unknown`, `None`, nothing, and years before 1971 (second 0
        of 1970, as some logs write it) are missing.
    zone : ZoneInfo
        The zone of local times.

    Returns
    -------
    Stamps
        Both readings of each.
    """
    local = np.full(len(texts), "NaT", "datetime64[us]")
    absolute = np.full(len(texts), np.nan)
    bad = np.zeros(len(texts), bool)
    plain = _looks_iso(texts)
    if plain.any():
        try:
            local[plain] = texts[plain].astype("datetime64[us]")
        except ValueError:  # one of them is no date, such as the 31st of February
            plain = np.zeros(len(texts), bool)
    for row in np.flatnonzero(~plain):
        _read_one(str(texts[row]), int(row), local, absolute, bad)
    years = local.astype("datetime64[Y]").astype(np.int64) + 1970
    years[np.isnat(local)] = _FIRST_YEAR
    bad |= years > _LAST_YEAR
    local[(years < _FIRST_YEAR) | bad] = "NaT"
    early, late = _both_readings(local, zone)
    known = ~np.isnan(absolute)
    return Stamps(np.where(known, absolute, early), np.where(known, absolute, late), bad)


def _looks_iso(texts: Array) -> Flags:
    """Whether texts are shaped like `2022-01-01 08:00:00`, without an offset; NumPy parses those as a whole."""
    width = texts.dtype.itemsize // 4
    if not len(texts) or width < _ISO_LENGTHS[0]:
        return np.zeros(len(texts), bool)
    codes = np.ascontiguousarray(texts).view(np.uint32).reshape(len(texts), width)
    lengths = np.char.str_len(texts)
    shaped = (lengths >= _ISO_LENGTHS[0]) & (lengths <= _ISO_LENGTHS[1])
    for place, allowed in ((4, "-"), (7, "-"), (10, " T"), (13, ":")):
        shaped &= np.isin(codes[:, place], [ord(letter) for letter in allowed])
    digits = (codes >= ord("0")) & (codes <= ord("9"))
    for place in (0, 1, 2, 3, 5, 6, 8, 9, 11, 12, 14, 15):
        shaped &= digits[:, place]
    if width > 16:
        shaped &= (codes[:, 16] == ord(":")) | (lengths == 16)
    # Behind the seconds only a fraction may stand: an offset or a Z is for the careful path.
    rest = codes[:, 17:]
    shaped &= (digits[:, 17:] | (rest == 0) | (rest == ord("."))).all(axis=1)
    result: Flags = shaped
    return result


def _read_one(text: str, row: int, local: Array, absolute: Floats, bad: Flags) -> None:
    """Read a time of an unusual form."""
    word = text.strip()
    if word.lower() in _MISSING:
        return
    if word.isascii() and word.isdecimal() and 5 <= len(word) <= 11:
        absolute[row] = float(word)
        return
    try:
        moment = datetime.fromisoformat(word)
        if moment.tzinfo is None:
            local[row] = np.datetime64(moment, "us")
        else:
            absolute[row] = moment.timestamp()
    except (ValueError, OverflowError):
        bad[row] = True


def _both_readings(local: Array, zone: ZoneInfo) -> tuple[Floats, Floats]:
    """Return the earlier and the later POSIX time that each local time may mean; NaN for NaT."""
    known = ~np.isnat(local)
    early, late = np.full(len(local), np.nan), np.full(len(local), np.nan)
    micro = local[known].astype(np.int64)
    clock = micro / 1e6
    quarters, index = np.unique(micro // (_QUARTER * 1_000_000), return_inverse=True)
    offsets = np.array([_offsets(zone, int(quarter)) for quarter in quarters]).reshape(-1, 2)[index]
    early[known] = clock - offsets.max(axis=1)
    late[known] = clock - offsets.min(axis=1)
    return early, late


@lru_cache(maxsize=1 << 17)
def _offsets(zone: ZoneInfo, quarter: int) -> tuple[float, float]:
    """Return the offsets from UTC that a local quarter of an hour may have [s]."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=quarter * _QUARTER)
    both = [moment.replace(tzinfo=zone, fold=fold).utcoffset() or timedelta(0) for fold in (0, 1)]
    return both[0].total_seconds(), both[1].total_seconds()


def settle(submit: Stamps, start: Stamps, end: Stamps, run_time: Floats) -> tuple[Floats, Floats, Floats, Flags]:
    """Choose between the readings of each record.

    Start and end are read such that their difference is closest to the run time; where it is not known, such that
    the end is not before the start. A submission is read late where the record above it was submitted after its
    early reading, which a log in the order of submission shows, and the late one is still before the start.

    Parameters
    ----------
    submit, start, end : Stamps
        Columns of times, in the order of the file.
    run_time : array of float64
        Recorded run times [s], NaN where missing.

    Returns
    -------
    submit, start, end : array of float64
        POSIX times [s], NaN where missing.
    unclear : array of bool
        Rows in which a choice had to be made.
    """
    begun, ended = start.early.copy(), end.early.copy()
    for row in np.flatnonzero(start.unclear | end.unclear):
        begun[row], ended[row] = min(
            _choices(start, end, int(row)), key=lambda pair: _misfit(pair, float(run_time[row]))
        )
    submitted = submit.early.copy()
    for row in np.flatnonzero(submit.unclear):
        above = submitted[row - 1] if row else -np.inf
        late = submit.late[row]
        if submit.early[row] < above <= late and not late > begun[row]:
            submitted[row] = late
    return submitted, begun, ended, submit.unclear | start.unclear | end.unclear


def _choices(start: Stamps, end: Stamps, row: int) -> Iterable[tuple[float, float]]:
    for begun in (start.early[row], start.late[row]):
        for ended in (end.early[row], end.late[row]):
            yield float(begun), float(ended)


def _misfit(pair: tuple[float, float], run_time: float) -> float:
    """Return how badly a reading fits the run time; of equals, `min` takes the earliest."""
    span = pair[1] - pair[0]
    if np.isnan(span):
        return 0.0
    if np.isnan(run_time):
        return 0.0 if span >= 0 else -span
    return abs(span - run_time)
