"""What is read of Slurm's JSON records, before a shape has given it one meaning.

msgspec's structures hold the fields that are read and nothing else: what has no field is skipped without becoming a
Python object, and most of a document is such. Unions leave open what differs between the shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from msgspec import Struct

from scheduler.slurm.seam import Job, Node, Reservation


class Number(Struct, gc=False):
    """A number that may be missing or without a bound, as `data_parser` has it."""

    set: bool = False
    infinite: bool = False
    number: bool | int | float | None = None


AnyNumber = Number | bool | int | float | str | None
AnyWords = list[str] | str | None


class RawNodes(Struct, gc=False):
    """The nodes of a job's resources, from `data_parser/v0.0.42` on."""

    whole: bool | None = None


class RawResources(Struct, gc=False):
    """A job's resources. Without a structure, every core of every node would become a Python object."""

    nodes: RawNodes | str | None = None


class RawJob(Struct, gc=False, kw_only=True):
    """The fields of a job that are read."""

    account: str | None = None
    admin_comment: str | None = None
    array_job_id: AnyNumber = None
    array_task_id: AnyNumber = None
    array_task_string: str | None = None
    batch_flag: bool | int | None = True
    eligible_time: AnyNumber = None
    end_time: AnyNumber = None
    het_job_id: AnyNumber = None
    het_job_offset: AnyNumber = None
    job_id: int
    job_resources: RawResources | None = None
    job_state: list[str] | str
    name: str | None = None
    node_count: AnyNumber = None
    nodes: str | None = None
    partition: str | None = None
    priority: AnyNumber = None
    qos: str | None = None
    requeue: bool | int | None = None
    restart_cnt: AnyNumber = None
    resv_name: str | None = None
    shared: AnyWords = None
    start_time: AnyNumber = None
    state_reason: str | None = None
    submit_time: AnyNumber = None
    time_limit: AnyNumber = None
    user_id: int
    user_name: str | None = None


class RawNode(Struct, gc=False):
    """The fields of a node that are read."""

    name: str
    cpus: AnyNumber = None
    partitions: list[str] | None = None
    real_memory: AnyNumber = None
    state: AnyWords = None
    state_flags: AnyWords = None


class RawReservation(Struct, gc=False):
    """The fields of a reservation that are read."""

    name: str
    end_time: AnyNumber = None
    node_list: str | None = None
    start_time: AnyNumber = None
    users: str | None = None


@dataclass(frozen=True)
class Shape:
    """One form of Slurm's JSON.

    Attributes
    ----------
    name : str
        What `meta.plugin` says, such as `data_parser/v0.0.42`.
    scontrol_json : bool
        Whether scontrol has `--json` in the releases that print it.
    jobs, nodes, reservations : callable
        Turn records into the seam's words.
    """

    name: str
    scontrol_json: bool
    jobs: Callable[[Iterable[RawJob]], list[Job]]
    nodes: Callable[[Iterable[RawNode]], list[Node]]
    reservations: Callable[[Iterable[RawReservation]], list[Reservation]]
