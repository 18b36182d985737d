"""The canonical table of jobs: one array per column, in the order of submission.

Every reader ends here and every writer starts here. The columns are plain NumPy arrays, since the replayer works
on arrays and importing pandas costs more time than replaying a year; `Trace.frame` makes the pandas table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from traces.errors import InputError
from traces.summary import Summary

if TYPE_CHECKING:
    import pandas as pd

Array = npt.NDArray[Any]

STATES = (
    "completed",
    "failed",
    "cancelled",
    "timeout",
    "node_fail",
    "out_of_memory",
    "preempted",
    "unknown",
)
"""How a job may have ended."""


@dataclass(frozen=True)
class Column:
    """One column of the canonical table.

    Attributes
    ----------
    name : str
        Its name.
    dtype : str
        `float64`, `int64`, `bool` or `str` (a fixed-width NumPy Unicode array).
    unit : str
        The unit, or an empty string.
    unknown : float, int, bool or str
        What stands where the value is not known.
    meaning : str
        What it holds, for people.
    """

    name: str
    dtype: str
    unit: str
    unknown: float | int | bool | str
    meaning: str

    def filled(self, length: int) -> Array:
        """Return a column of `length` unknown values."""
        if self.dtype == "str":
            return np.full(length, self.unknown, dtype=np.str_)
        return np.full(length, self.unknown, dtype=self.dtype)


_NAN = float("nan")
_INF = float("inf")

SCHEMA: tuple[Column, ...] = (
    Column("job_id", "str", "", "", "Id of the job, unique within the trace"),
    Column(
        "submit",
        "float64",
        "s",
        _NAN,
        "Submission: POSIX time (UTC), or seconds since the start of the trace; never unknown",
    ),
    Column("start", "float64", "s", _NAN, "Recorded start, on the clock of `submit`"),
    Column("end", "float64", "s", _NAN, "Recorded end, on the clock of `submit`"),
    Column("run_time", "float64", "s", _NAN, "Time the job ran, at least 0; never unknown"),
    Column(
        "nodes",
        "int64",
        "nodes",
        -1,
        "Nodes the job is given: the requested ones, else the allocated ones; at least 1",
    ),
    Column(
        "requested_time",
        "float64",
        "s",
        _INF,
        "Wall time limit asked for; infinity where there was none or it is not known",
    ),
    Column("state", "str", "", "unknown", "How it ended: " + ", ".join(STATES)),
    Column("user", "str", "", "", "User"),
    Column("account", "str", "", "", "Account or project that is charged"),
    Column("queue", "str", "", "", "Queue (Slurm: partition)"),
    Column("name", "str", "", "", "Job name"),
    Column("on_demand", "bool", "", False, "Whether the job is on-demand"),
    Column(
        "checkpoint_interval",
        "float64",
        "s",
        _NAN,
        "From the start of one checkpoint to the start of the next",
    ),
    Column("checkpoint_cost", "float64", "s", _NAN, "Time to write one checkpoint"),
    Column("restart_cost", "float64", "s", _NAN, "Time a restart takes before work goes on"),
    Column("preemptible", "bool", "", True, "Whether the job may be a victim of preemption"),
    Column("requested_nodes", "int64", "nodes", -1, "Nodes asked for"),
    Column("allocated_nodes", "int64", "nodes", -1, "Nodes held"),
    Column("average_cpu_time", "float64", "s", _NAN, "CPU time used, averaged over the processors"),
    Column("used_memory", "float64", "bytes", _NAN, "Memory used per processor (per node in a Slurm record)"),
    Column("requested_memory", "float64", "bytes", _NAN, "Memory asked for, counted like `used_memory`"),
    Column("status", "int64", "", -1, "Completion status as the Standard Workload Format numbers it"),
    Column("group", "str", "", "", "Group of the user"),
    Column("executable", "str", "", "", "Application"),
    Column("partition", "str", "", "", "Part of the machine"),
    Column("preceding_job", "str", "", "", "Id of the job that this one waited for"),
    Column("think_time", "float64", "s", _NAN, "From the end of the preceding job to this submission"),
)
"""The canonical table. docs/traces.md shows the same; a test keeps them equal."""

COLUMNS: Mapping[str, Column] = MappingProxyType({column.name: column for column in SCHEMA})
"""The columns of `SCHEMA` by name."""


@dataclass(frozen=True)
class Machine:
    """Facts that hold for the whole trace.

    Attributes
    ----------
    name : str or None
        The machine's name.
    nodes : int or None
        How many nodes it has.
    origin : float or None
        POSIX time of second 0 of the log that the trace came from [s], already counted into `submit`, `start` and
        `end`; 0 where the log states none, None where its format has absolute times.
    time_zone : str or None
        The machine's time zone, as the log states it.
    queues, partitions : tuple of (int, str)
        Names that the log gives to the numbers of its queues and partitions.
    """

    name: str | None = None
    nodes: int | None = None
    origin: float | None = None
    time_zone: str | None = None
    queues: tuple[tuple[int, str], ...] = ()
    partitions: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True, eq=False)
class Trace:
    """A trace: the canonical table, the machine, and what reading did.

    Attributes
    ----------
    columns : Mapping of str to array
        One array for each column of `SCHEMA`, of equal lengths, sorted by submission; jobs submitted in the
        same second keep their order.
    machine : Machine
        Facts about the machine.
    summary : Summary
        What reading did: rows read, repaired and dropped, and why.

    Raises
    ------
    ValueError
        Where columns are missing, foreign, of unequal lengths or not sorted (a defect of the caller: readers
        go through `traces.cleaning`).
    """

    columns: Mapping[str, Array]
    machine: Machine = field(default_factory=Machine)
    summary: Summary = field(default_factory=Summary)

    def __post_init__(self) -> None:
        if self.columns.keys() != COLUMNS.keys():
            odd = sorted(self.columns.keys() ^ COLUMNS.keys())
            raise ValueError(f"not the columns of SCHEMA: {', '.join(odd)}")
        if len({len(values) for values in self.columns.values()}) > 1:
            raise ValueError("columns of unequal lengths")
        submit = self.columns["submit"]
        if not bool(np.all(submit[1:] >= submit[:-1])):
            raise ValueError("not sorted by submission")
        object.__setattr__(self, "columns", MappingProxyType(dict(self.columns)))

    def __len__(self) -> int:
        return len(self.columns["submit"])

    def column(self, name: str) -> Array:
        """Return one column.

        Parameters
        ----------
        name : str
            A name of `SCHEMA`.

        Raises
        ------
        InputError
            Where there is no such column; the message lists those there are.
        """
        try:
            return self.columns[name]
        except KeyError:
            raise InputError(f"the table of jobs has no column {name!r}; it has {', '.join(COLUMNS)}") from None

    def frame(self) -> pd.DataFrame:
        """Return the table as a pandas data frame, a new one at each call; strings as pandas strings."""
        import pandas as pd  # noqa: PLC0415 - a second that most runs can save

        return pd.DataFrame(
            {
                name: values.astype(object) if values.dtype.kind == "U" else values.copy()
                for name, values in self.columns.items()
            }
        ).astype({column.name: "str" for column in SCHEMA if column.dtype == "str"})

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, machine: Machine | None = None) -> Trace:
        """Make a trace from a pandas data frame, checked like a file.

        Parameters
        ----------
        frame : pandas.DataFrame
            Columns named as in `SCHEMA`; `submit`, `run_time` and `nodes` must be there, others are unknown
            where they are not. Missing values count as unknown.
        machine : Machine, optional
            Facts about the machine.

        Raises
        ------
        InputError
            Where a needed column is missing, a column holds something else than its type, or no job is left.
        """
        from traces.cleaning import clean  # noqa: PLC0415 - it builds on this module
        from traces.frames import raw_jobs_of_frame  # noqa: PLC0415

        return clean([raw_jobs_of_frame(frame, "data frame", machine or Machine())])
