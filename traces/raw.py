"""What a reader hands to cleaning: jobs as the file states them, and the tally of problems met on the way."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from traces.errors import InputError
from traces.problems import DROP, KINDS, REFUSE, REPAIR, Treatments
from traces.summary import EXAMPLES_KEPT, Problem
from traces.table import Array, Machine

Mask = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class RawJobs:
    """The jobs of one file, in its order, before anything was checked.

    Attributes
    ----------
    source : str
        The file, as messages name it.
    form : str
        The format, as messages name it.
    line : array of int64
        Line (or row) of each job in the file, from 1.
    columns : Mapping of str to array
        Some of the columns of the canonical table. Unknown numbers are NaN (times) or -1 (counts), unknown
        text is empty. `job_id` may be an integer array.
    fields : Mapping of str to str
        What the file calls a column, for messages.
    marks : Mapping of str to array of bool
        Rows in which the reader recognised a kind of problem that only the format can tell.
    machine : Machine
        What the file says of the machine.
    rows_read : int
        Job records in the file, with those that the reader left out.
    problems : tuple of Problem
        What the reader met and treated by itself.
    notes : tuple of str
        Anything else worth knowing.
    """

    source: str
    form: str
    line: Integers
    columns: Mapping[str, Array]
    fields: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[str, Mask] = field(default_factory=dict)
    machine: Machine = field(default_factory=Machine)
    rows_read: int = 0
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.line)


class Tally:
    """Counts problems by kind while a file is read, and stops where a kind is to be refused.

    Parameters
    ----------
    treatments : Treatments
        What to do about each kind.
    """

    def __init__(self, treatments: Treatments) -> None:
        self.treatments = treatments
        self._problems: dict[str, Problem] = {}

    def treatment(self, kind: str) -> str:
        """Return what is to be done about a kind of problem."""
        chosen: str = getattr(self.treatments, kind)
        return chosen

    def meet(self, kind: str, count: int, examples: Iterable[str]) -> str:
        """Count rows with a problem under the treatment chosen for it.

        Parameters
        ----------
        kind : str
            One of `KINDS`.
        count : int
            How many rows.
        examples : iterable of str
            Where and what, `file:line: field: value`; only the first few are taken.

        Returns
        -------
        str
            The treatment, which is the caller's to carry out.

        Raises
        ------
        InputError
            Where the treatment is to refuse.
        """
        chosen = self.treatment(kind)
        if count:
            self.count(kind, count, chosen, examples)
        return chosen

    def count(self, kind: str, count: int, treatment: str, examples: Iterable[str]) -> None:
        """Count rows under a treatment other than the chosen one, such as a repair that was not possible."""
        shown = tuple(example for example, _ in zip(examples, range(EXAMPLES_KEPT), strict=False))
        if treatment == REFUSE:
            self._refuse(kind, shown)
        problem = Problem(
            kind,
            repaired=count if treatment == REPAIR else 0,
            dropped=count if treatment == DROP else 0,
            kept=count if treatment not in (REPAIR, DROP) else 0,
            examples=shown,
        )
        self.add(problem)

    def add(self, problem: Problem) -> None:
        """Add an account that was made elsewhere."""
        before = self._problems.get(problem.kind)
        self._problems[problem.kind] = problem if before is None else before.merged(problem)

    def problems(self) -> tuple[Problem, ...]:
        """Return the account so far, in the order of `KINDS`."""
        return tuple(self._problems[kind] for kind in KINDS if kind in self._problems)

    def _refuse(self, kind: str, examples: tuple[str, ...]) -> None:
        known = KINDS[kind]
        others = " or ".join(f"{kind}={name}" for name in known.allowed if name != REFUSE)
        where = examples[0] if examples else "input"
        raise InputError(f"{where}: {known.meaning}; correct the file, or read it with the treatment {others}")


def examples_at(raw: RawJobs, mask: Mask, column: str, value: Callable[[int], Any] | None = None) -> Iterable[str]:
    """Yield `file:line: field: value` for the rows of a mask, lazily."""
    name = raw.fields.get(column, column)
    for row in np.flatnonzero(mask):
        shown = value(int(row)) if value is not None else plain(raw.columns[column][row])
        yield f"{raw.source}:{raw.line[row]}: {name}: {shown}"


def plain(value: Any) -> str:
    """Write a table's value for people: whole floats without a fraction, NaN as `missing`."""
    if isinstance(value, float):  # NumPy's float64 is one
        if math.isnan(value):
            return "missing"
        return f"{value:.0f}" if abs(value) < 1e15 and value == int(value) else f"{value:g}"
    return str(value) if str(value) else "missing"
