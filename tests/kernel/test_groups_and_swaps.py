"""Control groups, swap areas, nodes and pressure of the running kernel."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from memory_tiers.kernel import RealKernel, cgroups, damon, merging, nodes, swaps
from tests.kernel.conftest import CHILD, MIB

pytestmark = pytest.mark.kernel


def test_a_zram_device_is_a_swap_area_until_it_is_taken_away(kernel: RealKernel) -> None:
    device = swaps.add_zram(256 * MIB, "lz4", 31000)
    found = {area.path: area for area in kernel.swap_areas()}[device]
    assert (found.kind, found.priority) == ("zram", 31000)
    assert 255 * MIB < found.size <= 256 * MIB
    swaps.remove_zram(device)
    assert device not in {area.path for area in kernel.swap_areas()}
    assert not (Path("/sys/block") / Path(device).name).exists()


def test_a_zram_device_of_an_unknown_algorithm_leaves_nothing_behind(kernel: RealKernel) -> None:
    before = sorted(path.name for path in Path("/sys/block").iterdir())
    with pytest.raises(swaps.SwapError, match="algorithms:"):
        swaps.add_zram(64 * MIB, "nonsense", 31000)
    assert sorted(path.name for path in Path("/sys/block").iterdir()) == before


def test_a_swap_file_is_a_swap_area_until_it_is_taken_away(kernel: RealKernel, tmp_path: Path) -> None:
    file = tmp_path / "far"
    swaps.add_file(file, 64 * MIB, 5)
    found = {area.path: area for area in kernel.swap_areas()}[str(file)]
    assert (found.kind, found.priority) == ("swap", 5)
    with pytest.raises(swaps.SwapError, match="EEXIST"):
        swaps.add_file(file, 64 * MIB, 5)
    swaps.remove_file(file)
    assert not file.exists()
    assert str(file) not in {area.path for area in kernel.swap_areas()}


def test_a_limit_makes_the_kernel_reclaim_from_that_group(kernel: RealKernel, far_tier: str, group: Path) -> None:
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, str(64 * MIB), str(group)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout is not None
        child.stdout.readline()
        assert kernel.group_processes(group) == (child.pid,)
        before = kernel.group_memory(group)
        assert before is not None
        assert before.current > 64 * MIB
        assert kernel.set_limit(group, 40 * MIB) == 0
        after = kernel.group_memory(group)
        assert after is not None
        assert after.current <= 41 * MIB
        assert after.swapped > 20 * MIB
        assert kernel.set_limit(group, None) == 0
    finally:
        child.kill()
        child.wait()


def test_a_group_that_has_vanished_is_none(kernel: RealKernel, group: Path) -> None:
    assert kernel.group_memory(group / "gone") is None
    assert kernel.group_processes(group / "gone") == ()
    assert kernel.set_limit(group / "gone", 1 << 30) != 0


def test_the_nodes_hold_the_machine(kernel: RealKernel) -> None:
    found = nodes.nodes()
    total, available = kernel.machine_memory()
    assert 0 < sum(node.total for node in found) <= 1.2 * total, "less where a hypervisor holds some of it back"
    assert 0 < available <= total
    assert any(node.has_cpus for node in found)


def test_a_process_offers_its_memory_to_ksm(kernel: RealKernel) -> None:
    code = "from memory_tiers.kernel import merging as m; print(m.merge_this_process(), m.is_merging())"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=Path.cwd())
    assert said.stdout == "0 True\n"
    assert not merging.is_merging()


def test_looking_at_damon_changes_nothing(kernel: RealKernel) -> None:
    assert damon.look() == damon.look()


def test_memory_is_controlled_by_one_version(kernel: RealKernel, group: Path) -> None:
    found = cgroups.memory_root()
    assert found is not None
    assert cgroups.version(group) == found[0]
