"""One controller for a journal: a lock beside it, which says who holds it and when it last went well."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from traces.errors import InputError

_LARGEST = 4096


@dataclass(frozen=True)
class Holder:
    """What the lock's file says.

    Attributes
    ----------
    running : bool
        Whether a process holds the lock now.
    last_cycle : float
        When a cycle last went well, or the holder started [s].
    notes : dict
        What the holder wrote: `pid`, `policy`, `metrics`, ...
    """

    running: bool
    last_cycle: float
    notes: dict[str, object]


class Lock:
    """A lock that is held; see `held`."""

    def __init__(self, handle: int) -> None:
        self._handle = handle

    def note(self, **notes: object) -> None:
        """Write down what others may want to know of the holder."""
        text = json.dumps(notes).encode()
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, text, 0)

    def beat(self) -> None:
        """Write down that a cycle went well, as the file's time: that takes no space on a full disk."""
        os.utime(self._handle)


def path_of(journal: Path) -> Path:
    """Return where a journal's lock lies."""
    return journal.with_name(f"{journal.name}.lock")


@contextmanager
def held(journal: Path) -> Iterator[Lock]:
    """Hold a journal's lock; it goes with the process, however that ends.

    Parameters
    ----------
    journal : Path
        The journal; its folder exists.

    Raises
    ------
    InputError
        Where another controller holds it, or the folder cannot be written.
    """
    path = path_of(journal)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
    except OSError as error:
        raise InputError(f"--journal {journal}: {path} cannot be opened: {error.strerror or error}") from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        notes = _notes(handle)
        os.close(handle)
        raise InputError(
            f"--journal {journal}: another controller (process {notes.get('pid', 'unknown')}) uses it; "
            "stop that one, or name another journal for another cluster"
        ) from None
    try:
        yield Lock(handle)
    finally:
        os.close(handle)


def holder(journal: Path) -> Holder | None:
    """Say whether a controller uses a journal.

    Parameters
    ----------
    journal : Path
        The journal.

    Returns
    -------
    Holder or None
        None where no controller ever used it.

    Raises
    ------
    OSError
        Where that cannot be looked at.
    """
    try:
        handle = os.open(path_of(journal), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        try:
            # Shared, and let go at once with the descriptor: two that look do not see each other.
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
            running = False
        except BlockingIOError:
            running = True
        return Holder(running, os.fstat(handle).st_mtime, _notes(handle))
    finally:
        os.close(handle)


def _notes(handle: int) -> dict[str, object]:
    try:
        found = json.loads(os.pread(handle, _LARGEST, 0))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
