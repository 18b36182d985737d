"""How DRAM is divided: promises hold, the sum never exceeds the node, and classes come in their order."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory_tiers.policy.targets import Margins, targets
from memory_tiers.policy.views import JobView, NodeView, TierClass
from tests.memory_tiers.views import MIB, job, node

EXACT = Margins(reserve=0.0, growth=0.0)


def test_with_room_for_all_everybody_has_what_it_holds() -> None:
    given_ = targets(node(1000, job(1, "latency", 300), job(2, "capacity", 400)), EXACT)
    assert given_ == {1: 300 * MIB, 2: 400 * MIB}


def test_a_capacity_job_gives_way_and_keeps_its_promise() -> None:
    given_ = targets(node(600, job(1, "latency", 300, 100), job(2, "capacity", 300, 420, promised=120)), EXACT)
    assert given_ == {1: 400 * MIB, 2: 200 * MIB}
    squeezed = targets(node(500, job(1, "latency", 300, 100), job(2, "capacity", 300, 420, promised=120)), EXACT)
    assert squeezed == {1: 380 * MIB, 2: 120 * MIB}


def test_a_promise_that_is_not_used_yet_is_kept_free() -> None:
    given_ = targets(node(600, job(1, "latency", 10, promised=240), job(2, "capacity", 500, 220, promised=120)), EXACT)
    assert given_ == {1: 240 * MIB, 2: 360 * MIB}


def test_a_short_job_comes_before_all_others() -> None:
    given_ = targets(node(300, job(1, "latency", 200, 100), job(2, "bandwidth", 200), job(3, "short", 40)), EXACT)
    assert given_[3] == 40 * MIB
    assert given_[1] == 260 * MIB


def test_headroom_is_given_to_nobody() -> None:
    assert sum(targets(node(600, job(1, "capacity", 600, 200), headroom=100 * MIB), EXACT).values()) == 500 * MIB


def test_promises_beyond_the_node_cost_the_capacity_job_first() -> None:
    jobs_ = (job(1, "latency", 240, promised=240), job(2, "capacity", 120, 600, promised=120), job(3, "short", 40))
    given_ = targets(node(300, *jobs_), EXACT)
    assert given_ == {1: 240 * MIB, 2: 20 * MIB, 3: 40 * MIB}


def test_promises_of_one_class_beyond_the_node_shrink_in_proportion() -> None:
    given_ = targets(node(300, job(1, "latency", 0, promised=400), job(2, "latency", 0, promised=200)), EXACT)
    assert given_ == {1: 200 * MIB, 2: 100 * MIB}


sizes = st.integers(0, 10**12)
jobs = st.lists(
    st.builds(JobView, st.integers(1, 10**6), st.sampled_from(TierClass), sizes, sizes, promised=sizes),
    unique_by=lambda one: one.job,
    max_size=8,
)


@given(st.integers(0, 10**12), jobs, st.integers(0, 10**12))
def test_the_sum_never_exceeds_the_node(near: int, some: list[JobView], headroom: int) -> None:
    found = targets(NodeView(near, 0, tuple(some), headroom), Margins())
    assert set(found) == {one.job for one in some}
    assert all(target >= 0 for target in found.values())
    assert sum(found.values()) <= max(0, near - headroom)
