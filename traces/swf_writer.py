"""Writing the Standard Workload Format, with its header comments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from traces.table import COLUMNS, Array, Trace

_KIB = 1024.0
_LINES_AT_A_TIME = 50_000
_ABSOLUTE = 10 * 365.25 * 86400
_STATUS = {"completed": 1, "cancelled": 5, "unknown": -1}
_FAILED = 0
# What the format has no field for.
_WITHOUT_FIELD = (
    "account",
    "name",
    "on_demand",
    "checkpoint_interval",
    "checkpoint_cost",
    "restart_cost",
    "preemptible",
)


@dataclass(frozen=True)
class _Numbered:
    """A text column as numbers, with the names of those that are no numbers in the table."""

    values: npt.NDArray[np.int64]
    names: tuple[tuple[int, str], ...]


def swf_chunks(trace: Trace) -> Iterator[bytes]:
    """Yield a trace in the Standard Workload Format, piece by piece.

    Parameters
    ----------
    trace : Trace
        The trace. Job ids that are not all whole numbers are replaced by 1, 2, ...; names of users, groups and
        applications by numbers. Times with fractions of a second are written as decimals.

    Yields
    ------
    bytes
        Header comments first, then job lines.
    """
    queues = _numbered(trace.column("queue"), trace.machine.queues)
    partitions = _numbered(trace.column("partition"), trace.machine.partitions)
    origin = _origin(trace)
    yield "".join(f"; {line}\n" for line in _header(trace, origin, queues, partitions)).encode()
    fields = _fields(trace, origin, queues, partitions)
    for first in range(0, len(trace), _LINES_AT_A_TIME):
        piece = [_written(values[first : first + _LINES_AT_A_TIME]) for values in fields]
        yield "".join(" ".join(row) + "\n" for row in zip(*piece, strict=True)).encode()


def lost_columns(trace: Trace) -> list[str]:
    """Return the columns with something in them that the format has no field for."""
    lost = []
    for name in _WITHOUT_FIELD:
        column = COLUMNS[name]
        values = trace.column(name)
        known = ~np.isnan(values) if column.dtype == "float64" else values != column.unknown
        if bool(np.any(known)):
            lost.append(name)
    return lost


def _origin(trace: Trace) -> float:
    """Return the POSIX time that becomes second 0 of the file [s]."""
    if trace.machine.origin is not None:
        return trace.machine.origin
    first = float(np.floor(trace.column("submit")[0]))
    return first if first > _ABSOLUTE else 0.0


def _header(trace: Trace, origin: float, queues: _Numbered, partitions: _Numbered) -> list[str]:
    """Return the header comments."""
    machine = trace.machine
    lines = ["Version: 2.2"]
    if machine.name:
        lines.append(f"Computer: {machine.name}")
    lines += [f"MaxJobs: {len(trace)}", f"MaxRecords: {len(trace)}", f"UnixStartTime: {origin:.0f}"]
    if machine.time_zone:
        lines.append(f"TimeZoneString: {machine.time_zone}")
    if machine.nodes is not None:
        lines += [f"MaxNodes: {machine.nodes}", f"MaxProcs: {machine.nodes}"]
    lines += [f"Queue: {number} {name}" for number, name in queues.names]
    lines += [f"Partition: {number} {name}" for number, name in partitions.names]
    lines.append("Note: processors are whole nodes")
    lost = lost_columns(trace)
    if lost:
        lines.append(f"Note: the format has no field for {', '.join(lost)}; these were left out")
    if _ids(trace.column("job_id")) is None:
        lines.append("Note: job ids were no whole numbers and were replaced by 1, 2, ...")
    return [line.replace("\r", " ").replace("\n", " ") for line in lines]


def _fields(trace: Trace, origin: float, queues: _Numbered, partitions: _Numbered) -> list[Array]:
    """Return the 18 fields as arrays of numbers, -1 where unknown."""
    submit = trace.column("submit")
    ids = _ids(trace.column("job_id"))
    requested_nodes = trace.column("requested_nodes")
    neither = (requested_nodes < 0) & (trace.column("allocated_nodes") < 0)
    requested_time = trace.column("requested_time")
    return [
        ids if ids is not None else np.arange(1, len(trace) + 1),
        submit - origin,
        _known(trace.column("start") - submit),
        trace.column("run_time"),
        trace.column("allocated_nodes"),
        _known(trace.column("average_cpu_time")),
        _known(trace.column("used_memory") / _KIB),
        np.where(neither, trace.column("nodes"), requested_nodes),
        np.where(np.isfinite(requested_time), requested_time, -1.0),
        _known(trace.column("requested_memory") / _KIB),
        _status(trace),
        _numbered(trace.column("user")).values,
        _numbered(trace.column("group")).values,
        _numbered(trace.column("executable")).values,
        queues.values,
        partitions.values,
        _preceding(trace, ids),
        _known(trace.column("think_time")),
    ]


def _known(values: Array) -> Array:
    return np.where(np.isnan(values), -1.0, values)


def _written(values: Array) -> list[str]:
    """Return numbers as text, whole ones without a point."""
    if bool(np.all(values == values[0])):
        # Most logs leave most fields unknown.
        value = float(values[0])
        return [f"{value:.0f}" if value == int(value) else repr(value)] * len(values)
    if values.dtype.kind == "f":
        whole = np.rint(values)
        if not np.array_equal(whole, values):
            return [f"{value:.0f}" if value == int(value) else repr(value) for value in values.tolist()]
        values = whole.astype(np.int64)
    return [str(value) for value in values.tolist()]


def _status(trace: Trace) -> Array:
    """Return the format's status, from the state where the table has no status."""
    status = trace.column("status")
    states, index = np.unique(trace.column("state"), return_inverse=True)
    of_state = np.array([_STATUS.get(str(state), _FAILED) for state in states])[index]
    return np.where(status < 0, of_state, status)


def _ids(ids: Array) -> Array | None:
    """Return job ids as whole numbers, or None where they are not all different whole numbers."""
    if not bool(np.all(np.char.isdecimal(ids))):
        return None
    try:
        numbers = ids.astype(np.int64)
    except (ValueError, OverflowError):
        return None
    rising = bool(np.all(numbers[1:] > numbers[:-1]))
    return numbers if rising or len(np.unique(numbers)) == len(numbers) else None


def _preceding(trace: Trace, ids: Array | None) -> Array:
    """Return the number of the preceding job, under the numbers that the file gives to jobs."""
    preceding = trace.column("preceding_job")
    if ids is not None:
        return _numbered(preceding).values
    known = {str(name): row + 1 for row, name in enumerate(trace.column("job_id"))}
    return np.array([known.get(str(name), -1) for name in preceding], dtype=np.int64)


def _numbered(texts: Array, given: Sequence[tuple[int, str]] = ()) -> _Numbered:
    """Turn texts into numbers: names with a number keep it, numbers stand for themselves, others get free ones."""
    values, index = np.unique(texts, return_inverse=True)
    numbers: Mapping[str, int] = {name: number for number, name in given}
    found = [_number(str(value), numbers) for value in values]
    free = max([number for number in found if number is not None] + [number for number, _ in given] + [0]) + 1
    names = list(given)
    for row, number in enumerate(found):
        if number is None:
            found[row] = free
            names.append((free, str(values[row])))
            free += 1
    return _Numbered(np.array(found, dtype=np.int64)[index], tuple(names))


def _number(text: str, given: Mapping[str, int]) -> int | None:
    if text in given:
        return given[text]
    if not text:
        return -1
    return int(text) if text.isdecimal() and text.isascii() and len(text) <= 15 and str(int(text)) == text else None
