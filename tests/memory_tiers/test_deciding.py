"""The plan: who gives up pages, who gets them back, and when nothing at all is moved."""

from __future__ import annotations

from memory_tiers.policy import Plan, Settings, Walk, Way, decide
from memory_tiers.policy.targets import Margins
from tests.memory_tiers.views import MIB, job, node, region

SETTINGS = Settings(margins=Margins(reserve=0.0, growth=0.0))
QUARTER = 1 / 4
"""A chunk of 64 pages [MiB]."""


def ways(plan: Plan) -> dict[int, set[Way]]:
    found: dict[int, set[Way]] = {}
    for move in plan.moves:
        found.setdefault(move.job, set()).add(move.way)
    return found


def test_while_everything_fits_nothing_is_moved() -> None:
    full = job(1, "capacity", 10, regions=(region([1] * 40),))
    assert decide(node(100, full, job(2, "latency", 20)), SETTINGS).moves == ()


def test_the_capacity_job_gives_way_to_the_latency_job_which_comes_back_whole() -> None:
    solver = job(1, "latency", 10, 10, regions=(region([1] * 40 + [0] * 40, pid=1),))
    big = job(2, "capacity", 30, 30, regions=(region([1] * 120 + [0] * 120, pid=2),))
    plan = decide(node(40, solver, big), SETTINGS)
    assert ways(plan) == {1: {Way.IN}, 2: {Way.OUT}}
    assert plan.moves[0].way is Way.OUT, "room is made before it is used"
    assert len(plan.moves[1].chunks) == 40


def test_the_coldest_chunks_go_first() -> None:
    heat = [0.0, 3.0, 0.0, 3.0, 0.0, 3.0, 0.0, 3.0]
    big = job(2, "capacity", 2, regions=(region([1] * 8, heat=heat),))
    (move,) = decide(node(1, big), SETTINGS).moves
    assert sorted(move.chunks) == [0, 2, 4, 6]


def test_a_scan_is_supplied_ahead_and_not_by_recency() -> None:
    big = job(2, "capacity", 2, 2, regions=(region([1] * 8 + [0] * 8, walk=Walk(7, 0.9)),))
    out, back = decide(node(2, big), SETTINGS).moves
    assert (out.way, back.way, back.ahead) == (Way.OUT, Way.IN, True)
    assert list(back.chunks) == [8, 9, 10, 11]
    assert sorted(out.chunks) == [4, 5, 6, 7]


def test_a_job_that_may_use_no_far_memory_keeps_its_pages() -> None:
    big = job(2, "capacity", 20, far_limit=0, regions=(region([1] * 80),))
    assert decide(node(10, big), SETTINGS).moves == ()


def test_an_agent_that_backed_off_moves_nothing_out_and_limits_nobody() -> None:
    big = job(2, "capacity", 20, may_limit=True, regions=(region([1] * 80),))
    plan = decide(node(10, big, backed_off=True), SETTINGS)
    assert plan.moves == ()
    assert plan.limits == {2: None}


def test_a_capacity_job_may_fill_what_nobody_else_has() -> None:
    plan = decide(node(600, job(1, "latency", 0, promised=240), job(2, "capacity", 1, may_limit=True)), SETTINGS)
    assert plan.limits == {2: 360 * MIB}


def test_no_limit_is_set_where_far_tiers_are_nearly_full() -> None:
    big = job(2, "capacity", 20, may_limit=True)
    assert decide(node(100, big, far_free=10), SETTINGS).limits == {2: None}


def test_a_latency_job_that_is_wholly_near_gets_huge_pages_once() -> None:
    view = region([1] * 8)
    (move,) = decide(node(100, job(1, "latency", 2, regions=(view,))), SETTINGS).moves
    assert (move.way, len(move.chunks)) == (Way.JOIN, 8)
    view.joined[:] = True
    assert decide(node(100, job(1, "latency", 2, regions=(view,))), SETTINGS).moves == ()
    assert decide(node(100, job(1, "bandwidth", 2, regions=(region([1] * 8),))), SETTINGS).moves == ()


def test_a_short_job_is_never_paged_out() -> None:
    assert decide(node(1, job(1, "short", 20, regions=(region([1] * 80),))), SETTINGS).moves == ()
