"""The knapsack cover on its own: against all subsets, and on inputs made to be hard."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cosim import cover
from cosim.cover import NONE_BETTER, UNREACHED, lower_bound, minimum_cover, prices

tables = st.integers(1, 9).flatmap(
    lambda jobs: st.tuples(
        st.lists(st.integers(1, 12), min_size=jobs, max_size=jobs),
        st.lists(st.integers(0, 30) | st.sampled_from([0, 10**12]), min_size=jobs, max_size=jobs),
        st.integers(1, 60),
        st.integers(1, 80) | st.just(UNREACHED),
    )
)


def by_trying_all(nodes: list[int], price: list[int], need: int, limit: int) -> tuple[int, list[int]] | None:
    best = None
    for size in range(len(nodes) + 1):
        for chosen in itertools.combinations(range(len(nodes)), size):
            freed = sum(nodes[j] for j in chosen)
            key = (sum(price[j] for j in chosen), freed, list(chosen))
            if freed >= need and key[0] < limit and (best is None or key < best):
                best = key
    return None if best is None else (best[0], best[2])


@given(tables)
@settings(max_examples=300, deadline=None)
def test_equals_trying_all_sets_ties_included(table: tuple[list[int], list[int], int, int]) -> None:
    nodes, price, need, limit = table
    arguments = (np.array(nodes, np.int64), np.array(price, np.int64), need, limit)
    total, chosen, _ = minimum_cover(*arguments)
    expected = by_trying_all(nodes, price, need, limit)
    if expected is None:
        assert (total, chosen.any()) == (NONE_BETTER, False)
    else:
        assert total == expected[0]
        # A job of price 0 may be left out or taken at no cost: only the price and the nodes freed are settled then.
        if min(price) > 0:
            assert np.flatnonzero(chosen).tolist() == expected[1]
    plain = minimum_cover.py_func(*arguments)
    assert plain[0] == total
    assert np.array_equal(plain[1], chosen)


@pytest.mark.parametrize("name", ["lower_bound", "_relax", "_settle", "_programme", "prices"])
def test_each_kernel_equals_its_plain_twin(name: str) -> None:
    rng = np.random.default_rng(5)
    kernel = getattr(cover, name)
    for _ in range(50):
        nodes, price = rng.integers(1, 20, 15), rng.integers(1, 1000, 15)
        need = int(rng.integers(1, nodes.sum()))
        arguments = {
            "lower_bound": (nodes, price, need, 12.5),
            "_relax": (nodes, price, need),
            "_settle": (nodes, price, 400.0, 12.5, 500),
            "_programme": (nodes, price, need),
            "prices": (price, 15),
        }[name]
        compiled, plain = kernel(*arguments), kernel.py_func(*arguments)
        both = zip(compiled, plain, strict=True) if isinstance(compiled, tuple) else [(compiled, plain)]
        assert all(np.array_equal(a, b) for a, b in both)


def freed_and_price(nodes: np.ndarray, loss: np.ndarray, need: int) -> tuple[int, int, int]:
    price = prices(loss, len(nodes))
    total, chosen, _ = minimum_cover(nodes, price, need, UNREACHED)
    assert int(price[chosen].sum()) == total
    return int(nodes[chosen].sum()), int(loss[chosen].sum()), int(chosen.sum())


def test_all_jobs_of_one_price_per_node_free_exactly_the_need() -> None:
    nodes = np.arange(1, 60)
    assert freed_and_price(nodes, nodes * 10**6, 777)[:2] == (777, 777 * 10**6)


def test_losses_of_zero_leave_fewest_victims_and_nodes() -> None:
    nodes = np.array([5, 4, 4, 3, 1])
    assert freed_and_price(nodes, np.zeros(5, np.int64), 9) == (9, 0, 2)


def test_a_need_of_everything_takes_everything_and_one_more_node_is_too_much() -> None:
    nodes = np.array([5, 4, 3])
    assert freed_and_price(nodes, np.array([7, 8, 9]), 12) == (12, 24, 3)
    assert minimum_cover(nodes, np.array([7, 8, 9]), 13, UNREACHED)[0] == NONE_BETTER


def test_nodes_in_blocks_are_chosen_as_single_nodes_are() -> None:
    rng = np.random.default_rng(11)
    for _ in range(100):
        nodes, price = rng.integers(1, 9, 9), rng.integers(1, 9, 9)
        need = int(rng.integers(1, nodes.sum()))
        single = minimum_cover(nodes, price, need, UNREACHED)
        blocks = minimum_cover(nodes * 512, price, need * 512 - int(rng.integers(0, 512)), UNREACHED)
        assert single[0] == blocks[0]
        assert np.array_equal(single[1], blocks[1])


def test_a_need_of_one_takes_the_cheapest_job() -> None:
    assert freed_and_price(np.array([100, 1, 50]), np.array([3, 5, 4]), 1) == (100, 3, 1)


def test_prices_close_to_the_largest_are_added_up_exactly() -> None:
    jobs = 8
    loss = np.full(jobs, (UNREACHED // 2) // (jobs * (jobs + 2)), np.int64) - np.arange(jobs)
    nodes = np.full(jobs, 3)
    # The losses differ by one unit in 10**16: taking the last six is cheaper than any other six.
    price = prices(loss, jobs)
    total, chosen, _ = minimum_cover(nodes, price, 18, UNREACHED)
    assert np.flatnonzero(chosen).tolist() == [2, 3, 4, 5, 6, 7]
    assert total == int(price[2:].sum())


@given(tables, st.floats(0, 1e15))
@settings(max_examples=200, deadline=None)
def test_a_lower_bound_never_exceeds_the_lowest_price(
    table: tuple[list[int], list[int], int, int], multiplier: float
) -> None:
    nodes, price, need, _ = table
    best = by_trying_all(nodes, price, need, UNREACHED)
    if best is not None:
        assert lower_bound(np.array(nodes, np.int64), np.array(price, np.int64), need, multiplier) <= best[0]


def test_only_covers_below_the_limit_are_returned() -> None:
    nodes, price = np.array([4, 4]), np.array([10, 11])
    assert minimum_cover(nodes, price, 4, 10)[0] == NONE_BETTER
    assert minimum_cover(nodes, price, 4, 11)[0] == 10
