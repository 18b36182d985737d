"""A short measurement of each tier: latency and bandwidth, kept until the node is started anew or its tiers change.

DRAM is measured by a chain of dependent reads through more than the caches hold, and by summing a long array. A swap
area is measured by paging a few MiB of this process out and touching them again, where it is the one that the kernel
uses first: the kernel fills the area of the highest priority, and only that can be measured without emptying others.
"""

from __future__ import annotations

import json
import mmap
import os
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from memory_tiers.kernel import madvise, nodes, pagemap, processes, swaps
from memory_tiers.kernel.types import PAGE, Advice, ranges
from memory_tiers.tiers import Inventory, Tier

CACHE = Path("/run/tierwise/tiers.json")

_CHAIN = 1 << 23
"""Entries of the chain: 64 MiB, beyond the caches of most."""
_STEPS = 200_000
_SWAPPED = 16 << 20
"""Bytes that are paged out and touched again."""


def measured(inventory: Inventory, cache: Path = CACHE, again: bool = False) -> Inventory:
    """Add latency and bandwidth to an inventory.

    Parameters
    ----------
    inventory : Inventory
        As `memory_tiers.tiers.discover` returns it.
    cache : Path
        Where results are kept; not kept where that cannot be written.
    again : bool
        Measure although results are kept.

    Returns
    -------
    Inventory
        The same with what could be measured filled in.
    """
    known = {} if again else _kept(cache)
    tiers = []
    first = _first_area()
    for tier in inventory.tiers:
        mark = f"{tier.name} {tier.kind} {tier.capacity}"
        if mark not in known:
            known[mark] = _measure(tier, tier.name == first)
        latency, bandwidth = known[mark]
        tiers.append(replace(tier, latency_ns=latency, bandwidth=bandwidth))
    _keep(cache, known)
    return replace(inventory, tiers=tuple(tiers))


def _first_area() -> str | None:
    areas = [area for area in swaps.areas() if area.size - area.used > 2 * _SWAPPED]
    first = max(areas, key=lambda area: area.priority, default=None)
    return None if first is None else first.path


def _measure(tier: Tier, is_first: bool) -> tuple[float | None, float | None]:
    if tier.kind == "dram" and tier.name == "node0":
        return dram_latency(), dram_bandwidth()
    if tier.kind in ("zram", "swap") and is_first and os.geteuid() == 0:
        return swap_speed()
    return None, None


def dram_latency() -> float:
    """Return nanoseconds of a dependent read, of the quickest of three runs.

    numpy follows the chain for us: `take` of an index array by itself makes each round's reads depend on the last.
    """
    generator = np.random.default_rng(1)
    order = generator.permutation(_CHAIN)
    following = np.empty(_CHAIN, dtype=np.int64)
    following[order] = np.roll(order, -1)
    return min(_chase(following) for _ in range(3))


def _chase(following: np.ndarray[tuple[int], np.dtype[np.int64]]) -> float:
    chain = memoryview(following.data)
    few = memoryview(np.zeros(1, dtype=np.int64).data)
    at, began = 0, time.perf_counter()
    for _ in range(_STEPS):
        at = chain[at]
    middle = time.perf_counter()
    # The same loop over one cached word is what the interpreter takes.
    at = 0
    for _ in range(_STEPS):
        at = few[at]
    ended = time.perf_counter()
    return max(1.0, ((middle - began) - (ended - middle)) / _STEPS * 1e9)


def dram_bandwidth() -> float:
    """Return bytes per second of summing a long array, of the quickest of three runs."""
    array = np.ones(_CHAIN, dtype=np.int64)
    best = 0.0
    for _ in range(3):
        began = time.perf_counter()
        array.sum()
        best = max(best, array.nbytes / (time.perf_counter() - began))
    return best


def swap_speed() -> tuple[float | None, float | None]:
    """Return the latency [ns] of touching a page that is far, and bytes per second of bringing many back.

    Returns
    -------
    tuple
        None for both where nothing could be paged out.
    """
    memory = mmap.mmap(-1, _SWAPPED, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    array = np.frombuffer(memory, dtype=np.int64)
    # Half random, half constant: pages that compress as many arrays of numbers do.
    array[:] = np.random.default_rng(2).integers(0, 1 << 62, len(array))
    array.reshape(-1, PAGE // 8)[:, PAGE // 16 :] = 7
    me = processes.open_process(os.getpid())
    if me is None:
        return None, None
    address = array.ctypes.data
    try:
        whole = ranges((address, _SWAPPED))
        madvise.advise(me, whole, Advice.PAGEOUT)
        if pagemap.residency(me, address, address + _SWAPPED, _SWAPPED).swapped.sum() < _SWAPPED // PAGE // 2:
            return None, None
        latencies = []
        for page in np.random.default_rng(3).permutation(_SWAPPED // PAGE)[:256]:
            began = time.perf_counter_ns()
            int(array[int(page) * (PAGE // 8)])
            latencies.append(time.perf_counter_ns() - began)
        madvise.advise(me, whole, Advice.PAGEOUT)
        start = time.perf_counter()
        madvise.advise(me, whole, Advice.WILLNEED)
        madvise.populate(me, whole)
        return float(np.median(latencies)), _SWAPPED / (time.perf_counter() - start)
    finally:
        processes.close_process(me)


def _kept(cache: Path) -> dict[str, tuple[float | None, float | None]]:
    try:
        document = json.loads(cache.read_text())
        if document["boot"] != nodes.boot_id():
            return {}
        return {mark: (pair[0], pair[1]) for mark, pair in document["speeds"].items()}
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return {}


def _keep(cache: Path, known: dict[str, tuple[float | None, float | None]]) -> None:
    try:
        cache.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        new = cache.with_suffix(".new")
        new.write_text(json.dumps({"boot": nodes.boot_id(), "speeds": known}))
        new.replace(cache)
    except OSError:
        return
