"""The agent's socket: who calls is asked of the kernel, what is said is bounded, and nobody keeps the loop waiting."""

from __future__ import annotations

import os
import selectors
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from memory_tiers.agent.protocol import LONGEST_LINE, answer

_PATIENCE = 5.0
"""A caller that has not said its line by then is sent away [s]."""

_MOST_CALLERS = 64
_MOST_OF_ONE_USER = 8
"""Connections at once; others wait in the kernel's queue, or are sent away, so that nobody keeps others out."""


@dataclass(frozen=True)
class Caller:
    """Who calls, by SO_PEERCRED: the kernel's word, not the caller's."""

    pid: int
    uid: int
    gid: int


@dataclass
class _Connection:
    socket: socket.socket
    caller: Caller
    since: float
    received: bytes = b""
    to_send: bytes = field(default=b"")


class Server:
    """Takes one line from each caller, and answers one.

    Parameters
    ----------
    path : Path
        Of the socket. Everybody may connect; what each may ask is decided by who they are.
    handle : callable
        From line and caller to answer.

    Raises
    ------
    OSError
        Where the socket cannot be made, or another agent listens on it (EADDRINUSE).
    """

    def __init__(self, path: Path, handle: Callable[[bytes, Caller], bytes]) -> None:
        self._path, self._handle = path, handle
        path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        _clear(path)
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        self._listener.bind(str(path))
        path.chmod(0o666)
        self._listener.listen(128)
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._listener, selectors.EVENT_READ)
        self._connections: dict[int, _Connection] = {}

    def serve(self, seconds: float) -> bool:
        """Serve whoever calls, for so long or until one was answered; tell whether one was."""
        answered = False
        for key, _ in self._selector.select(seconds):
            if key.fileobj is self._listener:
                self._accept()
            else:
                answered |= self._talk(self._connections[key.fd])
        now = time.monotonic()
        for connection in [one for one in self._connections.values() if now - one.since > _PATIENCE]:
            self._close(connection)
        return answered

    def close(self) -> None:
        """Stop listening, and remove the socket."""
        for connection in list(self._connections.values()):
            self._close(connection)
        self._selector.close()
        self._listener.close()
        self._path.unlink(missing_ok=True)

    def _accept(self) -> None:
        try:
            opened, _ = self._listener.accept()
        except OSError:
            return
        opened.setblocking(False)
        caller = Caller(*struct.unpack("3i", opened.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)))
        same = sum(one.caller.uid == caller.uid for one in self._connections.values())
        if len(self._connections) >= _MOST_CALLERS or (caller.uid != 0 and same >= _MOST_OF_ONE_USER):
            opened.close()
            return
        self._connections[opened.fileno()] = _Connection(opened, caller, time.monotonic())
        self._selector.register(opened, selectors.EVENT_READ)

    def _talk(self, connection: _Connection) -> bool:
        try:
            if not connection.to_send:
                part = connection.socket.recv(LONGEST_LINE + 1 - len(connection.received))
                connection.received += part
                if b"\n" not in connection.received and part and len(connection.received) <= LONGEST_LINE:
                    return False
                connection.to_send = self._answer(connection)
            connection.to_send = connection.to_send[connection.socket.send(connection.to_send) :]
            if connection.to_send:
                self._selector.modify(connection.socket, selectors.EVENT_WRITE)
                return False
        except BlockingIOError:
            return False
        except OSError:
            self._close(connection)
            return False
        self._close(connection)
        return True

    def _answer(self, connection: _Connection) -> bytes:
        line, found, _ = connection.received.partition(b"\n")
        if not found and len(line) > LONGEST_LINE:
            return answer({"ok": False, "error": f"the request is longer than {LONGEST_LINE} bytes"})
        return self._handle(line, connection.caller)

    def _close(self, connection: _Connection) -> None:
        self._connections.pop(connection.socket.fileno(), None)
        self._selector.unregister(connection.socket)
        connection.socket.close()


def _clear(path: Path) -> None:
    """Remove a dead agent's socket; leave a living one's."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(str(path))
        except FileNotFoundError:
            return
        except ConnectionRefusedError:
            path.unlink()
            return
    raise OSError(os.EX_UNAVAILABLE, "another agent listens there", str(path))


def ask(path: Path, line: bytes, patience: float = 5.0) -> bytes:
    """Say a line to an agent, and return its answer.

    Raises
    ------
    OSError
        Where none listens, or it does not answer in time.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as talk:
        talk.settimeout(patience)
        talk.connect(str(path))
        talk.sendall(line if line.endswith(b"\n") else line + b"\n")
        received = b""
        while not received.endswith(b"\n"):
            part = talk.recv(65536)
            if not part:
                break
            received += part
        return received
