r"""The cheapest set of jobs that frees enough nodes: a 0/1 knapsack cover, solved exactly.

    minimise    sum(price[j])   over the chosen jobs j
    subject to  sum(nodes[j]) >= need

Two steps. First the linear relaxation rules most jobs in or out: with its multiplier `y` (the price per node of the
job at which the relaxation breaks), forcing job j against its reduced price ``price[j] - y * nodes[j]`` costs at least
the size of that, so where the bound exceeds a known solution the job's place is settled (Martello and Toth,
*Knapsack Problems*, 1990, section 2.2.3: reduction). Then a dynamic programme over the number of nodes freed decides
the rest (Bellman 1957; Kellerer, Pferschy and Pisinger, *Knapsack Problems*, 2004, section 13.3.3 for the cover form).

Of the sets of the lowest price, the one that frees the fewest nodes is taken, then the one whose ascending list of
indices is the lowest. Prices are integers, so that ties are ties; a caller that prefers fewer jobs among equal losses
says so in the prices (`prices`).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from cosim.jit import kernel
from cosim.snapshot import Booleans, Integers

Bytes = npt.NDArray[np.uint8]

NONE_BETTER = -1
"""Returned as the price where no cover of a price below the limit exists."""

UNREACHED = 1 << 62
"""The price of a number of nodes that no set of jobs frees; also the limit that excludes nothing."""

# Bounds are computed in floating point, whose numbers are this far apart at 1: what rounding can add is taken off
# again, so that a bound never claims more than is so.
_EPSILON = float(np.finfo(np.float64).eps)


@kernel
def prices(loss: Integers, jobs: int) -> Integers:
    """Fold "and then the fewest jobs" into the losses: one job more weighs less than the smallest difference of a loss.

    Parameters
    ----------
    loss : int64 array
        What each job loses; their sum times ``jobs + 2`` stays below ``2**62``.
    jobs : int
        At least as many as can be chosen.

    Returns
    -------
    int64 array
        ``loss * (jobs + 1) + 1``.
    """
    return loss * (jobs + 1) + 1


@kernel
def lower_bound(nodes: Integers, price: Integers, need: int, multiplier: float) -> float:
    """Bound the lowest price of a cover from below, in one pass.

    Parameters
    ----------
    nodes, price : int64 arrays, shape (jobs,)
        Nodes that each job frees, and its price.
    need : int
        Nodes needed.
    multiplier : float
        Any price per node of at least 0; the bound is the tightest at the relaxation's own.

    Returns
    -------
    float
        The Lagrangian bound ``y * need + sum(min(0, price - y * nodes))`` (Kellerer et al. 2004, section 3.8), less
        what rounding may have added: where it exceeds a whole number, so does the price of every cover.
    """
    bound = multiplier * need
    total = 0
    for j in range(len(nodes)):
        reduced = price[j] - multiplier * nodes[j]
        total += nodes[j]
        if reduced < 0:
            bound += reduced
    # Each of the terms, and each sum on the way, is off by a few units in the last place of y * (need + total) at most;
    # the comparison with a whole number of up to 2**62 is off by one more.
    return bound - (2 * len(nodes) + 16) * _EPSILON * multiplier * (need + total)


@kernel
def _relax(nodes: Integers, price: Integers, need: int) -> tuple[float, int]:
    """Return the relaxation's multiplier and the lowest price of the covers found on the way."""
    order = np.argsort(price / nodes)
    freed, spent = np.int64(0), np.int64(0)
    best = UNREACHED
    multiplier = -1.0
    for j in order:
        if freed + nodes[j] >= need:
            best = min(best, spent + price[j])
            if multiplier < 0:
                multiplier = price[j] / nodes[j]
        else:
            freed += nodes[j]
            spent += price[j]
    return multiplier, int(best)


@kernel
def _settle(nodes: Integers, price: Integers, bound: float, multiplier: float, known: int) -> tuple[Booleans, Booleans]:
    """Rule jobs in or out of every cover that costs no more than `known`; what neither holds is left open."""
    inside = np.zeros(len(nodes), np.bool_)
    outside = np.zeros(len(nodes), np.bool_)
    for j in range(len(nodes)):
        reduced = price[j] - multiplier * nodes[j]
        if (bound + abs(reduced)) * (1 - 8 * _EPSILON) > known:
            inside[j] = reduced < 0
            outside[j] = reduced > 0
    return inside, outside


@kernel
def _common_divisor(nodes: Integers) -> int:
    """Return what all node counts divide by: machines that hand nodes out in blocks need a table of blocks alone."""
    common = nodes[0]
    for other in nodes:
        while other > 0:
            common, other = other, common % other  # noqa: PLW2901 - Euclid's algorithm
    return int(common)


@kernel
def _pack(row: Bytes, packed: Bytes, first: int, last: int) -> None:
    """Write the flags first..last of `row` as bits of `packed`: a table of bytes would not fit a large machine."""
    for byte in range(first >> 3, (last >> 3) + 1):
        bits = 0
        for bit in range(8):
            bits |= row[(byte << 3) + bit] << bit
        packed[byte] = bits


@kernel
def _take_or_leave(with_j: Integers, price: int, without_j: Integers, best: Integers, taken: Bytes) -> None:
    """Write down the cheaper of taking job j and leaving it, and which it was, for a range of nodes freed."""
    # The hot loop. Arrays that all begin at the same place let the compiler use vector instructions.
    for place in range(len(without_j)):
        cost = with_j[place] + price
        # On a tie job j is taken: it is the lowest index looked at so far.
        taken[place] = cost <= without_j[place]
        best[place] = min(cost, without_j[place])


@kernel
def _programme(nodes: Integers, price: Integers, need: int) -> tuple[int, Booleans]:
    """Decide by dynamic programming over the exact number of nodes freed; the jobs' total reaches `need`."""
    jobs = len(nodes)
    # A smallest best cover frees less than `need` without its smallest job, so it frees at most this.
    most = min(need + nodes.max() - 1, nodes.sum())
    before = np.full(most + 1, UNREACHED, np.int64)
    after = np.full(most + 1, UNREACHED, np.int64)
    before[0] = 0
    row = np.zeros(most + 8, np.uint8)
    taken = np.zeros((jobs, most // 8 + 1), np.uint8)
    to_come = nodes.sum()
    reach = np.int64(0)
    for j in range(jobs - 1, -1, -1):
        own, own_price = nodes[j], price[j]
        reach = min(most, reach + own)
        to_come -= own
        # What frees less than this cannot be completed by the jobs that are still to come.
        low = max(np.int64(0), need - to_come)
        first = max(low, own)
        for freed in range(low, min(own, reach + 1)):
            after[freed] = before[freed]
        if first <= reach:
            with_j = before[first - own : reach + 1 - own]
            _take_or_leave(with_j, own_price, before[first : reach + 1], after[first:], row[first:])
            row[first & ~7 : first] = 0
            row[reach + 1 : reach + 8] = 0
            _pack(row, taken[j], first, int(reach))
        before, after = after, before
    best = need + np.argmin(before[need:])
    chosen = np.zeros(jobs, np.bool_)
    left = best
    for j in range(jobs):
        if left > 0 and taken[j, left >> 3] >> (left & 7) & 1:
            chosen[j] = True
            left -= nodes[j]
    return before[best], chosen


@kernel
def minimum_cover(nodes: Integers, price: Integers, need: int, limit: int) -> tuple[int, Booleans, float]:
    """Choose the jobs of lowest total price that free at least `need` nodes, if they cost less than `limit`.

    Parameters
    ----------
    nodes : int64 array, shape (jobs,)
        Nodes that each job frees, at least 1 each.
    price : int64 array, shape (jobs,)
        Cost of each job, at least 0; the sum stays below ``2**62``.
    need : int
        Nodes needed, at least 1.
    limit : int
        Covers that cost this much or more are of no interest; `UNREACHED` where all are.

    Returns
    -------
    price : int
        The lowest price, or `NONE_BETTER`.
    chosen : bool array, shape (jobs,)
        The jobs chosen.
    multiplier : float
        The relaxation's price per node, a good one for `lower_bound` at a similar moment.
    """
    chosen = np.zeros(len(nodes), np.bool_)
    if nodes.sum() < need:
        return NONE_BETTER, chosen, 0.0
    multiplier, found = _relax(nodes, price, need)
    known = min(found, limit - 1)
    bound = lower_bound(nodes, price, need, multiplier)
    if bound > known:
        return NONE_BETTER, chosen, multiplier
    inside, outside = _settle(nodes, price, bound, multiplier, known)
    open_jobs = np.flatnonzero(~(inside | outside))
    need_left = need - nodes[inside].sum()
    total = price[inside].sum()
    chosen |= inside
    if need_left > 0:
        if nodes[open_jobs].sum() < need_left:
            return NONE_BETTER, np.zeros(len(nodes), np.bool_), multiplier
        block = _common_divisor(nodes[open_jobs])
        rest, of_open = _programme(nodes[open_jobs] // block, price[open_jobs], -(-need_left // block))
        total += rest
        chosen[open_jobs[of_open]] = True
    if total >= limit:
        return NONE_BETTER, np.zeros(len(nodes), np.bool_), multiplier
    return total, chosen, multiplier
