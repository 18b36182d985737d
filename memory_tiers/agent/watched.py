"""What the agent remembers of the jobs that it looks after, and the policy's view of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from memory_tiers.agent.protocol import Record
from memory_tiers.kernel.types import PAGE, GroupMemory, Process
from memory_tiers.policy import JobView, RegionView, TierClass, Walk

SMALLEST_CHUNK = 64 * PAGE
"""A chunk is the smallest thing that is decided about; finer costs more looking than it saves moving."""

MOST_CHUNKS = 16384
"""Larger regions have larger chunks, so that a decision stays a matter of milliseconds."""


def chunk_of(size: int) -> int:
    """Choose the chunk of a region of so many bytes: a power of two times the smallest."""
    chunk = SMALLEST_CHUNK
    while size > chunk * MOST_CHUNKS:
        chunk *= 2
    return chunk


@dataclass
class WatchedRegion:
    """A private region of a process, chunk by chunk; arrays as in `memory_tiers.policy.RegionView`.

    `sent` has the pages of each chunk that we moved out and that have not come back, `closer` how often a place where
    a scan may be is still to be looked at.
    """

    process: Process
    start: int
    end: int
    chunk: int
    present: npt.NDArray[np.int64]
    swapped: npt.NDArray[np.int64]
    ahead: npt.NDArray[np.bool_]
    heat: npt.NDArray[np.float64]
    joined: npt.NDArray[np.bool_]
    sent: npt.NDArray[np.int64]
    walk: Walk | None = None
    closer: int = 0

    @staticmethod
    def fresh(process: Process, start: int, end: int) -> WatchedRegion:
        """Begin with a region that was not looked at yet."""
        chunk = chunk_of(end - start)
        chunks = -(-(end - start) // chunk)
        nothing = np.zeros(chunks, dtype=np.int64)
        return WatchedRegion(
            process,
            start,
            end,
            chunk,
            nothing,
            nothing.copy(),
            np.zeros(chunks, dtype=np.bool_),
            np.zeros(chunks, dtype=np.float64),
            np.zeros(chunks, dtype=np.bool_),
            nothing.copy(),
        )

    @property
    def key(self) -> tuple[int, int]:
        """Its name in plans."""
        return self.process.pid, self.start

    def capacity(self) -> npt.NDArray[np.int64]:
        """Return the pages of each chunk; the last may have fewer."""
        edges = np.minimum(self.start + self.chunk * np.arange(len(self.present) + 1, dtype=np.int64), self.end)
        return np.asarray(np.diff(edges) // PAGE, dtype=np.int64)

    def view(self) -> RegionView:
        """Return what the policy sees of it."""
        return RegionView(
            self.key,
            self.chunk // PAGE,
            self.present,
            self.swapped,
            self.ahead,
            self.heat,
            self.joined,
            self.walk,
        )


@dataclass
class WatchedJob:
    """A job that is looked after.

    Attributes
    ----------
    job : int
        Its id.
    record : Record
        What its user asked for.
    uid : int or None
        Whose processes it may have; others found in its tree are left alone. None: any, in its control group.
    group : Path or None
        Its control group.
    roots : dict of int to int
        Processes whose descendants are its own: id to start time.
    processes : dict of int to Process
        Verified, by id.
    regions : dict
        By process id and start.
    memory : GroupMemory or None
        Of its group.
    beside : int
        Bytes that its group held near beside its regions, at the last look.
    limit : int or None
        The limit that we have set on its group.
    target : int
        DRAM that it shall have [bytes].
    moved_out, moved_in : int
        Bytes advised so far.
    pages_went, pages_back : int
        Pages that we moved out for want of room, and of those the ones that came back by themselves, since they were
        last counted; scans aside, which are expected to come back.
    is_named : bool
        Whether whoever registered it named its group or its process: nothing else is looked for then.
    by_user : bool
        Whether its own user registered it, and not root.
    """

    job: int
    record: Record
    uid: int | None
    group: Path | None
    roots: dict[int, int] = field(default_factory=dict)
    processes: dict[int, Process] = field(default_factory=dict)
    regions: dict[tuple[int, int], WatchedRegion] = field(default_factory=dict)
    memory: GroupMemory | None = None
    beside: int = 0
    limit: int | None = None
    target: int = 0
    moved_out: int = 0
    moved_in: int = 0
    pages_went: int = 0
    pages_back: int = 0
    by_user: bool = False
    is_named: bool = False
    user: str | None = None

    @property
    def tier_class(self) -> TierClass:
        """Its class; `auto` where its user named none."""
        return TierClass(self.record.tier_class or "auto")

    def resident(self) -> int:
        """Return the bytes that it holds near: its regions, and what its group had beside them at the last look."""
        return self.mapped() + self.beside

    def mapped(self) -> int:
        """Return the bytes of its regions that are mapped."""
        return sum(int(region.present.sum()) for region in self.regions.values()) * PAGE

    def swapped(self) -> int:
        """Return the bytes that it holds far."""
        return sum(int(region.swapped.sum()) for region in self.regions.values()) * PAGE

    def view(self) -> JobView:
        """Return what the policy sees of it."""
        return JobView(
            self.job,
            self.tier_class,
            self.resident(),
            self.swapped(),
            promised=self.record.tier_dram or 0,
            far_limit=self.record.tier_far,
            may_limit=self.group is not None and self.memory is not None,
            regions=tuple(region.view() for region in self.regions.values()),
        )
