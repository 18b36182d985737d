"""What is said of a node's tiers, over folders that look like the kernel's."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory_tiers.kernel import nodes
from memory_tiers.kernel.types import Node
from memory_tiers.tiers import _node_tiers, _remarks

ABILITIES = {"damon": {"held": False}}


def make_node(folder: Path, number: int, kib: int, cpus: str, distance: str) -> None:
    node = folder / f"node{number}"
    node.mkdir(parents=True)
    (node / "meminfo").write_text(f"Node {number} MemTotal:  {kib} kB\nNode {number} MemFree:  {kib // 2} kB\n")
    (node / "cpulist").write_text(cpus + "\n")
    (node / "distance").write_text(distance + "\n")


def make_tier(folder: Path, tier: int, node_list: str) -> None:
    (folder / f"memory_tier{tier}").mkdir(parents=True)
    (folder / f"memory_tier{tier}" / "nodelist").write_text(node_list + "\n")


@pytest.fixture
def expander(tmp_path: Path) -> tuple[Path, Path]:
    make_node(tmp_path / "nodes", 0, 4096, "0-1", "10 20")
    make_node(tmp_path / "nodes", 1, 8192, "", "20 10")
    make_node(tmp_path / "nodes", 2, 0, "", "20 20")
    return tmp_path / "nodes", tmp_path / "tiers"


def test_a_node_without_cpus_is_a_slower_tier(expander: tuple[Path, Path]) -> None:
    make_tier(expander[1], 4, "0")
    make_tier(expander[1], 22, "1")
    found = nodes.nodes(*expander)
    assert [(node.number, node.total, node.free, node.has_cpus, node.tier) for node in found] == [
        (0, 4 << 20, 2 << 20, True, 4),
        (1, 8 << 20, 4 << 20, False, 22),
    ]
    assert [tier.kind for tier in _node_tiers(found)] == ["dram", "cxl"]
    assert _remarks(found, _node_tiers(found), ABILITIES) == ()


def test_a_slow_node_in_the_tier_of_dram_is_pointed_out(expander: tuple[Path, Path]) -> None:
    make_tier(expander[1], 4, "0-1")
    found = nodes.nodes(*expander)
    (remark,) = _remarks(found, _node_tiers(found), ABILITIES)
    assert "node1" in remark
    assert "same kernel tier as DRAM (memory_tier4)" in remark


def test_a_node_with_no_far_tier_is_told_how_to_get_one() -> None:
    found = (Node(0, 1 << 30, 1 << 29, has_cpus=True, tier=4, distances=(10,)),)
    (remark,) = _remarks(found, _node_tiers(found), ABILITIES)
    assert "tierwise tiers setup zram" in remark


def test_without_numa_the_machine_is_one_node(tmp_path: Path) -> None:
    (only,) = nodes.nodes(tmp_path / "none", tmp_path / "none")
    assert (only.number, only.has_cpus, only.tier) == (0, True, -1)
    assert only.total > 0
