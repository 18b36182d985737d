"""The requests that run together: their tokens in the cache, and how they move on step by step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from colocation.serving.requests import Integers

_FIELDS = ("request", "held", "pending", "generated")


def _none() -> Integers:
    return np.empty(0, np.int64)


@dataclass
class Batch:
    """Running requests, in order of admission.

    Attributes
    ----------
    request, held, pending, generated : int64, shape (running,)
        Which request; its tokens in the cache; tokens to be computed before it generates (again); generated so far.
    """

    request: Integers
    held: Integers
    pending: Integers
    generated: Integers

    @classmethod
    def empty(cls) -> Batch:
        """Return a batch without requests."""
        return cls(_none(), _none(), _none(), _none())

    def __len__(self) -> int:
        """Return how many run."""
        return len(self.request)

    def add(self, request: Integers, pending: Integers, generated: Integers) -> None:
        """Let requests in behind those that run."""
        new = (request, np.zeros_like(request), pending, generated)
        for name, values in zip(_FIELDS, new, strict=True):
            setattr(self, name, np.concatenate([getattr(self, name), values]))

    def keep(self, kept: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> None:
        """Let those go that are not kept."""
        for name in _FIELDS:
            setattr(self, name, getattr(self, name)[kept])

    def blocks(self, size: int, steps: int = 0) -> int:
        """Return the blocks that are held, once those that generate have gone on by some steps."""
        held = self.held + np.where(self.pending == 0, steps, 0)
        return int((-(-held // size)).sum())

    def steps_that_fit(self, size: int, blocks: int, most: int) -> int:
        """Return how many steps, at most `most`, those that generate can go on within so many blocks."""
        if self.blocks(size, most) <= blocks:
            return most
        low, high = 0, most
        while high - low > 1:
            middle = (low + high) // 2
            if self.blocks(size, middle) <= blocks:
                low = middle
            else:
                high = middle
        return low
