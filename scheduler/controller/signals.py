"""Signals to the controller, and its waiting: a beat that does not drift, and an end within a second."""

from __future__ import annotations

import contextlib
import math
import select
import signal
import socket
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

_GRACE = 0.5  # for the request that is being carried out when the end is asked for [s]
_AGAIN = 0.05


class StoppedError(BaseException):
    """The end was asked for, and a request to Slurm took longer than an end may: it is given up.

    No `Exception`: nobody on the way is to take it for a failure. Giving up is safe, as dying is.
    """


class Signals:
    """SIGTERM and SIGINT ask for the end, SIGHUP for a reload; to be used in the main thread, in a `with` block.

    Attributes
    ----------
    stop : bool
        Whether the end was asked for.
    """

    def __init__(self) -> None:
        self.stop = False
        self._reload = False
        self._in_request = False
        # A threading.Event would not do: a handler that sets it while its own thread is about to wait hangs.
        self._wakes, self._waker = socket.socketpair()
        self._wakes.setblocking(False)
        self._waker.setblocking(False)
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Signals:
        """Take the signals."""
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        handlers = {
            signal.SIGTERM: self._on_stop,
            signal.SIGINT: self._on_stop,
            signal.SIGHUP: self._on_reload,
            signal.SIGALRM: self._on_grace_over,
        }
        self._before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
        return self

    def __exit__(self, *_: object) -> None:
        """Give them back."""
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(-1)
        self._wakes.close()
        self._waker.close()

    def _on_stop(self, _number: int, _frame: FrameType | None) -> None:
        self.stop = True
        signal.setitimer(signal.ITIMER_REAL, _GRACE, _AGAIN)

    def _on_reload(self, _number: int, _frame: FrameType | None) -> None:
        self._reload = True

    def _on_grace_over(self, _number: int, _frame: FrameType | None) -> None:
        if self.stop and self._in_request:
            signal.setitimer(signal.ITIMER_REAL, 0)
            raise StoppedError

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """Surround what may be given up when the end was asked for: a request to Slurm, which may hang."""
        self._in_request = True
        try:
            yield
        finally:
            self._in_request = False

    def stopping(self) -> bool:
        """Say whether the end was asked for."""
        return self.stop

    def take_reload(self) -> bool:
        """Say whether a reload was asked for since the last time."""
        asked, self._reload = self._reload, False
        return asked

    def wait(self, seconds: float) -> None:
        """Wait until a signal comes, or some time has passed."""
        if not self.stop and not self._reload:
            select.select([self._wakes], [], [], max(0.0, seconds))
        with contextlib.suppress(BlockingIOError):
            while self._wakes.recv(512):
                pass


class Pace:
    """A beat on a fixed grid: a cycle that took long delays the next one, and no later one.

    Parameters
    ----------
    interval : float
        From one beat to the next [s].
    """

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._due = time.monotonic()

    def left(self, now: float | None = None) -> float:
        """Return how long it is until the beat that is due [s], not above 0 where it is time."""
        return self._due - (time.monotonic() if now is None else now)

    def took(self, now: float | None = None) -> None:
        """Go on to the next beat; those that have passed meanwhile are left out."""
        late = -self.left(now)
        self._due += self._interval * max(1, math.ceil(late / self._interval))
