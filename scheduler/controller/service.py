"""The controller as a service: a cycle on each beat, what is lost said once, a policy that may change meanwhile."""

from __future__ import annotations

import math
import os
import sqlite3
import time
import traceback
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from cosim.policies import PreemptionPolicy
from cosim.policies import policy as policy_of
from cosim.snapshot import Request, RunningJob, Snapshot
from scheduler.controller.cycle import Controller
from scheduler.controller.deciding import Site
from scheduler.controller.events import Say, event
from scheduler.controller.journal import Journal
from scheduler.controller.lock import Lock
from scheduler.controller.notify import Notify
from scheduler.controller.outages import Outage
from scheduler.controller.signals import Pace, Signals, StoppedError
from scheduler.policy import PolicyFile, load
from scheduler.slurm.seam import Slurm, SlurmError, SlurmUnreachableError
from traces.errors import InputError

if TYPE_CHECKING:
    from scheduler.controller.metrics import Metrics


@dataclass
class Service:
    """Runs cycles until it is told to end.

    Attributes
    ----------
    slurm : Slurm
        The cluster.
    journal : Journal
        The journal, which this process alone writes to.
    policy : PolicyFile or None
        What is in force.
    signals : Signals
        What it is told.
    notify : Notify
        The service manager.
    say : Say
        Takes the events.
    interval : float
        From one cycle to the next [s].
    policy_file : Path or None
        Read again at a reload.
    dry_run : bool
        Decide and say, but do nothing.
    lock : Lock or None
        The journal's; it bears the time of the last good cycle.
    metrics : Metrics or None
        Where cycles are counted.
    """

    slurm: Slurm
    journal: Journal
    policy: PolicyFile | None
    signals: Signals
    notify: Notify
    say: Say
    interval: float
    policy_file: Path | None = None
    dry_run: bool = False
    lock: Lock | None = None
    metrics: Metrics | None = None
    _controller: Controller | None = field(default=None, init=False)
    _status: str = field(default="", init=False)

    def __post_init__(self) -> None:
        self._slurm_outage = Outage(self.say, "Slurm cannot be worked with", "slurm_back")
        self._journal_outage = Outage(self.say, "the journal cannot be written and nothing is done", "journal_back")
        self._defect = Outage(self.say, "a cycle failed by a defect of Tierwise's", "recovered")

    def once(self) -> None:
        """Run one cycle; its errors are the caller's."""
        self._cycle()

    def run(self) -> None:
        """Run cycles until the end is asked for."""
        pace = Pace(self.interval)
        self.notify.ready("waiting for slurmctld")
        while not self.signals.stop:
            if self.signals.take_reload():
                self._reload()
            left = pace.left()
            if left > 0:
                self.signals.wait(min(left, self.notify.watchdog_seconds / 3 or math.inf))
                self.notify.alive()
                continue
            self._turn()
            pace.took()
        self.notify.stopping()

    def _turn(self) -> None:
        self.notify.alive()
        result = "good"
        try:
            self._cycle()
        except StoppedError:
            return
        except SlurmUnreachableError as error:
            result = "slurm_lost"
            self._slurm_outage.lost(result, str(error))
        except SlurmError as error:
            result = "slurm_refused"
            self._slurm_outage.lost(result, str(error), once_for=str(error))
        except sqlite3.Error as error:
            result = "journal_lost"
            self._journal_outage.lost(result, str(error))
        except Exception as error:  # whatever it is, other plans must go on: a victim waits for its nodes
            result = "failed"
            where = _where(error)
            self._defect.lost(result, f"{type(error).__name__}: {error} ({where})", once_for=where)
        if self.metrics is not None:
            self.metrics.cycle_ended(result)
        self._show(result)

    def _cycle(self) -> None:
        if self._journal_outage.lasts:
            self.journal.probe()
            self._journal_outage.over()
        if self._controller is None:
            cluster = self.slurm.configuration().get("clustername", "")
            site = Site(cluster, self.policy, _warmed(policy_of("dp")))
            stopping = self.signals.stopping
            self._controller = Controller(self.slurm, self.journal, site, self.say, self.dry_run, stopping, typer.echo)
        if self._slurm_outage.lasts:
            self.slurm.look()  # so that its return is said before what is done then
            self._slurm_outage.over()
        self._controller.cycle(time.time())
        self._defect.over()
        if self.lock is not None:
            self.lock.beat()

    def _show(self, result: str) -> None:
        """Tell the service manager what `systemctl status` is to show, where that has changed."""
        words = {
            "good": "watching the queue",
            "slurm_lost": "slurmctld does not answer; each cycle tries again",
            "slurm_refused": "Slurm's answers are not as expected; see the log",
            "journal_lost": "the journal cannot be written; nothing is done until it can",
            "failed": "a defect of Tierwise's ended a cycle; see the log",
        }
        if words[result] != self._status:
            self._status = words[result]
            self.notify.status(self._status)

    def _reload(self) -> None:
        self.notify.reloading()
        path = self.policy_file
        if path is not None:
            try:
                self.policy = load(path)
            except InputError as error:
                text = f"the last good policy stays in force: {error}"
                self.say(event("policy_kept", text, policy=str(path), reason=str(error)))
            else:
                if self._controller is not None:
                    self._controller.site = replace(self._controller.site, policy=self.policy)
                self.say(event("policy_read", f"policy read from {path}", policy=str(path)))
        self.notify.ready(self._status)


def _warmed(decider: PreemptionPolicy) -> PreemptionPolicy:
    # Loading what is compiled takes most of a second, which the first on-demand job would have to wait.
    jobs = (RunningJob("1", 1, 0.0, 10.0), RunningJob("2", 2, 0.0, 20.0, checkpoint_interval=1.0))
    decider.decide(Snapshot.of(0.0, 0, jobs), Request(2, 1.0))
    return decider


def _where(error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{os.path.basename(last.filename)}:{last.lineno}"  # noqa: PTH119 - a text, no file
