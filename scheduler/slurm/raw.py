"""What is read of Slurm's JSON records, before a shape has given it one meaning."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

# pydantic takes no typing.TypedDict before Python 3.12.
from typing_extensions import TypedDict

from scheduler.slurm.seam import Job, Node, Reservation


class RawNodes(TypedDict, total=False):
    """The nodes of a job's resources, from `data_parser/v0.0.42` on."""

    whole: bool


class RawResources(TypedDict, total=False):
    """A job's resources. Without a type, every core of every node would become a Python object."""

    # Left to right: the first that fits is taken, and not the best of both looked for.
    nodes: Annotated[RawNodes | str, Field(union_mode="left_to_right")]


class RawJob(TypedDict, total=False):
    """The fields that are read; the parser skips all others, which makes it twice as fast."""

    account: str | None
    admin_comment: str | None
    array_job_id: Any
    array_task_id: Any
    array_task_string: str | None
    batch_flag: bool
    eligible_time: Any
    end_time: Any
    het_job_id: Any
    het_job_offset: Any
    job_id: int
    job_resources: RawResources | None
    job_state: Annotated[list[str] | str, Field(union_mode="left_to_right")]
    name: str | None
    node_count: Any
    nodes: str | None
    partition: str | None
    priority: Any
    qos: str | None
    requeue: bool
    restart_cnt: Any
    resv_name: str | None
    shared: Any
    start_time: Any
    state_reason: str | None
    submit_time: Any
    time_limit: Any
    user_id: int
    user_name: str | None


class RawNode(TypedDict, total=False):
    """The fields of a node that are read."""

    cpus: Any
    name: Any
    partitions: Any
    real_memory: Any
    state: Any
    state_flags: Any


class RawReservation(TypedDict, total=False):
    """The fields of a reservation that are read."""

    end_time: Any
    name: Any
    node_list: Any
    start_time: Any
    users: Any


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
