"""Reading the Standard Workload Format.

The format is that of the Parallel Workloads Archive (Feitelson, Tsafrir and Krakov, "Experience with using the
Parallel Workloads Archive", J. Parallel Distrib. Comput. 74(10), 2014, and the archive's page "The Standard
Workload Format"): header comments `; Name: value`, then a line of 18 numbers per job, -1 for what is not known.

A clean block of lines is parsed as a whole (`traces.swf_block`). Any other goes line by line through
`traces.swf_lines`, which knows what to repair and what to report.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from traces.problems import Treatments
from traces.raw import Integers, RawJobs, Tally
from traces.sources import Block, Progress, blocks
from traces.swf_block import parse_clean
from traces.swf_lines import parse_lines
from traces.table import Array, Machine

FORM = "Standard Workload Format"
KIB = 1024.0
"""The format counts memory in kilobytes."""

_STATUS_STATES: Mapping[int, str] = {0: "failed", 1: "completed", 3: "completed", 4: "failed", 5: "cancelled"}
_PARTIAL = (2, 3, 4)
_DENSE = 1 << 20
_CANCELLED = 5

FIELD_NAMES: Mapping[str, str] = {
    "job_id": "field 1 (job number)",
    "submit": "field 2 (submit time)",
    "start": "field 3 (wait time)",
    "run_time": "field 4 (run time)",
    "allocated_nodes": "field 5 (allocated processors)",
    "nodes": "field 8 (requested processors)",
    "requested_nodes": "field 8 (requested processors)",
    "requested_time": "field 9 (requested time)",
    "status": "field 11 (status)",
}
"""What messages call the fields."""

_HEADER = re.compile(r";+\s*([A-Za-z][\w ]*?)\s*:\s*(.*?)\s*$")
_NUMBERED = re.compile(r"(\d+)\s*[-:=.]?\s*(\S.*)")


@dataclass
class _Collected:
    """What reading has gathered so far."""

    comments: list[str] = field(default_factory=list)
    numbers: list[Array] = field(default_factory=list)
    lines: list[Integers] = field(default_factory=list)
    rows_read: int = 0

    def add(self, numbers: Array, lines: Integers, rows: int) -> None:
        """Add the jobs of a block."""
        self.numbers.append(numbers)
        self.lines.append(lines)
        self.rows_read += rows


def read_swf(
    path: Path, treatments: Treatments, processors_per_node: int = 1, progress: Progress | None = None
) -> RawJobs:
    """Read a file in the Standard Workload Format, packed or not.

    Parameters
    ----------
    path : Path
        The file.
    treatments : Treatments
        What to do about lines that are not as the format says.
    processors_per_node : int
        How many of the file's processors make a node; a job is given whole nodes, so its count is rounded up.
    progress : Progress, optional
        Called with bytes read and size.

    Returns
    -------
    RawJobs
        The jobs, unchecked.

    Raises
    ------
    InputError
        Where the file cannot be read, or a problem is to be refused.
    """
    tally = Tally(treatments)
    found = _Collected()
    for block in blocks(path, tally, progress):
        body = _without_header(block, found)
        if not body.data or body.data.isspace():
            continue
        fast = parse_clean(body)
        if fast is None:
            numbers, lines, comments, rows = parse_lines(body, str(path), tally)
            found.comments.extend(comments)
            found.add(numbers, lines, rows)
        else:
            found.add(*fast, len(fast[1]))
    return _raw_jobs(path, found, tally, processors_per_node)


def _without_header(block: Block, found: _Collected) -> Block:
    """Take the comments (and blank lines) off the top of a block."""
    data, line, start = block.data, block.first_line, 0
    while start < len(data) and data[start : start + 1] in (b";", b"\n", b"\r", b" "):
        end = data.find(b"\n", start) + 1 or len(data)
        text = data[start:end].strip()
        if text and not text.startswith(b";"):
            break  # a job line that starts with a blank
        if text:
            found.comments.append(text.decode("utf-8", "replace"))
        start, line = end, line + 1
    return Block(line, data[start:], block.complete) if start else block


def _raw_jobs(path: Path, found: _Collected, tally: Tally, processors_per_node: int) -> RawJobs:
    """Turn the numbers of the file into columns of the canonical table."""
    machine, notes = _machine(found.comments, processors_per_node)
    lines = np.concatenate(found.lines) if found.lines else np.empty(0, np.int64)
    table = found.numbers

    def take(number: int) -> Array:
        """Return field `number` (from 1) of every job."""
        parts = [block[:, number - 1] for block in table]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    submit = _known(take(2))
    submit += machine.origin or 0.0
    start = submit + _known(take(3))
    run_time = _known(take(4))
    status = take(11).astype(np.int64)
    columns: dict[str, Array] = {
        "job_id": take(1).astype(np.int64),
        "submit": submit,
        "start": start,
        "end": start + run_time,
        "run_time": run_time,
        "allocated_nodes": _nodes(take(5), processors_per_node),
        "average_cpu_time": _known(take(6)),
        "used_memory": _known(take(7)) * KIB,
        "requested_nodes": _nodes(take(8), processors_per_node),
        "requested_time": _known(take(9)),
        "requested_memory": _known(take(10)) * KIB,
        "status": status,
        "state": _states(status),
        "user": texts(take(12)),
        "group": texts(take(13)),
        "executable": texts(take(14)),
        "queue": texts(take(15), dict(machine.queues)),
        "partition": texts(take(16), dict(machine.partitions)),
        "preceding_job": texts(take(17)),
        "think_time": _known(take(18)),
    }
    cancelled = (status == _CANCELLED) & ~(run_time > 0)
    return RawJobs(
        source=str(path),
        form=FORM,
        line=lines,
        columns=columns,
        fields=FIELD_NAMES,
        marks={"never_started": cancelled, "partial_execution": _partial(columns["job_id"], status)},
        machine=machine,
        rows_read=found.rows_read,
        problems=tally.problems(),
        notes=tuple(notes),
    )


def _known(values: Array) -> npt.NDArray[np.float64]:
    """Return a field as floats, with NaN for -1."""
    known = values.astype(np.float64)
    known[known == -1] = np.nan
    return known


def _nodes(values: Array, processors_per_node: int) -> Integers:
    """Return a count of processors as whole nodes, -1 where it is not a count."""
    whole = np.ceil(values / processors_per_node).astype(np.int64) if processors_per_node != 1 else values
    return np.where(values > 0, whole, np.where(values == 0, 0, -1)).astype(np.int64)


def _states(status: Integers) -> Array:
    """Return how the jobs ended, by the format's status numbers."""
    if not len(status):
        return np.empty(0, np.str_)
    low, high = int(status.min()), int(status.max())
    if low < -1 or high > _CANCELLED:
        status = np.where((status < 0) | (status > _CANCELLED), -1, status)
    names = np.array([_STATUS_STATES.get(number, "unknown") for number in range(-1, _CANCELLED + 1)])
    return names[status + 1]


def _partial(job_id: Integers, status: Integers) -> npt.NDArray[np.bool_]:
    """Mark bursts (status 2, 3, 4) of jobs whose whole run has a line of its own."""
    burst = (status >= _PARTIAL[0]) & (status <= _PARTIAL[-1])
    if not burst.any():
        return burst
    return burst & np.isin(job_id, job_id[~burst])


def texts(numbers: Array, names: Mapping[int, str] | None = None) -> Array:
    """Return numbers as text: their names where there are any, nothing for -1.

    Parameters
    ----------
    numbers : array
        Whole numbers.
    names : Mapping of int to str, optional
        Names of some of them.

    Returns
    -------
    array of str
        One text for each number.
    """
    whole = numbers.astype(np.int64)
    if not len(whole):
        return np.empty(0, np.str_)
    low, high = int(whole.min()), int(whole.max())
    if high - low < _DENSE:
        # Small numbers, as ids of users and queues are, need no sorting to find the different ones.
        index = whole - low
        values = np.flatnonzero(np.bincount(index)) + low
        place = np.zeros(high - low + 1, np.int64)
        place[values - low] = np.arange(len(values))
        index = place[index]
    else:
        values, index = np.unique(whole, return_inverse=True)
    named = names or {}
    known = [named.get(int(value), "" if value == -1 else str(value)) for value in values]
    return np.array(known, dtype=np.str_)[index]


def _machine(comments: list[str], processors_per_node: int) -> tuple[Machine, list[str]]:
    """Read the header comments; a value that is not as the format says is noted and left out."""
    values: dict[str, str] = {}
    queues: list[tuple[int, str]] = []
    partitions: list[tuple[int, str]] = []
    for comment in comments:
        match = _HEADER.match(comment)
        if match is None:
            continue
        name, value = match[1].strip().lower(), match[2]
        numbered = _NUMBERED.match(value)
        if name in ("queue", "partition") and numbered:
            (queues if name == "queue" else partitions).append((int(numbered[1]), numbered[2]))
        else:
            values.setdefault(name, value)
    notes: list[str] = []
    nodes = _header_number(values, "maxnodes", notes)
    processors = _header_number(values, "maxprocs", notes)
    # Job sizes are in processors, so it is the processors that bound them; MaxNodes stands in where they are missing.
    size = processors if processors else nodes
    if processors_per_node != 1:
        size = nodes if nodes else (processors // processors_per_node if processors else None)
    machine = Machine(
        name=values.get("computer") or None,
        nodes=int(size) if size else None,
        origin=float(_header_number(values, "unixstarttime", notes) or 0),
        time_zone=values.get("timezonestring") or values.get("timezone") or None,
        queues=tuple(queues),
        partitions=tuple(partitions),
    )
    return machine, notes


def _header_number(values: Mapping[str, str], name: str, notes: list[str]) -> int | None:
    """Return the whole number that a header value starts with; None where there is none above 0."""
    value = values.get(name)
    if value is None:
        return None
    match = re.match(r"(-?\d{1,15})(?![\d.])", value)
    if match is None:
        notes.append(f"header comment {name} is {value[:40]!r}, not a number, and was left out")
        return None
    return int(match[1]) if int(match[1]) > 0 else None
