"""Where a process's pages are: the PAGEMAP_SCAN request of /proc/PID/pagemap (Linux 6.7), and its plain table before.

Source: Documentation/admin-guide/mm/pagemap.rst and include/uapi/linux/fs.h of Linux.
"""

from __future__ import annotations

import ctypes
import errno
import os
import time

import numpy as np
import numpy.typing as npt

from memory_tiers.kernel import raw
from memory_tiers.kernel.madvise import is_alive
from memory_tiers.kernel.types import PAGE, Process, Residency

PRESENT, SWAPPED = 1 << 3, 1 << 4
"""PAGE_IS_PRESENT and PAGE_IS_SWAPPED."""

_REGIONS = 8192
"""Rows of the answer to one request; a request is repeated where they do not suffice."""

_TABLE_PRESENT, _TABLE_SWAPPED = np.uint64(1 << 63), np.uint64(1 << 62)


class _Scan(ctypes.Structure):
    """The kernel's struct pm_scan_arg."""

    _fields_ = tuple(
        (field, ctypes.c_uint64)
        for field in (
            "size",
            "flags",
            "start",
            "end",
            "walk_end",
            "vector",
            "vector_length",
            "most_pages",
            "inverted",
            "mask",
            "any_of",
            "returned",
        )
    )


_PAGEMAP_SCAN = 3 << 30 | ctypes.sizeof(_Scan) << 16 | ord("f") << 8 | 16
"""_IOWR('f', 16, struct pm_scan_arg)."""


def is_supported() -> bool:
    """Tell whether this kernel has PAGEMAP_SCAN, by asking it about this process."""
    try:
        descriptor = os.open("/proc/self/pagemap", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        request = _Scan(size=ctypes.sizeof(_Scan), start=0, end=PAGE, any_of=PRESENT, returned=PRESENT)
        return raw.ioctl(descriptor, _PAGEMAP_SCAN, request) >= 0
    finally:
        os.close(descriptor)


def is_present(process: Process, address: int) -> bool:
    """Tell whether the page at an address [bytes] is mapped; no where the process has ended."""
    try:
        descriptor = os.open(f"/proc/{process.pid}/pagemap", os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, ProcessLookupError):
        return False
    try:
        entry = os.pread(descriptor, 8, address // PAGE * 8)
    except ProcessLookupError:
        return False
    finally:
        os.close(descriptor)
    return len(entry) == 8 and bool(entry[7] & 0x80) and is_alive(process)


def residency(process: Process, start: int, end: int, chunk: int) -> Residency:
    """Count a stretch's pages that are mapped and that are swapped out, chunk by chunk.

    Parameters
    ----------
    process : Process
        Whose pages.
    start, end : int
        Addresses [bytes], multiples of the page; the last chunk may be shorter.
    chunk : int
        Bytes of a chunk, a multiple of the page.

    Returns
    -------
    Residency
        Empty of pages, and `gone`, where the process has ended.

    Raises
    ------
    OSError
        Where the kernel does not let this process look.
    """
    began = time.perf_counter()
    chunks = -(-(end - start) // chunk)
    nothing = np.zeros(chunks, dtype=np.int64)
    try:
        descriptor = os.open(f"/proc/{process.pid}/pagemap", os.O_RDONLY | os.O_CLOEXEC)
    except (FileNotFoundError, ProcessLookupError):
        return Residency(start, chunk, nothing, nothing, gone=True)
    try:
        if not is_alive(process):
            return Residency(start, chunk, nothing, nothing, gone=True)
        found = _scanned(descriptor, start, end)
        if found is None:
            found = _tabled(descriptor, start, end)
    except ProcessLookupError:
        return Residency(start, chunk, nothing, nothing, gone=True)
    finally:
        os.close(descriptor)
    edges = np.minimum(start + chunk * np.arange(chunks + 1, dtype=np.int64), end)
    present = _pages_per_chunk(found[found[:, 2] & PRESENT != 0], edges)
    swapped = _pages_per_chunk(found[found[:, 2] & SWAPPED != 0], edges)
    return Residency(start, chunk, present, swapped, time.perf_counter() - began)


def _scanned(descriptor: int, start: int, end: int) -> npt.NDArray[np.int64] | None:
    """Rows (start, end, categories); None where the kernel has no such request."""
    parts = []
    while start < end:
        rows = np.empty((_REGIONS, 3), dtype=np.int64)
        request = _Scan(
            size=ctypes.sizeof(_Scan),
            start=start,
            end=end,
            vector=rows.ctypes.data,
            vector_length=_REGIONS,
            any_of=PRESENT | SWAPPED,
            returned=PRESENT | SWAPPED,
        )
        count = raw.ioctl(descriptor, _PAGEMAP_SCAN, request)
        if count == -errno.ESRCH:
            break
        if count in (-errno.ENOTTY, -errno.EINVAL):
            return None
        if count < 0:
            raise OSError(-count, os.strerror(-count), "PAGEMAP_SCAN")
        parts.append(rows[:count])
        start = int(request.walk_end)
    return np.concatenate(parts) if parts else np.empty((0, 3), dtype=np.int64)


def _tabled(descriptor: int, start: int, end: int) -> npt.NDArray[np.int64]:
    """Rows from the plain table: eight bytes a page, read one by one."""
    entries = np.frombuffer(os.pread(descriptor, (end - start) // PAGE * 8, start // PAGE * 8), dtype=np.uint64)
    state = np.where(entries & _TABLE_PRESENT != 0, PRESENT, np.where(entries & _TABLE_SWAPPED != 0, SWAPPED, 0))
    cuts = np.flatnonzero(np.diff(state, prepend=-1, append=-1))
    rows = np.stack((start + cuts[:-1] * PAGE, start + cuts[1:] * PAGE, state[cuts[:-1]]), axis=1)
    return rows.astype(np.int64)


def _pages_per_chunk(rows: npt.NDArray[np.int64], edges: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    if not len(rows):
        return np.zeros(len(edges) - 1, dtype=np.int64)
    lengths = rows[:, 1] - rows[:, 0]
    before = np.concatenate(([0], np.cumsum(lengths)))
    at = np.searchsorted(rows[:, 0], edges, side="right")
    previous = np.maximum(at - 1, 0)
    inside = np.clip(edges - rows[previous, 0], 0, lengths[previous])
    below = np.where(at > 0, before[previous] + inside, 0)
    return np.asarray(np.diff(below) // PAGE, dtype=np.int64)
