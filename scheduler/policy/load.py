"""Reads a policy file and finds fault with it: every mistake with its line, its field and what was expected."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from scheduler.policy.lines import line_of, lines_of
from scheduler.policy.model import SCOPES, Policy, Rule
from traces.errors import InputError

_LARGEST = 1 << 20  # bytes; a policy file is written by hand


@dataclass(frozen=True)
class Fault:
    """One mistake in a policy file.

    Attributes
    ----------
    line : int
        Where, from 1.
    field : str
        The dotted field, empty for the file as a whole.
    message : str
        What is wrong, what was expected and what to do.
    """

    line: int
    field: str
    message: str


@dataclass(frozen=True)
class PolicyFile:
    """A policy with the lines its values stand on.

    Attributes
    ----------
    path : Path
        The file.
    policy : Policy
        What it says.
    lines : Mapping of path to int
        The line of each table and key.
    """

    path: Path
    policy: Policy
    lines: Mapping[tuple[str, ...], int]


def check(path: Path) -> tuple[PolicyFile | None, tuple[Fault, ...]]:
    """Read a policy file and collect all of its mistakes.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    policy : PolicyFile or None
        None where there are mistakes.
    faults : tuple of Fault
        In the order of the lines.

    Raises
    ------
    InputError
        Where the file cannot be read at all.
    """
    text = _text(path)
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        where = re.search(r"at line (\d+)", str(error))
        line = int(where[1]) if where else text.count("\n") + 1
        return None, (Fault(line, "", f"not TOML: {str(error).split(' (at ')[0]}"),)
    lines = lines_of(text)
    try:
        return PolicyFile(path, Policy.model_validate(values), lines), ()
    except ValidationError as error:
        faults = [_fault(detail, lines) for detail in error.errors()]
        return None, tuple(sorted(faults, key=lambda fault: (fault.line, fault.field)))


def load(path: Path) -> PolicyFile:
    """Read a policy file.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    PolicyFile
        The policy.

    Raises
    ------
    InputError
        At the first mistake, with its line; `check` gives them all.
    """
    policy, faults = check(path)
    if policy is None:
        first = faults[0]
        more = f" (and {len(faults) - 1} more: tierwise policy check {path})" if len(faults) > 1 else ""
        field = f"{first.field}: " if first.field else ""
        raise InputError(f"{path}:{first.line}: {field}{first.message}{more}")
    return policy


def _text(path: Path) -> str:
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{path}: larger than {_LARGEST} bytes; expected a policy file in TOML")
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not text in UTF-8; expected a policy file in TOML") from None


def _fault(detail: ErrorDetails, lines: Mapping[tuple[str, ...], int]) -> Fault:
    path = tuple(str(part) for part in detail["loc"])
    return Fault(line_of(lines, path), ".".join(path), _message(detail, path))


def _message(detail: ErrorDetails, path: tuple[str, ...]) -> str:
    if detail["type"] == "extra_forbidden":
        known = ["defaults", *SCOPES] if len(path) == 1 else list(Rule.model_fields)
        near = difflib.get_close_matches(path[-1], known, n=1, cutoff=0.0)
        return f"there is no such key; the nearest is {near[0]!r}; take one of {', '.join(known)}"
    if detail["type"] in ("model_type", "dict_type", "model_attributes_type"):
        return "expected a table of fields, such as [partition.batch]"
    message = str(detail.get("ctx", {}).get("error", "")) or detail["msg"]
    return message[0].lower() + message[1:]
