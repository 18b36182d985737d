"""The same jobs, the same times, on real clusters: what batch jobs lose under Tierwise and under Slurm's preemption.

    python -m benchmarks.side_by_side [--ways tierwise qos youngest tolerant]

Eight nodes are full of batch jobs of different sizes, ages and checkpoints when an on-demand job asks for four. Each
cluster makes room in its own way, the clusters run at the same time, and all jobs run to their end. What was lost is
told twice: from the jobs' own files (progress counted and not saved when a run ended, and the restart), and from each
cluster's accounting (node-seconds held beyond what the work takes). Takes a minute.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.side_by_side_clusters import Site, Way, started
from scheduler.controller.journal import Journal, Plan
from scheduler.slurm.runs import runs
from scheduler.slurm.seam import Job, Node, Submission
from scheduler.slurm.values import ENDED

JOB = Path(__file__).with_name("side_by_side_job.py")
PATIENCE = 120.0
NODES = 8
RESTART = 1.0
"""What a restart takes [s]."""
CHECKPOINT = 1.0
"""What the jobs say that a checkpoint takes [s]. It takes less; but Slurm knows a start to the second, and the job
begins somewhat later, so that is when a checkpoint of its is sure to be complete."""


@dataclass(frozen=True)
class Batch:
    """A batch job.

    Attributes
    ----------
    name : str
        Its name.
    nodes : int
        Its nodes.
    after : float
        When it is submitted, after the first [s].
    work : float
        How long it works [s].
    every : float
        From checkpoint to checkpoint [s]; 0: it writes none.
    """

    name: str
    nodes: int
    after: float
    work: float
    every: float


BATCH = (
    Batch("old", 1, 0, 22, 0),
    Batch("frequent", 1, 0, 24, 6),
    Batch("wide", 2, 0, 24, 7),
    Batch("late", 1, 4, 20, 9),
    Batch("young", 3, 7, 15, 0),
)
URGENT = Batch("urgent", 4, 17, 4, 0)

WAYS = {
    "tierwise": Way("Tierwise", on_demand="0"),
    "qos": Way("Slurm, preempt/qos"),
    "youngest": Way("Slurm, preempt/qos, youngest_first", parameter="preempt_youngest_first"),
    "tolerant": Way("Tierwise, 6 s tolerated, delay_weight 0", on_demand="6", delay_weight=0.0),
}


@dataclass(frozen=True)
class Outcome:
    """What came of one way.

    Attributes
    ----------
    way : Way
        The way.
    victims : tuple of str
        The jobs that ran more than once.
    lost : float
        By the jobs' files [node-seconds].
    lost_by_accounting : float
        By the accounting: node-seconds held beyond those of the work; each launch is in it too.
    latency : float
        From the on-demand job's submission to its first line [s].
    states : dict of str to str
        How each job ended.
    seen : tuple
        Nodes and jobs just before the on-demand job was submitted, and the on-demand job as it waited or ran.
    plan : Plan or None
        The controller's plan, on ours.
    """

    way: Way
    victims: tuple[str, ...]
    lost: float
    lost_by_accounting: float
    latency: float
    states: dict[str, str]
    seen: tuple[tuple[Node, ...], tuple[Job, ...], Job]
    plan: Plan | None


def play(way: Way, folder: Path) -> Outcome:
    """Run the scenario in one way.

    Parameters
    ----------
    way : Way
        The way.
    folder : Path
        A new, short-named folder.

    Returns
    -------
    Outcome
        After all jobs have ended.
    """
    with started(way, NODES, folder) as site:
        scene = _Scene(site, way, folder)
        first = [batch for batch in BATCH if batch.after == 0]
        numbers = {batch.name: scene.submit(batch) for batch in first}
        scene.until(lambda jobs: all(jobs[number].state == "running" for number in numbers.values()))
        began = time.time()
        for batch in BATCH[len(first) :]:
            time.sleep(max(0.0, began + batch.after - time.time()))
            numbers[batch.name] = scene.submit(batch)
        scene.until(lambda jobs: all(jobs[number].state == "running" for number in numbers.values()))
        time.sleep(max(0.0, began + URGENT.after - time.time()))
        nodes, jobs = site.slurm.nodes(), site.slurm.jobs()
        submitted = time.time()
        urgent = scene.submit(URGENT)
        found = scene.until(lambda jobs: jobs[urgent].state in ("running", "completed"))
        plan = next(iter(Journal(site.journal).open_plans()), None) if way.is_tierwise else None
        numbers[URGENT.name] = urgent
        ended = scene.until(lambda jobs: all(jobs[n].state in ENDED and not jobs[n].flags for n in numbers.values()))
        latency = scene.lines(URGENT.name)[0]["time"] - submitted
        time.sleep(1.5)  # slurmdbd writes the last ends
        return Outcome(
            way,
            tuple(batch.name for batch in BATCH if scene.lines(batch.name)[-1]["run"] > 0),
            sum(batch.nodes * _lost(scene.lines(batch.name)) for batch in BATCH),
            sum(run.node_seconds for run in runs(environment=site.cluster.environment))
            - sum(batch.nodes * batch.work for batch in (*BATCH, URGENT)),
            latency,
            {name: ended[number].state for name, number in numbers.items()},
            (nodes, jobs, found[urgent]),
            plan,
        )


@dataclass(frozen=True)
class _Scene:
    site: Site
    way: Way
    folder: Path

    def submit(self, batch: Batch) -> int:
        options = {"output": "/dev/null", "chdir": "/", "exclusive": "", "requeue": ""}
        if batch is URGENT:
            options |= {"on-demand": self.way.on_demand} if self.way.is_tierwise else {"qos": "urgent"}
        elif self.way.is_tierwise:
            every = f"{batch.every:g}s" if batch.every else "none"
            costs = {"checkpoint-cost": f"{CHECKPOINT:g}s", "restart-cost": f"{RESTART:g}s"}
            options |= {"checkpoint-every": every, **costs}
        words = [sys.executable, str(JOB), str(self.folder), batch.name, *map(str, (batch.work, batch.every, RESTART))]
        script = f"#!/bin/sh\nexec {shlex.join(words)}\n"
        return self.site.slurm.submit(Submission(script, batch.name, batch.nodes, 300.0, options=options))

    def until(self, ready: Callable[[dict[int, Job]], bool]) -> dict[int, Job]:
        end = time.monotonic() + PATIENCE
        while not ready(jobs := {job.id: job for job in self.site.slurm.jobs()}):
            if time.monotonic() > end:
                raise TimeoutError(f"{self.way.title}: not within {PATIENCE:g} s: {jobs}")
            time.sleep(0.2)
        return jobs

    def lines(self, name: str) -> list[dict[str, float]]:
        return [json.loads(line) for line in (self.folder / f"{name}.log").read_text().splitlines()]


def _lost(lines: Sequence[dict[str, float]]) -> float:
    """Return the seconds that a job lost on each of its nodes: work counted and not saved, and restarts."""
    last = {line["run"]: line for line in lines}
    return sum(line["done"] - line["saved"] + RESTART for run, line in last.items() if run < lines[-1]["run"])


def play_all(names: Sequence[str], folder: Path) -> list[Outcome]:
    """Run the scenario in several ways at the same time, each on a cluster of its own; see `play`."""
    with ThreadPoolExecutor(len(names)) as pool:
        return list(pool.map(lambda name: play(WAYS[name], folder / name), names))


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the outcomes as a table in Markdown."""
    rows = [
        f"| {found.way.title} | {', '.join(found.victims)} | {found.lost:.1f} | {found.lost_by_accounting:.0f} "
        f"| {found.latency:.1f} s | {list(found.states.values()).count('completed')} of {len(BATCH) + 1} |"
        for found in outcomes
    ]
    head = "| way | victims | lost node-seconds, jobs' files | accounting | on-demand latency | completed |"
    return "\n".join([head, "| --- | --- | --- | --- | --- | --- |", *rows])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    names = parser.parse_args().ways
    with tempfile.TemporaryDirectory(prefix="tw-") as folder:
        print(table(play_all(names, Path(folder))))


if __name__ == "__main__":
    main()
