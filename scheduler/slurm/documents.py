"""Slurm's JSON documents: read fast, checked in form, and turned into the seam's words by the shape they say they have.

msgspec with a structure for the fields wanted reads 11,000 jobs (29 to 62 MB) three to four times as fast as pydantic
did with the same fields, and ten times as fast as Python's parser: what has no field is skipped, and most of a document
is cores and numbers. The shapes are `shape_plain` and `shape_parser`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, TypeVar

import msgspec

from scheduler.slurm import shape_parser, shape_plain
from scheduler.slurm.raw import RawJob, RawNode, RawReservation, Shape
from scheduler.slurm.running import one_line
from scheduler.slurm.seam import Job, Node, Reservation, SlurmError


class Head(msgspec.Struct, gc=False):
    """What each document says of itself."""

    meta: dict[str, Any] | None = None
    errors: list[Any] | None = None


class Jobs(Head, kw_only=True):
    """What `squeue --json` prints."""

    jobs: list[RawJob] | None = None


class Nodes(Head, kw_only=True):
    """What `scontrol --json show nodes` prints, and 22.05's `sinfo --json`."""

    nodes: list[RawNode] | None = None


class Reservations(Head, kw_only=True):
    """What `scontrol --json show reservations` prints."""

    reservations: list[RawReservation] | None = None


_Raw = TypeVar("_Raw")
_Known = TypeVar("_Known")
_Document = TypeVar("_Document", bound=Head)


def shape_of(request: str, meta: dict[str, Any]) -> Shape:
    """Return the shape that a document says it has.

    Parameters
    ----------
    request : str
        What was asked, for error messages.
    meta : dict
        The document's `meta`.

    Returns
    -------
    Shape
        How to read it.

    Raises
    ------
    SlurmError
        Where it is none that is known.
    """
    plugin = meta.get("plugin") or {}
    name = str(plugin.get("data_parser") or plugin.get("type") or "")
    if shape_plain.accepts(name):
        return shape_plain.shape(name)
    if shape_parser.accepts(name):
        return shape_parser.shape(name)
    raise SlurmError(
        f"{request}: Slurm's JSON has the shape {one_line(name)!r}, expected openapi/v0.0.38 or data_parser/v0.0.39 "
        "to v0.0.99"
    )


def read_shape(request: str, data: bytes) -> Shape:
    """Read which shape a document has, and nothing else of it."""
    return _checked(request, _parsed(request, data, Head))


def read_jobs(request: str, data: bytes) -> tuple[Job, ...]:
    """Read what `squeue --json` printed.

    Parameters
    ----------
    request : str
        What was asked, for error messages.
    data : bytes
        The document.

    Returns
    -------
    tuple of Job
        Its jobs, in its order.

    Raises
    ------
    SlurmError
        Where it is no such document, or holds an error instead.
    """
    document = _parsed(request, data, Jobs)
    shape = _checked(request, document)
    return tuple(_converted(request, shape.jobs, document.jobs))


def read_nodes(request: str, data: bytes) -> tuple[Node, ...]:
    """Read what `scontrol --json show nodes` or 22.05's `sinfo --json` printed; see `read_jobs`."""
    document = _parsed(request, data, Nodes)
    shape = _checked(request, document)
    return tuple(_converted(request, shape.nodes, document.nodes))


def read_reservations(request: str, data: bytes) -> tuple[Reservation, ...]:
    """Read what `scontrol --json show reservations` printed; see `read_jobs`."""
    document = _parsed(request, data, Reservations)
    shape = _checked(request, document)
    return tuple(_converted(request, shape.reservations, document.reservations))


class ReportedError(SlurmError):
    """A document that holds an error in place of an answer: 22.05's commands then still exit with 0.

    Attributes
    ----------
    reason : str
        What Slurm says, in one line.
    """

    def __init__(self, request: str, reason: str) -> None:
        super().__init__(f"{request}: {reason}")
        self.reason = reason


@cache
def _decoder(form: type[_Document]) -> msgspec.json.Decoder[_Document]:
    return msgspec.json.Decoder(form)


def _parsed(request: str, data: bytes, form: type[_Document]) -> _Document:
    decoder: msgspec.json.Decoder[_Document] = _decoder(form)
    try:
        return decoder.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        first = str(error)
    text = data.decode(errors="replace")
    try:
        # Slurm prints a job's name as it was given, which need not be UTF-8.
        return decoder.decode(text)
    except msgspec.MsgspecError:
        pass
    try:
        # Slurm may print NaN and Infinity, which are no JSON; Python's parser is slow, and takes them.
        return msgspec.convert(json.loads(text), form)
    except (ValueError, RecursionError):
        raise SlurmError(f"{request}: Slurm's JSON is not as expected: {one_line(first)}") from None


def _checked(request: str, document: Head) -> Shape:
    for error in document.errors or ():
        described = error if isinstance(error, dict) else {"error": error}
        texts = [str(described[key]) for key in ("description", "error") if described.get(key)]
        raise ReportedError(request, one_line(": ".join(texts)) or "an error without a reason")
    return shape_of(request, document.meta or {})


def _converted(
    request: str, convert: Callable[[Iterable[_Raw]], list[_Known]], records: Iterable[_Raw] | None
) -> list[_Known]:
    if records is None:
        raise SlurmError(f"{request}: Slurm's JSON is not as expected: it holds none of what was asked for")
    try:
        return convert(records)
    except (ValueError, TypeError, OverflowError) as error:
        reason = one_line(f"{type(error).__name__}: {error}")
        raise SlurmError(f"{request}: Slurm's JSON is not as expected: {reason}") from None
