"""How each simulator is asked to replay one trace, and where it leaves the start times.

Every tool gets the settings under which it computes FCFS or EASY with requested times, as far as it
can, and logs least: a peer's time is never spent on something that was not asked for. `command`
writes what configuration the tool needs and is not timed.
"""

from __future__ import annotations

import csv
import json
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from peers_reference import Job

Rule = Literal["fcfs", "easy"]
HERE = Path(__file__).resolve().parent

REPLAY_SECONDS = ("timings", "replaying")
"""Where Tierwise's summary says how long the replaying alone took."""
TIERWISE_COLUMNS = ("job_id", "wait")
"""Job number and wait in Tierwise's per-job CSV."""


@dataclass(frozen=True)
class Task:
    """One replay to be done, in a folder of its own."""

    trace: Path
    jobs: list[Job]
    processors: int
    rule: Rule
    folder: Path

    @property
    def output(self) -> Path:
        """File that the tool's standard output is kept in."""
        return self.folder / "stdout"


@dataclass(frozen=True)
class Command:
    """A process to be timed."""

    argv: list[str]
    cwd: Path


class Tool(Protocol):
    """A simulator that `peers.py` can run."""

    @property
    def name(self) -> str:
        """What the tables call it."""

    def command(self, task: Task) -> Command:
        """Write the configuration for a task and return the process that does it."""

    def starts(self, task: Task) -> dict[int, float]:
        """Start time of each job, on the trace's clock, after the process has ended."""

    def replay_seconds(self, task: Task) -> float | None:
        """How long the replaying alone took, where the tool says so."""


@dataclass(frozen=True)
class Tierwise:
    """The replayer of this project."""

    executable: Path
    name: str = "tierwise"

    def command(self, task: Task) -> Command:
        """Replay without preemption, with everything that the command writes by itself."""
        backfill = {"fcfs": "none", "easy": "easy"}[task.rule]
        options = f"--nodes {task.processors} --backfill {backfill} --priority fcfs --on-demand 0 --policy none"
        argv = [str(self.executable), "replay", str(task.trace), *options.split()]
        return Command([*argv, "--out", "out", "--json", "--timings"], task.folder)

    def starts(self, task: Task) -> dict[int, float]:
        """Read the CSV that has the columns for it."""
        number, wait = TIERWISE_COLUMNS
        for path in sorted((task.folder / "out").rglob("*.csv")):
            with path.open(encoding="utf-8", newline="") as rows:
                reader = csv.DictReader(rows)
                if {number, wait} <= set(reader.fieldnames or ()):
                    waits = {int(row[number]): float(row[wait]) for row in reader}
                    return {job.number: job.submit + waits[job.number] for job in task.jobs if job.number in waits}
        return {}

    def replay_seconds(self, task: Task) -> float | None:
        """Look into the summary on standard output."""
        found = json.loads(task.output.read_text(encoding="utf-8"))
        for key in REPLAY_SECONDS:
            found = found.get(key) if isinstance(found, dict) else None
        return float(found) if isinstance(found, int | float) else None


@dataclass(frozen=True)
class Pyss:
    """Python Scheduler Simulator, through `peers_pyss.py`; asserts off, as it advises.

    It computes EASY, and decides after each event, the submissions of a second before its ends.
    """

    folder: Path
    python: Path
    name: str = "pyss"

    def command(self, task: Task) -> Command:
        """Run in its source folder, from which it imports."""
        script = str(HERE / "peers_pyss.py")
        argv = [str(self.python), "-O", script, task.rule, str(task.processors), str(task.trace)]
        return Command([*argv, str(task.folder / "starts")], self.folder / "src")

    def starts(self, task: Task) -> dict[int, float]:
        """Read what the driver wrote."""
        rows = [line.split() for line in (task.folder / "starts").read_text(encoding="utf-8").splitlines()]
        return {int(number): float(start) for number, start in rows if number != "replay"}

    def replay_seconds(self, task: Task) -> float | None:
        """Read what the driver measured."""
        return float((task.folder / "starts").read_text(encoding="utf-8").rsplit("replay", maxsplit=1)[1])


@dataclass(frozen=True)
class AccaSim:
    """AccaSim, through `peers_accasim.py`.

    Its EASY backfills whatever fits, beyond the reservation, too, and tries the blocked head again at
    its reserved second only, however early processors come free.
    """

    python: Path
    name: str = "AccaSim"

    def command(self, task: Task) -> Command:
        """Run where its results shall lie."""
        script = str(HERE / "peers_accasim.py")
        return Command([str(self.python), script, task.rule, str(task.processors), str(task.trace)], task.folder)

    def starts(self, task: Task) -> dict[int, float]:
        """Read the dispatching plan."""
        plan = (task.folder / f"sched-{task.trace.name}").read_text(encoding="utf-8")
        return {int(number): float(start) for number, start in map(str.split, plan.splitlines())}

    def replay_seconds(self, task: Task) -> float | None:
        """Read its statistics; AccaSim reads the trace as it goes, so reading is part of it."""
        found = re.search(
            r"Simulation time: ([\d.]+)", (task.folder / f"stats-{task.trace.name}").read_text(encoding="utf-8")
        )
        return float(found[1]) if found else None


@dataclass(frozen=True)
class CQSim:
    """CQSim; no debug log, no monitor events, one write of its results at the end.

    Its EASY reserves by requested times, but lets a job pass by its actual run time.
    """

    folder: Path
    python: Path
    name: str = "CQSim"

    def command(self, task: Task) -> Command:
        """Lay out the folders that it expects around itself, and its two configuration files."""
        work, inputs = task.folder / "src", task.folder / "data" / "InputFiles"
        (work / "Config").mkdir(parents=True)
        inputs.mkdir(parents=True)
        shutil.copy(task.trace, inputs / "trace.swf")
        names = {"path_in": "InputFiles/", "path_out": "Results/", "path_fmt": "Fmt/", "path_debug": "Debug/"}
        names |= {"pre_name": "", "ext_fmt_j": ".csv", "ext_fmt_n": ".csv", "ext_fmt_j_c": ".con"}
        names |= {"ext_fmt_n_c": ".con", "ext_jr": ".rst", "ext_si": ".ult", "ext_ai": ".adp", "ext_debug": ".log"}
        # An option of 0 on the command line counts as absent there: what matters goes into the file.
        system = {"cluster_fraction": "1.0", "start": "0", "anchor": "0", "read_num": "0", "debug_lvl": "0"}
        system |= {"alg": "w,+,0", "alg_sign": "1,0,1", "backfill": str(int(task.rule == "easy")), "monitor": ""}
        system |= {"win": "0", "win_para": "1,0,0", "ad_win": "0", "ad_bf": "0", "ad_alg": "0", "start_date": ""}
        system |= {"bf_para": "", "ad_win_para": "", "ad_bf_para": "", "ad_alg_para": ""}
        system |= {"config_n": "config_n.set", "job_trace": "trace.swf", "node_struc": "trace.swf"}
        _write_settings(work / "Config" / "config_n.set", names)
        _write_settings(work / "Config" / "config_sys.set", system)
        script = str(self.folder / "src" / "cqsim.py")
        argv = [str(self.python), script, "-j", "trace.swf", "-n", "trace.swf", "-I", str(10 * len(task.jobs))]
        return Command(argv, work)

    def starts(self, task: Task) -> dict[int, float]:
        """Read the waits: its clock begins with the first submission."""
        rows = (task.folder / "data" / "Results" / "trace.rst").read_text(encoding="utf-8").splitlines()
        waits = {int(row.split(";")[0]): float(row.split(";")[5]) for row in rows}
        return {job.number: job.submit + waits[job.number] for job in task.jobs if job.number in waits}

    def replay_seconds(self, task: Task) -> float | None:  # noqa: ARG002
        """Not told."""
        return None


@dataclass(frozen=True)
class Alea:
    """Alea 4; no windows, no memory model (with it, jobs without memory fields never start).

    Its EASY counts the end of a job that it predicts for the first time from -999 instead of from now
    for all but one of the job's processors, so that the reservation of the head can be too early.
    """

    folder: Path
    java: str
    name: str = "Alea"

    def command(self, task: Task) -> Command:
        """Change its own configuration into one cluster with requested times."""
        data = task.folder / "data"
        data.mkdir()
        shutil.copy(task.trace, data / "trace.swf")
        cluster = ["0", "cluster", "1", str(task.processors), "1", "1048576"]
        (data / "trace.swf.machines").write_text("\t".join(cluster) + "\n", encoding="utf-8")
        settings = {"data_sets": "trace.swf", "data_set_dir": "./data", "total_gridlet": str(len(task.jobs))}
        settings |= {"algorithms": {"fcfs": "0", "easy": "2"}[task.rule], "first_arrival": "0"}
        settings |= {"estimate": "true", "pinJobs": "false", "use_RAM": "false", "limit_schedule_size": "false"}
        settings |= {"visualize": "false", "visualize_schedule": "false", "use_fairshare": "false"}
        name = "configuration.properties"
        lines = (self.folder / name).read_text(encoding="utf-8").splitlines()
        kept = {line.split("=")[0].strip(): line for line in lines if "=" in line and not line.startswith("#")}
        kept |= {key: f"{key}={value}" for key, value in settings.items()}
        (task.folder / name).write_text("\n".join(kept.values()) + "\n", encoding="utf-8")
        parts = ["build/classes", "lib/simjava.jar", "lib/gridsim.jar"]
        path = ":".join(str(self.folder / part) for part in parts)
        argv = [self.java, "-Xmx1024m", "-Djava.awt.headless=true", "-cp", path]
        return Command([*argv, "xklusac.environment.ExperimentSetup"], task.folder)

    def starts(self, task: Task) -> dict[int, float]:
        """Read the waits: its clock begins some seconds into the simulation."""
        waits: dict[int, float] = {}
        for path in (task.folder / "results").rglob("jobs_*.csv"):
            for row in path.read_text(encoding="utf-8").splitlines()[1:]:
                field = row.replace(",", ".").split("\t")
                waits[int(field[0])] = float(field[4]) - float(field[2])
        return {job.number: job.submit + waits[job.number] for job in task.jobs if job.number in waits}

    def replay_seconds(self, task: Task) -> float | None:  # noqa: ARG002
        """Not told."""
        return None


def _write_settings(path: Path, settings: dict[str, str]) -> None:
    """Write lines of ``name=value``."""
    path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), encoding="utf-8")
