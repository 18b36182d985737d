"""The canonical table in pandas and Parquet. The only module, beside `Trace.frame`, that needs either."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from traces.errors import InputError
from traces.raw import RawJobs
from traces.sources import opened
from traces.table import SCHEMA, Array, Column, Machine, Trace

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

NEEDED = ("submit", "run_time", "nodes")
"""Columns without which a table is no trace."""

_METADATA = b"tierwise"
_VERSION = 1
_WORDS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False, "": False}


def raw_jobs_of_frame(frame: pd.DataFrame, source: str, machine: Machine, form: str = "table") -> RawJobs:
    """Take the jobs out of a pandas table.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns named as in `SCHEMA`; others are ignored.
    source : str
        What messages call it.
    machine : Machine
        Facts about the machine.
    form : str
        What messages call its format.

    Returns
    -------
    RawJobs
        The jobs, unchecked; lines are rows from 1.

    Raises
    ------
    InputError
        Where a needed column is missing, or a value is not of its column's type.
    """
    missing = [name for name in NEEDED if name not in frame.columns]
    if missing:
        raise InputError(
            f"{source}: has no column {', '.join(missing)}; expected at least {', '.join(NEEDED)}, named as in "
            "docs/traces.md"
        )
    columns = {
        column.name: _column(frame[column.name], column, source) for column in SCHEMA if column.name in frame.columns
    }
    rows = np.arange(1, len(frame) + 1, dtype=np.int64)
    columns.setdefault("job_id", rows)
    return RawJobs(source, form, rows, columns, machine=machine, rows_read=len(frame))


def _column(series: pd.Series[Any], column: Column, source: str) -> Array:
    """Return a pandas column as an array of the column's type, unknown where a value is missing."""
    missing = series.isna().to_numpy()
    values = series.to_numpy(dtype=object)
    if column.dtype == "str":
        values = np.where(missing, column.unknown, values)
        return values.astype(np.str_)
    if column.dtype == "bool":
        return _converted(np.where(missing, column.unknown, values), np.bool_, _truth, column, source)
    if series.dtype.kind in "iuf" and not (column.dtype == "int64" and series.dtype.kind == "f"):
        return series.to_numpy(dtype=column.dtype)
    filled = np.where(missing, column.unknown, values)
    convert: Callable[[Any], Any] = _whole if column.dtype == "int64" else float
    return _converted(filled, np.dtype(column.dtype).type, convert, column, source)


def _converted(values: Array, dtype: Any, convert: Callable[[Any], Any], column: Column, source: str) -> Array:
    """Convert values one by one, naming the first that is not of the type."""
    result = np.empty(len(values), dtype)
    for row, value in enumerate(values):
        try:
            result[row] = convert(value)
        except (TypeError, ValueError, OverflowError):
            shown = str(value)[:40]
            raise InputError(
                f"{source}:{row + 1}: {column.name}: {shown!r} is no {column.dtype}; correct it or leave it empty"
            ) from None
    return result


def _truth(value: Any) -> bool:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    word = str(value).strip().lower()
    if word not in _WORDS:
        raise ValueError(word)
    return _WORDS[word]


def _whole(value: Any) -> int:
    number = float(value)
    if number != int(number):
        raise ValueError(value)
    return int(number)


def write_parquet(trace: Trace, stream: Any) -> None:
    """Write a trace as Parquet: units in the metadata of each field, machine and origin in that of the schema.

    Parameters
    ----------
    trace : Trace
        The trace.
    stream : binary file
        Where to.
    """
    import pyarrow as pa  # noqa: PLC0415 - half a second that reading SWF can save
    import pyarrow.parquet as pq  # noqa: PLC0415

    types = {"str": pa.string(), "float64": pa.float64(), "int64": pa.int64(), "bool": pa.bool_()}
    facts = {"version": _VERSION, "machine": asdict(trace.machine)}
    schema = pa.schema(
        [
            pa.field(
                column.name,
                types[column.dtype],
                metadata={"unit": column.unit, "meaning": column.meaning},
            )
            for column in SCHEMA
        ],
        metadata={_METADATA: json.dumps(facts, sort_keys=True).encode()},
    )
    arrays = [
        pa.array(_plain(trace.column(column.name)), type=types[column.dtype], from_pandas=False) for column in SCHEMA
    ]
    pq.write_table(pa.Table.from_arrays(arrays, schema=schema), stream)


def _plain(values: Array) -> Array:
    return values.astype(object) if values.dtype.kind == "U" else values


def read_parquet(path: Path) -> RawJobs:
    """Read a trace from a Parquet file.

    Parameters
    ----------
    path : Path
        The file, written by `write_parquet` or with the same column names.

    Returns
    -------
    RawJobs
        The jobs, unchecked.

    Raises
    ------
    InputError
        Where the file is damaged or has not the needed columns.
    """
    import pyarrow as pa  # noqa: PLC0415 - half a second that reading SWF can save
    import pyarrow.parquet as pq  # noqa: PLC0415

    names = [column.name for column in SCHEMA]
    with opened(path) as stream:
        try:
            file = pq.ParquetFile(stream)
            present = [name for name in names if name in file.schema_arrow.names]
            table = file.read(columns=present)
            frame = table.to_pandas(ignore_metadata=True)
        except (pa.ArrowException, OSError, ValueError, NotImplementedError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise InputError(f"{path}: is a damaged Parquet file ({reason[:120]}); write or fetch it again") from None
    machine = _stored_machine(file.schema_arrow, str(path))
    return raw_jobs_of_frame(frame, str(path), machine, form="Tierwise Parquet")


def _stored_machine(schema: pa.Schema, source: str) -> Machine:
    """Return the machine from the schema's metadata; a foreign file has none."""
    stored = (schema.metadata or {}).get(_METADATA)
    if stored is None:
        return Machine()
    try:
        facts = json.loads(stored)["machine"]
        return Machine(
            name=facts["name"],
            nodes=facts["nodes"],
            origin=facts["origin"],
            time_zone=facts["time_zone"],
            queues=tuple((int(number), str(name)) for number, name in facts["queues"]),
            partitions=tuple((int(number), str(name)) for number, name in facts["partitions"]),
        )
    except (ValueError, KeyError, TypeError):
        raise InputError(
            f"{source}: the metadata of the Parquet file are not as Tierwise writes them; write it again"
        ) from None
