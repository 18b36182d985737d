"""Time the replayer against the bars that the project sets itself.

    python benchmarks/replay_speed.py [--trace ../shared/traces/theta_2022.swf] [--jobs 1000000] [--repeat 3] [--json]

1. A year of Theta (23,911 jobs) with EASY, WFP, a tenth of the jobs on demand and the policy `dp`: seconds of
   replaying after start-up. Without the trace, a generated year.
2. `tierwise replay theta-like:JOBS` with the same settings as a process of its own: seconds and peak memory, start-up,
   generating, replaying and measuring included.
3. Seconds for each job at 1/100, 1/10 and all of the jobs: these must not grow.

Kernels are compiled before, by a small replay. Exits 1 where a bar is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from cosim.engine import Scenario, rehearse, replay
from cosim.machine import Rules
from cosim.policies import policy
from cosim.workload import OnDemandRule, Workload, build
from traces.generator import theta_like
from traces.reading import read

THETA_SECONDS = 3.0
MILLION_SECONDS = 90.0
MILLION_BYTES = 3e9
GROWTH = 1.5
"""Cost per job at the full length over that at a hundredth: less is no growth, given how traces differ."""
MILLION = 1_000_000
NODES = 4392
SHARED = Path(__file__).resolve().parents[2] / "shared" / "traces" / "theta_2022.swf"


@dataclass(frozen=True)
class Result:
    """One measured figure and its bar."""

    what: str
    measured: float
    bar: float
    unit: str

    @property
    def ratio(self) -> float:
        """The bar over what was measured: above 1 is better than asked for."""
        return self.bar / self.measured


def _scenario() -> Scenario:
    return Scenario(Rules(NODES, "easy", "wfp"), policy("dp"))


def _workload(trace_path: Path | None) -> Workload:
    trace = read([trace_path], nodes=NODES) if trace_path else theta_like()
    return build(trace, nodes=NODES, on_demand=OnDemandRule("share", 0.1), priority="wfp")


def year(trace_path: Path | None, repeat: int) -> Result:
    """Replay a year, several times; the median counts."""
    workload = _workload(trace_path)
    seconds = statistics.median(replay(workload, _scenario()).seconds for _ in range(repeat))
    name = trace_path.name if trace_path else "a generated year"
    return Result(f"{name}, {len(workload):,} jobs, replaying", seconds, THETA_SECONDS, "s")


def whole_command(jobs: int) -> list[Result]:
    """Run the command on a generated trace, and return its seconds and its peak memory; bars scale with the jobs."""
    command = Path(sys.executable).with_name("tierwise")
    arguments = ["replay", f"theta-like:{jobs}", "--priority", "wfp", "--policy", "dp", "--json"]
    began = time.perf_counter()
    process = subprocess.Popen([command, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    printed = process.stdout.read() if process.stdout else b""
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{command} {' '.join(arguments)}: exit code {process.returncode}")
    played = json.loads(printed)["policies"]["dp"]
    assert played["lost_node_hours"] > 0, "the replay preempted nobody"
    part = min(1.0, jobs / MILLION)
    return [
        Result(f"tierwise replay theta-like:{jobs}", seconds, MILLION_SECONDS * part, "s"),
        Result("its peak memory", usage.ru_maxrss * 1024 / 1e9, MILLION_BYTES / 1e9, "GB"),
    ]


def growth(jobs: int) -> list[Result]:
    """Return the processor time for each job of generated traces of three lengths, the last against the first."""
    each = []
    for count in (jobs // 100, jobs // 10, jobs):
        workload = build(theta_like(jobs=count), nodes=NODES, priority="wfp")
        rounds = max(1, min(5, jobs // count // 10))  # short ones are repeated, and the quickest counts
        took = []
        for _ in range(rounds):
            began = time.process_time()
            replay(workload, _scenario())
            took.append((time.process_time() - began) / count)
        each.append(min(took))
    unit = "us/job"
    bars = [each[0] * GROWTH] * 3
    return [
        Result(f"processor time at {count:,} jobs", took * 1e6, bar * 1e6, unit)
        for count, took, bar in zip((jobs // 100, jobs // 10, jobs), each, bars, strict=True)
    ]


def main() -> int:
    """Measure, as the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trace", type=Path, default=SHARED if SHARED.exists() else None, help="a year of Theta")
    parser.add_argument("--jobs", type=int, default=MILLION, help="length of the generated trace, at least 1,000")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    if options.jobs < 1000:
        parser.error(f"--jobs {options.jobs}: expected at least 1,000")
    starting = rehearse(_scenario(), on_demand=True)
    results = [year(options.trace, options.repeat), *whole_command(options.jobs), *growth(options.jobs)]
    if options.json:
        shown = [asdict(result) | {"ratio": result.ratio} for result in results]
        print(json.dumps({"loading_kernels": starting, "results": shown}, indent=2))
    else:
        print(f"{'':50} {'measured':>10} {'bar':>10} {'':7} {'bar/measured':>12}")
        for result in results:
            print(f"{result.what:50} {result.measured:10.2f} {result.bar:10.2f} {result.unit:7} {result.ratio:12.1f}")
    return 0 if all(result.ratio >= 1 for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
