"""Per-job results of a replay as files: Parquet for programs, CSV for everything else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from cosim.engine import Replayed
from cosim.metrics import bounded_slowdown, lost_node_seconds
from cosim.runs import Runs
from traces.writing import atomic

if TYPE_CHECKING:
    import pyarrow as pa

COLUMNS = {
    "job_id": "the job's id in the trace",
    "on_demand": "whether it was an on-demand job",
    "nodes": "nodes it held",
    "submit": "submission [s]",
    "first_start": "first start [s]",
    "last_start": "start of the run that completed [s]",
    "end": "end [s]",
    "run_time": "what it needed [s]",
    "requested_time": "its wall time limit [s]",
    "wait": "from submission to first start [s]",
    "turnaround": "from submission to end [s]",
    "bounded_slowdown": "max(1, turnaround / max(run time, 10 s))",
    "interruptions": "runs that a preemption or an outage stopped",
    "lost_node_seconds": "what these cost [node-seconds]",
}
"""The columns of the per-job results, in order."""


def table(replayed: Replayed, runs: Runs) -> pa.Table:
    """Return one row a job.

    Parameters
    ----------
    replayed : Replayed
        What happened.
    runs : Runs
        Its runs.

    Returns
    -------
    pyarrow.Table
        With the columns of `COLUMNS`, in order of submission.
    """
    import pyarrow as pa  # noqa: PLC0415 - only for files

    jobs = replayed.jobs
    turnaround = jobs["finish"] - jobs["submit"]
    values = {
        "job_id": replayed.workload.ids,
        "on_demand": jobs["on_demand"] != 0,
        "nodes": jobs["nodes"],
        "submit": jobs["submit"],
        "first_start": jobs["first_start"],
        "last_start": jobs["start"],
        "end": jobs["finish"],
        "run_time": jobs["run_time"],
        "requested_time": jobs["request"],
        "wait": jobs["first_start"] - jobs["submit"],
        "turnaround": turnaround,
        "bounded_slowdown": bounded_slowdown(turnaround, jobs["run_time"]),
        "interruptions": np.bincount(runs.job, minlength=len(jobs)) - 1,
        "lost_node_seconds": lost_node_seconds(replayed, runs),
    }
    return pa.Table.from_arrays([_column(values[name]) for name in COLUMNS], names=list(COLUMNS))


def _column(values: npt.NDArray[Any]) -> pa.Array:
    """Return a column as Arrow has it, from its buffers: `pa.array` imports pandas, half a second for nothing."""
    import pyarrow as pa  # noqa: PLC0415

    if values.dtype.kind == "U":
        texts = [text.encode() for text in values.tolist()]  # an id can hold any letter, so lengths are of bytes
        offsets = np.zeros(len(texts) + 1, np.int64)
        np.cumsum(np.fromiter(map(len, texts), np.int64, len(texts)), out=offsets[1:])
        return pa.LargeStringArray.from_buffers(len(texts), pa.py_buffer(offsets), pa.py_buffer(b"".join(texts)))
    kind = pa.from_numpy_dtype(values.dtype)
    packed = np.packbits(values, bitorder="little") if values.dtype.kind == "b" else np.ascontiguousarray(values)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(packed)])


def write(replayed: Replayed, runs: Runs, directory: Path, name: str) -> list[Path]:
    """Write the per-job results, each file complete or not at all.

    Parameters
    ----------
    replayed : Replayed
        What happened.
    runs : Runs
        Its runs.
    directory : Path
        Where to.
    name : str
        The files are called `jobs-<name>.parquet` and `jobs-<name>.csv`.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    InputError
        Where the directory cannot be written or the disk is full.
    """
    import pyarrow.csv  # noqa: PLC0415
    import pyarrow.parquet  # noqa: PLC0415

    rows = table(replayed, runs)
    parquet, csv = directory / f"jobs-{name}.parquet", directory / f"jobs-{name}.csv"
    with atomic(parquet) as stream:
        # No column repeats its values enough for a dictionary to pay.
        pyarrow.parquet.write_table(rows, stream, use_dictionary=False)
    with atomic(csv) as stream:
        pyarrow.csv.write_csv(rows, stream)
    return [parquet, csv]
