"""Job traces: reading them, checking them, writing them and making them up.

This is the room in which the outside world of trace files ends. Whatever a file looks like (Standard Workload
Format, the CSV files of ALCF and Eagle, output of sacct), `read` finds its format and returns one canonical table of
jobs (`SCHEMA`) with the account of what was repaired and dropped (`Summary`); `write` goes the other way, and
`theta_like` and `synthetic` make traces without any file. Importing this package imports nothing: each name is
fetched when it is first used, and pandas and pyarrow by the functions that need them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from traces.durations import format_duration, parse_duration, parse_limit
    from traces.errors import InputError
    from traces.generator import synthetic, theta_like
    from traces.problems import KINDS, Treatments, parse_treatments
    from traces.reading import read
    from traces.summary import Problem, Summary
    from traces.table import SCHEMA, Column, Machine, Trace
    from traces.writing import write

_HOMES = {
    "durations": ("format_duration", "parse_duration", "parse_limit"),
    "errors": ("InputError",),
    "generator": ("synthetic", "theta_like"),
    "problems": ("KINDS", "Treatments", "parse_treatments"),
    "reading": ("read",),
    "summary": ("Problem", "Summary"),
    "table": ("SCHEMA", "Column", "Machine", "Trace"),
    "writing": ("write",),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "KINDS",
    "SCHEMA",
    "Column",
    "InputError",
    "Machine",
    "Problem",
    "Summary",
    "Trace",
    "Treatments",
    "format_duration",
    "parse_duration",
    "parse_limit",
    "parse_treatments",
    "read",
    "synthetic",
    "theta_like",
    "write",
]


def __getattr__(name: str) -> Any:
    """Fetch a public name from its module: `tierwise --help` need not wait for NumPy."""
    if name not in _HOME:
        raise AttributeError(f"module 'traces' has no attribute {name!r}")
    return getattr(import_module(f"traces.{_HOME[name]}"), name)
