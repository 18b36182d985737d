"""The directory of a cluster: who may use it, one command at a time, and what is cleared from it."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from scheduler.cluster import processes, record
from scheduler.cluster.processes import Identity
from traces.errors import InputError

LOCK = ".lock"

_OURS = (
    *("run", "log", "state", "spool", "gpus", "database", "munge.key", record.FILE),
    *("slurm.conf", "gres.conf", "plugstack.conf", "cgroup.conf", "job_submit.lua", "slurmdbd.conf", "slurmdbd.sql"),
)
"""All that `up` makes in the directory; nothing else in it is ever removed."""


@contextmanager
def held(directory: Path) -> Iterator[None]:
    """Keep other commands of ours from the directory meanwhile.

    Parameters
    ----------
    directory : Path
        A cluster's directory; it exists.

    Raises
    ------
    InputError
        Where another command is at work there, or the directory is not this user's own.
    """
    _check_owner(directory)
    try:
        handle = os.open(directory / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise InputError(f"--dir {directory}: cannot be written: {error.strerror or error}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise InputError(f"--dir {directory}: another `tierwise cluster` is at work there; wait for it") from None
    try:
        yield
    finally:
        os.close(handle)


def is_empty(directory: Path) -> bool:
    """Return whether nothing of a cluster can be in the directory: it is not there, or has no entry."""
    return not directory.is_dir() or not any(os.scandir(directory))


def _check_owner(directory: Path) -> None:
    # Whoever may write there could put a link or a key of their own in the daemons' way.
    found = directory.stat()
    if found.st_uid != os.geteuid():
        raise InputError(f"--dir {directory}: belongs to another user (id {found.st_uid}); use one of your own")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise InputError(f"--dir {directory}: others may write to it; use another or chmod go-w it")


def made(directory: Path) -> None:
    """Make the directory if it is not there.

    Parameters
    ----------
    directory : Path
        Where the cluster is to lie.

    Raises
    ------
    InputError
        Where it cannot be made.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--dir {directory}: cannot be made a directory: {error.strerror or error}") from None


def check_is_free(directory: Path) -> None:
    """Check that a new cluster may have the directory: it is empty, or a cluster of ours has stopped there.

    Parameters
    ----------
    directory : Path
        It exists and is held.

    Raises
    ------
    InputError
        Where a cluster runs there, or it holds what is not ours.
    """
    known = record.read(directory)
    names = sorted(entry.name for entry in os.scandir(directory) if entry.name != LOCK)
    if known is None and names:
        raise InputError(
            f"--dir {directory}: is not empty and no cluster of ours (it has {names[0]}); give an empty or a new one"
        )
    if running(directory, known):
        raise InputError(
            f"--dir {directory}: a cluster runs there; stop it with `tierwise cluster down --dir {directory}`, "
            "or give the new one another directory"
        )


def running(directory: Path, known: record.Record | None) -> list[Identity]:
    """Return the processes of the cluster that still run: those written down, and those found without.

    Parameters
    ----------
    directory : Path
        A cluster's directory.
    known : Record or None
        Its record.

    Returns
    -------
    list of Identity
        Each once.
    """
    written = [] if known is None else [daemon.process for daemon in known.daemons if daemon.process is not None]
    found = [process for process in written if processes.alive(process)]
    return list(dict.fromkeys([*found, *processes.daemons_of(directory), *processes.steps_of(directory)]))


def clear(directory: Path) -> None:
    """Remove what an earlier cluster left in the directory, and nothing else.

    Parameters
    ----------
    directory : Path
        It is held, and no cluster runs there.
    """
    for name in _OURS:
        path = directory / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def remove(directory: Path) -> None:
    """Remove what a cluster left, and the directory itself if nothing else is in it.

    Parameters
    ----------
    directory : Path
        It is held, and no cluster runs there.
    """
    clear(directory)
    (directory / LOCK).unlink(missing_ok=True)
    if not any(os.scandir(directory)):
        directory.rmdir()
