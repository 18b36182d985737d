"""A submission as a list of sbatch's arguments."""

from __future__ import annotations

import math
import re

from scheduler.slurm.running import one_line
from scheduler.slurm.seam import SlurmError, Submission

_OPTION = re.compile(r"[a-z][a-z0-9-]*", re.ASCII)
_REFUSED = {
    "wrap": "the script is given",
    "wait": "a submission does not wait for the job",
    "test-only": "it submits nothing",
    "parsable": "it is set anyway",
    "quiet": "it hides the job's id",
    "clusters": "this cluster is meant",
    "help": "it submits nothing",
    "usage": "it submits nothing",
    "version": "it submits nothing",
}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_MINUTE = 60


def arguments(request: str, submission: Submission) -> list[str]:
    """Return sbatch and its arguments; each value is part of the argument that names it, so it cannot be an option.

    Parameters
    ----------
    request : str
        What is asked, for error messages.
    submission : Submission
        The job.

    Returns
    -------
    list of str
        The command; the script comes through standard input.

    Raises
    ------
    SlurmError
        Where an option cannot be given, or a value is out of range.
    """
    if submission.nodes < 1:
        raise SlurmError(f"{request}: nodes is {submission.nodes}, expected at least 1")
    given = {
        "job-name": submission.name,
        "nodes": str(submission.nodes),
        "time": _limit(request, submission.time_limit),
    }
    if submission.partition:
        given["partition"] = submission.partition
    for name, value in submission.options.items():
        if not _OPTION.fullmatch(name):
            raise SlurmError(f"{request}: {one_line(name)!r} is no long option of sbatch without its dashes")
        if name in _REFUSED or name in given:
            reason = _REFUSED.get(name, "it is a field of the submission")
            raise SlurmError(f"{request}: option {name} cannot be given: {reason}")
        given[name] = value
    return ["sbatch", "--parsable", *(f"--{name}={value}" if value else f"--{name}" for name, value in given.items())]


def variables(request: str, submission: Submission) -> dict[str, str]:
    """Return the variables to set, checked.

    Raises
    ------
    SlurmError
        Where a name is none.
    """
    for name in submission.environment:
        if not _VARIABLE.fullmatch(name):
            raise SlurmError(f"{request}: {one_line(name)!r} is no name of a variable")
    return dict(submission.environment)


def script_bytes(request: str, submission: Submission) -> bytes:
    """Return the script as sbatch reads it.

    Raises
    ------
    SlurmError
        Where it holds half a character.
    """
    try:
        return submission.script.encode(errors="surrogateescape")
    except UnicodeEncodeError as error:
        raise SlurmError(f"{request}: character {error.start + 1} of the script is none in UTF-8") from None


def job_id(request: str, output: bytes) -> int:
    """Read what `sbatch --parsable` printed: the id, and behind a semicolon the cluster where there are several.

    Raises
    ------
    SlurmError
        Where it is something else.
    """
    words = output.split(b";")[0].strip()
    # job_submit plugins may print above it.
    last = words.splitlines()[-1] if words else b""
    if not last.isdigit():
        raise SlurmError(f"{request}: sbatch printed no job id but {one_line(output.decode(errors='replace'))!r}")
    return int(last)


def _limit(request: str, seconds: float) -> str:
    if seconds == math.inf:
        return "UNLIMITED"
    if not 0 < seconds < 2**31:
        raise SlurmError(f"{request}: time_limit is {seconds}, expected seconds above 0, or infinity")
    # Slurm counts minutes.
    return str(math.ceil(seconds / _MINUTE))
