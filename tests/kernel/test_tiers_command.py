"""`tierwise tiers` on the running kernel: the form that programs read, setting up and taking away."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from memory_tiers import far
from memory_tiers.kernel import RealKernel, swaps
from memory_tiers.measure import measured
from memory_tiers.tiers import discover
from traces.errors import InputError

pytestmark = pytest.mark.kernel

MIB = 1 << 20
TIERWISE = str(Path(sys.executable).with_name("tierwise"))


def tiers_json(*options: str) -> dict[str, Any]:
    said = subprocess.run([TIERWISE, "tiers", "--json", *options], capture_output=True, text=True, check=True)
    document: dict[str, Any] = json.loads(said.stdout)
    return document


def test_programs_read_every_tier_with_its_kind_and_size(kernel: RealKernel, far_tier: str) -> None:
    document = tiers_json("--no-measure")
    by_name = {tier["name"]: tier for tier in document["tiers"]}
    assert by_name["node0"]["kind"] == "dram"
    assert by_name[far_tier]["kind"] == "zram"
    assert 0 < by_name[far_tier]["free"] <= by_name[far_tier]["capacity"] <= 512 * MIB
    assert {"latency_ns", "bandwidth"} <= by_name["node0"].keys()
    assert {"cgroup", "damon", "demotion", "memory_reclaim", "pagemap_scan"} <= document["kernel"].keys()
    assert document["tracker"].startswith("refault/")


def test_far_memory_is_measured_slower_than_dram_and_kept(kernel: RealKernel, far_tier: str, tmp_path: Path) -> None:
    cache = tmp_path / "tiers.json"
    first = {tier.name: tier for tier in measured(discover(), cache).tiers}
    near_ns, far_ns = first["node0"].latency_ns, first[far_tier].latency_ns
    assert near_ns is not None
    assert far_ns is not None
    assert 1 <= near_ns < far_ns
    assert 0 < (first[far_tier].bandwidth or 0) < (first["node0"].bandwidth or 0)
    again = {tier.name: tier for tier in measured(discover(), cache).tiers}
    assert again["node0"].latency_ns == near_ns


def test_what_was_set_up_is_taken_away_and_nothing_else(kernel: RealKernel, far_tier: str, tmp_path: Path) -> None:
    record = tmp_path / "far.json"
    device = far.setup_zram(64 * MIB, record=record)
    far.setup_file(tmp_path / "swapfile", 32 * MIB, record=record)
    assert {device, str(tmp_path / "swapfile")} <= {area.path for area in swaps.areas()}
    assert far.teardown(record) == (str(tmp_path / "swapfile"), device)
    assert far.teardown(record) == ()
    left = {area.path for area in swaps.areas()}
    assert far_tier in left
    assert device not in left


def test_a_file_that_exists_is_not_made_a_swap_file(kernel: RealKernel, tmp_path: Path) -> None:
    (tmp_path / "thesis").write_text("precious")
    with pytest.raises(InputError, match="EEXIST"):
        far.setup_file(tmp_path / "thesis", 32 * MIB, record=tmp_path / "far.json")
    assert (tmp_path / "thesis").read_text() == "precious"


def test_a_wrong_size_is_one_line(kernel: RealKernel) -> None:
    said = subprocess.run(
        [TIERWISE, "tiers", "setup", "zram", "--size", "much"], capture_output=True, text=True, check=False
    )
    assert said.returncode == 2
    assert said.stderr.count("\n") == 1
    assert "--size" in said.stderr
