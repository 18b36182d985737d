"""`status`: which daemons of a cluster run, and what slurmctld says of its nodes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scheduler.cluster import client, home, processes, record
from scheduler.cluster.layout import SLURMCTLD
from scheduler.cluster.options import chosen_directory

RUNNING, GONE, NEVER = "running", "gone", "not started"


@dataclass(frozen=True)
class DaemonStatus:
    """A daemon and what has become of it.

    Attributes
    ----------
    name : str
        The daemon's name.
    state : str
        `running`, `gone` or `not started`.
    pid : int or None
        Its process id, while it runs.
    port : int or None
        Its TCP port.
    node_state : str
        For a slurmd: slurmctld's words for its node, such as `idle` or `down+not_responding`; empty where slurmctld
        does not answer.
    log : str
        Its log, relative to the cluster's directory.
    """

    name: str
    state: str
    pid: int | None
    port: int | None
    node_state: str
    log: str


@dataclass(frozen=True)
class Status:
    """A cluster, or a directory where there is none.

    Attributes
    ----------
    directory : Path
        The directory.
    state : str
        `running` where all daemons run, `stopped` where none does, `damaged` in between, `absent` without a cluster.
    slurm : str
        Slurm's release.
    accounting : bool
        Whether there is accounting.
    daemons : tuple of DaemonStatus
        Each of them.
    others : tuple of int
        Further processes of the cluster: steps of its jobs, and daemons that somebody else started.
    """

    directory: Path
    state: str
    slurm: str = ""
    accounting: bool = False
    daemons: tuple[DaemonStatus, ...] = ()
    others: tuple[int, ...] = ()

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables to use it with."""
        return client.environment(self.directory / "slurm.conf")

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "directory": str(self.directory),
            "state": self.state,
            "slurm": self.slurm,
            "accounting": self.accounting,
            "environment": self.environment if self.state != "absent" else {},
            "daemons": [vars(daemon) for daemon in self.daemons],
            "other_processes": list(self.others),
        }


def status(directory: Path | None = None) -> Status:
    """Look at the cluster in a directory, without changing anything.

    Parameters
    ----------
    directory : Path, optional
        The cluster's directory; by default the user's.

    Returns
    -------
    Status
        Also where there is no cluster.

    Raises
    ------
    InputError
        Where its record cannot be read.
    """
    chosen = chosen_directory(directory)
    known = record.read(chosen) if chosen.is_dir() else None
    if known is None:
        return Status(chosen, "absent")
    answers = any(one.name == SLURMCTLD and one.process and processes.alive(one.process) for one in known.daemons)
    nodes = client.node_states(client.slurm(chosen / "slurm.conf")) if answers else {}
    daemons = tuple(_daemon(daemon, nodes, chosen) for daemon in known.daemons)
    pids = {daemon.pid for daemon in daemons}
    # slurmctld runs its scripts through a child that belongs to it and needs no mention.
    family = {pid: processes.parent(pid) in pids for pid in (one.pid for one in home.running(chosen, known))}
    others = tuple(sorted(pid for pid, is_child in family.items() if pid not in pids and not is_child))
    up = [daemon.state == RUNNING for daemon in daemons]
    state = "running" if all(up) else "damaged" if any(up) or others else "stopped"
    return Status(chosen, state, known.slurm, known.accounting, daemons, others)


def _daemon(daemon: record.Daemon, nodes: dict[str, frozenset[str]], directory: Path) -> DaemonStatus:
    runs = daemon.process is not None and processes.alive(daemon.process)
    kind = "log" if (directory / "log" / f"{daemon.name}.log").exists() else "out"
    return DaemonStatus(
        name=daemon.name,
        state=RUNNING if runs else NEVER if daemon.process is None else GONE,
        pid=daemon.process.pid if daemon.process is not None and runs else None,
        port=daemon.port,
        node_state=client.in_words(nodes[daemon.name]) if daemon.name in nodes else "",
        log=f"log/{daemon.name}.{kind}",
    )
