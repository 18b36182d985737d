"""Checking raw jobs and making the canonical table of them.

Every check looks at whole columns. A job that one check has dropped is not looked at by the next, so each job is
dropped for one reason, the first in the order below.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from traces.errors import InputError
from traces.ids import id_texts, unique_ids
from traces.problems import DROP, KINDS, REFUSE, REPAIR, Treatments
from traces.raw import Mask, RawJobs, Tally, examples_at, plain
from traces.summary import Problem, Summary
from traces.table import COLUMNS, SCHEMA, Array, Machine, Trace

_MARKS = ("not_finished", "never_started", "partial_execution", "clock_change")
_TOLERANCE = 1.0
"""Seconds by which end minus start may differ from the run time: logs round each of the three."""
_PLACE, _LINE_BITS = "place", 40
"""A column beside the table, for messages: number of the file, shifted, plus the line in it."""
_LINE_MASK = (1 << _LINE_BITS) - 1
_RELATIVE_BELOW = 10 * 365.25 * 86400
"""A clock that shows less than ten years counts from the start of its trace: no log here is from the 1970s."""


@dataclass
class _Jobs:
    """The columns while they are checked, and the jobs still in."""

    raw: RawJobs
    columns: dict[str, Array]
    alive: Mask
    tally: Tally

    def __getitem__(self, name: str) -> Array:
        return self.columns[name]

    def meet(self, kind: str, mask: Mask, column: str, value: Callable[[int], str] | None = None) -> tuple[str, Mask]:
        """Count the living jobs of a mask, drop them where that is the treatment, and return what is left to do."""
        mask = mask & self.alive
        if not mask.any():
            return self.tally.treatment(kind), mask
        shown = examples_at(replace(self.raw, columns=self.columns), mask, column, value)
        treatment = self.tally.meet(kind, int(mask.sum()), shown)
        if treatment == DROP:
            self.alive &= ~mask
        return treatment, mask

    def drop(self, kind: str, mask: Mask, column: str) -> None:
        """Drop living jobs that could not be repaired."""
        mask = mask & self.alive
        if not mask.any():
            return
        shown = examples_at(replace(self.raw, columns=self.columns), mask, column)
        # Where the person chose to refuse, a job beyond repair is refused as any other.
        chosen = REFUSE if self.tally.treatment(kind) == REFUSE else DROP
        self.tally.count(kind, int(mask.sum()), chosen, shown)
        self.alive &= ~mask


def clean(raws: Sequence[RawJobs], *, nodes: int | None = None, treatments: Treatments | None = None) -> Trace:
    """Check the jobs of one or more files and join them to a trace.

    Parameters
    ----------
    raws : sequence of RawJobs
        What the readers found, in the order of the files.
    nodes : int, optional
        Nodes of the machine; without it, the largest that the files state.
    treatments : Treatments, optional
        What to do about each kind of problem.

    Returns
    -------
    Trace
        At least one job.

    Raises
    ------
    InputError
        Where a problem is to be refused, where no job is left, or where files with absolute times are joined with
        files that count from their own start.
    """
    chosen = treatments or Treatments()
    machine = _joined_machine(raws, nodes)
    tallies = [Tally(chosen) for _ in raws]
    parts = [_checked(raw, machine, tally) for raw, tally in zip(raws, tallies, strict=True)]
    for index, part in enumerate(parts):
        part[_PLACE] += index << _LINE_BITS
    total = Tally(chosen)
    for raw, tally in zip(raws, tallies, strict=True):
        for problem in (*raw.problems, *tally.problems()):
            total.add(problem)
    rows_read = sum(raw.rows_read for raw in raws)
    if not any(len(part["submit"]) for part in parts):
        raise InputError(_nothing_left(raws, rows_read, total.problems()))
    _check_clocks(raws, parts)
    columns = _sorted(_joined([part for part in parts if len(part["submit"])]))
    place = columns.pop(_PLACE)

    def where(row: int) -> str:
        return f"{raws[place[row] >> _LINE_BITS].source}:{place[row] & _LINE_MASK}"

    columns = unique_ids(columns, total, where)
    summary = Summary(
        files=tuple(f"{raw.source} ({raw.form})" for raw in raws),
        rows_read=rows_read,
        rows_kept=len(columns["submit"]),
        problems=total.problems(),
        notes=tuple(f"{raw.source}: {note}" for raw in raws for note in raw.notes),
    )
    return Trace(columns, machine, summary)


def _checked(raw: RawJobs, machine: Machine, tally: Tally) -> dict[str, Array]:
    """Check the jobs of one file; return the columns of the canonical table that the file fills, cleaned."""
    jobs = _Jobs(raw, {**raw.columns, _PLACE: raw.line.copy()}, np.ones(len(raw), bool), tally)
    for kind in _MARKS:
        if kind in raw.marks:
            jobs.meet(kind, raw.marks[kind], "state", lambda row: _state(jobs, row))
    for name in ("start", "end"):
        jobs.columns.setdefault(name, COLUMNS[name].filled(len(raw)))
    for name in ("submit", "start", "end", "run_time"):
        if np.isinf(jobs[name]).any():  # no time is infinite but a requested one
            jobs.columns[name] = np.where(np.isinf(jobs[name]), np.nan, jobs[name])
    _check_times(jobs)
    _check_nodes(jobs, machine)
    _check_estimates(jobs)
    _check_order(jobs)
    if jobs.alive.all():
        return jobs.columns
    return {name: values[jobs.alive] for name, values in jobs.columns.items()}


def _state(jobs: _Jobs, row: int) -> str:
    """Say what a row that only its format could judge looks like."""
    state = jobs.columns["state"][row] if "state" in jobs.columns else "unknown"
    return f"{state}, run time {plain(jobs['run_time'][row])} s"


def _check_times(jobs: _Jobs) -> None:
    """Check submission, start, end and run time, in this order."""
    columns = jobs.columns
    missing = np.isnan(jobs["submit"])
    jobs.drop("missing_submit", missing & np.isnan(jobs["start"]), "submit")
    treatment, mask = jobs.meet("missing_submit", missing, "submit")
    if treatment == REPAIR and mask.any():
        columns["submit"] = np.where(mask, jobs["start"], jobs["submit"])
    jobs.meet("negative_time", jobs["submit"] < 0, "submit")

    span = jobs["end"] - jobs["start"]
    missing = ~(jobs["run_time"] >= 0)
    repairable = missing & (span >= 0)
    # What cannot be repaired is counted as dropped only, not as repaired first.
    jobs.drop("missing_run_time", missing & ~repairable, "run_time")
    treatment, mask = jobs.meet("missing_run_time", repairable, "run_time")
    if treatment == REPAIR and mask.any():
        columns["run_time"] = np.where(mask, span, jobs["run_time"])
    jobs.meet("zero_run_time", jobs["run_time"] == 0, "run_time")

    treatment, mask = jobs.meet("end_before_start", span < 0, "end")
    if treatment == REPAIR and mask.any():
        columns["end"] = np.where(mask, jobs["start"] + jobs["run_time"], jobs["end"])
    treatment, mask = jobs.meet("start_before_submit", jobs["start"] < jobs["submit"], "start")
    if treatment == REPAIR and mask.any():
        columns["start"] = np.where(mask, np.nan, jobs["start"])
        columns["end"] = np.where(mask, np.nan, jobs["end"])
    off = np.abs(jobs["end"] - jobs["start"] - jobs["run_time"]) > _TOLERANCE
    jobs.meet("inconsistent_times", off, "run_time")


def _check_nodes(jobs: _Jobs, machine: Machine) -> None:
    """Settle how many nodes each job is given, and check them against the machine."""
    length = len(jobs.alive)
    requested = jobs.columns.get("requested_nodes", COLUMNS["requested_nodes"].filled(length))
    allocated = jobs.columns.get("allocated_nodes", COLUMNS["allocated_nodes"].filled(length))
    given = jobs.columns.get("nodes", COLUMNS["nodes"].filled(length))
    jobs.columns["nodes"] = np.where(given > 0, given, np.where(requested > 0, requested, allocated))
    jobs.meet("zero_nodes", jobs["nodes"] <= 0, "nodes")
    if machine.nodes is not None:
        jobs.meet(
            "larger_than_machine",
            jobs["nodes"] > machine.nodes,
            "nodes",
            lambda row: f"{jobs['nodes'][row]} nodes, the machine has {machine.nodes}",
        )


def _check_estimates(jobs: _Jobs) -> None:
    """Check the requested time: an unknown one is infinite, since the run time must not leak to a scheduler."""
    length = len(jobs.alive)
    requested = jobs.columns.get("requested_time", COLUMNS["requested_time"].filled(length))
    jobs.columns["requested_time"] = requested
    unknown = ~((requested > 0) & (requested < np.inf))
    jobs.meet("unknown_estimate", unknown, "requested_time")
    if unknown.any():
        jobs.columns["requested_time"] = np.where(unknown, np.inf, requested)
    run_time = jobs["run_time"]
    treatment, mask = jobs.meet(
        "over_limit",
        run_time > jobs["requested_time"],
        "run_time",
        lambda row: f"ran {plain(run_time[row])} s, asked for {plain(requested[row])} s",
    )
    if treatment == REPAIR and mask.any():
        jobs.columns["requested_time"] = np.where(mask, run_time, jobs["requested_time"])


def _check_order(jobs: _Jobs) -> None:
    """Count the jobs that were submitted before the one above them; `_sorted` repairs."""
    rows = np.flatnonzero(jobs.alive)
    submit = jobs["submit"][rows]
    early = submit[1:] < submit[:-1]
    if early.any():
        mask = np.zeros(len(jobs.alive), bool)
        mask[rows[1:][early]] = True
        jobs.meet("unsorted", mask, "submit")


def _joined(parts: Sequence[dict[str, Array]]) -> dict[str, Array]:
    """Join the columns of several files and fill in those that a file does not have."""
    joined: dict[str, Array] = {}
    for column in SCHEMA:
        pieces = [part[column.name] if column.name in part else column.filled(len(part["submit"])) for part in parts]
        if column.name == "job_id" and any(piece.dtype.kind == "U" for piece in pieces):
            pieces = [id_texts(piece) for piece in pieces]
        joined[column.name] = pieces[0] if len(pieces) == 1 else np.concatenate(pieces)
    joined[_PLACE] = np.concatenate([part[_PLACE] for part in parts])
    return joined


def _sorted(columns: dict[str, Array]) -> dict[str, Array]:
    """Sort by submission; jobs of the same second keep their order."""
    submit = columns["submit"]
    if bool(np.all(submit[1:] >= submit[:-1])):
        return columns
    order = np.argsort(submit, kind="stable")
    return {name: values[order] for name, values in columns.items()}


def _joined_machine(raws: Sequence[RawJobs], nodes: int | None) -> Machine:
    """Return the machine of the trace: what the person says, else the largest that a file states."""
    first = raws[0].machine
    sizes = [raw.machine.nodes for raw in raws if raw.machine.nodes is not None]
    origins = {raw.machine.origin for raw in raws}
    return replace(
        first,
        nodes=nodes if nodes is not None else max(sizes, default=None),
        origin=first.origin if len(origins) == 1 else None,
    )


def _check_clocks(raws: Sequence[RawJobs], parts: Sequence[dict[str, Array]]) -> None:
    """Refuse to join files of which some count from 1970 and some from their own start."""
    kinds = [
        (raw.source, bool(part["submit"].max() < _RELATIVE_BELOW))
        for raw, part in zip(raws, parts, strict=True)
        if len(part["submit"])
    ]
    if len({relative for _, relative in kinds}) > 1:
        relative = next(source for source, is_relative in kinds if is_relative)
        absolute = next(source for source, is_relative in kinds if not is_relative)
        raise InputError(
            f"{relative}: submit times count from the start of its trace, those of {absolute} from 1970; "
            "such files cannot be joined, so give the first a UnixStartTime or read them one by one"
        )


def _nothing_left(raws: Sequence[RawJobs], rows_read: int, problems: Sequence[Problem]) -> str:
    """Say why no job is left."""
    names = ", ".join(raw.source for raw in raws)
    if rows_read == 0:
        return f"{names}: holds no job, only header lines; a trace has at least one job"
    dropped = [problem for problem in problems if problem.dropped]
    why = "; ".join(
        f"{problem.kind}: {problem.dropped} dropped because {KINDS[problem.kind].meaning}"
        + (f" (first {problem.examples[0]})" if problem.examples else "")
        for problem in dropped
    )
    return f"{names}: none of the {rows_read} jobs can be used: {why or 'none has the needed fields'}"
