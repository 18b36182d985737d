"""Pages of another process, moved out and back on the running kernel, and what is said of partial results."""

from __future__ import annotations

import errno
import mmap
import os
import subprocess
import sys
from pathlib import Path

import pytest

from memory_tiers.kernel import DryRunKernel, RealKernel, pagemap, processes
from memory_tiers.kernel.types import PAGE, Advice, Process, ranges
from tests.kernel.conftest import MIB, Holder

pytestmark = pytest.mark.kernel


def whole(holder: Holder) -> tuple[int, int]:
    return holder.mapping.start, holder.mapping.size


def counts(kernel: RealKernel, holder: Holder, chunk: int = MIB) -> tuple[int, int]:
    found = kernel.residency(holder.process, holder.mapping.start, holder.mapping.end, chunk)
    return int(found.present.sum()), int(found.swapped.sum())


def test_pages_go_out_come_back_and_hold_what_they_held(kernel: RealKernel, far_tier: str, holder: Holder) -> None:
    before = holder.checksum()
    pages = holder.mapping.size // PAGE
    assert counts(kernel, holder) == (pages, 0)
    advised = kernel.advise(holder.process, ranges(whole(holder)), Advice.PAGEOUT)
    assert advised.advised == advised.asked == holder.mapping.size
    present, swapped = counts(kernel, holder)
    assert swapped > 0.95 * pages
    assert present + swapped == pages
    kernel.advise(holder.process, ranges(whole(holder)), Advice.WILLNEED)
    assert counts(kernel, holder)[1] == swapped, "in the swap cache, not yet mapped"
    assert kernel.populate(holder.process, ranges(whole(holder))).advised == holder.mapping.size
    assert counts(kernel, holder) == (pages, 0)
    assert holder.checksum() == before


def test_a_chunk_counts_its_own_pages_only(kernel: RealKernel, far_tier: str, holder: Holder) -> None:
    start = holder.mapping.start
    kernel.advise(holder.process, ranges((start + 3 * MIB, 2 * MIB), (start + 9 * MIB, 4 * PAGE)), Advice.PAGEOUT)
    found = kernel.residency(holder.process, start, holder.mapping.end, MIB)
    assert list(found.swapped[2:6]) == [0, 256, 256, 0]
    assert found.swapped[9] == 4
    assert found.present[9] == 252


def test_the_old_table_says_the_same_as_the_new_request(kernel: RealKernel, far_tier: str, holder: Holder) -> None:
    start = holder.mapping.start
    kernel.advise(holder.process, ranges((start + MIB, 3 * MIB), (start + 8 * MIB, PAGE)), Advice.PAGEOUT)
    if not pagemap.is_supported():
        pytest.skip("this kernel has no PAGEMAP_SCAN to compare with")
    descriptor = os.open(f"/proc/{holder.process.pid}/pagemap", os.O_RDONLY)
    try:
        new = pagemap._scanned(descriptor, start, holder.mapping.end)
        old = pagemap._tabled(descriptor, start, holder.mapping.end)
    finally:
        os.close(descriptor)
    assert new is not None
    assert old[old[:, 2] != 0].tolist() == new.tolist()


def test_more_ranges_than_one_call_takes_are_all_advised(kernel: RealKernel, far_tier: str, holder: Holder) -> None:
    start = holder.mapping.start
    every_other = ranges(*((start + 2 * PAGE * number, PAGE) for number in range(3000)))
    advised = kernel.advise(holder.process, every_other, Advice.PAGEOUT)
    assert advised.advised == 3000 * PAGE
    assert counts(kernel, holder)[1] >= 2900


def test_a_range_that_is_not_mapped_is_left_out_and_the_rest_goes_on(
    kernel: RealKernel, far_tier: str, holder: Holder
) -> None:
    start = holder.mapping.start
    advised = kernel.advise(
        holder.process,
        ranges((start, MIB), (PAGE, MIB), (start + 2 * MIB, MIB), (PAGE * 9, PAGE), (start + 4 * MIB, MIB)),
        Advice.PAGEOUT,
    )
    assert (advised.advised, advised.holes, advised.refused, advised.gone) == (3 * MIB, 2, 0, False)
    found = kernel.residency(holder.process, start, holder.mapping.end, MIB)
    assert list(found.swapped[:5]) == [256, 0, 256, 0, 256]


def test_a_process_that_has_ended_is_gone_and_not_an_error(kernel: RealKernel, holder: Holder) -> None:
    holder.child.kill()
    holder.child.wait()
    assert not kernel.is_alive(holder.process)
    assert kernel.advise(holder.process, ranges(whole(holder)), Advice.PAGEOUT).gone
    assert kernel.populate(holder.process, ranges(whole(holder))).gone
    assert kernel.residency(holder.process, *(holder.mapping.start, holder.mapping.end), MIB).gone
    assert kernel.mappings(holder.process) == ()
    assert kernel.footprint(holder.process) is None
    assert kernel.open_process(holder.process.pid) is None


def test_locked_pages_stay_and_are_seen_to_have_stayed(kernel: RealKernel, far_tier: str) -> None:
    memory = mmap.mmap(-1, 4 * MIB, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.write(b"x" * 4 * MIB)
    import ctypes

    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    assert ctypes.CDLL(None, use_errno=True).mlock(ctypes.c_void_p(address), ctypes.c_size_t(4 * MIB)) == 0
    me = processes.open_process(os.getpid())
    assert me is not None
    advised = kernel.advise(me, ranges((address, 4 * MIB)), Advice.PAGEOUT)
    assert advised.advised == 4 * MIB or advised.holes == 1
    assert kernel.residency(me, address, address + 4 * MIB, MIB).present.sum() == 1024
    processes.close_process(me)


def test_the_footprint_shows_what_went_to_the_far_tier(kernel: RealKernel, far_tier: str, holder: Holder) -> None:
    kernel.advise(holder.process, ranges((holder.mapping.start, 16 * MIB)), Advice.PAGEOUT)
    found = kernel.footprint(holder.process)
    assert found is not None
    assert 15 * MIB < found.swapped <= 17 * MIB
    assert found.anonymous >= 16 * MIB


def test_a_dry_run_says_what_it_would_do_and_leaves_the_pages(far_tier: str, holder: Holder) -> None:
    lines: list[str] = []
    dry = DryRunKernel(lines.append)
    dry.advise(holder.process, ranges(whole(holder)), Advice.PAGEOUT)
    assert lines == [f"would advise PAGEOUT on {holder.mapping.size} bytes in 1 ranges of process {holder.process.pid}"]
    assert counts(dry, holder)[1] == 0


def test_who_may_not_is_refused_with_the_reason(kernel: RealKernel, holder: Holder) -> None:
    code = f"""
import os, sys
sys.path.insert(0, {str(Path.cwd())!r})
from memory_tiers.kernel import madvise
from memory_tiers.kernel.types import *
descriptor = os.pidfd_open({holder.process.pid})
os.setuid(65534)
process = Process({holder.process.pid}, descriptor, 0, 0)
advised = madvise.advise(process, ranges(({holder.mapping.start}, 4096)), Advice.PAGEOUT)
print(advised.refused, madvise.populate(process, ranges(({holder.mapping.start}, 4096))).refused)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert set(map(int, said)) <= {errno.EPERM, errno.EACCES}


def test_a_held_process_keeps_its_uid_and_start(kernel: RealKernel, holder: Holder) -> None:
    held = kernel.open_process(holder.process.pid)
    assert held is not None
    assert (held.uid, held.started) == (os.getuid(), holder.process.started)
    kernel.close_process(held)
    assert kernel.parents()[holder.process.pid] == os.getpid()
    assert isinstance(held, Process)
