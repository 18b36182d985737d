"""A cluster in memory, behind the same Protocol as the real one: for tests of what acts on Slurm.

It behaves as 22.05 was seen to (docs/slurm.md); one contract test holds both to that. Time stands still until
`advance`, and `faults` lets requests fail.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from scheduler.slurm.fake_cluster import FakeCluster, Record
from scheduler.slurm.faults import Faults
from scheduler.slurm.seam import Job, Node, Reservation, Slurm, SlurmError, Submission
from scheduler.slurm.values import ENDED, MINUTE

HIGHEST_PRIORITY = 4_294_967_293
"""What `place(first=True)` gives, as the real way does."""


class FakeSlurm(FakeCluster):
    """A cluster in memory; see `seam.Slurm` for what its requests promise, `FakeCluster` for what a test does to it.

    Parameters
    ----------
    nodes : iterable of str
        The nodes' names.
    now, completing, requeue_delay : float
        As in `FakeCluster`.
    run_time : callable, optional
        How long a job runs [s], from its submission; by default until its limit.
    record : callable, optional
        Stands for job_submit.lua: the admin_comment of a submission.

    Attributes
    ----------
    faults : Faults
        Where failures are ordered.
    signals : list of tuple
        What was signalled: time, job, signal.
    on_signal : callable or None
        Called with the job's id and the signal; a test may then call `end`.

    Examples
    --------
    >>> slurm = FakeSlurm(["n1", "n2"])
    >>> job = slurm.submit(Submission("", "a", nodes=2, time_limit=60))
    >>> slurm.advance(60)
    >>> slurm.job(job).state
    'completed'
    """

    def __init__(
        self,
        nodes: Iterable[str] = ("n1", "n2", "n3", "n4"),
        *,
        now: float = 1_700_000_000.0,
        completing: float = 0.0,
        requeue_delay: float = 0.0,
        run_time: Callable[[Submission], float] = lambda submission: submission.time_limit,
        record: Callable[[Submission], str] = lambda _: "",
    ) -> None:
        super().__init__(nodes, now=now, completing=completing, requeue_delay=requeue_delay)
        self.faults = Faults()
        self.signals: list[tuple[float, int, str]] = []
        self.on_signal: Callable[[int, str], None] | None = None
        self._run_time, self._record = run_time, record

    def version(self) -> tuple[int, int, int]:
        """Return the release that it behaves like."""
        with self.faults.around("version"):
            return 22, 5, 8

    def configuration(self) -> Mapping[str, str]:
        """Return a few parameters."""
        with self.faults.around("configuration"):
            return {"clustername": "fake", "slurm_version": "22.05.8", "killwait": "30 sec"}

    def nodes(self) -> tuple[Node, ...]:
        """Return all nodes."""
        with self.faults.around("nodes"):
            return tuple(
                Node(name, self._shown(name), cpus=2, memory=1 << 30, partitions=("main",)) for name in self._states
            )

    def jobs(self) -> tuple[Job, ...]:
        """Return all jobs."""
        with self.faults.around("jobs"):
            return tuple(record.job for _, record in sorted(self._records.items()))

    def look(self) -> tuple[tuple[Node, ...], tuple[Job, ...]]:
        """Return all nodes and all jobs."""
        return self.nodes(), self.jobs()

    def reservations(self) -> tuple[Reservation, ...]:
        """Return all reservations that have not ended."""
        with self.faults.around("reservations"):
            return tuple(self._reservations.values())

    def submit(self, submission: Submission) -> int:
        """Submit a job; of the options, `hold`, `no-requeue`, `nodelist` and `reservation` mean something."""
        with self.faults.around("submit"):
            self._check(submission)
            number = max(self._records, default=0) + 1
            wanted = tuple(name for name in submission.options.get("nodelist", "").split(",") if name)
            job = self._new_job(number, submission)
            self._records[number] = Record(job, self._run_time(submission), wanted=wanted)
            self._settle()
            return number

    def cancel(self, job: int) -> None:
        """Cancel a job."""
        with self.faults.around("cancel", job):
            record = self._records.get(job)
            if record is not None and record.job.state not in ENDED:
                self._stop(record, "cancelled")
            self._settle()

    def requeue(self, job: int, *, hold: bool = False) -> None:
        """End a running job and put it back."""
        with self.faults.around("requeue", job):
            record = self._known("requeue", job)
            if record.job.state == "running":
                if not record.job.requeueable:
                    raise SlurmError(f"requeue job {job}: Requested operation is presently disabled")
                self._put_back(record, held=hold)
            self._settle()

    def signal(self, job: int, name: str) -> None:
        """Send a signal."""
        with self.faults.around("signal", job):
            known = self._known("signal", job).job
            if known.state in ENDED:
                raise SlurmError(f"signal job {job}: Invalid job id specified")
            if known.state != "running":
                return
            self.signals.append((self.now, job, name))
            if self.on_signal is not None:
                self.on_signal(job, name)

    def hold(self, job: int) -> None:
        """Keep a waiting job from starting; a running one from starting again."""
        with self.faults.around("hold", job):
            if self._known("hold", job).job.state in ENDED:
                raise SlurmError(f"hold job {job}: Job has already finished")
            self.change(job, priority=0, reason="JobHeldAdmin")

    def release(self, job: int) -> None:
        """Let a held job start again."""
        with self.faults.around("release", job):
            known = self._known("release", job).job
            if known.state in ENDED:
                raise SlurmError(f"release job {job}: Job has already finished")
            if known.priority == 0:
                self.change(job, priority=1, reason="None", eligible=known.eligible or self.now)
            self._settle()

    def reserve(self, reservation: Reservation) -> None:
        """Make a reservation."""
        with self.faults.around("reserve", reservation.name):
            request = f"reserve {reservation.name!r}"
            unknown = set(reservation.nodes) - set(self._states)
            if unknown or not reservation.nodes:
                raise SlurmError(f"{request}: Invalid node name specified")
            if reservation.name in self._reservations:
                raise SlurmError(f"{request}: Duplicate reservation name")
            for other in self._reservations.values():
                apart = other.end <= reservation.start or reservation.end <= other.start
                if not apart and set(other.nodes) & set(reservation.nodes):
                    raise SlurmError(f"{request}: Requested reservation overlaps with another reservation")
            users = reservation.users or ("root",)
            start = max(reservation.start, self.now)
            self._reservations[reservation.name] = replace(reservation, users=users, start=start)

    def unreserve(self, name: str) -> None:
        """Take a reservation away; jobs in it go on without it."""
        with self.faults.around("unreserve", name):
            if self._reservations.pop(name, None) is not None:
                for number, record in self._records.items():
                    if record.job.reservation == name and record.job.state not in ENDED:
                        self.change(number, reservation="")
            self._settle()

    def place(self, job: int, *, nodes: Sequence[str] = (), reservation: str = "", first: bool = False) -> None:
        """Tell a waiting job where to go, and whether first."""
        with self.faults.around("place", job):
            record = self._known("place", job)
            if record.job.state != "pending":
                raise SlurmError(f"place job {job}: Job is no longer pending execution")
            if set(nodes) - set(self._states):
                raise SlurmError(f"place job {job}: Invalid node name specified")
            if reservation and reservation not in self._reservations:
                raise SlurmError(f"place job {job}: Requested reservation is invalid")
            if first and record.job.priority == 0:
                raise SlurmError(f"place job {job}: Job is in held state, pending scheduler release")
            if nodes:
                self._records[job] = replace(record, wanted=tuple(nodes))
            if reservation:
                self.change(job, reservation=reservation)
            if first:
                self.change(job, priority=HIGHEST_PRIORITY)
            self._settle()

    def _known(self, request: str, job: int) -> Record:
        if job not in self._records:
            raise SlurmError(f"{request} job {job}: Slurm knows no job {job}")
        return self._records[job]

    def _new_job(self, number: int, submission: Submission) -> Job:
        options, held = submission.options, "hold" in submission.options
        minutes = submission.time_limit / MINUTE
        return Job(
            id=number,
            name=submission.name,
            user="root",
            uid=0,
            account=options.get("account", ""),
            partition=submission.partition or "main",
            qos=options.get("qos", ""),
            state="pending",
            flags=frozenset(),
            nodes=(),
            node_count=submission.nodes,
            submit=self.now,
            eligible=None if held else self.now,
            start=None,
            end=None,
            time_limit=math.ceil(minutes) * MINUTE if minutes < math.inf else math.inf,
            requeueable="no-requeue" not in options,
            exclusive=True,
            restarts=0,
            priority=0 if held else 1,
            reason="JobHeldUser" if held else "None",
            reservation=options.get("reservation", ""),
            admin_comment=self._record(submission),
        )

    def _check(self, submission: Submission) -> None:
        request = f"submit job {submission.name!r}"
        if not submission.script.startswith("#!") and submission.script:
            raise SlurmError(f"{request}: This does not look like a batch script")
        if submission.partition not in {"", "main"}:
            raise SlurmError(f"{request}: Invalid partition name specified")
        if submission.nodes < 1:
            raise SlurmError(f"{request}: nodes is {submission.nodes}, expected at least 1")


_PROMISE: type[Slurm] = FakeSlurm
"""The type checker holds the fake to the Protocol here; nothing else would."""
