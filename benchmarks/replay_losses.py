"""Ask every policy about each decision of a replay, and replay the trace with each of them.

    python benchmarks/replay_losses.py ../shared/traces/theta_2022.swf --nodes 4392 --seeds 6 [--json]

First replays with `dp`: wherever it is asked and finds a start, each other policy is asked about the same snapshot and
the same start, and must not lose less. (Nobody is asked where free nodes are enough.) Then replays with each policy:
what it lost over the whole trace, where later decisions meet another machine than `dp`'s. Each seed makes another
tenth of the jobs on-demand; the totals of whole replays are means over the seeds. Exits 1 if another policy lost less
at some decision point.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from cosim.engine import Scenario, replay
from cosim.machine import Rules
from cosim.metrics import measure
from cosim.policies import PreemptionPolicy, policy
from cosim.preemption import Decision, Point
from cosim.snapshot import Request, Snapshot
from cosim.workload import OnDemandRule, Workload, build
from traces.generator import theta_like
from traces.reading import read

OTHERS = ("slurm", "youngest", "greedy", "smallest", "random")
ROUNDING = 1e-6
"""Losses that differ by less are equal [node-seconds]: losses are counted in microseconds of a node."""

FIGURES = {
    "lost_node_hours": "lost node-h",
    "preemptions": "preemptions",
    "on_demand_latency_mean": "latency s",
    "on_demand_latency_p95": "p95 s",
    "on_demand_started_at_once": "at once",
    "batch_mean_wait": "batch wait s",
    "utilisation": "utilisation",
}
"""The totals that are shown, of those in `cosim.metrics.Metrics`."""


@dataclass
class Tally:
    """How one policy's losses compare with the exact ones, over all decision points."""

    more: int = 0
    equal: int = 0
    less: int = 0
    impossible: int = 0
    lost_node_seconds: float = 0.0


@dataclass
class Comparing:
    """The exact policy, which notes at each decision what others would have lost at the same start."""

    others: Sequence[PreemptionPolicy]
    name: str = "dp"
    points: int = 0
    with_victims: int = 0
    lost_node_seconds: float = 0.0
    tallies: dict[str, Tally] = field(default_factory=dict)
    exact: PreemptionPolicy = field(default_factory=lambda: policy("dp"))

    def decide(self, snapshot: Snapshot, request: Request) -> Decision:
        """Decide exactly, and ask the others about the same start."""
        decision = self.exact.decide(snapshot, request)
        if decision.chosen is not None:
            self.points += 1
            self.with_victims += bool(decision.chosen.victims)
            self.lost_node_seconds += decision.chosen.lost_node_seconds
            for other in self.others:
                found = other.at(snapshot, request, decision.chosen.start)
                _count(self.tallies.setdefault(other.name, Tally()), found, decision.chosen)
        return decision

    def at(self, snapshot: Snapshot, request: Request, start: float) -> Point | None:
        """Choose the victims for a given start."""
        return self.exact.at(snapshot, request, start)


def _count(tally: Tally, found: Point | None, exact: Point) -> None:
    if found is None:
        tally.impossible += 1
        return
    tally.lost_node_seconds += found.lost_node_seconds
    difference = found.lost_node_seconds - exact.lost_node_seconds
    if abs(difference) <= ROUNDING * max(1.0, exact.lost_node_seconds):
        tally.equal += 1
    elif difference > 0:
        tally.more += 1
    else:
        tally.less += 1


def compare(comparing: Comparing, workload: Workload, rules: Rules, max_delay: float = 600.0) -> None:
    """Replay with the exact policy, and note what the others would have lost.

    Parameters
    ----------
    comparing : Comparing
        Gets a tally for each of its `others`.
    workload : Workload
        The jobs.
    rules : Rules
        The machine and its queue.
    max_delay : float
        How late on-demand jobs may start [s].
    """
    replay(workload, Scenario(rules, comparing, max_delay))


Totals = dict[str, dict[str, float | None]]


def _totals(workload: Workload, rules: Rules, max_delay: float, seed: int) -> Totals:
    totals = {}
    for name in ("dp", *OTHERS, None):
        decider = policy(name, seed) if name else None
        found = measure(replay(workload, Scenario(rules, decider, max_delay, seed=seed))).as_dict()
        totals[name or "none"] = {figure: found[figure] for figure in FIGURES}
    return totals


def _mean(of_seeds: Sequence[Totals]) -> Totals:
    def mean(name: str, figure: str) -> float | None:
        values = [value for totals in of_seeds if (value := totals[name][figure]) is not None]
        return statistics.fmean(values) if values else None

    return {name: {figure: mean(name, figure) for figure in FIGURES} for name in of_seeds[0]}


def _print(comparing: Comparing, totals: dict[str, dict[str, float | None]]) -> None:
    print(f"{comparing.points:,} decisions of dp, {comparing.with_victims:,} of them with victims\n")
    print(f"{'at the same start':18} {'loses more':>11} {'the same':>9} {'less':>6} {'lost node-h':>13} {'x dp':>6}")
    hours = comparing.lost_node_seconds / 3600
    print(f"{'dp':18} {'':>11} {'':>9} {'':>6} {hours:13,.0f} {1:6.2f}")
    for name, tally in comparing.tallies.items():
        lost = tally.lost_node_seconds / 3600
        ratio = lost / hours if hours else float("nan")
        print(f"{name:18} {tally.more:11,} {tally.equal:9,} {tally.less:6,} {lost:13,.0f} {ratio:6.2f}")
    print("\n" + f"{'whole replays':18}" + "".join(f" {title:>13}" for title in FIGURES.values()))
    for name, figures in totals.items():
        cells = (
            f"{value:13,.3f}" if value is not None and value < 1 else f"{value:13,.0f}" for value in figures.values()
        )
        print(f"{name:18} " + " ".join(cells))


def main() -> int:
    """Compare, as the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace", nargs="?", type=Path, help="a trace file; without it, a generated year")
    parser.add_argument("--nodes", type=int, help="nodes of the machine; by default the trace's")
    parser.add_argument("--backfill", default="easy")
    parser.add_argument("--priority", default="wfp")
    parser.add_argument("--on-demand", type=float, default=0.1, help="share of the jobs")
    parser.add_argument("--max-delay", type=float, default=600.0, help="[s]")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--seeds", type=int, default=1, help="how many seeds")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    trace = read([options.trace], nodes=options.nodes) if options.trace else theta_like(seed=options.seed)
    comparing = Comparing([policy(name, options.seed) for name in OTHERS])
    of_seeds = []
    for seed in range(options.seed, options.seed + options.seeds):
        rule = OnDemandRule("share", options.on_demand)
        workload = build(trace, nodes=options.nodes, on_demand=rule, priority=options.priority, seed=seed)
        rules = Rules(workload.nodes, options.backfill, options.priority)
        compare(comparing, workload, rules, options.max_delay)
        of_seeds.append(_totals(workload, rules, options.max_delay, seed))
    totals = _mean(of_seeds)
    if options.json:
        tallies = {name: asdict(tally) for name, tally in comparing.tallies.items()}
        exact = {"points": comparing.points, "with_victims": comparing.with_victims}
        lost = {"lost_node_seconds": comparing.lost_node_seconds}
        print(json.dumps({"dp": exact | lost, "at_the_same_start": tallies, "replays": totals}, indent=2))
    else:
        _print(comparing, totals)
    worse = any(tally.less or tally.impossible for tally in comparing.tallies.values())
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())
