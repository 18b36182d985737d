"""Output of `sacct -P`, Slurm's accounting, in any selection of fields that tells enough.

Steps (`123.batch`) are skipped, array tasks (`123_4`) and components of heterogeneous jobs (`123+0`) are jobs of their
own. `-P` separates fields by pipes and does not protect a pipe in a job's name; `mend` gives it back.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from traces.batches import SLURM_STATES, UNFINISHED, Batch, slurm_states
from traces.durations import MINUTE
from traces.errors import InputError
from traces.localtime import settle
from traces.raw import Mask
from traces.rows import Fields, Rows
from traces.table import Array

COLUMNS: Mapping[str, str] = {
    "jobid": "job_id",
    "submit": "submit",
    "start": "start",
    "end": "end",
    "elapsed": "run_time",
    "elapsedraw": "run_time",
    "nnodes": "nodes",
    "allocnodes": "allocated_nodes",
    "reqnodes": "requested_nodes",
    "timelimit": "requested_time",
    "timelimitraw": "requested_time",
    "state": "state",
    "user": "user",
    "group": "group",
    "account": "account",
    "partition": "queue",
    "jobname": "name",
}
"""Fields of sacct that are read, and what they tell."""

FORMAT = "JobID,JobName,User,Account,Partition,Submit,Start,End,ElapsedRaw,NNodes,TimelimitRaw,State"
"""The fields to ask sacct for."""

_FREE_TEXT = (
    "jobname",
    "submitline",
    "workdir",
    "comment",
    "admincomment",
    "systemcomment",
    "reservation",
    "wckey",
    "constraints",
    "extra",
    "container",
    "reason",
)
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d.*|\d{5,11}|Unknown|None|", re.ASCII)


def check(source: str, rows: Rows) -> None:
    """Refuse a selection of fields that cannot make a trace.

    Parameters
    ----------
    source : str
        The file, as messages name it.
    rows : Rows
        Some rows of it.

    Raises
    ------
    InputError
        Where a field is missing; the message says how to call sacct.
    """
    have = rows.texts
    missing = []
    if not {"nnodes", "allocnodes", "reqnodes"} & have.keys():
        missing.append("NNodes")
    if not {"elapsedraw", "elapsed"} & have.keys() and not {"start", "end"} <= have.keys():
        missing.append("ElapsedRaw (or Start and End)")
    if missing:
        raise InputError(
            f"{source}:1: sacct was not asked for {' and '.join(missing)}; run it as `sacct -P -X --format={FORMAT}`"
        )


def convert(fields: Fields) -> Batch:
    """Turn rows into columns of the canonical table.

    Parameters
    ----------
    fields : Fields
        The rows.

    Returns
    -------
    Batch
        The jobs; steps are marked as ignored.
    """
    ids = fields.text("jobid")
    ignored: Mask = np.strings.find(ids, ".") >= 0
    run_time = fields.number("elapsedraw") if "elapsedraw" in fields else _finite(fields.limit("elapsed"))
    submit, start, end, unclear = settle(
        fields.stamps("submit"), fields.stamps("start"), fields.stamps("end"), run_time
    )
    state, unfinished = slurm_states(fields.text("state"))
    # Slurm sets the start of a job that was cancelled while pending to the time of its end, with nothing elapsed.
    never = (state == "cancelled") & ~(run_time > 0) & ~((end - start) > 0)
    requested = fields.count("reqnodes", "nnodes")
    columns: dict[str, Array] = {
        "job_id": ids,
        "submit": submit,
        "start": start,
        "end": end,
        "run_time": run_time,
        "requested_nodes": requested,
        "allocated_nodes": fields.count("allocnodes", "nnodes"),
        "requested_time": _limits(fields),
        "state": state,
        "user": fields.text("user"),
        "group": fields.text("group"),
        "account": fields.text("account"),
        "queue": fields.text("partition"),
        "name": fields.text("jobname"),
    }
    return Batch(
        fields.rows.line,
        columns,
        {"never_started": never, "not_finished": unfinished, "clock_change": unclear & ~ignored},
        ignored,
    )


def mend(parts: list[str], names: Sequence[str]) -> list[str] | None:
    """Give surplus fields back to the job name, or to another free text, where the rest then makes sense.

    Parameters
    ----------
    parts : list of str
        The fields of a row, more than there are names.
    names : sequence of str
        The names of the header, in lower case.

    Returns
    -------
    list of str or None
        As many fields as names; None where no free text explains the surplus.
    """
    surplus = len(parts) - len(names)
    for text in _FREE_TEXT:
        if text in names:
            place = names.index(text)
            joined = "|".join(parts[place : place + surplus + 1])
            row = [*parts[:place], joined, *parts[place + surplus + 1 :]]
            if _makes_sense(row, names):
                return row
    return None


def _makes_sense(row: list[str], names: Sequence[str]) -> bool:
    """Whether times look like times and the state like a state."""
    for name, value in zip(names, row, strict=True):
        if name in ("submit", "start", "end", "eligible") and not _TIME.fullmatch(value):
            return False
        if name == "state" and value.split(" ")[0] not in SLURM_STATES.keys() | UNFINISHED:
            return False
        if name in ("elapsedraw", "nnodes", "allocnodes") and not value.isdecimal():
            return False
    return True


def _limits(fields: Fields) -> Array:
    """Return wall time limits [s]; `TimelimitRaw` counts minutes."""
    if "timelimitraw" in fields:
        texts = fields.text("timelimitraw")
        plain = np.char.isdecimal(texts)
        if plain.all():
            return fields.number("timelimitraw") * MINUTE
        return np.where(plain, fields.limit("timelimitraw") * MINUTE, fields.limit("timelimitraw"))
    return fields.limit("timelimit") if "timelimit" in fields else np.full(len(fields.rows), np.inf)


def _finite(values: Array) -> Array:
    return np.where(np.isinf(values), np.nan, values)
