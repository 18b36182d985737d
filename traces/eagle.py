"""The CSV form of the published jobs of NREL's Eagle, a Slurm machine.

Local times are read as UTC unless a time zone is given: the file does not state its own.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from traces.batches import Batch, slurm_states
from traces.localtime import settle
from traces.rows import Fields
from traces.table import Array

COLUMNS: Mapping[str, str] = {
    "job_id": "job_id",
    "user": "user",
    "account": "account",
    "partition": "queue",
    "wallclock_req": "requested_time",
    "nodes_req": "nodes",
    "submit_time": "submit",
    "start_time": "start",
    "end_time": "end",
    "run_time": "run_time",
    "state": "state",
    "name": "name",
}
"""Columns that are read, and what they tell."""


def convert(fields: Fields) -> Batch:
    """Turn rows into columns of the canonical table.

    Parameters
    ----------
    fields : Fields
        The rows.

    Returns
    -------
    Batch
        The jobs.
    """
    run_time = fields.number("run_time")
    submit, start, end, unclear = settle(
        fields.stamps("submit_time"), fields.stamps("start_time"), fields.stamps("end_time"), run_time
    )
    state, unfinished = slurm_states(fields.text("state"))
    columns: dict[str, Array] = {
        "job_id": np.strings.partition(fields.text("job_id"), ".")[0],
        "submit": submit,
        "start": start,
        "end": end,
        "run_time": run_time,
        "requested_nodes": fields.count("nodes_req"),
        "requested_time": fields.number("wallclock_req"),
        "state": state,
        "user": fields.text("user"),
        "account": fields.text("account"),
        "queue": fields.text("partition"),
        "name": fields.text("name"),
    }
    never = (state == "cancelled") & ~(run_time > 0)
    return Batch(
        fields.rows.line,
        columns,
        {"never_started": never, "not_finished": unfinished, "clock_change": unclear},
        np.zeros(len(fields.rows), bool),
    )
