"""The account that every reading leaves behind, so that nothing is lost silently."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from traces.problems import KINDS

EXAMPLES_KEPT = 3
"""How many rows a summary shows for each problem."""


@dataclass(frozen=True)
class Problem:
    """How often one kind of problem was met, and what became of it.

    Attributes
    ----------
    kind : str
        One of `KINDS`.
    repaired, dropped, kept : int
        Rows that were repaired, dropped, or kept as they are.
    examples : tuple of str
        The first few, as `file:line: field: what is wrong`.
    """

    kind: str
    repaired: int = 0
    dropped: int = 0
    kept: int = 0
    examples: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Rows with the problem."""
        return self.repaired + self.dropped + self.kept

    def merged(self, other: Problem) -> Problem:
        """Return the sum of two accounts of the same kind."""
        return Problem(
            self.kind,
            self.repaired + other.repaired,
            self.dropped + other.dropped,
            self.kept + other.kept,
            (self.examples + other.examples)[:EXAMPLES_KEPT],
        )


@dataclass(frozen=True)
class Summary:
    """What reading a trace did.

    Attributes
    ----------
    files : tuple of str
        The files read, each with its format: `theta.swf (Standard Workload Format)`.
    rows_read, rows_kept : int
        Job records found, and jobs in the table.
    problems : tuple of Problem
        One per kind that occurred, in the order of `KINDS`.
    notes : tuple of str
        Anything else worth knowing, a sentence each.
    """

    files: tuple[str, ...] = ()
    rows_read: int = 0
    rows_kept: int = 0
    problems: tuple[Problem, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def rows_dropped(self) -> int:
        """Job records that are not in the table."""
        return self.rows_read - self.rows_kept

    @property
    def rows_repaired(self) -> int:
        """Repairs made (a row with two repaired fields counts twice)."""
        return sum(problem.repaired for problem in self.problems)

    def lines(self) -> list[str]:
        """Return the account as lines for people, without a line break at their ends."""
        text = [
            f"{self.rows_read} rows read, {self.rows_kept} kept, {self.rows_dropped} dropped, "
            f"{self.rows_repaired} repairs"
        ]
        for problem in self.problems:
            counts = [
                f"{count} {word}"
                for count, word in (
                    (problem.dropped, "dropped"),
                    (problem.repaired, "repaired"),
                    (problem.kept, "kept"),
                )
                if count
            ]
            text.append(f"{problem.kind}: {', '.join(counts)} ({KINDS[problem.kind].meaning})")
            text.extend(f"  {example}" for example in problem.examples)
        text.extend(f"note: {note}" for note in self.notes)
        return text

    def as_dict(self) -> dict[str, Any]:
        """Return the account as plain values for JSON."""
        return {
            "files": list(self.files),
            "rows_read": self.rows_read,
            "rows_kept": self.rows_kept,
            "rows_dropped": self.rows_dropped,
            "rows_repaired": self.rows_repaired,
            "problems": {
                problem.kind: {
                    "count": problem.count,
                    "repaired": problem.repaired,
                    "dropped": problem.dropped,
                    "kept": problem.kept,
                    "examples": list(problem.examples),
                }
                for problem in self.problems
            },
            "notes": list(self.notes),
        }
