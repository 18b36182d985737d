"""Where everything of a cluster lies, below its one directory, and under which names and ports it is reached."""

from __future__ import annotations

import os
import pwd
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from traces.errors import InputError

LOOPBACK = "127.0.0.1"
"""Where all daemons are reached."""

SLURMCTLD, SLURMDBD, MUNGED, MARIADBD = "slurmctld", "slurmdbd", "munged", "mariadbd"
"""Names of the daemons; a slurmd has the name of its node."""


@dataclass(frozen=True)
class Host:
    """The machine that a cluster runs on, as Slurm sees it.

    Attributes
    ----------
    name : str
        Its short name, which slurmctld and slurmd compare with the configuration.
    named_by_loopback : bool
        Whether the host's name stands for 127.0.0.1, so that everything of Slurm's can be told to listen there and
        nowhere else: `NoInAddrAny` of slurm.conf(5) binds to what the host's name stands for.
    """

    name: str
    named_by_loopback: bool


def this_host() -> Host:
    """Find out how this machine is named.

    Returns
    -------
    Host
        Not named by loopback either where its name stands for another address of that interface, such as Debian's
        127.0.1.1: a slurmd answers srun at the address that its request came from, which is 127.0.0.1 then.
    """
    full = socket.gethostname()
    try:
        found = socket.getaddrinfo(full, None, socket.AF_INET, socket.SOCK_STREAM)
    except OSError:
        found = []
    return Host(full.split(".", 1)[0], bool(found) and all(entry[4][0] == LOOPBACK for entry in found))


def this_user() -> str:
    """Return the name of the user that this process acts as, which Slurm's daemons will run as.

    Raises
    ------
    InputError
        Where the user has no name; Slurm's files name users, not numbers.
    """
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise InputError(f"user {os.geteuid()} has no name, and Slurm needs one; add it to /etc/passwd") from None


@dataclass(frozen=True)
class Layout:
    """The files, names and ports of a cluster.

    Attributes
    ----------
    directory : Path
        The one directory, absolute and without links.
    host : Host
        This machine.
    user : str
        Whom the daemons run as.
    version : tuple of int
        Slurm's release, such as (22, 5, 8).
    ports : Mapping of str to int
        TCP ports by daemon: of slurmctld, of each node, and of slurmdbd where there is accounting.
    """

    directory: Path
    host: Host
    user: str
    version: tuple[int, int, int]
    ports: Mapping[str, int]

    @property
    def slurm_conf(self) -> Path:
        """Return the file that everything of Slurm's starts from."""
        return self.directory / "slurm.conf"

    @property
    def run(self) -> Path:
        """Return the folder of sockets and pid files."""
        return self.directory / "run"

    @property
    def logs(self) -> Path:
        """Return the folder of logs."""
        return self.directory / "log"

    @property
    def state(self) -> Path:
        """Return what slurmctld remembers."""
        return self.directory / "state"

    @property
    def spool(self) -> Path:
        """Return the folder of the slurmds' own folders."""
        return self.directory / "spool"

    @property
    def gpus(self) -> Path:
        """Return the folder of what stands for GPUs."""
        return self.directory / "gpus"

    @property
    def database(self) -> Path:
        """Return MariaDB's data; its socket is in there too, where no other user gets."""
        return self.directory / "database"

    @property
    def munge_key(self) -> Path:
        """Return the cluster's own key."""
        return self.directory / "munge.key"

    @property
    def munge_socket(self) -> Path:
        """Return munged's socket."""
        return self.run / "munge.sock"

    @property
    def database_socket(self) -> Path:
        """Return MariaDB's socket."""
        return self.database / "mariadb.sock"

    @property
    def database_script(self) -> Path:
        """Return what MariaDB carries out each time that it starts."""
        return self.directory / "slurmdbd.sql"


def node_names(count: int) -> tuple[str, ...]:
    """Return the names of that many nodes: n1, n2, ..."""
    return tuple(f"n{k}" for k in range(1, count + 1))
