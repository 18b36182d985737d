"""The whole demo: the cluster, the jobs, the accounting, the report."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scheduler.demo.errors import DemoError
from scheduler.demo.outcome import Outcome, outcome
from scheduler.demo.playing import Played, play
from scheduler.demo.scenario import SCENARIO, Scenario
from scheduler.demo.site import Files, Site, check_packages, ended_by_signals, started
from scheduler.demo.telling import Teller
from scheduler.slurm.history import history
from scheduler.slurm.runs import Run, runs
from scheduler.slurm.seam import SlurmError
from traces import write

_ACCOUNTED = 30.0  # slurmdbd writes the last ends soon [s]


@dataclass(frozen=True)
class Done:
    """A demo that is over.

    Attributes
    ----------
    outcome : Outcome
        What came of it.
    files : Files
        What it left.
    kept : Path or None
        The cluster that was left running.
    controller : int or None
        The controller's process id, where it was left running.
    """

    outcome: Outcome
    files: Files
    kept: Path | None
    controller: int | None


def run(folder: Path, tell: Teller, *, keep: bool = False, scenario: Scenario = SCENARIO) -> Done:
    """Run the demo.

    Parameters
    ----------
    folder : Path
        Where to write what it leaves; made if need be.
    tell : Teller
        Takes what happens.
    keep : bool
        Leave the cluster and the controller running.
    scenario : Scenario
        What to play.

    Returns
    -------
    Done
        All jobs have ended, the report is written, and nothing runs any more unless it was to be kept.

    Raises
    ------
    InputError
        Where a package is missing, or the folder cannot be written.
    DemoError
        Where the cluster or a job does not do what it is to.
    """
    check_packages()
    began = time.time()
    files = Files(folder.resolve()).made()
    tell.say(f"a real Slurm starts on this machine: {scenario.nodes} nodes, accounting, the flags of Tierwise")
    try:
        with ended_by_signals(), started(scenario.nodes, files, keep=keep) as site:
            version = site.slurm.configuration().get("slurm_version", "")
            tell.say(f"Slurm {version}: {scenario.nodes} nodes are idle; tierwise controller starts")
            _load()
            site.wait()
            played = play(scenario, site, tell)
            known = _accounted(site, played, began)
            found = outcome(scenario, played, known, version, time.time() - began)
            since = _moment(began)
            write(history(since, nodes=scenario.nodes, environment=site.cluster.environment), files.history)
            _write(found, files)
            tell.say("the report is written")
            kept = (site.cluster.directory, site.controller.pid) if keep else (None, None)
    except SlurmError as error:
        raise DemoError(str(error)) from None
    if not keep:
        tell.say("all that was started is ended")
    return Done(found, files, *kept)


def _load() -> None:
    """Import what the end needs while the controller starts on another processor: it takes seconds."""
    import cosim.exact  # noqa: PLC0415, F401
    import scheduler.demo.page  # noqa: PLC0415, F401


def _write(found: Outcome, files: Files) -> None:
    from scheduler.demo.page import write_report  # noqa: PLC0415

    files.results.write_text(json.dumps(found.as_dict(), indent=2) + "\n", "utf-8")
    write_report(files.report, found, files)


def _accounted(site: Site, played: Played, began: float) -> tuple[Run, ...]:
    """Wait until the accounting has the end of every job."""

    def complete(found: tuple[Run, ...]) -> bool:
        ended = {run.job for run in found if run.state == "completed"}
        return all(number in ended for name, number in played.numbers.items() if played.states[name] == "completed")

    return _until(lambda: runs(_moment(began), site.cluster.environment), complete)


def _until(ask: Callable[[], tuple[Run, ...]], ready: Callable[[tuple[Run, ...]], bool]) -> tuple[Run, ...]:
    end = time.monotonic() + _ACCOUNTED
    while not ready(found := ask()):
        if time.monotonic() > end:
            raise DemoError(f"the accounting does not have all jobs {_ACCOUNTED:g} s after their end")
        time.sleep(0.3)
    return found


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(seconds))
