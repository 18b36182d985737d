"""The clusters of benchmarks/side_by_side.py: one with Tierwise, others with Slurm's own preemption."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.tierwise_cluster import tierwise_cluster
from scheduler.cluster import Cluster, Options, up
from scheduler.cluster.configuration import SCHEDULER_PARAMETERS
from scheduler.slurm.accounting import Accounting
from scheduler.slurm.commands import CommandSlurm

TIERWISE = (sys.executable, "-c", "import sys; from scheduler.cli.app import main; sys.exit(main())")
BY_QOS = {"PreemptType": "preempt/qos", "PreemptMode": "REQUEUE", "AccountingStorageEnforce": "qos"}


@dataclass(frozen=True)
class Way:
    """One way to make room.

    Attributes
    ----------
    title : str
        What the table calls it.
    on_demand : str
        The delay that the on-demand job tolerates, as its flag says it; nothing for Slurm's own preemption.
    parameter : str
        A further one of Slurm's `SchedulerParameters`.
    delay_weight : float
        The policy's `delay_weight`.
    """

    title: str
    on_demand: str = ""
    parameter: str = ""
    delay_weight: float = 1.0

    @property
    def is_tierwise(self) -> bool:
        """Tell whether it is ours."""
        return bool(self.on_demand)


@dataclass(frozen=True)
class Site:
    """A cluster that runs, with what makes room on it.

    Attributes
    ----------
    cluster : Cluster
        The cluster.
    slurm : CommandSlurm
        The way to it.
    journal : Path
        The controller's journal, on ours.
    """

    cluster: Cluster
    slurm: CommandSlurm
    journal: Path


@contextmanager
def started(way: Way, nodes: int, folder: Path) -> Iterator[Site]:
    """Start a cluster with accounting that makes room in one way.

    Parameters
    ----------
    way : Way
        The way.
    nodes : int
        Its nodes.
    folder : Path
        A new folder for all of its files.
    """
    folder.mkdir()
    begin = _with_tierwise if way.is_tierwise else _with_qos
    with begin(way, nodes, folder) as cluster:
        yield Site(cluster, CommandSlurm(cluster.environment), folder / "journal.sqlite")


@contextmanager
def _with_qos(way: Way, nodes: int, folder: Path) -> Iterator[Cluster]:
    scheduler = ",".join([SCHEDULER_PARAMETERS, *([way.parameter] if way.parameter else [])])
    settings = BY_QOS | {"SchedulerParameters": scheduler}
    with up(Options(nodes=nodes, directory=folder / "c", accounting=True, settings=settings)) as cluster:
        accounting = Accounting(cluster.environment)
        accounting.add_qos("urgent", preempts=("normal",), priority=100)
        accounting.permit_qos("root", ("normal", "urgent"), "normal")
        yield cluster


@contextmanager
def _with_tierwise(way: Way, nodes: int, folder: Path) -> Iterator[Cluster]:
    policy = folder / "policy.toml"
    policy.write_text(f"[defaults]\non_demand = true\ndelay_weight = {way.delay_weight}\n")
    with tierwise_cluster(folder, nodes=nodes, accounting=True) as cluster:
        command = [*TIERWISE, "controller", "--policy", str(policy), "--journal", str(folder / "journal.sqlite")]
        environment = {**os.environ, **cluster.environment}
        with (folder / "controller.log").open("wb") as log:
            process = subprocess.Popen([*command, "--interval", "0.3"], env=environment, stderr=log)
            try:
                yield cluster
            finally:
                process.terminate()
                process.wait(30)
