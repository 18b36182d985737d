"""What Tierwise asks of Slurm, as one typed Protocol; each way in implements it, and so does the fake of the tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol


class SlurmError(Exception):
    """Slurm refused, or could not be reached; the message is one line that names the request and Slurm's reason."""


class SlurmUnreachableError(SlurmError):
    """Slurm's controller does not answer: the same request may succeed later."""


@dataclass(frozen=True)
class Node:
    """A node.

    Attributes
    ----------
    name : str
        Its name.
    states : frozenset of str
        Slurm's states and flags in lower case: `idle`, `allocated`, `mixed`, `down`, `drain`, `completing`,
        `not_responding`, `maint`, `reserved`, ...
    cpus : int
        Processors.
    memory : int
        Memory [bytes].
    partitions : tuple of str
        The partitions it is in.
    """

    name: str
    states: frozenset[str]
    cpus: int
    memory: int
    partitions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Job:
    """A job that Slurm knows.

    Attributes
    ----------
    id : int
        The job's id (of an array task or a component of a heterogeneous job: its own).
    name, user, account, partition, qos : str
        As submitted; all of them come from outside and may hold any letter.
    uid : int
        The user's id.
    state : str
        Slurm's base state in lower case: `pending`, `running`, `completed`, `preempted`, ... 22.05 hides it behind
        some flags; then it is `pending`, `running`, or `completed` for any job that has ended.
    flags : frozenset of str
        State flags in lower case: `completing`, `configuring`, `requeued`, `requeue_hold`, ...
    nodes : tuple of str
        Names of the nodes it holds, empty while it waits.
    node_count : int
        Nodes it holds, or asks for.
    submit, eligible, start, end : float or None
        POSIX times [s]; `start` of the current run, `end` as the wall time limit has it. None: not known.
    time_limit : float
        Wall time limit [s], infinite for none.
    requeueable : bool
        Whether Slurm would requeue it.
    exclusive : bool
        Whether it has its nodes for itself.
    restarts : int
        How often it was requeued.
    priority : int
        Slurm's priority; 0 for a held job.
    reason : str
        Why it waits, as Slurm names it.
    array_job_id, het_job_id : int or None
        The array or heterogeneous job it belongs to.
    array_task : str
        The array task that it is (`7`), or the tasks that wait together in this one record (`3-5,9`).
    het_offset : int
        Its place among the components of a heterogeneous job, from 0; the first is the leader.
    batch : bool
        Whether it has a batch script; salloc's and srun's jobs have none, and are never requeued.
    reservation : str
        The reservation it runs in or asks for.
    admin_comment : str
        Where job_submit.lua puts Tierwise's record; nothing else may be believed about it.
    """

    id: int
    name: str
    user: str
    uid: int
    account: str
    partition: str
    qos: str
    state: str
    flags: frozenset[str]
    nodes: tuple[str, ...]
    node_count: int
    submit: float | None
    eligible: float | None
    start: float | None
    end: float | None
    time_limit: float
    requeueable: bool
    exclusive: bool
    restarts: int
    priority: int
    reason: str
    array_job_id: int | None = None
    het_job_id: int | None = None
    array_task: str = ""
    het_offset: int = 0
    batch: bool = True
    reservation: str = ""
    admin_comment: str = ""


@dataclass(frozen=True)
class Reservation:
    """A reservation of whole nodes.

    Attributes
    ----------
    name : str
        Its name.
    nodes : tuple of str
        The nodes' names.
    start, end : float
        POSIX times [s].
    users : tuple of str
        Who may use it.
    """

    name: str
    nodes: tuple[str, ...]
    start: float
    end: float
    users: tuple[str, ...] = ()


@dataclass(frozen=True)
class Submission:
    """A batch job to submit.

    Attributes
    ----------
    script : str
        The batch script's text.
    name : str
        The job's name.
    nodes : int
        Nodes asked for.
    time_limit : float
        Wall time limit [s].
    partition : str
        The partition; empty for the default one.
    options : Mapping of str to str
        Further long options of sbatch without their dashes, such as `{"on-demand": "2m"}`; nothing as value for an
        option that takes none.
    environment : Mapping of str to str
        Set for the submission, on top of what this process has.
    """

    script: str
    name: str
    nodes: int
    time_limit: float
    partition: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)


class Slurm(Protocol):
    """What Tierwise asks of a Slurm cluster. Each call raises `SlurmError` where Slurm refuses it."""

    def version(self) -> tuple[int, int, int]:
        """Return Slurm's release, such as (24, 11, 5)."""
        ...

    def configuration(self) -> Mapping[str, str]:
        """Return the running configuration by parameter name, in lower case."""
        ...

    def nodes(self) -> tuple[Node, ...]:
        """Return all nodes."""
        ...

    def jobs(self) -> tuple[Job, ...]:
        """Return all jobs that the controller remembers, in ascending order of their ids."""
        ...

    def look(self) -> tuple[tuple[Node, ...], tuple[Job, ...]]:
        """Return all nodes and all jobs, as they are at about the same time."""
        ...

    def reservations(self) -> tuple[Reservation, ...]:
        """Return all reservations."""
        ...

    def submit(self, submission: Submission) -> int:
        """Submit a batch job; return its id."""
        ...

    def cancel(self, job: int) -> None:
        """Cancel a job; no error where it has ended, or is not known (scancel tells neither)."""
        ...

    def requeue(self, job: int, *, hold: bool = False) -> None:
        """End a running job and put it back into the queue, held if asked; no error where it has ended by itself."""
        ...

    def signal(self, job: int, name: str) -> None:
        """Send a signal (`USR1`, `TERM`, ...) to all processes of a job, script included; no error where it waits."""
        ...

    def hold(self, job: int) -> None:
        """Keep a waiting job from starting."""
        ...

    def release(self, job: int) -> None:
        """Let a held job start again."""
        ...

    def reserve(self, reservation: Reservation) -> None:
        """Make a reservation that running jobs do not stand in the way of."""
        ...

    def unreserve(self, name: str) -> None:
        """Take a reservation away; no error where there is none."""
        ...

    def place(self, job: int, *, nodes: Sequence[str] = (), reservation: str = "", first: bool = False) -> None:
        """Tell a waiting job which nodes or reservation to use, and whether to go before all others."""
        ...
