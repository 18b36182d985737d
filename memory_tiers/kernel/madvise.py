"""Advice about another process's pages: process_madvise(2), and mapping what is in the swap cache."""

from __future__ import annotations

import errno
import mmap
import select

import numpy as np

from memory_tiers.kernel import raw
from memory_tiers.kernel.types import Advice, Advised, Process, Ranges

_WINDOW = 256 * 1024
"""Bytes read at once into memory that nobody looks at; as large as a chunk, small enough to stay in a core's cache."""

_scratch = mmap.mmap(-1, _WINDOW)
_LOCAL = np.tile(
    np.array([np.frombuffer(_scratch, dtype=np.uint8).ctypes.data, _WINDOW], dtype=np.int64), (raw.IOVEC_LIMIT, 1)
)


def is_alive(process: Process) -> bool:
    """Tell whether a process runs still; a zombie does not."""
    poll = select.poll()
    poll.register(process.pidfd, select.POLLIN)
    return not poll.poll(0)


def advise(process: Process, ranges: Ranges, advice: Advice) -> Advised:
    """Give the kernel advice about a process's pages.

    One call takes 1024 ranges of one mapping each. It stops at a range that is not wholly mapped (EINVAL where it
    reaches past a mapping, ENOMEM or a short count at a hole): that range is left out, and the rest goes on.

    Parameters
    ----------
    process : Process
        Whose pages.
    ranges : ndarray of int64, shape (n, 2)
        Start and length of each [bytes], multiples of the page.
    advice : Advice
        What to do.

    Returns
    -------
    Advised
        How far the kernel went. A refusal of the whole (EPERM, ENOSYS) ends the call.
    """
    rows = np.ascontiguousarray(ranges, dtype=np.int64)
    asked = int(rows[:, 1].sum())
    ends = np.cumsum(rows[:, 1])
    first, advised, holes = 0, 0, 0
    while first < len(rows):
        count = min(raw.IOVEC_LIMIT, len(rows) - first)
        done = raw.call(raw.PROCESS_MADVISE, process.pidfd, rows[first:].ctypes.data, count, advice, 0)
        if done in (-errno.EINVAL, -errno.ENOMEM, -errno.EFAULT, -errno.EAGAIN):
            done, skip = 0, 1
        elif done < 0:
            return Advised(asked, advised, holes, -done, gone=done == -errno.ESRCH)
        else:
            before = int(ends[first - 1]) if first else 0
            passed = int(np.searchsorted(ends[first : first + count], before + done, side="right"))
            skip = int(passed < count)
            first += passed
        advised += done
        holes += skip
        first += skip
    return Advised(asked, advised, holes)


def populate(process: Process, ranges: Ranges) -> Advised:
    """Map a process's pages into its page table, so that its next touch of them does not fault.

    Reads them with process_vm_readv(2) into memory that nobody looks at. That call takes a process id: what is
    verified is that the process still ran afterwards, so no other can have had its id meanwhile.

    Parameters
    ----------
    process : Process
        Whose pages.
    ranges : ndarray of int64, shape (n, 2)
        Start and length of each [bytes].

    Returns
    -------
    Advised
        Bytes that are mapped now.
    """
    rows = np.ascontiguousarray(ranges, dtype=np.int64)
    asked = int(rows[:, 1].sum())
    done, holes = 0, 0
    for first in range(0, len(rows), 64):
        if not is_alive(process):
            return Advised(asked, done, holes, errno.ESRCH, gone=True)
        batch = rows[first : first + 64]
        wanted = int(batch[:, 1].sum())
        buffers = min(raw.IOVEC_LIMIT, -(-wanted // _WINDOW))
        read = raw.process_vm_readv(process.pid, _LOCAL.ctypes.data, buffers, batch.ctypes.data, len(batch))
        if read in (-errno.EPERM, -errno.ENOSYS):
            return Advised(asked, done, holes, -read)
        done += max(read, 0)
        holes += read < wanted
    return Advised(asked, done, holes, gone=not is_alive(process))
