"""The machine itself: Python, the cache of compiled kernels, the clock."""

from __future__ import annotations

import ctypes
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from scheduler.doctor.facts.place import Place

_TIME_ERROR = 5  # adjtimex(2): the clock is not synchronised


@dataclass(frozen=True)
class Host:
    """What a machine is.

    Attributes
    ----------
    python : tuple of int
        The release of the Python that runs this.
    cache : str or None
        The folder of compiled kernels; None where there is none that this user alone can write to.
    wanted_cache : str
        The folder above it, for advice.
    clock : bool or None
        Whether the clock is kept right; None where the kernel does not tell.
    """

    python: tuple[int, int, int]
    cache: str | None
    wanted_cache: str
    clock: bool | None


def gather(_: Place) -> Host:
    """Look at the machine."""
    from cosim.jit import cache_folder  # noqa: PLC0415 - NumPy takes a while to import

    cache = cache_folder()
    wanted = os.environ.get("XDG_CACHE_HOME") or str(Path(os.path.expanduser("~")) / ".cache")  # noqa: PTH111 - see cosim.jit
    return Host(sys.version_info[:3], None if cache is None else str(cache), wanted, _clock())


def _clock() -> bool | None:
    """Ask the kernel, which NTP and PTP daemons tell; adjtimex(2) with no modes changes nothing."""
    buffer = ctypes.create_string_buffer(512)  # struct timex has 208 bytes; its first, the modes, are 0
    state = ctypes.CDLL(None).adjtimex(buffer)
    return None if state < 0 else state != _TIME_ERROR
