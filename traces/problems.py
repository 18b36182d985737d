"""What can be wrong with a trace, and what is done about it.

`Treatments` has one field per kind of problem; a field's metadata says what the problem is and what each
treatment does, and the table in docs/traces.md is the same (a test keeps it so).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from traces.errors import InputError

KEEP = "keep"
REPAIR = "repair"
DROP = "drop"
REFUSE = "refuse"


def _kind(default: str, meaning: str, **allowed: str) -> Any:
    """Declare a problem: its default treatment, what it means, and what each allowed treatment does."""
    allowed.setdefault(REFUSE, "stop with an error that names file, line and field")
    return field(default=default, metadata={"meaning": meaning, "allowed": allowed})


@dataclass(frozen=True)
class Treatments:
    """What to do about each kind of problem: `keep`, `repair`, `drop` (with a count) or `refuse`.

    The defaults are those of docs/traces.md. Not every treatment makes sense for every problem; `KINDS`
    lists the allowed ones.

    Raises
    ------
    InputError
        Where a treatment is not one of the allowed ones.

    Examples
    --------
    >>> Treatments(over_limit="drop").over_limit
    'drop'
    """

    truncated_archive: str = _kind(
        REFUSE,
        "a compressed file ends early",
        drop="keep the complete lines before the break",
    )
    truncated_line: str = _kind(
        DROP,
        "the last line breaks off: too few fields and no end of line",
        drop="leave the line out",
    )
    malformed_line: str = _kind(
        DROP,
        "a line has the wrong number of fields, or text where a number or a time belongs",
        drop="leave the line out",
    )
    wrong_delimiter: str = _kind(
        REPAIR,
        "fields are separated by something else than the format says",
        repair="split at what separates them",
    )
    byte_order_mark: str = _kind(REPAIR, "the file starts with a byte-order mark", repair="skip the mark")
    stray_encoding: str = _kind(REPAIR, "a line is not UTF-8", repair="read the line as Latin-1")
    long_text: str = _kind(
        REPAIR,
        "a name has more than 128 characters",
        repair="cut it there",
        drop="leave the line out",
    )
    pipe_in_name: str = _kind(
        REPAIR,
        "a job name in sacct -P output holds the field separator",
        repair="give the surplus fields back to the name",
        drop="leave the line out",
    )
    never_started: str = _kind(DROP, "a job was cancelled before it started", drop="leave the job out")
    not_finished: str = _kind(
        DROP,
        "a job was still pending, running or suspended when the record was made",
        drop="leave the job out",
    )
    partial_execution: str = _kind(
        DROP,
        "an SWF line is one burst of a job (status 2, 3 or 4) whose whole run has its own line",
        drop="leave the burst out, the whole run stays",
        keep="take the burst for a job of its own",
    )
    missing_submit: str = _kind(
        REPAIR,
        "the submission time is missing",
        repair="take the start time, where there is one, else drop the job",
        drop="leave the job out",
    )
    negative_time: str = _kind(DROP, "a time stamp lies before the epoch of the trace", drop="leave the job out")
    clock_change: str = _kind(
        REPAIR,
        "a local time occurs twice or never because the clocks changed",
        repair="take the reading that fits run time, wait and order best",
    )
    start_before_submit: str = _kind(
        REPAIR,
        "a job started before it was submitted",
        repair="forget start and end; submission and run time stay",
        drop="leave the job out",
    )
    missing_run_time: str = _kind(
        REPAIR,
        "the run time is missing or negative",
        repair="take end minus start, where both are known, else drop the job",
        drop="leave the job out",
    )
    zero_run_time: str = _kind(
        KEEP,
        "a job ran for 0 seconds",
        keep="keep it, with a run time of 0",
        drop="leave the job out",
    )
    end_before_start: str = _kind(
        REPAIR,
        "a job ended before it started",
        repair="set the end to start plus run time, where the run time is known, else drop the job",
        drop="leave the job out",
    )
    inconsistent_times: str = _kind(
        KEEP,
        "end minus start differs from the run time by more than a second",
        keep="keep all three; a replay uses the run time",
        drop="leave the job out",
    )
    zero_nodes: str = _kind(DROP, "neither the requested nor the allocated nodes are known", drop="leave the job out")
    larger_than_machine: str = _kind(DROP, "a job needs more nodes than the machine has", drop="leave the job out")
    unknown_estimate: str = _kind(
        KEEP,
        "the requested time is missing, 0, -1 or unlimited",
        keep="keep the job, with a requested time of infinity",
        drop="leave the job out",
    )
    over_limit: str = _kind(
        KEEP,
        "a job ran longer than it asked for",
        keep="keep the job as recorded",
        repair="raise the requested time to the run time",
        drop="leave the job out",
    )
    unsorted: str = _kind(
        REPAIR,
        "a job was submitted before the one above it",
        repair="sort by submission, equal times in the order of the file",
    )
    duplicate_id: str = _kind(
        REPAIR,
        "a job id occurs more than once",
        repair="add #2, #3, ... to the later ones",
        drop="leave the later ones out",
        keep="keep the ids as they are",
    )

    def __post_init__(self) -> None:
        for name, kind in KINDS.items():
            chosen = getattr(self, name)
            if chosen not in kind.allowed:
                raise InputError(
                    f"treatment {name}={chosen!r} does not exist: accepted are {', '.join(sorted(kind.allowed))}"
                )


@dataclass(frozen=True)
class Kind:
    """One kind of problem.

    Attributes
    ----------
    name : str
        As in `Treatments`.
    default : str
        The treatment where none is asked for.
    meaning : str
        What the problem is, for people.
    allowed : Mapping of str to str
        What each treatment that can be chosen does.
    """

    name: str
    default: str
    meaning: str
    allowed: Mapping[str, str]


KINDS: Mapping[str, Kind] = {
    f.name: Kind(f.name, str(f.default), f.metadata["meaning"], f.metadata["allowed"]) for f in fields(Treatments)
}


def parse_treatments(words: Iterable[str]) -> Treatments:
    """Read treatments as a person writes them.

    Parameters
    ----------
    words : iterable of str
        Each `kind=treatment`, such as `over_limit=drop`.

    Returns
    -------
    Treatments
        The defaults, changed by the words.

    Raises
    ------
    InputError
        Where a kind or a treatment does not exist; the message lists those that do.
    """
    chosen: dict[str, str] = {}
    for word in words:
        kind, equals, treatment = (part.strip() for part in word.partition("="))
        if not equals or kind not in KINDS:
            raise InputError(f"{word!r} is no treatment: expected KIND=TREATMENT with one of {', '.join(KINDS)}")
        chosen[kind] = treatment
    return Treatments(**chosen)
