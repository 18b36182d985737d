"""Lays runs out on a machine's nodes, for drawing.

The replayer counts nodes and does not say which ones a job gets, so where a run is drawn is a drawing aid: the height
is right, the place is not a fact. A run goes into the smallest gap that holds it, or is spread over the largest gaps
where none does. Runs that never hold more nodes together than there are always find room.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from heapq import heappop, heappush

from cosim.snapshot import Floats, Integers

Piece = tuple[int, int]
"""Nodes from the first number up to, not including, the second."""


class _Gaps:
    """Free nodes, as disjoint intervals that do not touch, in ascending order."""

    def __init__(self, nodes: int) -> None:
        self._gaps: list[Piece] = [(0, nodes)]

    def take(self, nodes: int) -> list[Piece]:
        """Take that many nodes, or all there are."""
        fitting = [gap for gap in self._gaps if gap[1] - gap[0] >= nodes]
        if fitting:
            low, high = min(fitting, key=lambda gap: gap[1] - gap[0])
            place = bisect_left(self._gaps, (low, high))
            self._gaps[place : place + 1] = [(low + nodes, high)] if low + nodes < high else []
            return [(low, low + nodes)]
        pieces: list[Piece] = []
        for low, high in sorted(self._gaps, key=lambda gap: (gap[0] - gap[1], gap)):
            if nodes <= 0:
                break
            end = min(high, low + nodes)
            pieces.append((low, end))
            nodes -= end - low
            place = bisect_left(self._gaps, (low, high))
            self._gaps[place : place + 1] = [(end, high)] if end < high else []
        return sorted(pieces)

    def give(self, piece: Piece) -> None:
        """Give nodes back."""
        low, high = piece
        place = bisect_left(self._gaps, piece)
        if place < len(self._gaps) and self._gaps[place][0] == high:
            high = self._gaps.pop(place)[1]
        if place > 0 and self._gaps[place - 1][1] == low:
            low = self._gaps.pop(place - 1)[0]
        insort(self._gaps, (low, high))


def place(start: Floats, end: Floats, nodes: Integers, machine: int) -> list[list[Piece]]:
    """Find a place for each run.

    Parameters
    ----------
    start, end : float64 arrays, shape (runs,)
        In order of the starts [s].
    nodes : int64 array, shape (runs,)
        Nodes of each run.
    machine : int
        Nodes there are.

    Returns
    -------
    list
        Each run's pieces, from the lowest nodes up.
    """
    gaps = _Gaps(machine)
    ending: list[tuple[float, int]] = []
    placed: list[list[Piece]] = []
    for run, (begins, ends, size) in enumerate(zip(start.tolist(), end.tolist(), nodes.tolist(), strict=True)):
        while ending and ending[0][0] <= begins:
            for piece in placed[heappop(ending)[1]]:
                gaps.give(piece)
        placed.append(gaps.take(size))
        heappush(ending, (ends, run))
    return placed
