"""JSON of `openapi/v0.0.38`, which Slurm 22.05 prints: numbers are plain, and null where they are not set.

A job has one state word there: a flag, where it has one, hides the base state (`job_state_string` in Slurm's
slurm_protocol_defs.c). What can be told from the rest is told.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable

from scheduler.slurm.jobs import job
from scheduler.slurm.raw import RawJob, RawNode, RawReservation, Shape
from scheduler.slurm.seam import Job, Node, Reservation
from scheduler.slurm.values import MEBIBYTE, moment, whole, words

_NAME = re.compile(r"openapi/v0\.0\.3[678]")

_BEHIND = {
    "configuring": "running",
    "resizing": "running",
    "stopped": "running",
    "signaling": "running",
    "requeued": "pending",
    "requeue_fed": "pending",
    "requeue_hold": "pending",
    "special_exit": "pending",
    "resv_del_hold": "pending",
    "revoked": "pending",
    "stage_out": "completed",
}
"""The base state behind each flag; `completing` is behind none, see `base_state`."""

_AHEAD = 30.0
"""Seconds. A completing job that was requeued shows a forecast of its next end, at least a minute (the smallest limit)
ahead, or none; one that has ended shows when. Half of that is left for clocks that differ."""


def accepts(name: str) -> bool:
    """Tell whether this is the shape of that name."""
    return _NAME.fullmatch(name) is not None


def shape(name: str) -> Shape:
    """Return the shape."""
    return Shape(name, scontrol_json=False, jobs=_jobs, nodes=_nodes, reservations=_reservations)


def base_state(shown: str, end: float | None, now: float) -> tuple[str, frozenset[str]]:
    """Tell the base state and the flag from the one word that shows.

    Parameters
    ----------
    shown : str
        The word, such as `COMPLETING`.
    end : float or None
        The job's end as it shows [s].
    now : float
        The time [s].

    Returns
    -------
    state : str
        The base state, in lower case.
    flags : frozenset of str
        The flag, where the word is one.
    """
    word = shown.lower()
    if word == "completing":
        requeued = end is None or end > now + _AHEAD
        return "pending" if requeued else "completed", frozenset({word})
    behind = _BEHIND.get(word)
    return (behind, frozenset({word})) if behind else (word, frozenset())


def _jobs(records: Iterable[RawJob]) -> list[Job]:
    now = time.time()
    return [job(raw, lambda raw: _state(raw, now), _exclusive) for raw in records]


def _state(raw: RawJob, now: float) -> tuple[str, frozenset[str]]:
    shown = raw.job_state
    return base_state(shown if isinstance(shown, str) else " ".join(shown), moment(raw.end_time), now)


def _exclusive(raw: RawJob) -> bool:
    return raw.shared == "none"


def _nodes(records: Iterable[RawNode]) -> list[Node]:
    return [
        Node(
            name=raw.name,
            states=words(raw.state) | words(raw.state_flags),
            cpus=whole(raw.cpus),
            memory=whole(raw.real_memory) * MEBIBYTE,
            partitions=tuple(raw.partitions or ()),
        )
        for raw in records
    ]


def _reservations(_: Iterable[RawReservation]) -> list[Reservation]:
    # No command of 22.05 prints reservations as JSON: see key_value.
    raise ValueError("reservations are not expected in this shape")
