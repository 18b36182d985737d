"""What the formats with a header line, and sacct's JSON, turn their rows into; and Slurm's words for states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from traces.raw import Integers, Mask
from traces.table import COLUMNS, Array

SLURM_STATES: Mapping[str, str] = {
    "COMPLETED": "completed",
    "FAILED": "failed",
    "CANCELLED": "cancelled",
    "TIMEOUT": "timeout",
    "DEADLINE": "timeout",
    "NODE_FAIL": "node_fail",
    "BOOT_FAIL": "node_fail",
    "OUT_OF_MEMORY": "out_of_memory",
    "PREEMPTED": "preempted",
    "REQUEUED": "preempted",
}
"""Slurm's final job states (squeue(1), JOB STATE CODES) as those of the canonical table."""

UNFINISHED = frozenset(
    {
        "PENDING",
        "RUNNING",
        "SUSPENDED",
        "CONFIGURING",
        "COMPLETING",
        "RESIZING",
        "STAGE_OUT",
        "SIGNALING",
        "STOPPED",
        "REQUEUE_HOLD",
        "REQUEUE_FED",
        "RESV_DEL_HOLD",
        "SPECIAL_EXIT",
    }
)
"""Slurm's states of jobs that have not ended."""


@dataclass(frozen=True)
class Batch:
    """Some jobs of a file, in columns of the canonical table.

    Attributes
    ----------
    line : array of int64
        Line or position of each in the file.
    columns : Mapping of str to array
        As in `RawJobs`.
    marks : Mapping of str to array of bool
        As in `RawJobs`.
    ignored : array of bool
        Rows that are no jobs.
    """

    line: Integers
    columns: Mapping[str, Array]
    marks: Mapping[str, Mask] = field(default_factory=dict)
    ignored: Mask = field(default_factory=lambda: np.empty(0, bool))

    def kept(self, mask: Mask) -> Batch:
        """Return the rows of a mask."""
        if mask.all():
            return self
        return Batch(
            self.line[mask],
            {name: values[mask] for name, values in self.columns.items()},
            {name: values[mask] for name, values in self.marks.items()},
            self.ignored[mask],
        )

    @classmethod
    def empty(cls) -> Batch:
        """Return no jobs at all."""
        needed = ("job_id", "submit", "start", "end", "run_time", "nodes")
        return cls(np.empty(0, np.int64), {name: COLUMNS[name].filled(0) for name in needed})


def slurm_states(words: Array) -> tuple[Array, Mask]:
    """Translate Slurm's job states.

    Parameters
    ----------
    words : array of str
        As Slurm prints them: `CANCELLED by 1000` and the cut `CANCELLED+` are understood.

    Returns
    -------
    states : array of str
        States of the canonical table; `unknown` for words that Slurm does not use.
    unfinished : array of bool
        Whether the job has not ended.
    """
    values, index = np.unique(words, return_inverse=True)
    plain = [str(value).strip().upper().split(" ")[0].rstrip("+") for value in values]
    states = np.array([_state(word) for word in plain] or [""])
    unfinished = np.array([word in UNFINISHED for word in plain] or [False])
    if not len(index):
        return np.empty(0, np.str_), np.empty(0, bool)
    return states[index], unfinished[index]


def _state(word: str) -> str:
    if word in SLURM_STATES:
        return SLURM_STATES[word]
    # A narrow column cuts words: CANCELLE, OUT_OF_ME.
    cut = [state for name, state in SLURM_STATES.items() if len(word) >= 4 and name.startswith(word)]
    return cut[0] if cut else "unknown"
