"""A mixed set of jobs on a node whose DRAM holds half of them, in four environments, on the running kernel.

    python benchmarks/tiers.py [--rounds 5] [--environments ideal realistic tiered attuned] [--dram 600]

The node is a memory control group. `ideal` has DRAM for all; `realistic` swaps to a file; `tiered` to zram first, by
the kernel's own reclaim; `attuned` is `tiered` with our agent.
The environments take turns in each round. Needs root, a C compiler, a zram device; sets up swap areas of its own and
takes them away.
"""

from __future__ import annotations

import argparse
import json
import signal
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from benchmarks.tiers_agent import agent
from benchmarks.tiers_site import MIB, Done, Registry, Running, Task, build, far_tiers, node

ZRAM, FILE = 1024 * MIB, 2048 * MIB


@dataclass(frozen=True)
class Environment:
    """What a node offers: whether DRAM is limited, its far tiers, the kernel's settings, and whether our agent runs."""

    name: str
    limited: bool = True
    zram: bool = False
    file: bool = False
    swappiness: int = 60
    page_cluster: int = 3
    attuned: bool = False


ENVIRONMENTS = {
    "ideal": Environment("ideal", limited=False),
    "realistic": Environment("realistic", file=True),
    "tiered": Environment("tiered", zram=True, file=True, swappiness=60, page_cluster=0),
    "attuned": Environment("attuned", zram=True, file=True, swappiness=60, page_cluster=0, attuned=True),
}


def mix(dram: int) -> tuple[Task, ...]:
    """Return the set of jobs for a node of so much DRAM [MiB]: their footprints add up to twice that.

    The latency-sensitive job has a core to itself, as Slurm binds cores; the others share what is left.
    """
    chaser, stream, scan, short = dram * 2 // 5, dram // 5, dram * 6 // 5, dram // 15
    tasks = [
        Task(1, "chaser", chaser, ("0.25", "90", "20000000"), "latency", chaser, cpu=0),
        Task(2, "stream", stream, ("30",), "bandwidth", stream, cpu=1),
        Task(3, "scan", scan, ("24",), "capacity", dram // 5, cpu=1),
    ]
    tasks += [
        Task(10 + number, "short", short, ("20",), "short", short, after=0.5, queue=f"ensemble-{number % 3}", cpu=1)
        for number in range(9)
    ]
    return tuple(tasks)


def play(environment: Environment, dram: int, program: Path, folder: Path) -> tuple[Done, ...]:
    """Run the set once in an environment."""
    limit = dram * MIB if environment.limited else None
    zram, file = (ZRAM if environment.zram else None), (FILE if environment.file else None)
    with far_tiers(zram, file, environment.page_cluster, "lz4"), node(limit) as group:
        if environment.attuned:
            with agent(group, folder) as registry:
                return Running(program, group, environment.swappiness, registry).run(mix(dram))
        return Running(program, group, environment.swappiness, Registry()).run(mix(dram))


def by_kind(done: tuple[Done, ...]) -> dict[str, float]:
    """Sum up seconds by kind of job, and of all."""
    kinds: dict[str, float] = {}
    for one in done:
        kinds[one.task.kind] = kinds.get(one.task.kind, 0.0) + one.seconds
    kinds["processor"] = sum(one.processor for one in done)
    kinds["faults"] = float(sum(one.faults for one in done))
    return kinds | {"sum": sum(one.seconds for one in done)}


def main() -> None:
    """Play the rounds and print each, then the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--environments", nargs="+", choices=list(ENVIRONMENTS), default=list(ENVIRONMENTS))
    parser.add_argument("--dram", type=int, default=600, help="DRAM of the node [MiB]")
    given = parser.parse_args()
    # What was set up is taken away however this ends.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended by a signal"))
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in given.environments}
    with tempfile.TemporaryDirectory(prefix="tierwise-bench-") as name:
        program = build(Path(name))
        for number in range(given.rounds):
            for environment in given.environments[number % len(rounds) :] + given.environments[: number % len(rounds)]:
                done = play(ENVIRONMENTS[environment], given.dram, program, Path(name))
                if not all(one.intact for one in done):
                    raise SystemExit(f"{environment}: a job's memory did not hold what it had put there: {done}")
                rounds[environment].append(by_kind(done))
                print(json.dumps({"round": number, "environment": environment} | rounds[environment][-1]), flush=True)
    print(table(rounds))


def table(rounds: dict[str, list[dict[str, float]]]) -> str:
    """Write medians and spreads [s] as a table."""
    kinds = list(next(iter(rounds.values()))[0])
    lines = ["| environment | " + " | ".join(kinds) + " |", "| --- |" + " --- |" * len(kinds)]
    for name, seen in rounds.items():
        cells = []
        for kind in kinds:
            values = sorted(one[kind] for one in seen)
            cells.append(f"{statistics.median(values):.1f} ({values[0]:.1f} to {values[-1]:.1f})")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
