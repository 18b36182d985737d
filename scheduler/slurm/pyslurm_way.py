"""The way to Slurm by pyslurm, where it is installed and matches: reads, and the changes that it can make safely.

Written against pyslurm 25.11's published API (its `core/` modules), which builds against Slurm 25.11 alone. These go by
the commands in any case:

- `submit`: its `JobSubmitDescription` has no place for SPANK options;
- `requeue`: its `Job.requeue` also requeues a job that has ended, which would then run twice;
- what is done to tasks of an array: its ids are numbers, and an array's number means all its tasks (see `addresses`);
- `configuration`: its names are not slurm.conf's.
"""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

from scheduler.slurm.addresses import address
from scheduler.slurm.commands import HIGHEST_PRIORITY, CommandSlurm
from scheduler.slurm.hostlists import compress, expand
from scheduler.slurm.running import Runner, one_line
from scheduler.slurm.seam import Job, Node, Reservation, Slurm, SlurmError, SlurmUnreachableError, Submission
from scheduler.slurm.shape_plain import base_state
from scheduler.slurm.values import ENDED, MEBIBYTE, MINUTE, words

_LONGEST = timedelta(days=365).total_seconds()
"""What Slurm makes of a reservation without an end."""


def load() -> Any:
    """Import pyslurm.

    Returns
    -------
    module
        The module `pyslurm`.

    Raises
    ------
    SlurmError
        Where it is not there, or does not fit the Slurm that is.
    """
    try:
        return importlib.import_module("pyslurm")
    except (ImportError, OSError) as error:  # OSError: libslurm of another release
        raise SlurmError(
            f"pyslurm cannot be used here: {one_line(str(error))}; install the release of it that has Slurm's own "
            "number, or leave the choice to Tierwise"
        ) from None


class PyslurmSlurm:
    """Slurm by pyslurm; see `seam.Slurm` for what each method promises.

    Parameters
    ----------
    module : module, optional
        pyslurm; by default the one installed.
    commands : Slurm, optional
        What pyslurm cannot do goes here.
    answers : callable, optional
        Tells whether the controller answers, once something has failed.
    """

    def __init__(self, module: Any = None, commands: Slurm | None = None, answers: Any = None) -> None:
        self._pyslurm = load() if module is None else module
        self._commands = CommandSlurm() if commands is None else commands
        self._answers = Runner().answers if answers is None else answers
        self._in_arrays: frozenset[int] = frozenset()

    def version(self) -> tuple[int, int, int]:
        """Return the controller's release."""
        with self._asking("read Slurm's version"):
            parts = str(self._pyslurm.slurmctld.Config.load().version).split(".")
            return int(parts[0]), int(parts[1]), int(parts[2].partition("-")[0])

    def configuration(self) -> Mapping[str, str]:
        """Return the running configuration."""
        return self._commands.configuration()

    def nodes(self) -> tuple[Node, ...]:
        """Return all nodes."""
        with self._asking("list nodes"):
            return tuple(_node(known) for known in self._pyslurm.Nodes.load().values())

    def jobs(self) -> tuple[Job, ...]:
        """Return all jobs."""
        with self._asking("list jobs"):
            now = time.time()
            loaded = self._pyslurm.Jobs.load(preload_passwd_info=True)
            found = sorted((_job(known, now) for known in loaded.values()), key=lambda job: job.id)
        self._in_arrays = frozenset(job.id for job in found if address(job) != str(job.id))
        return tuple(found)

    def look(self) -> tuple[tuple[Node, ...], tuple[Job, ...]]:
        """Return all nodes and all jobs."""
        return self.nodes(), self.jobs()

    def reservations(self) -> tuple[Reservation, ...]:
        """Return all reservations."""
        with self._asking("list reservations"):
            loaded = self._pyslurm.Reservations.load().values()
            return tuple(
                Reservation(known.name, expand(known.nodes or ""), known.start_time, known.end_time, tuple(known.users))
                for known in loaded
            )

    def submit(self, submission: Submission) -> int:
        """Submit a batch job."""
        return self._commands.submit(submission)

    def cancel(self, job: int) -> None:
        """Cancel a job."""
        if self._in_array(job):
            self._commands.cancel(job)
            return
        with self._asking(f"cancel job {job}"):
            self._pyslurm.Job(job).cancel()

    def requeue(self, job: int, *, hold: bool = False) -> None:
        """End a running job and put it back."""
        self._commands.requeue(job, hold=hold)

    def signal(self, job: int, name: str) -> None:
        """Send a signal to all processes of a job."""
        if self._in_array(job):
            self._commands.signal(job, name)
            return
        known = {known.id: known for known in self.jobs()}.get(job)
        # pyslurm says nothing where the job has ended.
        if known is None or known.state in ENDED:
            raise SlurmError(f"signal job {job}: it has ended, or is not known")
        if known.state == "running":
            with self._asking(f"signal job {job}"):
                self._pyslurm.Job(job).send_signal(f"SIG{name}", steps="all")

    def hold(self, job: int) -> None:
        """Keep a waiting job from starting."""
        if self._in_array(job):
            self._commands.hold(job)
            return
        with self._asking(f"hold job {job}"):
            self._pyslurm.Job(job).hold()

    def release(self, job: int) -> None:
        """Let a held job start again."""
        if self._in_array(job):
            self._commands.release(job)
            return
        with self._asking(f"release job {job}"):
            self._pyslurm.Job(job).release()

    def reserve(self, reservation: Reservation) -> None:
        """Make a reservation that running jobs do not stand in the way of."""
        request = f"reserve {one_line(reservation.name)[:80]!r}"
        start = max(reservation.start, math.ceil(time.time()))
        with self._asking(request):
            self._pyslurm.Reservation(
                reservation.name,
                start_time=int(start),
                end_time=int(min(reservation.end, start + _LONGEST)),
                nodes=compress(reservation.nodes),
                users=list(reservation.users) or ["root"],
                flags=self._pyslurm.ReservationFlags.IGNORE_RUNNING_JOBS,
            ).create()

    def unreserve(self, name: str) -> None:
        """Take a reservation away; where jobs are in it, the commands know how."""
        self._commands.unreserve(name)

    def place(self, job: int, *, nodes: Sequence[str] = (), reservation: str = "", first: bool = False) -> None:
        """Tell a waiting job where to go, and whether first."""
        known = {known.id: known for known in self.jobs()}.get(job)
        if known is None or known.state != "pending":
            raise SlurmError(f"place job {job}: it does not wait, or is not known")
        if job in self._in_arrays:
            self._commands.place(job, nodes=nodes, reservation=reservation, first=first)
            return
        changes: dict[str, object] = {}
        if nodes:
            changes["required_nodes"] = list(nodes)
        if reservation:
            changes["reservations"] = [reservation]
        if first:
            changes["priority"] = HIGHEST_PRIORITY
        if changes:
            with self._asking(f"place job {job}"):
                self._pyslurm.Job(job).modify(self._pyslurm.JobSubmitDescription(**changes))

    def _in_array(self, job: int) -> bool:
        self.jobs()
        return job in self._in_arrays

    @contextmanager
    def _asking(self, request: str) -> Iterator[None]:
        try:
            yield
        except self._pyslurm.PyslurmError as error:
            kind = SlurmError if self._answers() else SlurmUnreachableError
            raise kind(f"{request}: {one_line(str(error))}") from None
        except (ValueError, TypeError, AttributeError) as error:
            raise SlurmError(f"{request}: pyslurm is not as expected: {one_line(str(error))}") from None


def _node(known: Any) -> Node:
    return Node(
        name=known.name,
        # NAME+FLAG+FLAG, where an asterisk marks a node that does not respond (`node_state_string_complete`).
        states=words(known.state.replace("*", "+NOT_RESPONDING").split("+")),
        cpus=known.total_cpus,
        memory=(known.real_memory or 0) * MEBIBYTE,
        partitions=tuple(known.partitions),
    )


def _job(known: Any, now: float) -> Job:
    state, flags = base_state(known.state, known.end_time, now)
    waits = state == "pending"
    minutes = known.time_limit
    limited = isinstance(minutes, int)
    held = {"completing", "configuring", "resizing", "stopped", "signaling"} & flags
    names = expand(known.allocated_nodes or "") if state in {"running", "suspended"} or held else ()
    batch = bool(known.is_batch_job)
    return Job(
        id=known.id,
        name=known.name or "",
        user=known.user_name or "",
        uid=known.user_id,
        account=known.account or "",
        partition=known.partition or "",
        qos=known.qos or "",
        state=state,
        flags=flags,
        nodes=names,
        node_count=len(names) or known.num_nodes or 0,
        submit=known.submit_time,
        eligible=known.eligible_time,
        start=None if waits else known.start_time,
        end=None if waits or not limited else known.end_time,
        time_limit=minutes * MINUTE if limited else math.inf,
        requeueable=bool(known.is_requeueable) and batch,
        exclusive=known.resource_sharing == "NO",
        restarts=known.requeue_count or 0,
        priority=known.priority if isinstance(known.priority, int) else 1,
        reason=known.state_reason or "",
        array_job_id=known.array_id or None,
        array_task=_task(known),
        het_job_id=known.heterogeneous_id or None,
        het_offset=known.heterogeneous_offset or 0,
        batch=batch,
        reservation=known.reservation or "",
        admin_comment=known.admin_comment or "",
    )


def _task(known: Any) -> str:
    if not known.array_id:
        return ""
    # 0 and "not set" look alike to pyslurm; a record of waiting tasks has their list.
    waiting = known.array_tasks_waiting
    return str(waiting).partition("%")[0] if waiting else str(known.array_task_id or 0)
