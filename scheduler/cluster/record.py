"""What `up` writes down for `status` and `down`: the cluster, and each process that it started."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from scheduler.cluster.processes import Identity
from traces.errors import InputError

FILE = "cluster.json"
_FORMAT = 1


@dataclass(frozen=True)
class Daemon:
    """A daemon of a cluster.

    Attributes
    ----------
    name : str
        `munged`, `slurmctld`, `slurmdbd`, `mariadbd`, or the node's name for a slurmd.
    command : tuple of str
        How it is started.
    process : Identity or None
        The process that was started last; None before that.
    port : int or None
        Its TCP port.
    """

    name: str
    command: tuple[str, ...]
    process: Identity | None = None
    port: int | None = None


@dataclass(frozen=True)
class Record:
    """A cluster, as `up` left it.

    Attributes
    ----------
    directory : str
        Its directory.
    slurm : str
        Slurm's release.
    nodes : int
        How many nodes.
    accounting : bool
        Whether it has MariaDB and slurmdbd.
    daemons : tuple of Daemon
        What was started, in that order.
    """

    directory: str
    slurm: str
    nodes: int
    accounting: bool
    daemons: tuple[Daemon, ...] = ()

    def daemon(self, name: str) -> Daemon:
        """Return the daemon of that name.

        Raises
        ------
        InputError
            Where there is none.
        """
        for daemon in self.daemons:
            if daemon.name == name:
                return daemon
        names = ", ".join(daemon.name for daemon in self.daemons)
        raise InputError(f"the cluster in {self.directory} has no daemon {name!r}, expected one of {names}")

    def with_daemon(self, daemon: Daemon) -> Record:
        """Return the record with this daemon added, or put in the place of the one of its name."""
        if daemon.name not in {other.name for other in self.daemons}:
            return replace(self, daemons=(*self.daemons, daemon))
        return replace(self, daemons=tuple(daemon if o.name == daemon.name else o for o in self.daemons))


def write(record: Record) -> None:
    """Write the record into the cluster's directory; a reader sees the old one or the new one.

    Parameters
    ----------
    record : Record
        What to write.
    """
    path = Path(record.directory) / FILE
    beside = path.with_name(f".{FILE}.{os.getpid()}")
    # Only the kernel's crash could lose it, and the processes with it: no fsync.
    beside.write_text(json.dumps({"format": _FORMAT, **asdict(record)}, indent=1) + "\n", "utf-8")
    beside.replace(path)


def read(directory: Path) -> Record | None:
    """Read the record of the cluster in a directory.

    Parameters
    ----------
    directory : Path
        The cluster's directory.

    Returns
    -------
    Record or None
        None where there is none.

    Raises
    ------
    InputError
        Where it is there and cannot be read.
    """
    path = directory / FILE
    try:
        return _record(json.loads(path.read_text("utf-8")))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}; use its owner's account") from None
    except (ValueError, TypeError, KeyError):
        raise InputError(
            f"{path}: is no record of a cluster that this release can read; remove {directory} once nothing uses it"
        ) from None


def _record(values: Any) -> Record:
    if not isinstance(values, dict) or values.pop("format") != _FORMAT:
        raise ValueError("another format")
    daemons = []
    for daemon in values.pop("daemons"):
        process = daemon.pop("process")
        command = tuple(daemon.pop("command"))
        daemons.append(Daemon(command=command, process=None if process is None else Identity(**process), **daemon))
    return Record(daemons=tuple(daemons), **values)
