"""Job traces: reading them, checking them, writing them and making them up.

This is the room in which the outside world of trace files ends. Whatever a file looks like (Standard Workload
Format, the CSV files of ALCF and Eagle, output of sacct), `read` finds its format and returns one canonical table of
jobs (`SCHEMA`) with the account of what was repaired and dropped (`Summary`); `write` goes the other way, and
`theta_like` and `synthetic` make traces without any file. Importing this package imports NumPy and nothing heavier;
pandas and pyarrow are imported by the functions that need them.
"""

from traces.durations import format_duration, parse_duration, parse_limit
from traces.errors import InputError
from traces.generator import synthetic, theta_like
from traces.problems import KINDS, Treatments, parse_treatments
from traces.reading import read
from traces.summary import Problem, Summary
from traces.table import SCHEMA, Column, Machine, Trace
from traces.writing import write

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
