"""Reading the formats with a header line: each has a module that says what its columns mean."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from traces import alcf, canonical_csv, eagle, sacct
from traces.batches import Batch
from traces.detection import Form
from traces.localtime import zone_named
from traces.problems import Treatments
from traces.raw import RawJobs, Tally
from traces.rows import Count, Fields, Mend, Rows, read_rows
from traces.sources import Progress
from traces.table import Array, Machine


@dataclass(frozen=True)
class _Reader:
    """What a format needs to be read."""

    columns: Mapping[str, str]
    """Column of the file, in lower case, to that of the canonical table it tells most about."""
    convert: Callable[[Fields], Batch]
    delimiter: str = ","
    time_zone: str = "UTC"
    mend: Mend | None = None
    check: Callable[[str, Rows], None] = field(default=lambda _source, _rows: None)
    machine: Callable[[Rows], Machine] = field(default=lambda _rows: Machine())


_READERS: Mapping[Form, _Reader] = {
    Form.ALCF: _Reader(alcf.COLUMNS, alcf.convert, time_zone=alcf.TIME_ZONE, machine=alcf.machine),
    Form.MIRA: _Reader(alcf.OLDER_COLUMNS, alcf.convert, time_zone=alcf.TIME_ZONE, machine=alcf.machine),
    Form.EAGLE: _Reader(eagle.COLUMNS, eagle.convert),
    Form.SACCT: _Reader(sacct.COLUMNS, sacct.convert, "|", mend=sacct.mend, check=sacct.check),
    Form.CANONICAL: _Reader(canonical_csv.COLUMNS, canonical_csv.convert),
}


def read_delimited(
    form: Form,
    path: Path,
    treatments: Treatments,
    time_zone: str | None = None,
    progress: Progress | None = None,
) -> RawJobs:
    """Read a file with a header line.

    Parameters
    ----------
    form : Form
        Its format.
    path : Path
        The file.
    treatments : Treatments
        What to do about lines that cannot be read as the format says.
    time_zone : str, optional
        Time zone of local times; without it, that of the format: US Central for ALCF, else UTC.
    progress : Progress, optional
        Called with bytes read and size.

    Returns
    -------
    RawJobs
        The jobs, unchecked.

    Raises
    ------
    InputError
        Where the file cannot be read, lacks a needed column, or a problem is to be refused.
    """
    reader = _READERS[form]
    zone = zone_named(time_zone or reader.time_zone)
    tally, count, source = Tally(treatments), Count(), str(path)
    batches: list[Batch] = []
    machine: Machine | None = None
    ignored = 0
    for rows in read_rows(
        path,
        frozenset(reader.columns),
        tally,
        delimiter=reader.delimiter,
        count=count,
        mend=reader.mend,
        progress=progress,
    ):
        if machine is None:
            reader.check(source, rows)
            machine = reader.machine(rows)
        fields = Fields(rows, zone)
        batch = reader.convert(fields)
        ignored += int(batch.ignored.sum())
        wrong = fields.bad & ~batch.ignored
        if wrong.any():
            tally.meet("malformed_line", int(wrong.sum()), fields.whys(source))
        batches.append(batch.kept(~fields.bad & ~batch.ignored))
    notes = []
    if ignored:
        notes.append(f"{ignored} lines of job steps were skipped; their jobs have lines of their own")
    if count.headers:
        notes.append(f"{count.headers} repeated header lines were skipped")
    return joined(
        batches,
        RawJobs(
            source=source,
            form=form.value,
            line=np.empty(0, np.int64),
            columns={},
            fields={table: name for name, table in reader.columns.items()},
            machine=machine or Machine(),
            rows_read=count.rows - ignored,
            problems=tally.problems(),
            notes=tuple(notes),
        ),
    )


def joined(batches: list[Batch], facts: RawJobs) -> RawJobs:
    """Join batches to the jobs of one file.

    Parameters
    ----------
    batches : list of Batch
        The jobs, in the order of the file.
    facts : RawJobs
        Everything else about the file.

    Returns
    -------
    RawJobs
        Both.
    """
    if not batches:
        batches = [Batch.empty()]
    columns: dict[str, Array] = {
        name: np.concatenate([batch.columns[name] for batch in batches]) for name in batches[0].columns
    }
    marks = {name: np.concatenate([batch.marks[name] for batch in batches]) for name in batches[0].marks}
    return RawJobs(
        source=facts.source,
        form=facts.form,
        line=np.concatenate([batch.line for batch in batches]),
        columns=columns,
        fields=facts.fields,
        marks=marks,
        machine=facts.machine,
        rows_read=facts.rows_read,
        problems=facts.problems,
        notes=facts.notes,
    )
