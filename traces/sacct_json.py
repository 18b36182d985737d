"""Output of `sacct --json`.

Two shapes of numbers occur: plain ones (Slurm 22.05, `openapi/dbv0.0.38`, whose parser's table of fields is the source
of the names here) and, from `data_parser/v0.0.40` on, objects with `set`, `infinite` and `number`. Times are POSIX
seconds, the time limit counts minutes. Releases before 22.05.8 wrote the eligible time where the start belongs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from traces.batches import Batch, slurm_states
from traces.delimited import joined
from traces.durations import MINUTE, parse_limit
from traces.errors import InputError
from traces.json_stream import elements
from traces.problems import Treatments
from traces.raw import RawJobs, Tally
from traces.rows import BATCH, LONGEST_TEXT
from traces.sources import Progress
from traces.table import Array

_FORM = "sacct --json"
# NO_VAL and INFINITE of slurm.h, as a plain shape may show them.
_SENTINELS = {4294967294.0: math.nan, 4294967295.0: math.inf}
_NUMBERS = ("submit", "start", "end", "run_time", "requested_nodes", "allocated_nodes", "requested_time")
_TEXTS = ("job_id", "state", "user", "group", "account", "queue", "name")
_FIELDS = {
    "submit": "time.submission",
    "start": "time.start",
    "end": "time.end",
    "run_time": "time.elapsed",
    "nodes": "allocation_nodes",
    "requested_time": "time.limit",
    "state": "state.current",
}


def read_sacct_json(path: Path, treatments: Treatments, progress: Progress | None = None) -> RawJobs:
    """Read the output of `sacct --json`.

    Parameters
    ----------
    path : Path
        The file.
    treatments : Treatments
        What to do about records that are not as Slurm writes them.
    progress : Progress, optional
        Called with bytes read and size.

    Returns
    -------
    RawJobs
        The jobs, unchecked; `line` is the position in the array, from 1.

    Raises
    ------
    InputError
        Where the file is no such output, or a problem is to be refused.
    """
    tally, source = Tally(treatments), str(path)
    batches: list[Batch] = []
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    count = 0
    for count, record in enumerate(elements(path, "jobs", tally, progress), start=1):
        try:
            rows.append(_row(record))
        except (TypeError, ValueError, KeyError, AttributeError, InputError) as error:
            shown = f"{source}:{count}: is no job of sacct: {str(error)[:80]}"
            tally.meet("malformed_line", 1, [shown])
            continue
        lines.append(count)
        if len(rows) == BATCH:
            batches.append(_batch(lines, rows))
            rows, lines = [], []
    if rows:
        batches.append(_batch(lines, rows))
    facts = RawJobs(
        source=source,
        form=_FORM,
        line=np.empty(0, np.int64),
        columns={},
        fields=_FIELDS,
        rows_read=count,
        problems=tally.problems(),
    )
    return joined(batches, facts)


def _row(record: Mapping[str, Any]) -> dict[str, Any]:
    """Take what the canonical table wants out of one record."""
    time = record["time"]
    current = record["state"]["current"]
    words = current if isinstance(current, list) else [current]
    return {
        "job_id": _job_id(record),
        "submit": _moment(time["submission"]),
        "start": _start(time),
        "end": _moment(time.get("end")),
        "run_time": _number(time.get("elapsed")),
        "requested_nodes": _tres(record, "requested"),
        "allocated_nodes": _allocated(record),
        "requested_time": _limit(time.get("limit")),
        "state": str(words[0]) if words else "",
        "user": _text(record.get("user")),
        "group": _text(record.get("group")),
        "account": _text(record.get("account")),
        "queue": _text(record.get("partition")),
        "name": _text(record.get("name")),
    }


def _batch(lines: list[int], rows: list[dict[str, Any]]) -> Batch:
    """Turn records into columns."""
    columns: dict[str, Array] = {name: np.array([row[name] for row in rows], dtype=float) for name in _NUMBERS}
    columns |= {name: np.array([row[name] for row in rows], dtype=np.str_) for name in _TEXTS}
    for name in ("requested_nodes", "allocated_nodes"):
        known = np.isfinite(columns[name])
        columns[name] = np.where(known, columns[name], -1).astype(np.int64)
    columns["state"], unfinished = slurm_states(columns["state"])
    span = columns["end"] - columns["start"]
    never = (columns["state"] == "cancelled") & ~(columns["run_time"] > 0) & ~(span > 0)
    return Batch(
        np.array(lines, dtype=np.int64),
        columns,
        {"never_started": never, "not_finished": unfinished},
        np.zeros(len(rows), bool),
    )


def _number(value: Any) -> float:
    """Return a number in either shape; NaN where it is not set."""
    if isinstance(value, Mapping):
        if value.get("infinite"):
            return math.inf
        return _number(value["number"]) if value.get("set", True) else math.nan
    if value is None or isinstance(value, bool):
        return math.nan
    number = float(value)
    if number in _SENTINELS:
        return _SENTINELS[number]
    if abs(number) > 2**53:
        raise ValueError(f"{value} is too large")
    return number


def _moment(value: Any) -> float:
    """Return a time; Slurm writes 0 for one that never came."""
    number = _number(value)
    return number if number > 0 else math.nan


def _start(time: Mapping[str, Any]) -> float:
    """Return the start, counted back from the end where the record shows the eligible time instead."""
    start, end = _moment(time.get("start")), _moment(time.get("end"))
    if start == _moment(time.get("eligible")):
        ran = _number(time.get("elapsed")) + (_number(time.get("suspended", 0)) or 0.0)
        if 0 <= ran < end - start:
            return end - ran
    return start


def _limit(value: Any) -> float:
    """Return a limit in seconds; infinite where there is none."""
    if isinstance(value, str) and not value.strip().isdecimal():
        return parse_limit(value)
    minutes = _number(value)
    return math.inf if math.isnan(minutes) else minutes * MINUTE


def _tres(record: Mapping[str, Any], which: str) -> float:
    """Return the nodes among a job's trackable resources."""
    for resource in (record.get("tres") or {}).get(which) or ():
        if resource.get("type") == "node":
            return _number(resource.get("count"))
    return math.nan


def _allocated(record: Mapping[str, Any]) -> float:
    nodes = _number(record.get("allocation_nodes"))
    return nodes if nodes > 0 else _tres(record, "allocated")


def _job_id(record: Mapping[str, Any]) -> str:
    """Return the id as sacct prints it: `123`, `123_4` for an array task, `123+1` for a component."""
    array, het = record.get("array") or {}, record.get("het") or {}
    job, task = _number(array.get("job_id")), _number(array.get("task_id"))
    if job > 0 and math.isfinite(task):
        return f"{job:.0f}_{task:.0f}"
    job, offset = _number(het.get("job_id")), _number(het.get("job_offset"))
    if job > 0 and math.isfinite(offset):
        return f"{job:.0f}+{offset:.0f}"
    return f"{_number(record['job_id']):.0f}"


def _text(value: Any) -> str:
    return " ".join(str(value).split())[:LONGEST_TEXT] if value is not None else ""
