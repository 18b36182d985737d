"""The canonical table as CSV: what `write` makes, and what a site's own script can make with little effort."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from traces.batches import Batch
from traces.rows import Fields
from traces.table import SCHEMA, STATES, Array

COLUMNS: Mapping[str, str] = {column.name: column.name for column in SCHEMA}
"""Columns that are read: those of the canonical table."""

_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no")


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
    columns: dict[str, Array] = {}
    for column in SCHEMA:
        if column.name not in fields:
            continue
        if column.dtype == "float64":
            columns[column.name] = fields.number(column.name)
        elif column.dtype == "int64":
            columns[column.name] = fields.count(column.name)
        elif column.dtype == "bool":
            words = np.char.lower(fields.text(column.name))
            known = np.isin(words, _TRUE) | np.isin(words, _FALSE)
            columns[column.name] = np.where(known, np.isin(words, _TRUE), bool(column.unknown))
            fields.refuse(~known & (words != ""), column.name, "true or false")
        else:
            columns[column.name] = fields.text(column.name)
    if "state" in columns:
        state = columns["state"]
        columns["state"] = np.where(np.isin(state, STATES), state, "unknown")
    columns.setdefault("job_id", fields.rows.line - 1)
    return Batch(fields.rows.line, columns, {}, np.zeros(len(fields.rows), bool))
