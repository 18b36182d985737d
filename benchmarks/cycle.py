"""How long one cycle of the controller takes: observe, decide, act (a dry run).

    python -m benchmarks.cycle [live] [theta] [--cycles 7]

`live` starts 400 real nodes on this machine, with 200 running and 3,000 waiting jobs and an on-demand job that asks for
32 nodes; submitting takes a minute or two. `theta` has 4,392 nodes, 1,000 running and 10,000 waiting jobs, one of them
on demand for 512 nodes, printed by commands that stand in PATH for Slurm's, in the JSON of three releases: what is
timed is all but Slurm's own work. The bars are 1 s and 2 s.
"""

from __future__ import annotations

import argparse
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.cycle_documents import SHAPES, stubs
from benchmarks.tierwise_cluster import tierwise_cluster
from cosim.policies import policy as policy_of
from scheduler.cluster import Cluster
from scheduler.controller.cycle import Controller
from scheduler.controller.deciding import Intent, Site
from scheduler.controller.events import Event
from scheduler.controller.journal import Journal
from scheduler.policy import load
from scheduler.slurm.commands import CommandSlurm
from scheduler.slurm.seam import Job, Node, Submission

LIVE_BAR, THETA_BAR = 1.0, 2.0
NODES, WAITING = 400, 3_000
SIZES = {1: 100, 2: 50, 4: 50}
"""Running jobs by nodes: 200 of them fill 400 nodes."""
ON_DEMAND_NODES = 32
PATIENCE = 300.0
SCHEDULER = "bf_continue"
"""`SchedulerParameters`: backfill each half minute and so on, as Slurm has it and not as our quick clusters do."""


class Timed(CommandSlurm):
    """The way by the commands, with the time of each request."""

    def __init__(self, environment: dict[str, str] | None = None) -> None:
        super().__init__(environment)
        self.seconds: dict[str, float] = {}

    def look(self) -> tuple[tuple[Node, ...], tuple[Job, ...]]:
        """Return all nodes and all jobs."""
        began = time.perf_counter()
        found = super().look()
        self.seconds["observe"] = time.perf_counter() - began
        return found

    def nodes(self) -> tuple[Node, ...]:
        """Return all nodes."""
        began = time.perf_counter()
        found = super().nodes()
        self.seconds["nodes"] = time.perf_counter() - began
        return found

    def jobs(self) -> tuple[Job, ...]:
        """Return all jobs."""
        began = time.perf_counter()
        found = super().jobs()
        self.seconds["jobs"] = time.perf_counter() - began
        return found


@dataclass
class Cycles:
    """Cycles of one controller, timed.

    Attributes
    ----------
    slurm : Timed
        The cluster.
    folder : Path
        For journal and policy.
    seconds : list of dict
        For each cycle the seconds by step.
    """

    slurm: Timed
    folder: Path
    seconds: list[dict[str, float]] = field(default_factory=list)

    def run(self, count: int) -> Intent:
        """Run cycles as a dry run; return what the last one would do for the on-demand job."""
        policy = self.folder / "policy.toml"
        policy.write_text("[defaults]\non_demand = true\nrestart_cost = 60\n")
        site = Site("theta", load(policy), policy_of("dp"))
        events: list[Event] = []
        journal = Journal(self.folder / "journal.sqlite")
        controller = Controller(self.slurm, journal, site, events.append, dry_run=True)
        for _ in range(count + 1):  # the first one loads what is compiled, and asks for the shape
            events.clear()
            began, busy = time.perf_counter(), _processor_seconds()
            intents = controller.cycle(time.time())
            whole = time.perf_counter() - began
            decided = next(float(e.fields["decision_seconds"]) for e in events if e.name == "cycle")
            act = whole - self.slurm.seconds["observe"] - decided
            processor = _processor_seconds() - busy
            steps = {**self.slurm.seconds, "decide": decided, "act": act, "processor": processor}
            self.seconds.append({"whole": whole, **steps})
        journal.close()
        assert len(intents) == 1, intents
        return intents[0]

    def said(self, title: str, bar: float) -> str:
        """Return a row of the table."""
        later = self.seconds[1:]
        medians = {step: statistics.median(cycle[step] for cycle in later) for step in later[0]}
        best, worst = min(cycle["whole"] for cycle in later), max(cycle["whole"] for cycle in later)
        steps = " | ".join(f"{medians[step]:.3f}" for step in (*STEPS, "processor"))
        whole = f"{medians['whole']:.2f} s ({best:.2f} to {worst:.2f}, first: {self.seconds[0]['whole']:.2f})"
        return f"| {title} | {whole} | {steps} | {bar:g} s: {'met' if medians['whole'] < bar else 'MISSED'} |"


STEPS = ("observe", "jobs", "nodes", "decide", "act")
HEAD = "| cycle | whole, median | observe [s] | its jobs | its nodes, beside | decide [s] | act, dry run [s] "
HEAD += "| processor time [s] | bar |\n" + "| --- " * 9 + "|"


def _processor_seconds() -> float:
    """Return what this process and the commands that it has run took: wall time is also what other work took."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(of.ru_utime + of.ru_stime for of in used)


def _until_running(slurm: CommandSlurm, count: int) -> None:
    end = time.monotonic() + PATIENCE
    while (running := sum(job.state == "running" and not job.flags for job in slurm.jobs())) < count:
        if time.monotonic() > end:
            raise TimeoutError(f"{running} of {count} jobs run after {PATIENCE:g} s")
        time.sleep(1)


def _fill(slurm: CommandSlurm) -> None:
    """Submit the jobs: arrays for those that run, and one by one those that wait, so that each is a record."""
    common = {"output": "/dev/null", "chdir": "/", "checkpoint-every": "1m", "restart-cost": "30s"}
    script = "#!/bin/sh\nexec sleep 3000\n"
    for nodes, count in SIZES.items():
        options = common | {"array": f"1-{count}"}
        slurm.submit(Submission(script, f"run{nodes}", nodes, 7200.0, options=options))
    _until_running(slurm, sum(SIZES.values()))
    waiting = [Submission(script, f"wait{place}", 1 + place % 64, 3600.0, options=common) for place in range(WAITING)]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(slurm.submit, waiting))


@contextmanager
def _in_path(folder: Path) -> Iterator[None]:
    kept = os.environ["PATH"]
    os.environ["PATH"] = f"{folder}{os.pathsep}{kept}"
    try:
        yield
    finally:
        os.environ["PATH"] = kept


def _live(cluster: Cluster, folder: Path, cycles: int) -> str:
    slurm = Timed(cluster.environment)
    began = time.monotonic()
    _fill(slurm)
    print(
        f"{sum(SIZES.values())} jobs run, {WAITING} wait, {time.monotonic() - began:.0f} s after the first", flush=True
    )
    options = {"output": "/dev/null", "chdir": "/", "on-demand": "10m"}
    slurm.submit(Submission("#!/bin/sh\ntrue\n", "urgent", ON_DEMAND_NODES, 600.0, options=options))
    found = Cycles(slurm, folder)
    plan = found.run(cycles).plan
    known = slurm.jobs()
    states = {state: sum(job.state == state for job in known) for state in ("running", "pending")}
    print(f"{len(slurm.nodes())} nodes, {states}, {len(plan.victims)} victims for {len(plan.nodes)} nodes")
    return found.said(f"{NODES} real nodes, Slurm {'.'.join(map(str, slurm.version()))}", LIVE_BAR)


def live(cycles: int) -> str:
    """Time cycles on real nodes; return the table's row."""
    with tempfile.TemporaryDirectory(prefix="tw-") as name:
        began = time.monotonic()
        settings = {"SchedulerParameters": SCHEDULER}
        with tierwise_cluster(Path(name), nodes=NODES, cpus_per_node=1, settings=settings) as cluster:
            print(f"{NODES} nodes are idle after {time.monotonic() - began:.0f} s", flush=True)
            return _live(cluster, Path(name), cycles)


def theta(shape: str, cycles: int) -> str:
    """Time cycles on documents of Theta's size; return the table's row."""
    with tempfile.TemporaryDirectory(prefix="tw-") as name:
        size = stubs(shape, Path(name))
        with _in_path(Path(name)):
            found = Cycles(Timed(), Path(name))
            plan = found.run(cycles).plan
        print(
            f"{shape}: {len(plan.victims)} victims for {len(plan.nodes)} nodes, {size / 1e6:.0f} MB a cycle", flush=True
        )
    return found.said(f"Theta's size, JSON of {SHAPES[shape]} ({shape})", THETA_BAR)


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=("live", "theta"), help="what to time; by default both")
    parser.add_argument("--cycles", type=int, default=7, help="cycles of each sort")
    arguments = parser.parse_args()
    parts = arguments.parts or ["theta", "live"]
    rows = [theta(shape, arguments.cycles) for shape in SHAPES if "theta" in parts]
    if "live" in parts:
        rows.append(live(arguments.cycles))
    print("\n".join([HEAD, *rows]))


if __name__ == "__main__":
    main()
