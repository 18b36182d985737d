"""Run one of Slurm's commands: a list of arguments, never a shell; bounded in time and in output.

Whether a command failed because the controller is away cannot be told from what it says: with the controller down,
22.05's `scontrol requeue` says "Unexpected message received" and `squeue --json` exits with 0. So a failure is
followed by `scontrol ping`, whose exit status tells.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO

from scheduler.slurm.seam import SlurmError, SlurmUnreachableError

TIMEOUT = 60.0
"""Seconds that a command may take: with the controller down, 22.05's commands give up after 9 s by themselves, and
with `MessageTimeout` at 100 s, the largest that slurm.conf(5) does not warn of, they have not."""

MOST_OUTPUT = 1 << 29
"""Bytes of standard output at most, 512 MiB: ten times what 11,000 jobs with their cores make on 22.05."""

_MOST_COMPLAINT = 1 << 16
_LONGEST_REASON = 300
_PING_TIMEOUT = 20.0

# They would narrow, reshape or redirect what the commands tell: squeue(1), sinfo(1), scontrol(1), "ENVIRONMENT".
_MEDDLING = (
    "SQUEUE_",
    "SINFO_",
    "SCONTROL_",
    "SCANCEL_",
    "SACCT_",
    "SLURM_CLUSTERS",
    "SLURM_TIME_FORMAT",
    "SLURM_JSON",
)
# What a job or another cluster's user has set means that other cluster, where a configuration is named.
_ANOTHER_CLUSTERS = ("SLURM_", "SLURMD_", "SLURMCTLD")
_SET = {
    "LC_ALL": "C",
    "SLURM_TIME_FORMAT": "%s",  # POSIX seconds wherever a time is printed as text
    "SLURM_BITSTR_LEN": "0",  # an array's waiting tasks in full, not cut to 64 letters
    "SLURM_JSON": "compact",
}
# squeue makes millions of small pieces for its JSON, and frees none before its end: measured on 22.05, a sixth less
# processor time. Another C library, or one before 2.35, takes no notice.
_ALLOCATION = "glibc.malloc.hugetlb=1:glibc.malloc.top_pad=134217728:glibc.malloc.tcache_count=60000"


@dataclass(frozen=True)
class Runner:
    """Runs Slurm's commands.

    Attributes
    ----------
    extra : Mapping of str to str
        Variables on top of this process's environment, such as `SLURM_CONF`.
    timeout : float
        Seconds that a command may take.
    """

    extra: Mapping[str, str] = field(default_factory=dict)
    timeout: float = TIMEOUT

    def environment(self) -> dict[str, str]:
        """Return the environment in which commands print for machines."""
        unwanted = (*_MEDDLING, *_ANOTHER_CLUSTERS) if "SLURM_CONF" in self.extra else _MEDDLING
        kept = {name: value for name, value in os.environ.items() if not name.startswith(unwanted)}
        return {"GLIBC_TUNABLES": _ALLOCATION} | kept | dict(self.extra) | _SET

    def run(
        self,
        request: str,
        arguments: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        standard_input: bytes = b"",
    ) -> bytes:
        """Run a command and return what it prints.

        Parameters
        ----------
        request : str
            What is asked, for error messages (`requeue job 5`).
        arguments : sequence of str
            The command and its arguments.
        environment : Mapping of str to str, optional
            Its whole environment; by default `environment()`.
        standard_input : bytes
            What it reads.

        Returns
        -------
        bytes
            Its standard output.

        Raises
        ------
        SlurmUnreachableError
            Where it took too long, or failed while the controller does not answer.
        SlurmError
            Where it failed, with its reason, or printed more than `MOST_OUTPUT`.
        """
        name = arguments[0]
        with tempfile.TemporaryFile() as source:
            source.write(standard_input)
            source.seek(0)
            process = _started(request, arguments, source, environment or self.environment())
        with process:
            try:
                output, complaint = _read(process, time.monotonic() + self.timeout)
                status = process.wait(self.timeout)
            except subprocess.TimeoutExpired:
                raise SlurmUnreachableError(f"{request}: no answer from {name} within {self.timeout:g} s") from None
            except _TooMuchError:
                raise SlurmError(f"{request}: {name} printed more than {MOST_OUTPUT >> 20} MiB") from None
            finally:
                if process.poll() is None:
                    process.kill()
        if status:
            raise self.failure(request, one_line(complaint.decode(errors="replace")) or f"{name} exited with {status}")
        return output

    def failure(self, request: str, reason: str) -> SlurmError:
        """Return the error for a request that failed, after asking whether the controller answers at all.

        Parameters
        ----------
        request : str
            What was asked.
        reason : str
            What Slurm said, in one line.

        Returns
        -------
        SlurmError
            A `SlurmUnreachableError` where the controller does not answer.
        """
        kind = SlurmError if self.answers() else SlurmUnreachableError
        return kind(f"{request}: {reason}")

    def answers(self) -> bool:
        """Tell whether Slurm's controller answers."""
        try:
            finished = subprocess.run(
                ["scontrol", "ping"],  # noqa: S607 - found on the PATH, as all of Slurm's commands are
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=self.environment(),
                timeout=_PING_TIMEOUT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return False
        return finished.returncode == 0


def _started(
    request: str, arguments: Sequence[str], source: IO[bytes], environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    try:
        # The program is the caller's constant, and each argument is one item of a list: no shell sees them.
        return subprocess.Popen(  # noqa: S603
            list(arguments),
            stdin=source,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            start_new_session=True,  # a signal from a terminal is for us: the request is carried through
        )
    except FileNotFoundError:
        raise SlurmError(
            f"{request}: there is no command {arguments[0]}: install Slurm's client commands "
            "(Debian: slurm-client, Red Hat and SUSE: slurm)"
        ) from None
    except (OSError, ValueError) as error:  # an argument that is too long, or holds a NUL character
        raise SlurmError(f"{request}: {one_line(str(error))}") from None


def one_line(text: str) -> str:
    r"""Return text from outside as one line that is safe to print.

    Parameters
    ----------
    text : str
        Anything, such as the standard error of a command.

    Returns
    -------
    str
        At most 300 characters, none of them a control character.

    Examples
    --------
    >>> one_line("sbatch: error: Invalid\x1b[2J partition\nsbatch: error: Batch job submission failed\n")
    'sbatch: error: Invalid?[2J partition; sbatch: error: Batch job submission failed'
    """
    lines = [" ".join(line.split()) for line in text[: 4 * _LONGEST_REASON].splitlines()]
    joined = "; ".join(line for line in lines if line)
    safe = "".join(letter if letter.isprintable() else "?" for letter in joined)
    return safe if len(safe) <= _LONGEST_REASON else safe[: _LONGEST_REASON - 3] + "..."


class _TooMuchError(Exception):
    pass


def _read(process: subprocess.Popen[bytes], deadline: float) -> tuple[bytes, bytes]:
    """Read both outputs to their ends; what standard error has beyond 64 KiB is dropped."""
    parts: dict[str, list[bytes]] = {"out": [], "err": []}
    sizes = {"out": 0, "err": 0}
    with selectors.DefaultSelector() as waiting:
        for name, stream in (("out", process.stdout), ("err", process.stderr)):
            waiting.register(_open(stream), selectors.EVENT_READ, name)
        while waiting.get_map():
            ready = waiting.select(max(0.0, deadline - time.monotonic()))
            if not ready:
                raise subprocess.TimeoutExpired(process.args, 0)
            for key, _ in ready:
                name = key.data
                piece = os.read(key.fd, 1 << 20)
                if not piece:
                    waiting.unregister(key.fileobj)
                    continue
                sizes[name] += len(piece)
                if sizes["out"] > MOST_OUTPUT:
                    raise _TooMuchError
                if name == "out" or sizes["err"] <= _MOST_COMPLAINT:
                    parts[name].append(piece)
    return b"".join(parts["out"]), b"".join(parts["err"])


def _open(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise AssertionError("both outputs are pipes")
    return stream
