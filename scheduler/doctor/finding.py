"""What a check says, and for which nodes it speaks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

OK, WARN, MISSING, FAIL = "ok", "warn", "missing", "fail"
"""All is well; it works, with less than it could; a part is not installed; what should work does not."""

LEVELS = (OK, WARN, MISSING, FAIL)
"""From the best to the worst."""

LOGIN, CONTROLLER, COMPUTE = "login", "controller", "compute"
ROLES = (LOGIN, CONTROLLER, COMPUTE)
"""What a node may be; one may be several."""

EVERYWHERE = frozenset(ROLES)

Facts = TypeVar("Facts")


@dataclass(frozen=True)
class Finding:
    """What a check found.

    Attributes
    ----------
    level : str
        One of `LEVELS`.
    found : str
        What is there.
    costs : str
        What the gap costs; empty where all is well.
    mend : str
        The command, or the line of a file, that mends it.
    """

    level: str
    found: str
    costs: str = ""
    mend: str = ""


@dataclass(frozen=True)
class Check(Generic[Facts]):
    """One thing to look at.

    Attributes
    ----------
    name : str
        What it is about, for people and programs.
    look : callable
        Judges the facts of its family; None where there is nothing to say here. Pure.
    roles : frozenset of str
        The nodes on which it matters.
    """

    name: str
    look: Callable[[Facts], Finding | None]
    roles: frozenset[str] = EVERYWHERE


def ok(found: str) -> Finding:
    """Say that all is well."""
    return Finding(OK, found)
