"""Values as Slurm's JSON states them, in all its shapes, and as the seam has them."""

from __future__ import annotations

import math
from collections.abc import Iterable

from scheduler.slurm.raw import AnyNumber, Number

MINUTE = 60.0
MEBIBYTE = 1 << 20

ENDED = frozenset(
    {"completed", "cancelled", "failed", "timeout", "node_fail", "preempted", "boot_fail", "deadline", "out_of_memory"}
    | {"revoked"}
)
"""Base states of jobs that have ended: "JOB STATE CODES" of squeue(1)."""

_LARGEST = 1 << 62


def number(value: AnyNumber) -> float:
    """Return a number, plain or as `{"set": …, "infinite": …, "number": …}`.

    Returns
    -------
    float
        NaN where it is not set, or no number; infinity where it says so.
    """
    if type(value) is Number:
        if value.infinite:
            return math.inf
        value = value.number if value.set else None
    # A bool is an int to Python.
    return float(value) if isinstance(value, (int, float)) and value is not True and value is not False else math.nan


def whole(value: AnyNumber, otherwise: int = 0) -> int:
    """Return a whole number; `otherwise` where it is not set, or no such number."""
    if type(value) is Number and value.set and not value.infinite:
        value = value.number
    # Nearly all are this, and there are a dozen in each of ten thousand jobs.
    if type(value) is int:
        return value
    found = number(value)
    return int(found) if -_LARGEST < found < _LARGEST else otherwise


def moment(value: AnyNumber) -> float | None:
    """Return a POSIX time; Slurm writes 0 for one that is not known."""
    if type(value) is Number and value.set and not value.infinite:
        value = value.number
    if not value:
        return None
    found = number(value)
    return found if 0 < found < math.inf else None


def limit(value: AnyNumber) -> float:
    """Return a wall time limit [s] from Slurm's minutes; infinite for none."""
    minutes = number(value)
    return math.inf if math.isnan(minutes) else minutes * MINUTE


def words(value: Iterable[str] | None) -> frozenset[str]:
    """Return state words in lower case, from a list or from one word."""
    if isinstance(value, str):
        return frozenset({value.lower()})
    return frozenset(str(word).lower() for word in value or ())
