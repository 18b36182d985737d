"""How long answers get, learnt while serving: the chance that a request is still generating after so many tokens.

Lengths are counted per class, an application with a range of prompt lengths, in buckets of tokens. The survival
function is Kaplan and Meier's ("Nonparametric estimation from incomplete observations", JASA 53, 1958): requests that
still run count as at risk up to where they are, so that long answers, which end last, are not overlooked at first.
A class that has seen little leans on its application, that on all requests, and these on an even spread up to the
limit: so the first request of an application that nobody has seen may take any length. The leaning is our own design.
"""

from __future__ import annotations

import numpy as np

from colocation.serving.requests import Floats, Integers

BUCKET = 16  # tokens
_PROMPT_RANGES = 8  # prompts of up to 64, 256, 1024, ... tokens
_LEAN = 8.0  # pseudo-requests at risk with which a class leans on the next wider one
_REFRESH = 16  # completions after which what was learnt is worked in


def prompt_range(prompt: Integers) -> Integers:
    """Return the range of each prompt's length: by powers of four from 64 tokens on."""
    found = np.ceil(np.log2(np.maximum(prompt, 1) / 64) / 2)
    return np.clip(found, 0, _PROMPT_RANGES - 1).astype(np.int64)


class Lengths:
    """What has been learnt about the lengths of answers.

    Parameters
    ----------
    applications : int
        How many there are.
    limit : int
        The most tokens that any request may generate.
    """

    def __init__(self, applications: int, limit: int) -> None:
        self.buckets = -(-limit // BUCKET)
        self._applications = applications
        self._ended = np.zeros((applications * _PROMPT_RANGES, self.buckets + 1))
        self._since = _REFRESH
        classes = len(self._ended)
        self._survival = np.ones((classes, self.buckets + 1))
        self._refresh(np.empty(0, np.int64), np.empty(0, np.int64))

    def classes(self, application: Integers, prompt: Integers) -> Integers:
        """Return the class of each request."""
        return application * _PROMPT_RANGES + prompt_range(prompt)

    def ended(self, kind: int, generated: int) -> None:
        """Take in that a request of a class has ended after so many tokens."""
        self._ended[kind, min(generated // BUCKET, self.buckets)] += 1
        self._since += 1

    def survival(self, kinds: Integers, generated: Integers) -> Floats:
        """Return each class's survival function over buckets, worked out anew where much has ended since.

        Parameters
        ----------
        kinds, generated : int64, shape (running,)
            The requests that run, and their tokens so far.

        Returns
        -------
        float64, shape (classes, buckets + 1)
            The chance that an answer reaches the bucket's first token; 1 in bucket 0.
        """
        if self._since >= _REFRESH:
            self._refresh(kinds, generated)
        return self._survival

    def _refresh(self, kinds: Integers, generated: Integers) -> None:
        self._since = 0
        classes, width = self._ended.shape
        present = np.zeros((classes, width))
        np.add.at(present, (kinds, np.minimum(generated // BUCKET, self.buckets)), 1.0)
        ended = self._ended
        at_risk = _from_the_end(ended + present)
        shape = (self._applications, _PROMPT_RANGES, width)
        ended_of_app, risk_of_app = ended.reshape(shape).sum(axis=1), at_risk.reshape(shape).sum(axis=1)
        # An even spread up to the limit: of those that reach bucket b, one in so many as are left ends there.
        even = 1.0 / np.arange(width, 0, -1)
        of_all = _hazard(ended_of_app.sum(axis=0), risk_of_app.sum(axis=0), even)
        of_app = _hazard(ended_of_app, risk_of_app, of_all)
        of_class = _hazard(ended, at_risk, np.repeat(of_app, _PROMPT_RANGES, axis=0))
        self._survival[:, 1:] = np.cumprod(1.0 - of_class[:, :-1], axis=1)


def _from_the_end(counts: Floats) -> Floats:
    sums: Floats = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]
    return sums


def _hazard(ended: Floats, at_risk: Floats, wider: Floats) -> Floats:
    hazard: Floats = (ended + _LEAN * wider) / (at_risk + _LEAN)
    return hazard
