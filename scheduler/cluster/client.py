"""How a cluster of ours is talked to: the environment for Slurm's commands, and the seam with it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from scheduler.cluster.executables import SYSTEM_PATH
from scheduler.slurm.accounting import Accounting
from scheduler.slurm.commands import CommandSlurm
from scheduler.slurm.seam import Slurm, SlurmError

_MISLEADING = ("SLURM_", "SLURMD_", "SLURMCTLD", "SINFO_", "SQUEUE_", "SACCT_")  # variables that change answers
_BASE = frozenset({"down", "idle", "allocated", "mixed", "error", "future", "unknown"})  # sinfo(1), "NODE STATE CODES"
_PATIENCE = 10.0  # a client that slurmctld has not answered by then is given up [s]


def environment(slurm_conf: Path) -> dict[str, str]:
    """Return what Slurm's commands need to talk to this cluster and to no other.

    Parameters
    ----------
    slurm_conf : Path
        The cluster's configuration.

    Returns
    -------
    dict of str to str
        To be added to a process's environment.
    """
    return {"SLURM_CONF": str(slurm_conf)}


def run(
    command: Sequence[str], slurm_conf: Path, *, timeout: float = _PATIENCE, stdin: str | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command of Slurm's against the cluster.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments.
    slurm_conf : Path
        The cluster's configuration.
    timeout : float
        How long it may take [s].
    stdin : str, optional
        Text for its standard input; by default there is none.

    Returns
    -------
    subprocess.CompletedProcess
        Its exit status and its output as text.

    Raises
    ------
    subprocess.TimeoutExpired
        Where it takes longer; it is ended.
    """
    given = {"stdin": subprocess.DEVNULL} if stdin is None else {}
    return subprocess.run(  # type: ignore[call-overload,no-any-return]  # noqa: S603 - an argument list
        list(command),
        capture_output=True,
        text=True,
        errors="replace",
        timeout=timeout,
        check=False,
        env={**_without_slurm(os.environ), **environment(slurm_conf)},
        input=stdin,
        **given,
    )


def _without_slurm(variables: Mapping[str, str]) -> dict[str, str]:
    # A variable such as SLURM_JOB_ID or SLURM_CLUSTERS of the caller's own job would make the command ask elsewhere.
    return {name: value for name, value in variables.items() if not name.startswith(_MISLEADING)}


def slurm(slurm_conf: Path) -> CommandSlurm:
    """Return the seam's way to this cluster.

    Parameters
    ----------
    slurm_conf : Path
        The cluster's configuration.

    Returns
    -------
    CommandSlurm
        Nothing was asked of it yet.
    """
    return CommandSlurm(_for_the_seam(slurm_conf), timeout=_PATIENCE)


def accounting(slurm_conf: Path) -> Accounting:
    """Return the seam's way to this cluster's accounting; see `slurm`."""
    return Accounting(_for_the_seam(slurm_conf))


def _for_the_seam(slurm_conf: Path) -> dict[str, str]:
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *SYSTEM_PATH))  # where `executables` looks, too
    return {**environment(slurm_conf), "PATH": path}


def node_states(slurm: Slurm) -> dict[str, frozenset[str]]:
    """Ask slurmctld for the states of each node.

    Parameters
    ----------
    slurm : Slurm
        The cluster.

    Returns
    -------
    dict of str to frozenset of str
        Slurm's words for the state and its flags by node, such as `down` and `not_responding`; empty where slurmctld
        does not answer.
    """
    try:
        return {node.name: node.states for node in slurm.nodes()}
    except SlurmError:
        return {}


def in_words(states: frozenset[str] | None) -> str:
    """Return a node's states as people read them, the base state first: `idle`, `down+not_responding`."""
    return "+".join(sorted(states, key=lambda word: (word not in _BASE, word))) if states else "silent"
