"""Slurm's short form of lists of nodes, `n[1-4,7],gpu[001-010]-ib`: read and written.

Written here because no library fits: python-hostlist is under the GPL, and ClusterShell's NodeSet gives letters a
meaning (`@group`, `!`, `&`) that Slurm does not. The form is that of "hostlist expressions" in scontrol(1) and
slurm.conf(5): brackets hold numbers and ranges, which keep their leading zeros, and a name may have several brackets.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

MOST_NAMES = 65_536
"""Names of one list at most, as Slurm has it (`MAX_RANGE` of its hostlist.c): `n[1-999999999]` must not fill memory."""

_LIST_ITEM = re.compile(r"(?:[^,\[\]]|\[[^\[\]]*\])+")
_PART = re.compile(r"\[([^\[\]]*)\]|[^\[\]]+")
_RANGE = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?", re.ASCII)
_NUMBERED = re.compile(r"(.*?)(\d{1,18})(\D*)", re.ASCII | re.DOTALL)
_PLAIN = re.compile(r"[A-Za-z0-9._-]+", re.ASCII)


def expand(text: str) -> tuple[str, ...]:
    """Return the names that a list stands for, in its order.

    Parameters
    ----------
    text : str
        The list; nothing, `(null)` and `None assigned` stand for no node.

    Returns
    -------
    tuple of str
        The names.

    Raises
    ------
    ValueError
        Where the text is no such list, or stands for more than `MOST_NAMES` names.

    Examples
    --------
    >>> expand("n[1-3,7],login")
    ('n1', 'n2', 'n3', 'n7', 'login')
    >>> expand("r[1-2]n[09-10]-ib")
    ('r1n09-ib', 'r1n10-ib', 'r2n09-ib', 'r2n10-ib')
    """
    if text in ("", "(null)", "None assigned"):
        return ()
    if "[" not in text:
        names = tuple(text.split(","))
        if not all(map(_PLAIN.fullmatch, names)):
            raise _error(text)
        return names
    found: list[str] = []
    for item in _items(text):
        found += _expanded(item, text)
        if len(found) > MOST_NAMES:
            raise ValueError(f"the list of nodes {text[:60]!r} stands for more than {MOST_NAMES} names")
    return tuple(found)


def compress(names: Iterable[str]) -> str:
    """Return a short list of names, for the arguments of a command, whose length is bounded.

    Parameters
    ----------
    names : iterable of str
        The names.

    Returns
    -------
    str
        The list; `expand` gives the same names back, sorted, each once.

    Raises
    ------
    ValueError
        Where a name has another letter than a node's name may have.

    Examples
    --------
    >>> compress(["n3", "n1", "n2", "gpu07", "gpu08"])
    'gpu[07-08],n[1-3]'
    """
    groups: dict[tuple[str, str, int], list[int]] = {}
    plain: list[str] = []
    for name in sorted(set(names)):
        if not _PLAIN.fullmatch(name):
            raise _error(name)
        match = _NUMBERED.fullmatch(name)
        if match is None:
            plain.append(name)
            continue
        before, digits, after = match.groups()
        # The width is part of the name where there are leading zeros: n1 and n01 are two nodes.
        width = len(digits) if digits[0] == "0" else 0
        groups.setdefault((before, after, width), []).append(int(digits))
    return ",".join(plain + [_grouped(key, sorted(numbers)) for key, numbers in groups.items()])


def _grouped(key: tuple[str, str, int], numbers: Sequence[int]) -> str:
    before, after, width = key
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    texts = [f"{a:0{width}d}" if a == b else f"{a:0{width}d}-{b:0{width}d}" for a, b in runs]
    if len(numbers) == 1:
        return f"{before}{texts[0]}{after}"
    return f"{before}[{','.join(texts)}]{after}"


def _items(text: str) -> Iterator[str]:
    at = 0
    while True:
        match = _LIST_ITEM.match(text, at)
        if match is None:
            raise _error(text)
        yield match[0]
        at = match.end()
        if at == len(text):
            return
        if text[at] != ",":
            raise _error(text)
        at += 1


def _expanded(item: str, text: str) -> list[str]:
    parts: list[Sequence[str]] = []
    count = 1
    for match in _PART.finditer(item):
        if match[1] is None:
            if not _PLAIN.fullmatch(match[0]):
                raise _error(text)
            parts.append((match[0],))
            continue
        numbers = _numbers(match[1], text)
        count *= len(numbers)
        if count > MOST_NAMES:
            raise ValueError(f"the list of nodes {text[:60]!r} stands for more than {MOST_NAMES} names")
        parts.append(numbers)
    return ["".join(name) for name in product(*parts)]


def _numbers(inside: str, text: str) -> list[str]:
    found: list[str] = []
    for word in inside.split(","):
        match = _RANGE.fullmatch(word)
        if match is None:
            raise _error(text)
        low, high = int(match[1]), int(match[2] or match[1])
        if not low <= high < low + MOST_NAMES:
            raise _error(text)
        width = len(match[1])
        found += [f"{number:0{width}d}" for number in range(low, high + 1)]
    return found


def _error(text: str) -> ValueError:
    return ValueError(f"{text[:60]!r} is no list of nodes, expected names such as n1,n[2-4],gpu[001-010]-ib")
