"""The controller as a process: what it holds while it runs, and what it gives back at its end."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from scheduler import __version__
from scheduler.controller.events import INFO, Event, Say, event
from scheduler.controller.journal import Journal
from scheduler.controller.lock import Lock, held
from scheduler.controller.log import Log
from scheduler.controller.notify import Notify
from scheduler.controller.service import Service
from scheduler.controller.signals import Signals, StoppedError
from scheduler.controller.watched import watched
from scheduler.policy import load
from scheduler.slurm.opening import open_slurm
from scheduler.slurm.seam import Slurm
from traces.errors import InputError

if TYPE_CHECKING:
    from scheduler.controller.metrics import Metrics


@dataclass(frozen=True)
class Settings:
    """What the controller is started with.

    Attributes
    ----------
    policy : Path or None
        The policy file; without one nobody may preempt.
    journal : Path
        The journal's file; it and its folder are made if need be.
    interval : float
        From one cycle to the next [s].
    dry_run : bool
        Decide and say, but do nothing: it may run beside a controller.
    once : bool
        Run one cycle, and end.
    metrics : int or None
        The port on which Prometheus may scrape, 0 for one that is free.
    log_level : str
        The least important event that is logged.
    """

    policy: Path | None
    journal: Path
    interval: float = 1.0
    dry_run: bool = False
    once: bool = False
    metrics: int | None = None
    log_level: str = INFO


def run(settings: Settings, slurm: Slurm | None = None) -> None:
    """Watch the cluster until SIGTERM or SIGINT; SIGHUP reads the policy file again.

    Parameters
    ----------
    settings : Settings
        What to do.
    slurm : Slurm, optional
        The cluster; by default the one that Slurm's commands talk to.

    Raises
    ------
    InputError
        Where the policy file is bad at the start, the journal cannot be opened or is another controller's, or the
        metrics' port is taken.
    SlurmError
        Where the only cycle of `once` fails.
    """
    policy = load(settings.policy) if settings.policy else None
    notify = Notify.from_environment()
    with ExitStack() as stack:
        lock = stack.enter_context(_locked(settings))
        journal = _opened(settings.journal)
        stack.callback(journal.close)
        metrics, say = _sinks(settings)
        signals = stack.enter_context(Signals())
        service = Service(
            slurm=watched(slurm or open_slurm(), _around(signals, notify, metrics)),
            journal=journal,
            policy=policy,
            signals=signals,
            notify=notify,
            say=say,
            interval=settings.interval,
            policy_file=settings.policy,
            dry_run=settings.dry_run,
            lock=lock,
            metrics=metrics,
        )
        if settings.once:
            with suppress(StoppedError):
                service.once()
            return
        address = ""
        if metrics is not None and settings.metrics is not None:
            address = stack.enter_context(metrics.served(settings.metrics))
            say(event("metrics_served", f"metrics on http://{address}/metrics", address=address))
        if lock is not None:
            lock.note(pid=os.getpid(), policy=str(settings.policy or ""), metrics=address, version=__version__)
        say(_started(settings))
        service.run()
        say(event("stopped", "ended; open plans go on at the next start", open_plans=_count(journal)))


def _locked(settings: Settings) -> AbstractContextManager[Lock | None]:
    try:
        settings.journal.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"--journal {settings.journal}: its folder cannot be made: {reason}") from None
    return nullcontext() if settings.dry_run else held(settings.journal)


def _opened(path: Path) -> Journal:
    try:
        return Journal(path)
    except sqlite3.Error as error:
        raise InputError(
            f"--journal {path}: cannot be opened: {error}; it has to be a file that this user may write to, on a local "
            "disk with free space"
        ) from None


def _sinks(settings: Settings) -> tuple[Metrics | None, Say]:
    log = Log(settings.log_level)
    if settings.metrics is None or settings.once:
        return None, log
    from scheduler.controller.metrics import Metrics  # noqa: PLC0415 - only where it is asked for

    metrics = Metrics(__version__)

    def say(said: Event) -> None:
        log(said)
        metrics(said)

    return metrics, say


def _around(signals: Signals, notify: Notify, metrics: Metrics | None) -> Callable[[str], AbstractContextManager[None]]:
    @contextmanager
    def around(request: str) -> Iterator[None]:
        notify.alive()
        with metrics.request(request) if metrics else nullcontext(), signals.interruptible():
            yield

    return around


def _started(settings: Settings) -> Event:
    policy = str(settings.policy or "")
    return event(
        "started",
        f"watching the queue by {policy or 'no policy file: nobody may preempt'}",
        policy=policy,
        journal=str(settings.journal),
        interval=settings.interval,
        dry_run=settings.dry_run,
        pid=os.getpid(),
        version=__version__,
    )


def _count(journal: Journal) -> int | None:
    try:
        return len(journal.open_plans())
    except sqlite3.Error:
        return None
