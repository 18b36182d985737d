"""What goes in and out of the kernel's seam: plain data, with every way of doing less than was asked in it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt

PAGE: Final = 4096
"""Bytes of a base page; x86-64 and most others."""

Ranges = npt.NDArray[np.int64]
"""Ranges of addresses, one a row: start [bytes], length [bytes]; laid out as the kernel's iovec."""


def ranges(*pairs: tuple[int, int]) -> Ranges:
    """Make ranges from (start, length) pairs [bytes]."""
    return np.array(pairs, dtype=np.int64).reshape(-1, 2)


class Advice(IntEnum):
    """What process_madvise(2) does to another process's pages."""

    WILLNEED = 3
    COLD = 20
    PAGEOUT = 21
    COLLAPSE = 25


@dataclass(frozen=True)
class Advised:
    """What came of advice about some ranges.

    Attributes
    ----------
    asked : int
        Bytes in all ranges.
    advised : int
        Bytes that the kernel went through. Not bytes moved: it passes over shared and locked pages in silence.
    holes : int
        Ranges that were no longer mapped, wholly or partly, and were left out.
    refused : int
        The errno that ended the call; 0 where none did.
    gone : bool
        Whether the process had ended.
    """

    asked: int
    advised: int
    holes: int = 0
    refused: int = 0
    gone: bool = False

    def __add__(self, other: Advised) -> Advised:
        """Both together."""
        return Advised(
            self.asked + other.asked,
            self.advised + other.advised,
            self.holes + other.holes,
            self.refused or other.refused,
            self.gone or other.gone,
        )


@dataclass(frozen=True)
class Process:
    """A process that was verified to be the one meant; its pidfd keeps the kernel from taking another for it.

    Attributes
    ----------
    pid : int
        Its id.
    pidfd : int
        A descriptor that means this process and never a later one with the same id.
    uid : int
        Its real user.
    started : int
        Its start time [clock ticks since boot].
    """

    pid: int
    pidfd: int
    uid: int
    started: int


@dataclass(frozen=True)
class Mapping:
    """One mapping (VMA) of a process.

    Attributes
    ----------
    start, end : int
        Addresses [bytes].
    permissions : str
        As in /proc/PID/maps: `rw-p`.
    path : str
        The file, `[heap]` and the like, or nothing.
    """

    start: int
    end: int
    permissions: str
    path: str

    @property
    def size(self) -> int:
        """Bytes of addresses."""
        return self.end - self.start

    @property
    def is_private_memory(self) -> bool:
        """Whether it is anonymous, private and writable: what a far tier can take without anybody else's part in it."""
        plain = self.path in {"", "[heap]"} or self.path.startswith("[anon:")
        return plain and self.permissions[1] == "w" and self.permissions[3] == "p"


@dataclass(frozen=True)
class Residency:
    """Where the pages of a stretch of addresses are, chunk by chunk.

    Attributes
    ----------
    start : int
        Address of the first chunk [bytes].
    chunk : int
        Bytes of a chunk.
    present, swapped : numpy.ndarray
        Pages of each chunk that are mapped, and that are in a swap area.
    seconds : float
        What the look cost.
    gone : bool
        Whether the process had ended.
    """

    start: int
    chunk: int
    present: npt.NDArray[np.int64]
    swapped: npt.NDArray[np.int64]
    seconds: float = 0.0
    gone: bool = False


@dataclass(frozen=True)
class Footprint:
    """What a process holds, from smaps_rollup [bytes]; `shared_anonymous` pages are mapped by others too."""

    resident: int
    proportional: int
    anonymous: int
    swapped: int
    locked: int


@dataclass(frozen=True)
class GroupMemory:
    """The memory side of a control group.

    Attributes
    ----------
    version : int
        1 or 2.
    current : int
        Charged bytes.
    swapped : int
        Bytes in swap; -1 where the kernel does not say.
    limit : int or None
        The smallest hard limit that holds for it, its ancestors' included [bytes].
    major_faults : int
        Since the group exists.
    refaults : int
        Anonymous pages that came back soon after eviction, since the group exists; -1 where the kernel does not say.
    """

    version: int
    current: int
    swapped: int
    limit: int | None
    major_faults: int
    refaults: int


@dataclass(frozen=True)
class Pressure:
    """Pressure stall information: shares of time stalled [0 to 1] over 10 s, and totals [s]."""

    some: float
    full: float
    some_total: float
    full_total: float


@dataclass(frozen=True)
class SwapArea:
    """A swap area; sizes in bytes. `kind` is `zram` or `swap`; `store` is what zram holds in DRAM for it."""

    path: str
    kind: str
    size: int
    used: int
    priority: int
    store: int = 0


@dataclass(frozen=True)
class Node:
    """A NUMA node: its memory [bytes], whether it has CPUs, the kernel's tier (-1: none) and distances by node."""

    number: int
    total: int
    free: int
    has_cpus: bool
    tier: int
    distances: tuple[int, ...]
