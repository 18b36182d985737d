"""JSON of Slurm's `data_parser` plugins: v0.0.42 on 24.11, v0.0.45 on 26.05, and those between and before.

Numbers that may be missing are `{"set": …, "infinite": …, "number": …}`, states are lists of the base state and the
flags. Fields and flags were read in the releases' src/plugins/data_parser/*/parsers.c, and seen on 24.11.5 and 26.05.5.
From v0.0.45 on a job's `shared` is empty: whether a running job has its nodes for itself says
`job_resources.nodes.whole`, since v0.0.42; of a waiting job it is not told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from scheduler.slurm.hostlists import expand
from scheduler.slurm.jobs import job
from scheduler.slurm.raw import RawJob, RawNode, RawNodes, RawReservation, Shape
from scheduler.slurm.seam import Job, Node, Reservation
from scheduler.slurm.values import ENDED, MEBIBYTE, number, whole, words

_NAME = re.compile(r"(?:data_parser/)?v0\.0\.(39|[4-9]\d)")
_BASE = ENDED | {"pending", "running", "suspended"}


def accepts(name: str) -> bool:
    """Tell whether this is the shape of that name."""
    return _NAME.fullmatch(name) is not None


def shape(name: str) -> Shape:
    """Return the shape."""
    return Shape(name, scontrol_json=True, jobs=_jobs, nodes=_nodes, reservations=_reservations)


def _jobs(records: Iterable[RawJob]) -> list[Job]:
    return [job(raw, _state, _exclusive) for raw in records]


def _state(raw: RawJob) -> tuple[str, frozenset[str]]:
    listed = raw.job_state
    return _split((listed,) if isinstance(listed, str) else tuple(listed))


@lru_cache(maxsize=1024)
def _split(listed: tuple[str, ...]) -> tuple[str, frozenset[str]]:
    found = words(listed)
    base = sorted(found & _BASE)
    # "revoked" is a flag beside a base state.
    state = next((word for word in base if word != "revoked"), base[0] if base else "unknown")
    return state, found - {state}


def _exclusive(raw: RawJob) -> bool:
    nodes = raw.job_resources.nodes if raw.job_resources is not None else None
    if isinstance(nodes, RawNodes) and nodes.whole is not None:
        return nodes.whole
    return "none" in words(raw.shared)


def _nodes(records: Iterable[RawNode]) -> list[Node]:
    return [
        Node(
            name=raw.name,
            states=words(raw.state),
            cpus=whole(raw.cpus),
            memory=whole(raw.real_memory) * MEBIBYTE,
            partitions=tuple(raw.partitions or ()),
        )
        for raw in records
    ]


def _reservations(records: Iterable[RawReservation]) -> list[Reservation]:
    return [
        Reservation(
            name=raw.name,
            nodes=expand(raw.node_list or ""),
            start=number(raw.start_time),
            end=number(raw.end_time),
            users=tuple(user for user in (raw.users or "").split(",") if user),
        )
        for raw in records
    ]
