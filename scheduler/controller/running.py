"""The controller as a process: cycles, a policy file that may change, and a clean end."""

from __future__ import annotations

import json
import signal
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path

from cosim.policies import policy as policy_of
from scheduler.controller.cycle import Controller
from scheduler.controller.deciding import Site
from scheduler.controller.events import DEBUG, Event, event
from scheduler.controller.journal import Journal
from scheduler.policy import PolicyFile, load
from scheduler.slurm.opening import open_slurm
from scheduler.slurm.seam import SlurmError
from traces.errors import InputError


def _say(event: Event) -> None:
    """Write one line of the log as JSON: what comes from a job cannot break out of it."""
    if event.level == DEBUG:
        return
    line = {"time": round(time.time(), 3), "level": event.level, "event": event.name, "message": event.message}
    print(json.dumps({**line, **event.fields}), file=sys.stderr, flush=True)


def run(policy_file: Path | None, journal_file: Path, interval: float, *, dry_run: bool, once: bool) -> None:
    """Watch the cluster until SIGTERM or SIGINT.

    Parameters
    ----------
    policy_file : Path or None
        The policy; read again at SIGHUP, and a bad one leaves the last good one in force.
    journal_file : Path
        The journal.
    interval : float
        From one cycle to the next [s].
    dry_run : bool
        Decide and say, but do nothing.
    once : bool
        Run a single cycle.

    Raises
    ------
    InputError
        Where the policy file is bad at the start, or the journal cannot be opened.
    SlurmError
        Where Slurm cannot be reached in the only cycle.
    """
    slurm = open_slurm()
    name = slurm.configuration().get("clustername", "")
    site = Site(name, load(policy_file) if policy_file else None, policy_of("dp"))
    journal_file.parent.mkdir(parents=True, exist_ok=True)
    controller = Controller(slurm, Journal(journal_file), site, _say, dry_run)
    stop, reload = threading.Event(), threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGINT, lambda *_: stop.set())
    signal.signal(signal.SIGHUP, lambda *_: reload.set())
    while not stop.is_set():
        if reload.is_set():
            reload.clear()
            controller.site = replace(site, policy=_reloaded(policy_file, controller.site.policy))
        try:
            controller.cycle(time.time())
        except SlurmError as error:
            if once:
                raise
            _say(event("slurm_lost", f"the next cycle tries again: {error}", reason=str(error)))
        if once:
            return
        stop.wait(interval)


def _reloaded(path: Path | None, last: PolicyFile | None) -> PolicyFile | None:
    if path is None:
        return last
    try:
        found = load(path)
    except InputError as error:
        _say(event("policy_kept", f"the last good policy stays in force: {error}", reason=str(error)))
        return last
    _say(event("policy_read", f"policy read from {path}", policy=str(path)))
    return found
