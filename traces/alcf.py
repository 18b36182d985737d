"""ALCF's public job records, DIM_JOB_COMPOSITE, in the forms of Theta and Polaris and the older one of Mira.

Columns are found by name: files of different years have 57, 67 or, in the older form, 27 of them. Times are US
Central local time. Where a job's exit status tells whether it failed, it tells no more: Cobalt kept no other states.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from traces.batches import Batch
from traces.localtime import settle
from traces.raw import Mask
from traces.rows import Fields, Rows
from traces.table import Array, Machine

TIME_ZONE = "America/Chicago"
"""Argonne's time zone."""

NODES: Mapping[str, int] = {"theta": 4392, "mira": 49152, "cetus": 4096, "intrepid": 40960, "polaris": 560}
"""Compute nodes of ALCF's machines, by the name that the records use, as ALCF's pages on the machines state them."""

COLUMNS: Mapping[str, str] = {
    "job_name": "job_id",
    "cobalt_jobid": "job_id",
    "machine_name": "partition",
    "queued_timestamp": "submit",
    "start_timestamp": "start",
    "start_date_id": "start",
    "end_timestamp": "end",
    "username_genid": "user",
    "project_name_genid": "account",
    "queue_name": "queue",
    "walltime_seconds": "requested_time",
    "runtime_seconds": "run_time",
    "nodes_used": "allocated_nodes",
    "nodes_requested": "nodes",
    "exit_status": "state",
    "exit_code": "state",
}
"""Columns that are read of the newer form, and what they tell."""

OLDER_COLUMNS: Mapping[str, str] = {
    "jobid": "job_id",
    "machine_name": "partition",
    "queued_timestamp": "submit",
    "start_timestamp": "start",
    "start_date_id": "start",
    "end_timestamp": "end",
    "cobalt_user_name_genid": "user",
    "cobalt_project_name_genid": "account",
    "project_name_genid": "account",
    "queue_genid": "queue",
    "walltime_seconds": "requested_time",
    "runtime_seconds": "run_time",
    "used_nodes": "allocated_nodes",
    "requested_nodes": "nodes",
    "exit_code": "state",
}
"""Columns that are read of the older form, and what they tell."""


def convert(fields: Fields) -> Batch:
    """Turn rows of either form into columns of the canonical table.

    Parameters
    ----------
    fields : Fields
        The rows.

    Returns
    -------
    Batch
        The jobs.
    """
    run_time = fields.number("runtime_seconds")
    run_time = np.where(run_time == -1, np.nan, run_time)
    submit, start, end, unclear = settle(
        fields.stamps("queued_timestamp"),
        fields.stamps("start_timestamp"),
        fields.stamps("end_timestamp"),
        run_time,
    )
    if "start_date_id" in fields:
        # The record's mark for a start that never was.
        start = np.where(fields.number("start_date_id") == 0, np.nan, start)
    status = fields.number("exit_code", "exit_status")
    state = np.array(["completed", "failed", "unknown"])[np.where(np.isnan(status), 2, (status != 0).astype(np.int64))]
    requested = fields.count("nodes_requested", "requested_nodes")
    columns: dict[str, Array] = {
        "job_id": _ids(fields),
        "submit": submit,
        "start": start,
        "end": end,
        "run_time": run_time,
        "requested_nodes": requested,
        "allocated_nodes": fields.count("nodes_used", "used_nodes"),
        "requested_time": fields.number("walltime_seconds"),
        "state": state,
        "user": fields.text("username_genid", "cobalt_user_name_genid"),
        "account": fields.text("project_name_genid", "cobalt_project_name_genid"),
        "queue": fields.text("queue_name", "queue_genid"),
    }
    never: Mask = np.isnan(start) & ~(run_time > 0)
    return Batch(
        fields.rows.line,
        columns,
        {"never_started": never, "clock_change": unclear},
        np.zeros(len(fields.rows), bool),
    )


def machine(rows: Rows) -> Machine:
    """Return the machine that the records name, with its size where it is known."""
    names = rows.texts.get("machine_name")
    if names is None or not str(names[0]):
        return Machine(time_zone=TIME_ZONE)
    name = str(names[0])
    return Machine(name=name, nodes=NODES.get(name.lower()), time_zone=TIME_ZONE)


def _ids(fields: Fields) -> Array:
    """Return job ids: the job's name up to its first dot (`506512.theta...`), else its number in Cobalt."""
    named = np.strings.partition(fields.text("job_name"), ".")[0]
    numbered = np.strings.partition(fields.text("cobalt_jobid", "jobid"), ".")[0]
    ids: Array = np.where(np.char.str_len(named) > 0, named, numbered)
    return ids
