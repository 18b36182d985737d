"""On which line of a TOML file a value stands: the parser of the standard library does not say."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping

Path = tuple[str, ...]

_HEADER = re.compile(r"\s*\[([^\[\]]+)\]\s*(?:#.*)?$")
_KEY = re.compile(r"""\s*((?:[A-Za-z0-9_.\-]+|"[^"]*"|'[^']*'|\s*\.\s*)+?)\s*=""")


def _parts(dotted: str) -> Path | None:
    """Split a dotted key as TOML does, by letting TOML do it."""
    try:
        found = tomllib.loads(f"{dotted} = 0")
    except tomllib.TOMLDecodeError:
        return None
    parts: list[str] = []
    inner: object = found
    while isinstance(inner, dict):
        key, inner = next(iter(inner.items()))
        parts.append(key)
    return tuple(parts)


def lines_of(text: str) -> Mapping[Path, int]:
    """Return the line of each table and each key of a TOML text.

    Parameters
    ----------
    text : str
        TOML that parses. Keys inside inline tables and multi-line values have the line of what holds them.

    Returns
    -------
    Mapping of path to int
        Line numbers from 1, by the path of keys.
    """
    found: dict[Path, int] = {}
    table: Path = ()
    for number, line in enumerate(text.splitlines(), start=1):
        header = _HEADER.match(line)
        key = _KEY.match(line)
        if header and (parts := _parts(header[1].strip())):
            table = parts
            for depth in range(1, len(table) + 1):
                found.setdefault(table[:depth], number)
        elif key and (parts := _parts(key[1].strip())):
            found.setdefault(table + parts, number)
    return found


def line_of(lines: Mapping[Path, int], path: Path) -> int:
    """Return the line of a path, or of the nearest thing around it that has one; 1 where nothing has."""
    while path:
        if path in lines:
            return lines[path]
        path = path[:-1]
    return 1
