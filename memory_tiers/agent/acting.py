"""Acting: a plan's moves as ranges of addresses, limits on control groups, and what came of them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from memory_tiers.agent.watched import WatchedJob, WatchedRegion
from memory_tiers.kernel.seam import Kernel
from memory_tiers.kernel.types import PAGE, Advice, Ranges, ranges
from memory_tiers.policy import Move, Way
from memory_tiers.policy.deciding import is_walked

HUGE = 2 << 20
"""Bytes of a huge page on x86-64."""


_SLICE = 16
"""Chunks moved before the time is looked at: 4 MiB, some 30 ms of a busy core."""

_CLEAR = 2 << 20
"""How far a new limit stays above what a job holds: what it may fill until the limit is written [bytes]."""


@dataclass(frozen=True)
class Moved:
    """Bytes that a move went through, and its processor time [s], which is the kernel's but for a little."""

    amount: int
    seconds: float
    refused: int = 0


def slices(move: Move) -> Iterator[Move]:
    """Cut a move into parts that take a few milliseconds each."""
    for first in range(0, len(move.chunks), _SLICE):
        yield replace(move, chunks=move.chunks[first : first + _SLICE])


def carry_out(move: Move, watched: WatchedJob, kernel: Kernel) -> Moved:
    """Move chunks, and note where they are now.

    Parameters
    ----------
    move : Move
        What to move.
    watched : WatchedJob
        Whose; changed in place.
    kernel : Kernel
        The seam.

    Returns
    -------
    Moved
        Nothing where the region has vanished meanwhile.
    """
    region = watched.regions.get(move.key)
    if region is None or not len(move.chunks):
        return Moved(0, 0.0)
    began = time.process_time()
    if move.way is Way.OUT:
        done = kernel.advise(region.process, spans(region, move.chunks), Advice.PAGEOUT)
        watched.moved_out += done.advised
        if not is_walked(region.view()):
            watched.pages_went += int(region.present[move.chunks].sum())
            region.sent[move.chunks] += region.present[move.chunks]
        region.swapped[move.chunks] += region.present[move.chunks]
        region.present[move.chunks] = 0
        region.ahead[move.chunks] = False
        region.joined[move.chunks] = False
        return Moved(done.advised, time.process_time() - began, done.refused)
    if move.way is Way.JOIN:
        joined = kernel.advise(region.process, _huge(spans(region, move.chunks)), Advice.COLLAPSE)
        region.joined[move.chunks] = True
        return Moved(joined.advised, time.process_time() - began, joined.refused)
    kernel.advise(region.process, spans(region, move.chunks), Advice.WILLNEED)
    # The last page of a chunk stays unmapped: its first touch shows that the scan has come by.
    spared = PAGE if move.ahead else 0
    done = kernel.populate(region.process, _each(region, move.chunks, spared))
    watched.moved_in += done.advised
    left = spared // PAGE
    region.present[move.chunks] += np.maximum(region.swapped[move.chunks] - left, 0)
    region.swapped[move.chunks] = np.minimum(region.swapped[move.chunks], left)
    region.ahead[move.chunks] = move.ahead
    region.sent[move.chunks] = 0
    return Moved(done.advised, time.process_time() - began, done.refused)


def spans(region: WatchedRegion, chunks: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Ranges:
    """Join neighbouring chunks into ranges of addresses, in order of address."""
    ordered = np.sort(chunks)
    firsts = np.flatnonzero(np.diff(ordered, prepend=-2) != 1)
    lasts = np.append(firsts[1:] - 1, len(ordered) - 1)
    starts = region.start + ordered[firsts] * region.chunk
    ends = np.minimum(region.start + (ordered[lasts] + 1) * region.chunk, region.end)
    return np.stack((starts, ends - starts), axis=1).astype(np.int64)


def _huge(rows: Ranges) -> Ranges:
    """Cut ranges to whole huge pages, one a row: one that cannot be made does not keep the others from it."""
    found = [
        (at, HUGE)
        for start, length in rows.tolist()
        for at in range(-(-start // HUGE) * HUGE, start + length - HUGE + 1, HUGE)
    ]
    return ranges(*found)


def _each(region: WatchedRegion, chunks: np.ndarray[tuple[int], np.dtype[np.int64]], spared: int) -> Ranges:
    starts = region.start + chunks * region.chunk
    ends = np.minimum(starts + region.chunk, region.end) - spared
    rows = np.stack((starts, ends - starts), axis=1).astype(np.int64)
    return rows[rows[:, 1] > 0]


def set_limit(watched: WatchedJob, limit: int | None, kernel: Kernel) -> int:
    """Set or lift a job's limit, where it is another than now by more than a hundredth; 0 or an errno.

    A limit is never set below what the job holds at this moment: making room is the moves' work, the limit only keeps
    it. Asked for less, version 1 would reclaim in the writer's time, for as long as the job fills what was freed.
    """
    if watched.group is None or watched.memory is None:
        return 0
    if limit is not None:
        now = kernel.group_memory(watched.group)
        limit = max(limit, (watched.memory if now is None else now).current + _CLEAR)
        if watched.limit is not None and abs(limit - watched.limit) < watched.limit // 100:
            return 0
    elif watched.limit is None:
        return 0
    code = kernel.set_limit(watched.group, limit)
    if not code:
        watched.limit = limit
    return code
