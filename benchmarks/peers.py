"""Time the replayer against public job-scheduling simulators, and check who computes EASY.

    python benchmarks/peers.py --swf TRACE --processors 256 --tierwise EXE
        [--pyss DIR --python27 EXE] [--cqsim DIR] [--alea DIR] [--accasim-python EXE] [--json OUT]
        [--rules fcfs easy] [--repeat 3] [--timeout 600]

Every tool reads the same normalised copy of the trace, and is timed as a whole process: start-up,
reading, replaying, writing. The runs are interleaved, so that a busy minute of the machine hits all
of them. First, on the trace's first jobs, each tool's start times are compared with those of a plain
FCFS and EASY written for reading (`peers_reference.py`), once with the events of a second taken
together and once one by one: both are EASY, and a tool may do either. A run that fails, times out,
or does not start every job is reported as such and has no time.

The simulators are not part of this project: fetch and build each by its own instructions, compile
Alea into `build/classes`, and give the folders. None is changed.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from peers_reference import Job, read_swf, reference_starts, write_swf
from peers_tools import AccaSim, Alea, CQSim, Pyss, Rule, Task, Tierwise, Tool

RULES: tuple[Rule, ...] = ("fcfs", "easy")
OURS = "tierwise"
SAME_SECOND = 0.5
"""Start times closer than this, in seconds, are the same: the trace is in whole seconds."""


@dataclass(frozen=True)
class Run:
    """One timed process: seconds, shares of starts equal to the two references, or what went wrong."""

    wall: float
    cpu: float
    replay: float | None = None
    equal: float = 0.0
    one_by_one: float = 0.0
    error: str | None = None


Runs = dict[tuple[str, Rule], list[Run]]
"""Runs of each tool under each rule."""


@dataclass(frozen=True)
class Case:
    """A trace to be replayed under one rule, with the two right answers to it."""

    trace: Path
    jobs: list[Job]
    processors: int
    rule: Rule
    together: dict[int, int]
    one_by_one: dict[int, int]


def main() -> int:
    """Run the comparison that the command line asks for."""
    options = _parser().parse_args()
    tools, missing = _tools(options)
    trace = read_swf(options.swf, options.processors)
    if not trace.jobs:
        print(f"{options.swf}: no job that can run on {options.processors} processors", file=sys.stderr)
        return 2
    print(f"{len(trace.jobs):,} jobs, {trace.dropped:,} dropped, {options.processors} processors")
    with tempfile.TemporaryDirectory() as folder:
        checks = _cases(Path(folder) / "check.swf", trace.jobs[: options.check], options)
        timed = _cases(Path(folder) / "trace.swf", trace.jobs, options)
        checked = _interleaved(tools, checks, 1, options.timeout)
        runs = _interleaved(tools, timed, options.repeat, options.timeout)
    if options.json:
        options.json.write_text(json.dumps({"checked": _plain(checked), "timed": _plain(runs)}, indent=1) + "\n")
    print("\nStarts equal: where the events of a second count together / one by one")
    print(f"Of the first {len(checks[0].jobs):,} jobs")
    rules = list(options.rules)
    rest = [[name, "not given"] for name in missing]
    _print_rows([["", *rules], *_check_rows(tools, checked, rules), *rest])
    for rule in rules:
        print(f"\n{rule.upper()}, whole process, median of {options.repeat}")
        _print_rows([*_time_rows(tools, runs, rule), *rest])
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--swf", type=Path, required=True, help="trace in the Standard Workload Format")
    parser.add_argument("--processors", type=int, required=True, help="size of the machine")
    parser.add_argument("--tierwise", type=Path, help="the tierwise command")
    parser.add_argument("--pyss", type=Path, help="pyss's folder")
    parser.add_argument("--python27", type=Path, default=Path("python2.7"), help="Python 2.7 for pyss")
    parser.add_argument("--cqsim", type=Path, help="CQSim's folder")
    parser.add_argument("--alea", type=Path, help="Alea's folder, with build/classes and lib")
    parser.add_argument("--java", default="java", help="Java for Alea")
    parser.add_argument("--accasim-python", type=Path, help="a Python that imports accasim")
    parser.add_argument("--rules", nargs="+", choices=RULES, default=RULES, help="what to replay under")
    parser.add_argument("--repeat", type=int, default=3, help="timed runs of each tool and rule")
    parser.add_argument("--check", type=int, default=2000, help="jobs whose start times are compared first")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds after which a run is given up")
    parser.add_argument("--json", type=Path, help="write every run to this file")
    return parser


def _tools(options: argparse.Namespace) -> tuple[list[Tool], list[str]]:
    """Tools that were given, and the names of those that were not."""
    here = Path(sys.executable)
    known: list[tuple[str, Tool | None]] = [
        (OURS, options.tierwise and Tierwise(options.tierwise.absolute())),
        ("pyss", options.pyss and Pyss(options.pyss.absolute(), options.python27)),
        ("Alea", options.alea and Alea(options.alea.absolute(), options.java)),
        ("AccaSim", options.accasim_python and AccaSim(options.accasim_python.absolute())),
        ("CQSim", options.cqsim and CQSim(options.cqsim.absolute(), here)),
    ]
    return [tool for _, tool in known if tool], [name for name, tool in known if not tool]


def _cases(trace: Path, jobs: list[Job], options: argparse.Namespace) -> list[Case]:
    processors = options.processors
    write_swf(trace, jobs, processors)
    cases = []
    for rule in options.rules:
        right = [reference_starts(jobs, processors, easy=rule == "easy", together=way) for way in (True, False)]
        cases.append(Case(trace, jobs, processors, rule, *right))
    return cases


def _interleaved(tools: list[Tool], cases: list[Case], repeat: int, timeout: float) -> Runs:
    """Run each tool on each case in turn, `repeat` times; one that failed is not asked again."""
    runs: Runs = {(tool.name, case.rule): [] for tool in tools for case in cases}
    for _ in range(repeat):
        for case in cases:
            for tool in tools:
                done = runs[tool.name, case.rule]
                if not any(run.error for run in done):
                    done.append(_measure(tool, case, timeout))
                    shown = done[-1].error or f"{done[-1].wall:.2f} s"
                    print(f"  {tool.name} {case.rule}: {shown}", file=sys.stderr, flush=True)
    return runs


def _measure(tool: Tool, case: Case, timeout: float) -> Run:
    """Time one process, and read what it wrote."""
    with tempfile.TemporaryDirectory() as folder:
        task = Task(case.trace, case.jobs, case.processors, case.rule, Path(folder))
        try:
            command = tool.command(task)
        except OSError as problem:
            return Run(0.0, 0.0, error=f"cannot be set up: {problem}")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begun = time.perf_counter()
        error = _finish(command.argv, command.cwd, task, timeout)
        wall = time.perf_counter() - begun
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        if error:
            return Run(wall, cpu, error=error)
        try:
            starts, replay = tool.starts(task), tool.replay_seconds(task)
        except (OSError, ValueError, LookupError) as problem:
            return Run(wall, cpu, error=f"output not understood: {problem}")
    if starts.keys() != case.together.keys():
        return Run(wall, cpu, error=f"started {len(starts):,} of {len(case.jobs):,} jobs")
    return Run(wall, cpu, replay, _equal(starts, case.together), _equal(starts, case.one_by_one))


def _equal(starts: dict[int, float], right: dict[int, int]) -> float:
    return sum(abs(starts[number] - start) < SAME_SECOND for number, start in right.items()) / len(right)


def _finish(argv: list[str], cwd: Path, task: Task, timeout: float) -> str | None:
    """Run a process to its end; what went wrong, if anything did."""
    errors = task.folder / "stderr"
    with task.output.open("wb") as out, errors.open("wb") as err:
        try:
            process = subprocess.Popen(argv, cwd=cwd, stdout=out, stderr=err, start_new_session=True)
        except OSError as problem:
            return f"cannot be started: {problem.strerror}"
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            return f"not finished after {timeout:g} s"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    said = errors.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return f"exit code {code}: {said[-1] if said else ''}" if code else None


def _check_rows(tools: list[Tool], runs: Runs, rules: list[Rule]) -> list[list[str]]:
    return [[tool.name, *(_share(runs[tool.name, rule][0]) for rule in rules)] for tool in tools]


def _share(run: Run) -> str:
    return run.error or f"{100 * run.equal:.1f} / {100 * run.one_by_one:.1f} %"


def _time_rows(tools: list[Tool], runs: Runs, rule: Rule) -> list[list[str]]:
    """Medians and ratios, one row a tool."""
    rows = [["", "wall s", "x ours", "CPU s", "replay s", "x ours", "starts equal"]]
    ours = runs.get((OURS, rule), [])
    for tool in tools:
        done = runs[tool.name, rule]
        failed = next((run.error for run in done if run.error), None)
        if failed:
            rows.append([tool.name, failed])
            continue
        wall, replay = _median(done, "wall"), _median(done, "replay")
        ratios = _ratio(wall, _median(ours, "wall")), _ratio(replay, _median(ours, "replay"))
        row = [_number(wall), ratios[0], _number(_median(done, "cpu")), _number(replay), ratios[1]]
        rows.append([tool.name, *row, _share(done[0])])
    return rows


def _median(runs: list[Run], field: str) -> float | None:
    values = [getattr(run, field) for run in runs]
    good = values and not any(run.error for run in runs) and None not in values
    return statistics.median(values) if good else None


def _ratio(theirs: float | None, ours: float | None) -> str:
    return f"{theirs / ours:.1f}" if theirs and ours else "-"


def _number(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds:.3g}" if seconds < 1 else f"{seconds:.2f}"


def _print_rows(rows: list[list[str]]) -> None:
    """Print columns under the first row; a shorter row ends in a remark that may run on."""
    full = [row for row in rows if len(row) == len(rows[0])]
    widths = [max(map(len, column)) for column in zip(*full, strict=True)]
    names = max(len(row[0]) for row in rows)
    for name, *cells in rows:
        whole = len(cells) + 1 == len(widths)
        shown = [cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True)] if whole else cells
        print(f"  {name.ljust(names)}  {'  '.join(shown)}")


def _plain(runs: Runs) -> list[dict[str, object]]:
    return [{"tool": tool, "rule": rule, **asdict(run)} for (tool, rule), done in runs.items() for run in done]


if __name__ == "__main__":
    raise SystemExit(main())
