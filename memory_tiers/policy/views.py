"""What the policy sees of a node and of its jobs, and what it answers: plain data, no clock, no process."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import numpy as np
import numpy.typing as npt

Counts = npt.NDArray[np.int64]
Heat = npt.NDArray[np.float64]


class TierClass(Enum):
    """How a job uses memory; see the table in the documentation."""

    LATENCY = "latency"
    BANDWIDTH = "bandwidth"
    CAPACITY = "capacity"
    SHORT = "short"
    AUTO = "auto"


@dataclass(frozen=True)
class Walk:
    """A sequential scan that walks through a region, front to back and around again.

    Attributes
    ----------
    position : int
        The chunk that was touched last.
    trust : float
        How sure that is [0 to 1]: the smoothed share of touches that came where a scan would come next.
    overtaken : int
        Chunks that it reached since the last look before they had been brought back for it.
    """

    position: int
    trust: float = 0.0
    overtaken: int = 0


@dataclass(frozen=True)
class RegionView:
    """A private region of a process, in chunks of equal size.

    Attributes
    ----------
    key : tuple of int
        Process id and start address.
    pages : int
        Pages of a chunk.
    present, swapped : ndarray
        Pages of each chunk that are mapped, and that are in a far tier.
    ahead : ndarray of bool
        Chunks brought back ahead of use, and not touched since.
    heat : ndarray of float
        How often a chunk came back by itself lately: touches after eviction, decaying.
    joined : ndarray of bool
        Chunks that huge pages were made of, or tried to.
    walk : Walk or None
        The scan in it, where there is one.
    """

    key: tuple[int, int]
    pages: int
    present: Counts
    swapped: Counts
    ahead: npt.NDArray[np.bool_]
    heat: Heat
    joined: npt.NDArray[np.bool_]
    walk: Walk | None = None


@dataclass(frozen=True)
class JobView:
    """A job on the node; sizes in bytes.

    Attributes
    ----------
    job : int
        Its id.
    tier_class : TierClass
        How it uses memory.
    resident, swapped : int
        What it holds near and far, all its memory.
    promised : int
        DRAM that its user asked for; 0 for none.
    far_limit : int or None
        Far memory that it may use; None for no limit, 0 for none.
    may_limit : bool
        Whether it has a control group of its own, on which a limit can be set.
    regions : tuple of RegionView
        Its private regions that are large enough to be looked at.
    """

    job: int
    tier_class: TierClass
    resident: int
    swapped: int
    promised: int = 0
    far_limit: int | None = None
    may_limit: bool = False
    regions: tuple[RegionView, ...] = ()

    @property
    def footprint(self) -> int:
        """What it holds, wherever [bytes]."""
        return self.resident + self.swapped


@dataclass(frozen=True)
class NodeView:
    """The node and its jobs; sizes in bytes.

    Attributes
    ----------
    near : int
        DRAM that the jobs may use together.
    far_free : int
        Free in all far tiers.
    headroom : int
        DRAM kept free for short jobs that are expected.
    backed_off : bool
        Whether the agent found that it does harm: nothing is moved out then.
    """

    near: int
    far_free: int
    jobs: tuple[JobView, ...]
    headroom: int = 0
    backed_off: bool = False


class Way(Enum):
    """Which way pages move; `JOIN` makes huge pages of what is near, so that a miss in the TLB costs less."""

    OUT = "out"
    IN = "in"
    JOIN = "join"


@dataclass(frozen=True)
class Move:
    """Chunks of a region to move; `ahead` says that they are brought back before anybody asked."""

    job: int
    key: tuple[int, int]
    way: Way
    chunks: Counts
    ahead: bool = False


@dataclass(frozen=True)
class Plan:
    """What to do: moves in order, each job's DRAM [bytes], and limits for jobs that have one (None: lift it)."""

    moves: tuple[Move, ...]
    targets: dict[int, int]
    limits: dict[int, int | None] = field(default_factory=dict)
