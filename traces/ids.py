"""Job ids: made unique, and made text.

Ids repeat in real logs: Slurm runs a requeued job under its old id, and joined logs of two machines share theirs.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from traces.problems import DROP, REPAIR
from traces.raw import Integers, Tally
from traces.table import Array


def unique_ids(columns: dict[str, Array], tally: Tally, where: Callable[[int], str]) -> dict[str, Array]:
    """Treat job ids that occur more than once, and turn numbers into text.

    Parameters
    ----------
    columns : dict of str to array
        The table, sorted; its `job_id` may be numbers.
    tally : Tally
        Where repeated ids are counted (`duplicate_id`).
    where : callable
        Says `file:line` of a row.

    Returns
    -------
    dict of str to array
        The table, with text in `job_id`.
    """
    ids = columns["job_id"]
    numbers = ids.dtype.kind in "iu"
    columns["job_id"] = id_texts(ids)
    if numbers and bool(np.all(ids[1:] > ids[:-1])):
        return columns
    _, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    if len(first) == len(ids):
        return columns
    later = np.ones(len(ids), bool)
    later[first] = False
    rows = np.flatnonzero(later)
    shown = (f"{where(int(row))}: job_id: {columns['job_id'][row]} occurs again" for row in rows)
    treatment = tally.meet("duplicate_id", len(rows), shown)
    if treatment == DROP:
        columns = {name: values[~later] for name, values in columns.items()}
    elif treatment == REPAIR:
        columns["job_id"] = _suffixed(columns["job_id"], inverse, rows)
    return columns


def _suffixed(ids: Array, inverse: Integers, rows: Integers) -> Array:
    """Add #2, #3, ... to the ids of rows that repeat an earlier one."""
    names = ids.astype(object)
    taken = set(names.tolist())
    count: dict[int, int] = {}
    for row in rows.tolist():
        group = int(inverse[row])
        number = count.get(group, 1) + 1
        while f"{ids[row]}#{number}" in taken:
            number += 1
        count[group] = number
        names[row] = f"{ids[row]}#{number}"
        taken.add(names[row])
    return names.astype(np.str_)


def id_texts(ids: Array) -> Array:
    """Return job ids as text.

    Parameters
    ----------
    ids : array of int64 or str
        The ids; a column of numbers is converted as a whole, digit by digit, since converting each alone takes
        longer than all the rest of reading.

    Returns
    -------
    array of str
        The ids.
    """
    if ids.dtype.kind not in "iu":
        return ids
    if len(ids) == 0 or int(ids.min()) < 0:
        return ids.astype(np.str_)
    width = len(str(int(ids.max())))
    codes = np.zeros((len(ids), width), np.uint32)
    for digits in range(1, width + 1):
        low = 10 ** (digits - 1) if digits > 1 else 0
        rows = np.flatnonzero((ids >= low) & (ids < 10**digits))
        rest = ids[rows]
        for place in range(digits - 1, -1, -1):
            rest, digit = np.divmod(rest, 10)
            codes[rows, place] = digit + ord("0")
    return codes.view(f"<U{width}").reshape(-1)
