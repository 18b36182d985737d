"""Free TCP ports, chosen so that neither a client's connection nor another cluster takes them meanwhile."""

from __future__ import annotations

import random
import socket
from contextlib import ExitStack, suppress
from pathlib import Path

from scheduler.cluster.errors import ClusterError

_LOWEST, _HIGHEST = 10_000, 65_535
_EPHEMERAL_DEFAULT = (32_768, 60_999)  # ip(7), ip_local_port_range
_TRIES_PER_PORT = 50


def free_ports(count: int) -> list[int]:
    """Choose ports that can be bound now.

    All of them are bound at once before any is given back, so none is chosen twice. They lie outside the range that
    the kernel gives to outgoing connections (ip(7), `ip_local_port_range`), so that a daemon that is started again
    finds its port free; and they are drawn at random, so that two clusters that come up together do not meet. What
    still may happen, somebody else taking one before the daemon does, shows as a daemon that cannot bind.

    Parameters
    ----------
    count : int
        How many.

    Returns
    -------
    list of int
        The ports.

    Raises
    ------
    ClusterError
        Where there are not enough.
    """
    low, high = _ephemeral()
    candidates = [*range(_LOWEST, low), *range(high + 1, _HIGHEST + 1)]
    if len(candidates) < 10 * count:
        candidates = list(range(_LOWEST, _HIGHEST + 1))
    drawn = random.SystemRandom().sample(candidates, min(len(candidates), count * _TRIES_PER_PORT))
    chosen: list[int] = []
    with ExitStack() as held:
        for port in drawn:
            if len(chosen) == count:
                break
            # Without SO_REUSEADDR the wildcard is refused as long as anybody holds the port on any interface.
            probe = held.enter_context(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
            with suppress(OSError):
                probe.bind(("", port))
                chosen.append(port)
    if len(chosen) < count:
        raise ClusterError(f"only {len(chosen)} of {count} TCP ports are free on this host; stop what holds them")
    return chosen


def _ephemeral() -> tuple[int, int]:
    with suppress(OSError, ValueError):
        low, high = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text("ascii").split()
        return int(low), int(high)
    return _EPHEMERAL_DEFAULT
