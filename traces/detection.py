"""Finding the format of a trace file by what is in it; a file's name tells nothing."""

from __future__ import annotations

import re
from enum import Enum
from pathlib import Path

from traces.errors import InputError
from traces.problems import Treatments
from traces.raw import Tally
from traces.sources import first_bytes, pieces

DELIMITERS = (",", "|", ";", "\t")
"""What may separate the fields of a file with a header line."""

_PARQUET = b"PAR1"
_NUMBERS = re.compile(r"[-+\d.eE\s,;|]+")
_SHOWN = 60
_LOOK = 1 << 16


class Form(Enum):
    """The formats that are read; the value is what messages call each."""

    SWF = "Standard Workload Format"
    ALCF = "ALCF DIM_JOB_COMPOSITE"
    MIRA = "ALCF DIM_JOB_COMPOSITE, older form"
    SACCT = "sacct -P"
    SACCT_JSON = "sacct --json"
    EAGLE = "Eagle CSV"
    CANONICAL = "Tierwise CSV"
    PARQUET = "Tierwise Parquet"


SIGNATURES: dict[Form, frozenset[str]] = {
    Form.ALCF: frozenset({"queued_timestamp", "runtime_seconds", "walltime_seconds", "nodes_requested"}),
    Form.MIRA: frozenset({"queued_timestamp", "runtime_seconds", "walltime_seconds", "requested_nodes"}),
    Form.EAGLE: frozenset({"job_id", "wallclock_req", "nodes_req", "submit_time"}),
    Form.SACCT: frozenset({"jobid", "submit"}),
    Form.CANONICAL: frozenset({"submit", "run_time", "nodes"}),
}
"""Column names, in lower case, that tell a format with a header line."""


def detect(path: Path, treatments: Treatments) -> Form:
    """Find the format of a file.

    Parameters
    ----------
    path : Path
        The file.
    treatments : Treatments
        Decides whether a truncated archive may be looked into.

    Returns
    -------
    Form
        The format.

    Raises
    ------
    InputError
        Where the file cannot be read or has none of the formats; the message lists them.
    """
    if first_bytes(path, 4) == _PARQUET:
        return Form.PARQUET
    line, number = _first_line(path, treatments)
    if line.startswith(("{", "[")):
        return Form.SACCT_JSON
    if line.startswith(";"):
        return Form.SWF
    header = split_header(line)
    if header is not None:
        return header[0]
    if _NUMBERS.fullmatch(line):
        return Form.SWF
    known = ", ".join(form.value for form in Form)
    shown = line[:_SHOWN] + ("..." if len(line) > _SHOWN else "")
    raise InputError(
        f"{path}:{number}: starts with {shown!r}, which no known trace does; known are {known}"
        + (" (run sacct without --noheader)" if line.count("|") > 1 else "")
    )


def split_header(line: str) -> tuple[Form, str, list[str]] | None:
    """Read a header line.

    Parameters
    ----------
    line : str
        The first line of a file.

    Returns
    -------
    tuple of (Form, str, list of str) or None
        The format, the delimiter, and the column names in lower case; None where the line heads no known format.
    """
    for delimiter in DELIMITERS:
        names = [name.strip().strip('"').lower() for name in line.lstrip("#").split(delimiter)]
        found = set(names)
        for form, signature in SIGNATURES.items():
            if signature <= found:
                return form, delimiter, names
    return None


def _first_line(path: Path, treatments: Treatments) -> tuple[str, int]:
    """Return the first line with anything on it, or the start of a long one, and its number."""
    number, start = 1, b""
    for piece in pieces(path, Tally(treatments), size=_LOOK):
        start += piece
        text = start.lstrip()
        number += start[: len(start) - len(text)].count(b"\n")
        start = text
        if b"\n" in text or len(text) >= _LOOK:
            break
    if not start:
        raise InputError(f"{path}: holds nothing but blank lines; a trace has at least one job")
    return start.partition(b"\n")[0].rstrip().decode("utf-8", "replace"), number
