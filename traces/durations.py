"""Durations as people and Slurm write them, in seconds, and back.

Slurm's own time forms (the `--time` option in sbatch(1), and what squeue, sacct and scontrol print) come beside
the suffix forms that people expect of a command line. One thing differs from Slurm: a bare number counts
seconds here, as every number of this program does, where `sbatch --time=90` would mean 90 minutes.
"""

from __future__ import annotations

import math
import re

from traces.errors import InputError

MINUTE = 60.0
HOUR = 3600.0
DAY = 86400.0

FORMS = (
    "seconds (90), a number with a unit (90s, 10m, 1.5h, 2d, 1h30m, 500ms), minutes:seconds (30:00), "
    "hours:minutes:seconds (1:00:00), days-hours (2-12), days-hours:minutes:seconds (1-02:03:04) or UNLIMITED"
)
"""Every accepted form, as error messages list them."""

_UNITS = {"ms": 1e-3, "s": 1.0, "m": MINUTE, "h": HOUR, "d": DAY, "w": 7 * DAY}
_NUMBER = re.compile(r"\d+(?:\.\d+)?|\.\d+", re.ASCII)
_PART = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*(ms|[smhdw])", re.ASCII)
_CLOCK = re.compile(r"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?(\.\d+)?", re.ASCII)
_UNLIMITED = frozenset({"unlimited", "infinite", "infinity", "inf"})
_UNKNOWN_LIMITS = frozenset({"", "partition_limit", "not_set", "unknown", "none", "n/a", "nan", "invalid"})
# Longer text is no duration, and is not worth matching against patterns.
_LONGEST = 64


def parse_duration(text: str) -> float:
    """Read a duration.

    Parameters
    ----------
    text : str
        Any of the forms that `FORMS` lists; letters in either case, space around is ignored.

    Returns
    -------
    float
        Seconds, at least 0; `math.inf` for UNLIMITED, INFINITE or inf.

    Raises
    ------
    InputError
        Where the text has none of the forms; the message lists them.

    Examples
    --------
    >>> parse_duration("30:00"), parse_duration("2-12"), parse_duration("1h30m")
    (1800.0, 216000.0, 5400.0)
    """
    word = text.strip().lower()
    if word in _UNLIMITED:
        return math.inf
    if word and len(word) <= _LONGEST:
        if _NUMBER.fullmatch(word):
            return float(word)
        seconds = _suffixed(word)
        if seconds is None:
            seconds = _clock(word)
        if seconds is not None:
            return seconds
    shown = text if len(text) <= _LONGEST else text[:_LONGEST] + "..."
    raise InputError(f"{shown!r} is no duration; accepted are {FORMS}")


def parse_limit(text: str) -> float:
    """Read a wall time limit as Slurm's accounting prints it.

    Parameters
    ----------
    text : str
        A duration (`parse_duration`), or one of the words for a limit that the record does not tell:
        `Partition_Limit`, `NOT_SET`, `Unknown`, `None` or nothing.

    Returns
    -------
    float
        Seconds; `math.inf` where there is no limit or where it is not known.

    Raises
    ------
    InputError
        Where the text is neither.
    """
    if text.strip().lower() in _UNKNOWN_LIMITS:
        return math.inf
    return parse_duration(text)


def format_duration(seconds: float) -> str:
    """Write a duration compactly, for people.

    Parameters
    ----------
    seconds : float
        Seconds; negative values get a minus sign, infinity becomes `unlimited`, NaN becomes `unknown`.

    Returns
    -------
    str
        Two or more units down to whole seconds (`1d 2h 3m 4s`); below a minute, up to three decimals
        (`1.5s`). Blanks apart, `parse_duration` reads it back, to the millisecond below a minute and to the
        second above.

    Examples
    --------
    >>> format_duration(5400), format_duration(0.25), format_duration(93784)
    ('1h 30m', '0.25s', '1d 2h 3m 4s')
    """
    if math.isnan(seconds):
        return "unknown"
    if math.isinf(seconds):
        return "unlimited" if seconds > 0 else "-unlimited"
    if seconds < 0:
        return "-" + format_duration(-seconds)
    if round(seconds, 3) < MINUTE:
        return f"{seconds:.3f}".rstrip("0").rstrip(".") + "s"
    rest = round(seconds)
    parts: list[str] = []
    for unit in ("d", "h", "m", "s"):
        count, rest = divmod(rest, int(_UNITS[unit]))
        if count:
            parts.append(f"{count}{unit}")
    return " ".join(parts)


def _suffixed(word: str) -> float | None:
    """Seconds of `1h30m` and the like; None where the text is not of that form."""
    total, position = 0.0, 0
    smallest = math.inf
    while position < len(word):
        part = _PART.match(word, position)
        # Units must fall: `30m1h` is more likely a slip than a wish.
        if part is None or _UNITS[part[2]] >= smallest:
            return None
        smallest = _UNITS[part[2]]
        total += float(part[1]) * smallest
        position = part.end()
        while position < len(word) and word[position] == " ":
            position += 1
    return total


def _clock(word: str) -> float | None:
    """Seconds of the forms with a colon or a dash, which read from the left after a dash and from the right without."""
    match = _CLOCK.fullmatch(word)
    if match is None:
        return None
    days, first, second, third, fraction = match.groups()
    if days is not None:
        hours, minutes, seconds = int(first), int(second or 0), int(third or 0)
    elif third is not None:
        hours, minutes, seconds = int(first), int(second), int(third)
    elif second is not None:
        hours, minutes, seconds = 0, int(first), int(second)
    else:
        return None
    if fraction is not None and third is None and days is not None:
        return None  # 1-02.5 has no seconds that the fraction could belong to
    # The leading number may be as large as it likes (90:00), those behind a colon may not.
    if seconds >= 60 or (minutes >= 60 and (third is not None or days is not None)):
        return None
    if days is not None and hours >= 24:
        return None
    return int(days or 0) * DAY + hours * HOUR + minutes * MINUTE + seconds + float(fraction or 0.0)
