"""Values of options: one syntax, here and in `slurm_plugins/spank/values.c`; tests hold the two equal.

All is integers and ASCII: a value is read as bytes, a time is whole milliseconds, a size is whole bytes.
"""

from __future__ import annotations

import re

from scheduler.options.table import DAY, HOUR, LONGEST_VALUE, MINUTE, SECOND, Kind, Option
from traces.errors import InputError

_SHOWN = 40
"""Bytes of a wrong value that a message repeats."""

_NAME = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._-]*")
_NUMBER = rb"(\d+(?:\.\d+)?|\.\d+)"
_BARE = re.compile(_NUMBER)
_SIZE = re.compile(_NUMBER + rb" *(?:([kmgtp])(?:i?b)?|b)?")
_PART = re.compile(_NUMBER + rb" *(ms|[smhdw]) *")
_CLOCK = re.compile(rb"(?:(\d+)-)?(\d+)(?::(\d+))?(?::(\d+))?(\.\d+)?")
_TIME_UNITS = {b"ms": 1, b"s": SECOND, b"m": MINUTE, b"h": HOUR, b"d": DAY, b"w": 7 * DAY}
_SIZE_UNITS = {unit: 1 << 10 * power for power, unit in enumerate((b"", b"k", b"m", b"g", b"t", b"p"))}
_TIME_DECIMALS, _SIZE_DECIMALS = 9, 3
"""Decimals accepted: as many as 64-bit integers hold in C with the largest unit."""


def canonical(option: Option, text: str, where: str | None = None) -> str:
    """Check a value and write it in its one canonical form.

    Parameters
    ----------
    option : Option
        Whose value it is.
    text : str
        As a person wrote it.
    where : str, optional
        What the message names as the value's place; by default the flag.

    Returns
    -------
    str
        Seconds with at most three decimals, bytes, a word in lower case, or a name as it is.

    Raises
    ------
    InputError
        For anything else; one line that names the place, the value and what is accepted.

    Examples
    --------
    >>> from scheduler.options.table import BY_KEY
    >>> canonical(BY_KEY["on_demand"], "1m30s"), canonical(BY_KEY["tier_far"], "1.5G")
    ('90', '1610612736')
    """
    raw = _bytes(text)
    found = _canonical(option, raw.strip(b" ").lower(), raw.strip(b" ")) if len(raw) <= LONGEST_VALUE else None
    if found is None:
        place = f"--{option.flag}" if where is None else where
        raise InputError(f"{place}: '{shown(raw)}' is not accepted; expected {option.accepted}")
    return found


def shown(raw: bytes) -> str:
    r"""Write any bytes in one harmless line: printable ASCII, the rest as \xNN, cut at 40 bytes."""
    kept = "".join(chr(byte) if 32 <= byte < 127 and byte not in b"'\\" else f"\\x{byte:02x}" for byte in raw[:_SHOWN])
    return kept + ("..." if len(raw) > _SHOWN else "")


def _bytes(text: str) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")  # the bytes that the shell passed
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


def _canonical(option: Option, word: bytes, raw: bytes) -> str | None:
    if option.kind is Kind.NAME:
        return raw.decode() if _NAME.fullmatch(raw) else None
    for known in option.words:
        if word == known.encode():
            return known
    if option.kind is Kind.CHOICE:
        return None
    value = _size(word) if option.kind is Kind.SIZE else _time(word)
    if value is None or not option.minimum <= value <= option.maximum:
        return None
    return str(value) if option.kind is Kind.SIZE else seconds_text(value)


def seconds_text(milliseconds: int) -> str:
    """Write milliseconds as seconds, with as many decimals as it takes: `120`, `0.25`."""
    whole, rest = divmod(milliseconds, SECOND)
    return f"{whole}.{rest:03d}".rstrip("0") if rest else str(whole)


def _size(word: bytes) -> int | None:
    match = _SIZE.fullmatch(word)
    return None if match is None else _scaled([(match[1], _SIZE_UNITS[match[2] or b""])], _SIZE_DECIMALS)


def _time(word: bytes) -> int | None:
    if _BARE.fullmatch(word):
        return _scaled([(word, SECOND)], _TIME_DECIMALS)
    parts: list[tuple[bytes, int]] = []
    position = 0
    while match := _PART.match(word, position):
        unit = _TIME_UNITS[match[2]]
        if parts and unit >= parts[-1][1]:
            return None  # units must fall: `30m1h` is more likely a slip than a wish
        parts.append((match[1], unit))
        position = match.end()
    if parts:
        return _scaled(parts, _TIME_DECIMALS) if position == len(word) else None
    return _clock(word)


def _clock(word: bytes) -> int | None:
    match = _CLOCK.fullmatch(word)
    if match is None:
        return None
    days, first, second, third, fraction = match.groups()
    groups = sum(group is not None for group in (first, second, third))
    if (days is None and groups == 1) or (days is not None and fraction is not None and groups < 3):
        return None
    # The leading number may be as large as it likes (90:00), those behind it may not.
    behind = [int(group) for group in (second, third) if group is not None]
    if any(number >= 60 for number in behind) or (days is not None and int(first) >= 24):
        return None
    units = [HOUR, MINUTE, SECOND] if days is not None or groups == 3 else [MINUTE, SECOND]
    numbers = [group for group in (first, second, third) if group is not None]
    parts = [(days or b"0", DAY), *zip(numbers, units, strict=False)]
    return _scaled([*parts, ((fraction or b".0"), SECOND)], _TIME_DECIMALS)


def _scaled(parts: list[tuple[bytes, int]], decimals: int) -> int | None:
    """Add numbers times their units in exact integers, rounding half up once; None for too many decimals."""
    scale: int = 10**decimals
    total = 0
    for number, unit in parts:
        whole, _, fraction = number.partition(b".")
        if len(fraction) > decimals:
            return None
        total += int(whole or b"0") * scale * unit + int(fraction.ljust(decimals, b"0")) * unit
    return (total + scale // 2) // scale
