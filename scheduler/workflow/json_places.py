"""On which line of a JSON text the elements of an array stand: the standard library's parser does not say."""

from __future__ import annotations

import bisect
import json
import re
from collections.abc import Sequence

_BLANK = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def element_lines(text: str, path: Sequence[str]) -> list[int]:
    """Return the lines of an array's elements.

    Parameters
    ----------
    text : str
        JSON that parses.
    path : sequence of str
        The keys that lead to the array.

    Returns
    -------
    list of int
        Lines from 1; empty where the path leads to no array.
    """
    place = _find(text, _skip(text, 0), path)
    if place is None or text[place] != "[":
        return []
    breaks = [match.start() for match in re.finditer("\n", text)]
    lines: list[int] = []
    place = _skip(text, place + 1)
    while text[place] != "]":
        lines.append(bisect.bisect_left(breaks, place) + 1)
        _, place = _DECODER.raw_decode(text, place)
        place = _next(text, place)
    return lines


def _find(text: str, place: int, path: Sequence[str]) -> int | None:
    for wanted in path:
        if text[place] != "{":
            return None
        found: int | None = None
        place = _skip(text, place + 1)
        while text[place] != "}":
            key, place = _DECODER.raw_decode(text, place)
            place = _skip(text, _skip(text, place) + 1)
            if key == wanted:
                found = place  # of equal keys the parser takes the last
            _, place = _DECODER.raw_decode(text, place)
            place = _next(text, place)
        if found is None:
            return None
        place = found
    return place


def _skip(text: str, place: int) -> int:
    match = _BLANK.match(text, place)
    return match.end() if match else place


def _next(text: str, place: int) -> int:
    place = _skip(text, place)
    return _skip(text, place + 1) if text[place] == "," else place
