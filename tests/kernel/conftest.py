"""Real things that the kernel's tests start and end themselves: a zram device, a control group, a process."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from memory_tiers.kernel import RealKernel, cgroups, processes, swaps
from memory_tiers.kernel.types import Mapping, Process
from tests.availability import unavailable

MIB = 1 << 20

CHILD = """
import mmap, sys, zlib
if len(sys.argv) > 2:
    open(sys.argv[2] + "/cgroup.procs", "w").write("0")
size = int(sys.argv[1])
memory = mmap.mmap(-1, size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, size, 4096):
    memory[at:at + 512] = (at // 4096).to_bytes(8, "little") * 64
print("ready", flush=True)
for line in sys.stdin:
    first, last = (int(word) for word in line.split())
    print(zlib.crc32(memory[first:last]), flush=True)
"""


@dataclass
class Holder:
    """A process that holds private memory and says check sums of it."""

    child: subprocess.Popen[str]
    process: Process
    mapping: Mapping

    def checksum(self, first: int = 0, last: int | None = None) -> int:
        """Have the process read a stretch of its memory."""
        assert self.child.stdin is not None
        assert self.child.stdout is not None
        self.child.stdin.write(f"{first} {self.mapping.size if last is None else last}\n")
        self.child.stdin.flush()
        return int(self.child.stdout.readline())


@pytest.fixture
def kernel() -> RealKernel:
    """Return the running kernel, or skip where this process may not act on it."""
    if os.geteuid() != 0:
        unavailable("kernel", "not root: these tests advise other processes' pages and make swap areas")
    return RealKernel()


@pytest.fixture
def far_tier(kernel: RealKernel) -> Iterator[str]:
    """Swap to a zram device of our own."""
    try:
        device = swaps.add_zram(512 * MIB, None, 32000)
    except swaps.SwapError as error:
        unavailable("kernel", f"no zram device: {error}")
    yield device
    swaps.remove_zram(device)


@pytest.fixture
def group(kernel: RealKernel) -> Iterator[Path]:
    """Make a memory control group of our own."""
    found = cgroups.memory_root()
    if found is None:
        unavailable("kernel", "no memory controller in /sys/fs/cgroup")
    folder = found[1] / f"tierwise-test-{uuid.uuid4().hex[:8]}"
    try:
        folder.mkdir()
    except OSError as error:
        unavailable("kernel", f"no control group can be made: {error}")
    yield folder
    for pid in (folder / "cgroup.procs").read_text().split():
        (folder.parent / "cgroup.procs").write_text(pid)
    folder.rmdir()


@pytest.fixture
def holder(kernel: RealKernel) -> Iterator[Holder]:
    """Start a process that holds 32 MiB."""
    size = 32 * MIB
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(size)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stdout.readline() == "ready\n"
    process = processes.open_process(child.pid)
    assert process is not None
    # The kernel may have joined it with a neighbour: the largest private mapping is it.
    largest = max((found for found in kernel.mappings(process) if found.is_private_memory), key=lambda one: one.size)
    assert largest.size >= size
    yield Holder(child, process, Mapping(largest.end - size, largest.end, largest.permissions, largest.path))
    child.kill()
    child.wait()
    processes.close_process(process)
