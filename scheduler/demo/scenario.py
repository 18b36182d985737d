"""What happens in the demo, as data: batch jobs of different sizes, ages and checkpoints, and one that cannot wait."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class DemoJob:
    """A job of the demo.

    Attributes
    ----------
    name : str
        Its name.
    nodes : int
        Its nodes.
    after : float
        When it is submitted, after the first jobs have started [s].
    work : float
        How long it works [s].
    every : float
        From checkpoint to checkpoint [s]; 0: it writes none.
    """

    name: str
    nodes: int
    after: float
    work: float
    every: float = 0.0


@dataclass(frozen=True)
class Scenario:
    """The whole of it.

    Attributes
    ----------
    nodes : int
        Nodes of the cluster; the batch jobs fill them.
    batch : tuple of DemoJob
        The batch jobs, in order of their submission.
    on_demand : DemoJob
        The job that cannot wait.
    tolerated : float
        How late it may start [s].
    checkpoint_cost : float
        What the batch jobs say that a checkpoint takes [s]. Theirs take less; but Slurm knows a start to the second,
        and a job begins somewhat later, so that is when a checkpoint is sure to be complete.
    restart_cost : float
        What a restart takes [s].
    """

    nodes: int
    batch: tuple[DemoJob, ...]
    on_demand: DemoJob
    tolerated: float
    checkpoint_cost: float = 1.0
    restart_cost: float = 1.0

    @property
    def jobs(self) -> tuple[DemoJob, ...]:
        """All jobs, the on-demand job last."""
        return (*self.batch, self.on_demand)


SCENARIO = Scenario(
    nodes=8,
    batch=(
        DemoJob("render", nodes=1, after=0, work=22),
        DemoJob("protein", nodes=1, after=0, work=24, every=6),
        DemoJob("climate", nodes=2, after=0, work=24, every=7),
        DemoJob("docking", nodes=1, after=2, work=20),
        DemoJob("training", nodes=1, after=4, work=20, every=9),
        DemoJob("mesh", nodes=2, after=7, work=15),
    ),
    on_demand=DemoJob("forecast", nodes=4, after=17, work=5),
    tolerated=10,
)
"""Seconds stand for what are hours on a real machine.

Slurm's own order takes the smallest jobs, the one that has run longest without a checkpoint among them; the youngest
first takes two that write none. The least is lost with three jobs whose newest checkpoints are fresh.
"""
