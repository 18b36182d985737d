"""The way to Slurm by its commands: their JSON in, lists of arguments out.

What each request becomes, and why, is in docs/slurm.md.
"""

from __future__ import annotations

import math
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from scheduler.slurm import key_value
from scheduler.slurm.addresses import Addresses
from scheduler.slurm.beside import Beside
from scheduler.slurm.documents import ReportedError, read_jobs, read_nodes, read_reservations, read_shape
from scheduler.slurm.hostlists import compress
from scheduler.slurm.raw import Shape
from scheduler.slurm.running import TIMEOUT, Runner, one_line
from scheduler.slurm.seam import Job, Node, Reservation, SlurmError, SlurmUnreachableError, Submission
from scheduler.slurm.submitting import arguments as sbatch_arguments
from scheduler.slurm.submitting import job_id, script_bytes, variables
from scheduler.slurm.values import ENDED

HIGHEST_PRIORITY = 4_294_967_293
"""`NO_VAL - 1`: the largest that is a priority (slurm.h)."""

Read = TypeVar("Read")

_NAME = re.compile(r"[A-Za-z0-9_.-]+", re.ASCII)
_SIGNAL = re.compile(r"[A-Z][A-Z0-9]*|\d{1,2}", re.ASCII)
_RELEASE = re.compile(r"(\d+)\.(\d+)\.(\d+)")


class CommandSlurm:
    """Slurm by its commands; see `seam.Slurm` for what each method promises.

    Parameters
    ----------
    environment : Mapping of str to str, optional
        Variables on top of this process's, such as `SLURM_CONF`.
    timeout : float
        Seconds that a command may take.
    """

    def __init__(self, environment: Mapping[str, str] | None = None, timeout: float = TIMEOUT) -> None:
        self._extra = dict(environment or {})
        self._runner = Runner(self._extra, timeout)
        self._shape: Shape | None = None
        self._addresses = Addresses(self.jobs)

    def version(self) -> tuple[int, int, int]:
        """Return the controller's release."""
        said = self.configuration().get("slurm_version", "")
        match = _RELEASE.match(said)
        if match is None:
            raise SlurmError(f"read Slurm's version: {one_line(said)!r} is no release such as 24.11.5")
        return int(match[1]), int(match[2]), int(match[3])

    def configuration(self) -> Mapping[str, str]:
        """Return the running configuration."""
        return key_value.configuration(self._runner.run("read the configuration", ["scontrol", "show", "config"]))

    def nodes(self) -> tuple[Node, ...]:
        """Return all nodes."""
        request = "list nodes"
        if self._scontrol_has_json(request):
            return self._read(read_nodes, request, ["scontrol", "--all", "--json", "show", "nodes"])
        return self._read(read_nodes, request, ["sinfo", "--all", "--json"])

    def jobs(self) -> tuple[Job, ...]:
        """Return all jobs."""
        request = "list jobs"
        # 22.05 prints all jobs whatever it is asked; later releases print those of these states.
        listed = self._read(read_jobs, request, ["squeue", "--all", "--states=all", "--json"])
        found = tuple(sorted(listed, key=lambda job: job.id))
        self._addresses.learn(found)
        return found

    def look(self) -> tuple[tuple[Node, ...], tuple[Job, ...]]:
        """Return all nodes and all jobs; both commands run at once, since squeue alone takes most of a second."""
        nodes = Beside(self.nodes)
        jobs = self.jobs()
        return nodes.result(), jobs

    def reservations(self) -> tuple[Reservation, ...]:
        """Return all reservations."""
        request = "list reservations"
        if self._scontrol_has_json(request):
            return self._read(read_reservations, request, ["scontrol", "--all", "--json", "show", "reservations"])
        arguments = ["scontrol", "--all", "--oneliner", "show", "reservations"]
        return key_value.reservations(request, self._runner.run(request, arguments))

    def submit(self, submission: Submission) -> int:
        """Submit a batch job; its script goes in through standard input, so that no file lies about."""
        request = f"submit job {one_line(submission.name)[:80]!r}"
        arguments = sbatch_arguments(request, submission)
        # The job inherits the environment, so LC_ALL and the like stay as they are.
        environment = dict(os.environ) | self._extra | variables(request, submission)
        script = script_bytes(request, submission)
        output = self._runner.run(request, arguments, environment=environment, standard_input=script)
        found = job_id(request, output)
        if "array" not in submission.options:
            self._addresses.plain(found)
        return found

    def cancel(self, job: int) -> None:
        """Cancel a job."""
        request = f"cancel job {job}"
        address = self._addresses.of(job)
        if address is None:
            return
        try:
            self._runner.run(request, ["scancel", "--", address])
        except SlurmUnreachableError:
            raise
        except SlurmError:
            if self._runs_or_waits(job):
                raise

    def requeue(self, job: int, *, hold: bool = False) -> None:
        """End a running job and put it back.

        `incomplete` keeps a job that has ended meanwhile from running a second time; it makes the request do nothing
        to a job that waits.
        """
        request = f"requeue job {job}" + (", held" if hold else "")
        word = "requeuehold" if hold else "requeue"
        self._runner.run(request, ["scontrol", word, "incomplete", self._known(request, job)])

    def signal(self, job: int, name: str) -> None:
        """Send a signal to all processes of a job."""
        request = f"signal job {job}"
        if not _SIGNAL.fullmatch(name):
            raise SlurmError(f"{request}: {one_line(name)!r} is no signal, expected one such as USR1")
        # --full: the batch script and its children as well as the steps. Without --state, scancel asks for a minute
        # whether a job that waits can be signalled by now.
        arguments = ["scancel", "--state=RUNNING", f"--signal={name}", "--full", "--", self._known(request, job)]
        self._runner.run(request, arguments)

    def hold(self, job: int) -> None:
        """Keep a waiting job from starting."""
        request = f"hold job {job}"
        self._runner.run(request, ["scontrol", "hold", self._known(request, job)])

    def release(self, job: int) -> None:
        """Let a held job start again."""
        request = f"release job {job}"
        self._runner.run(request, ["scontrol", "release", self._known(request, job)])

    def reserve(self, reservation: Reservation) -> None:
        """Make a reservation that running jobs do not stand in the way of."""
        request = f"reserve {one_line(reservation.name)[:80]!r}"
        for name in (reservation.name, *reservation.users):
            if not _NAME.fullmatch(name):
                raise SlurmError(f"{request}: {one_line(name)[:80]!r} is no name of letters, digits, '_', '.' and '-'")
        try:
            nodes = compress(reservation.nodes)
        except ValueError as error:
            raise SlurmError(f"{request}: {error}") from None
        if not nodes:
            raise SlurmError(f"{request}: no nodes are named, expected at least one")
        self._runner.run(
            request,
            [
                "scontrol",
                "create",
                f"ReservationName={reservation.name}",
                f"StartTime={_moment(request, reservation.start)}",
                _until(request, reservation.end),
                f"Users={','.join(reservation.users) or 'root'}",
                f"Nodes={nodes}",
                "Flags=IGNORE_JOBS",
            ],
        )

    def unreserve(self, name: str) -> None:
        """Take a reservation away."""
        request = f"unreserve {one_line(name)[:80]!r}"
        delete = ["scontrol", "delete", f"ReservationName={name}"]
        try:
            self._runner.run(request, delete)
        except SlurmUnreachableError:
            raise
        except SlurmError:
            if all(reservation.name != name for reservation in self.reservations()):
                return
            # Slurm keeps a reservation that a job is in, even a running one. The job goes on without it.
            for job in self.jobs():
                if job.reservation == name and job.state not in ENDED:
                    update = ["scontrol", "update", f"JobId={self._known(request, job.id)}", "ReservationName="]
                    self._runner.run(request, update)
            self._runner.run(request, delete)

    def place(self, job: int, *, nodes: Sequence[str] = (), reservation: str = "", first: bool = False) -> None:
        """Tell a waiting job where to go, and whether first."""
        request = f"place job {job}"
        changes = []
        if nodes:
            try:
                changes.append(f"ReqNodeList={compress(nodes)}")
            except ValueError as error:
                raise SlurmError(f"{request}: {error}") from None
        if reservation:
            changes.append(f"ReservationName={reservation}")
        if first:
            changes.append(f"Priority={HIGHEST_PRIORITY}")
        if not changes:
            return
        # To a job that runs, a list of some of its nodes means to give up the others.
        known = next((known for known in self.jobs() if known.id == job), None)
        if known is None or known.state != "pending":
            raise SlurmError(f"{request}: it does not wait" if known else f"{request}: Slurm knows no job {job}")
        self._runner.run(request, ["scontrol", "update", f"JobId={self._known(request, job)}", *changes])

    def _known(self, request: str, job: int) -> str:
        address = self._addresses.of(job)
        if address is None:
            raise SlurmError(f"{request}: Slurm knows no job {job}")
        return address

    def _runs_or_waits(self, job: int) -> bool:
        return any(known.id == job and known.state not in ENDED for known in self.jobs())

    def _scontrol_has_json(self, request: str) -> bool:
        if self._shape is None:
            self._shape = self._read(read_shape, request, ["sinfo", "--json"])
        return self._shape.scontrol_json

    def _read(self, reader: Callable[[str, bytes], Read], request: str, arguments: Sequence[str]) -> Read:
        data = self._runner.run(request, arguments)
        try:
            return reader(request, data)
        except ReportedError as error:
            raise self._runner.failure(request, error.reason) from None


def _until(request: str, end: float) -> str:
    return "Duration=UNLIMITED" if end == math.inf else f"EndTime={_moment(request, end)}"


def _moment(request: str, value: float) -> str:
    if not math.isfinite(value):
        raise SlurmError(f"{request}: {value} is no time in seconds")
    # Slurm refuses a start that has passed, and a second may pass on the way.
    return "now" if value <= time.time() + 1 else f"uts{value:.0f}"
