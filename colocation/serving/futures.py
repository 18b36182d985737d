"""How full the cache will be: expectation and spread of the tokens held, some steps from now, over all requests.

A request that holds c tokens and is still generating k steps from now holds c + k then; one that has ended holds
none. With the chance p that it is still generating, it adds p (c + k) to the expectation and p (1 - p) (c + k)^2 to
the variance; requests are taken to be independent. Our own design; the idea to look ahead at the decode phases of all
requests before a prefill is admitted is that of predictive KV-cache-aware scheduling.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from colocation.serving.lengths import BUCKET
from colocation.serving.requests import Floats, Integers

_POINTS = 16


def horizons(buckets: int) -> Integers:
    """Return when to look: now, and then at moments that lie ever further apart, up to the limit [buckets]."""
    later = np.unique(np.geomspace(1, max(2, buckets), _POINTS - 1).round().astype(np.int64))
    return np.concatenate([np.zeros(1, np.int64), later])


@dataclass(frozen=True)
class Load:
    """Tokens in the cache at each horizon.

    Attributes
    ----------
    mean, variance : float64, shape (requests, horizons) or (horizons,)
        Of the tokens held.
    """

    mean: Floats
    variance: Floats

    def total(self) -> Load:
        """Return the load of all requests together."""
        return Load(self.mean.sum(axis=0), self.variance.sum(axis=0))


def load(held: Integers, kinds: Integers, generated: Integers, survival: Floats, ahead: Integers) -> Load:
    """Return what each request will hold.

    Parameters
    ----------
    held : int64, shape (requests,)
        Tokens that it holds, or will once its prompt is in the cache.
    kinds, generated : int64, shape (requests,)
        Its class, and what it has generated so far [tokens].
    survival : float64, shape (classes, buckets + 1)
        As `Lengths` says.
    ahead : int64, shape (horizons,)
        When to look [buckets].

    Returns
    -------
    Load
        Per request and horizon.
    """
    last = survival.shape[1] - 1
    bucket = np.minimum(generated // BUCKET, last)
    base = survival[kinds, bucket]
    flat = kinds * (last + 1)
    places = bucket[:, None] + ahead[None, :]
    reached = np.where(places > last, 0.0, survival.ravel()[flat[:, None] + np.minimum(places, last)])
    # It outlived all that is known: then it may go on as long as anything, up to the limit.
    chance = np.where(base[:, None] > 0, reached / np.maximum(base[:, None], 1e-300), places <= last)
    # Blocks are taken whole, which costs half of one on average.
    tokens = held[:, None] + (ahead * BUCKET)[None, :] + BUCKET / 2
    mean = chance * tokens
    return Load(mean, mean * (tokens - mean))
