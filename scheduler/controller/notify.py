"""Tell the service manager how we are: sd_notify(3), a few lines in a datagram to `$NOTIFY_SOCKET`."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import MutableMapping
from dataclasses import dataclass, field

_LONGEST_STATUS = 200
_MICROSECONDS = 1_000_000


@dataclass
class Notify:
    """Tells the service manager; does nothing where there is none. Nothing it meets is an error of ours.

    Attributes
    ----------
    address : str
        The socket: a path, or `@name` for an abstract one; empty for no service manager.
    watchdog_seconds : float
        Within which it wants a sign of life, 0 for never [s].
    """

    address: str = ""
    watchdog_seconds: float = 0.0
    _next_sign: float = field(default=0.0, init=False)

    @classmethod
    def from_environment(cls, environment: MutableMapping[str, str] = os.environ) -> Notify:
        """Take the service manager's variables, and take them away: Slurm's commands are not to speak for us."""
        address = environment.pop("NOTIFY_SOCKET", "")
        microseconds = environment.pop("WATCHDOG_USEC", "")
        process = environment.pop("WATCHDOG_PID", "")
        wanted = microseconds.isascii() and microseconds.isdigit() and process in ("", str(os.getpid()))
        known = address if address.startswith(("/", "@")) else ""
        return cls(known, int(microseconds) / _MICROSECONDS if known and wanted else 0.0)

    def ready(self, status: str) -> None:
        """Say that the start, or a reload, is over."""
        self._send("READY=1", f"STATUS={_line(status)}")

    def reloading(self) -> None:
        """Say that a reload has begun; `ready` ends it. Type=notify-reload wants the time of it."""
        now = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self._send("RELOADING=1", f"MONOTONIC_USEC={now}")

    def stopping(self) -> None:
        """Say that the end has begun."""
        self._send("STOPPING=1", "STATUS=ending")

    def status(self, text: str) -> None:
        """Say in one line what is going on, for `systemctl status`."""
        self._send(f"STATUS={_line(text)}")

    def alive(self) -> None:
        """Give a sign of life, if one is due: at a third of the watchdog's time, so that one may be late."""
        now = time.monotonic()
        if self.watchdog_seconds and now >= self._next_sign:
            self._next_sign = now + self.watchdog_seconds / 3
            self._send("WATCHDOG=1")

    def _send(self, *lines: str) -> None:
        if not self.address:
            return
        target = "\0" + self.address[1:] if self.address.startswith("@") else self.address
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as client:
            client.setblocking(False)  # a service manager that hangs must not hold us up
            client.sendto("\n".join(lines).encode(), target)


def _line(text: str) -> str:
    # A line break would begin another assignment.
    return "".join(letter if letter.isprintable() else " " for letter in text)[:_LONGEST_STATUS]
