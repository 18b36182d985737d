"""Which waiting requests are admitted now: policies behind one interface, pure, asked by the simulator and the engine.

All policies admit in order of arrival. The alternatives are those in use: greedy (a prefill starts while there are
free blocks), the gate on the full input and the watermark of recent vLLM versions, and the reservation of the longest
answer of earlier engines.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from colocation.serving.futures import horizons, load
from colocation.serving.lengths import Lengths
from colocation.serving.requests import Integers
from traces.errors import InputError

WATERMARK = 0.05
"""Share of the cache that the watermark keeps free (vLLM's --watermark in published runs)."""

CAUTION = 2.5
"""Standard deviations of room that the predictive policy leaves; 0 admits up to the expectation."""


@dataclass(frozen=True)
class View:
    """What a policy may see.

    Attributes
    ----------
    capacity : int
        Of the cache [tokens].
    free : int
        Tokens in free blocks.
    block : int
        Tokens of a block.
    chunk : int
        Tokens that can be computed in a step.
    room : int
        Requests that may run beside those that do.
    held, pending, generated, limit, kind, left : int64, shape (running,)
        Tokens in the cache, tokens of the prompt that are not in it yet, tokens generated, the most that may be
        generated, the class, and (for the clairvoyant policy alone) tokens that will yet be generated.
    next_prompt, next_generated, next_limit, next_kind, next_left : int64, shape (waiting,)
        The same of the waiting requests; `next_prompt` counts what was generated before a preemption.
    """

    capacity: int
    free: int
    block: int
    chunk: int
    room: int
    held: Integers
    pending: Integers
    generated: Integers
    limit: Integers
    kind: Integers
    left: Integers
    next_prompt: Integers
    next_generated: Integers
    next_limit: Integers
    next_kind: Integers
    next_left: Integers

    def blocks(self, tokens: Integers) -> Integers:
        """Return the tokens of as many whole blocks as are needed."""
        whole: Integers = -(-tokens // self.block) * self.block
        return whole

    @property
    def promised(self) -> int:
        """Tokens of free blocks that prompts which are being computed will take."""
        return int((self.blocks(self.held + self.pending) - self.blocks(self.held)).sum())


class Admission(Protocol):
    """A policy."""

    name: str

    def admit(self, view: View) -> int:
        """Return how many of the waiting requests, from the head of the queue, are admitted now."""
        ...


def _leading(fits: npt.NDArray[np.bool_]) -> int:
    """Return how many of the first ones are true."""
    return len(fits) if bool(fits.all()) else int(np.argmin(fits))


class Greedy:
    """Admit while there are free blocks for the first piece of the prompt and tokens left in the step."""

    name = "greedy"

    def admit(self, view: View) -> int:
        """See `Admission`."""
        budget = max(0, view.chunk - int(view.pending.sum()) - len(view.held))
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(view.next_prompt)[:-1]])
        piece = np.minimum(view.next_prompt, np.maximum(budget - before, 0))
        taken = np.cumsum(view.blocks(piece))
        return _leading((before < budget) & (taken <= view.free))


class FullInput:
    """Admit while the whole prompt has free blocks, and a share of the cache stays free beyond."""

    def __init__(self, name: str, watermark: float) -> None:
        self.name = name
        self._watermark = watermark

    def admit(self, view: View) -> int:
        """See `Admission`."""
        taken = np.cumsum(view.blocks(view.next_prompt + 1))
        return _leading(taken <= view.free - view.promised - self._watermark * view.capacity)


class Reserve:
    """Admit while every request could generate as much as it may."""

    name = "reserve"

    def admit(self, view: View) -> int:
        """See `Admission`."""
        own = int(view.blocks(view.held + view.pending + view.limit - view.generated).sum())
        more = np.cumsum(view.blocks(view.next_prompt + view.next_limit - view.next_generated))
        return _leading(own + more <= view.capacity)


class Predictive:
    """Admit while the cache will hold all requests to their end, with room for what is not known of their lengths.

    Parameters
    ----------
    lengths : Lengths
        What has been learnt.
    caution : float
        Standard deviations of room.
    """

    name = "predictive"

    def __init__(self, lengths: Lengths, caution: float = CAUTION) -> None:
        self._lengths = lengths
        self._caution = caution
        self._ahead = horizons(lengths.buckets)

    def admit(self, view: View) -> int:
        """See `Admission`."""
        survival = self._lengths.survival(view.kind, view.generated)
        own = load(view.held + view.pending, view.kind, view.generated, survival, self._ahead).total()
        more = load(view.next_prompt, view.next_kind, view.next_generated, survival, self._ahead)
        mean = own.mean + np.cumsum(more.mean, axis=0)
        spread = np.sqrt(own.variance + np.cumsum(more.variance, axis=0))
        fits: npt.NDArray[np.bool_] = np.all(mean + self._caution * spread <= view.capacity, axis=1)
        return _leading(fits)


class Clairvoyant:
    """Admit while the cache will hold all requests to their end, with their true lengths: the bound."""

    name = "clairvoyant"

    def admit(self, view: View) -> int:
        """See `Admission`."""
        held, left = view.held + view.pending, view.left
        admitted = 0
        for prompt, more in zip(view.next_prompt, view.next_left, strict=True):
            held, left = np.append(held, prompt), np.append(left, more)
            if peak(held, left, view.block) > view.capacity:
                break
            admitted += 1
        return admitted


def peak(held: Integers, left: Integers, block: int) -> int:
    """Return the most tokens that will be held together, where each request's remaining length is known.

    The sum grows between completions, so it is enough to look just before each.

    Parameters
    ----------
    held, left : int64, shape (requests,)
        Tokens held now, and yet to be generated.
    block : int
        Tokens of a block; each request is counted with a whole one more.

    Returns
    -------
    int
        Tokens.
    """
    order = np.argsort(-left, kind="stable")
    ends = left[order]
    count = np.arange(1, len(order) + 1)
    together = np.cumsum(held[order] + block - 1) + count * ends
    return int(together.max(initial=0))


POLICIES: dict[str, Callable[[Lengths], Admission]] = {
    "greedy": lambda _: Greedy(),
    "full-input": lambda _: FullInput("full-input", 0.0),
    "watermark": lambda _: FullInput("watermark", WATERMARK),
    "reserve": lambda _: Reserve(),
    "predictive": Predictive,
    "clairvoyant": lambda _: Clairvoyant(),
}
"""The policies, by name."""


def policy(name: str, lengths: Lengths) -> Admission:
    """Return a policy by its name.

    Parameters
    ----------
    name : str
        One of `POLICIES`.
    lengths : Lengths
        What is being learnt about lengths.

    Returns
    -------
    Admission
        The policy.

    Raises
    ------
    InputError
        Where there is no such policy.
    """
    if name not in POLICIES:
        raise InputError(f"--policy: {name!r} is no policy; expected some of {', '.join(POLICIES)}")
    return POLICIES[name](lengths)
