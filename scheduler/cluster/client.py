"""What is asked of a cluster's Slurm while it comes up: whether its nodes are idle, and its name in the accounting.

It is no way in for anything else: jobs and nodes are read and changed through `scheduler.slurm`. The one command read
here is asked for single fields in a form of its own (`sinfo --format`), which is the same in every release.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_MISLEADING = ("SLURM_", "SLURMD_", "SLURMCTLD", "SINFO_", "SQUEUE_", "SACCT_")  # variables that change answers
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


def node_states(sinfo: str, slurm_conf: Path) -> dict[str, str]:
    """Ask slurmctld for the state of each node.

    Parameters
    ----------
    sinfo : str
        The command's path.
    slurm_conf : Path
        The cluster's configuration.

    Returns
    -------
    dict of str to str
        Slurm's word for the state by node, such as `idle` or `down*`; empty where slurmctld does not answer.
    """
    try:
        answer = run([sinfo, "--noheader", "--Node", "--format=%N %T"], slurm_conf)
    except (OSError, subprocess.TimeoutExpired):
        return {}
    if answer.returncode != 0:
        return {}
    return dict(line.split(maxsplit=1) for line in answer.stdout.splitlines() if " " in line.strip())


def add_cluster(sacctmgr: str, slurm_conf: Path, name: str) -> str:
    """Make the cluster known to slurmdbd, which slurmctld needs before it starts.

    Parameters
    ----------
    sacctmgr : str
        The command's path.
    slurm_conf : Path
        The cluster's configuration.
    name : str
        The cluster's name.

    Returns
    -------
    str
        Empty, or why it was refused.
    """
    try:
        answer = run([sacctmgr, "--immediate", "--quiet", "add", "cluster", name], slurm_conf)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if answer.returncode == 0 else (answer.stderr or answer.stdout).strip() or f"status {answer.returncode}"
