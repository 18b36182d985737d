"""A continuously batching inference engine in simulated time, which asks an admission policy.

A step computes one token for each request that generates, and pieces of waiting prompts up to a budget (chunked
prefill: Agrawal et al., "Sarathi", 2023). Where the blocks do not suffice for the next step, the request admitted last
is preempted: its blocks are freed, and all its tokens are computed again later (recompute; Kwon et al., "Efficient
memory management for large language model serving with PagedAttention", SOSP 2023, section 4.5). Steps between which
nothing changes are taken in one go, so the cost grows with the requests and not with the tokens.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

import numpy as np

from colocation.serving.admission import Admission, View, policy
from colocation.serving.batch import Batch
from colocation.serving.costs import A100_40G, Costs
from colocation.serving.lengths import BUCKET, Lengths
from colocation.serving.requests import Floats, Requests

_NEVER = np.nan
_LOOK_AHEAD = 8  # waiting requests that a policy is shown at a time: where the cache is full, it admits few


@dataclass(frozen=True)
class Settings:
    """The engine.

    Attributes
    ----------
    cache : int
        Tokens that the KV cache holds.
    limit : int
        The most tokens that a request may generate.
    block : int
        Tokens of a block.
    chunk : int
        Tokens computed in a step at most.
    running : int
        Requests that run together at most.
    costs : Costs
        Of a step.
    """

    cache: int
    limit: int
    block: int = 16
    chunk: int = 2048
    running: int = 256
    costs: Costs = A100_40G


@dataclass(frozen=True)
class Served:
    """What came of each request.

    Attributes
    ----------
    first, finish : float64, shape (requests,)
        When its first and its last token were there, NaN for never [s].
    preemptions : int
        How often a request lost its blocks.
    recomputed : int
        Tokens that had been in the cache and were computed again.
    refused, failed : tuple of int
        Requests whose prompt the cache can never hold; and those that outgrew the whole cache while alone in it.
    """

    first: Floats
    finish: Floats
    preemptions: int
    recomputed: int
    refused: tuple[int, ...]
    failed: tuple[int, ...]


def simulate(requests: Requests, settings: Settings, name: str) -> Served:
    """Serve requests under a policy.

    Parameters
    ----------
    requests : Requests
        What is asked.
    settings : Settings
        The engine.
    name : str
        The policy, one of `colocation.serving.admission.POLICIES`.

    Returns
    -------
    Served
        What came of each.
    """
    lengths = Lengths(len(requests.applications), settings.limit)
    return _Engine(requests, settings, policy(name, lengths), lengths).run()


@dataclass
class _Engine:
    requests: Requests
    settings: Settings
    admission: Admission
    lengths: Lengths
    now: float = 0.0
    arrived: int = 0
    preemptions: int = 0
    recomputed: int = 0
    batch: Batch = field(default_factory=Batch.empty)
    waiting: deque[int] = field(default_factory=deque)
    refused: list[int] = field(default_factory=list)
    failed: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        count = len(self.requests)
        self._blocks = self.settings.cache // self.settings.block
        self._kind = self.lengths.classes(self.requests.application, self.requests.prompt)
        self._first, self._finish = np.full(count, _NEVER), np.full(count, _NEVER)
        self._generated = np.zeros(count, np.int64)  # before the last preemption

    def run(self) -> Served:
        """Serve all requests."""
        while self.arrived < len(self.requests) or self.waiting or len(self.batch):
            if not self.waiting and not len(self.batch):
                self.now = max(self.now, float(self.requests.arrival[self.arrived]))
            self._arrive()
            self._admit()
            if len(self.batch):
                self._make_room()
            if len(self.batch):
                self._go_on()
        return Served(
            self._first, self._finish, self.preemptions, self.recomputed, tuple(self.refused), tuple(self.failed)
        )

    def _arrive(self) -> None:
        while self.arrived < len(self.requests) and self.requests.arrival[self.arrived] <= self.now:
            fits = self.requests.prompt[self.arrived] + 1 <= self._blocks * self.settings.block
            (self.waiting if fits else self.refused).append(self.arrived)
            self.arrived += 1

    def _admit(self) -> None:
        while self.waiting and len(self.batch) < self.settings.running:
            shown = min(_LOOK_AHEAD, self.settings.running - len(self.batch), len(self.waiting))
            count = self.admission.admit(self._view(shown))
            if count == 0 and not len(self.batch):
                count = 1  # alone it fits, whatever the policy fears
            chosen = np.array([self.waiting.popleft() for _ in range(count)], np.int64)
            done = self._generated[chosen]
            self.batch.add(chosen, self.requests.prompt[chosen] + done, done)
            if count < shown:
                return

    def _view(self, shown: int) -> View:
        batch, settings, requests = self.batch, self.settings, self.requests
        heads = np.fromiter((self.waiting[k] for k in range(shown)), np.int64, shown)
        done = self._generated[heads]
        limit = np.full(len(batch), settings.limit, np.int64)
        return View(
            capacity=self._blocks * settings.block,
            free=(self._blocks - batch.blocks(settings.block)) * settings.block,
            block=settings.block,
            chunk=settings.chunk,
            room=settings.running - len(batch),
            held=batch.held,
            pending=batch.pending,
            generated=batch.generated,
            limit=limit,
            kind=self._kind[batch.request],
            left=requests.output[batch.request] - batch.generated,
            next_prompt=requests.prompt[heads] + done,
            next_generated=done,
            next_limit=np.full(shown, settings.limit, np.int64),
            next_kind=self._kind[heads],
            next_left=requests.output[heads] - done,
        )

    def _make_room(self) -> None:
        """Preempt those admitted last until those that generate can take the next step."""
        while self.batch.blocks(self.settings.block, 1) > self._blocks:
            last = len(self.batch) - 1
            if last == 0:
                self.failed.append(int(self.batch.request[0]))
            else:
                self._preempt(last)
            self.batch.keep(np.arange(last + 1) < last)

    def _preempt(self, place: int) -> None:
        job = int(self.batch.request[place])
        self.preemptions += 1
        self.recomputed += int(self.batch.held[place])
        self._generated[job] = self.batch.generated[place]
        self.waiting.appendleft(job)

    def _go_on(self) -> None:
        if self.batch.pending.any():
            self._mixed_step()
        else:
            self._decode(self._quiet_steps())
        self._let_go()

    def _mixed_step(self) -> None:
        """Take one step in which prompts are computed too, as far as the budget and the free blocks go."""
        batch, settings = self.batch, self.settings
        decoding = batch.pending == 0
        attended, computed = int(batch.held[decoding].sum()), int(decoding.sum())
        batch.held[decoding] += 1
        batch.generated[decoding] += 1
        free = self._blocks - batch.blocks(settings.block)
        budget = max(1, settings.chunk - computed)
        for place in np.flatnonzero(~decoding).tolist():
            held = int(batch.held[place])
            room = (free + -(-held // settings.block)) * settings.block - held
            piece = min(int(batch.pending[place]), budget, room)
            if piece <= 0:
                break
            free -= -(-(held + piece) // settings.block) - -(-held // settings.block)
            budget -= piece
            computed += piece
            batch.held[place] += piece
            batch.pending[place] -= piece
        if computed == 0:
            self._break_deadlock()
            return
        self.now += settings.costs.seconds(computed, attended)
        ready = ~decoding & (batch.pending == 0)
        batch.generated[ready] += 1
        fresh = batch.request[ready]
        self._first[fresh] = np.where(np.isnan(self._first[fresh]), self.now, self._first[fresh])

    def _break_deadlock(self) -> None:
        """No prompt can go on, and nobody generates: the one admitted last makes room, or fails if it is alone."""
        last = len(self.batch) - 1
        if last:
            self._preempt(last)
        else:
            self.failed.append(int(self.batch.request[0]))
        self.batch.keep(np.arange(last + 1) < last)

    def _quiet_steps(self) -> int:
        """Return for how many steps nothing changes but the tokens: at least one."""
        batch, settings = self.batch, self.settings
        most = int((self.requests.output[batch.request] - batch.generated).min())
        if self.waiting:
            most = min(most, BUCKET)
        most = batch.steps_that_fit(settings.block, self._blocks, max(1, most))
        if self.waiting or self.arrived == len(self.requests):
            return max(1, most)
        until = float(self.requests.arrival[self.arrived])
        low, high = 1, max(1, most)
        while low < high:
            middle = (low + high) // 2
            if self.now + self._decoding_seconds(middle) < until:
                low = middle + 1
            else:
                high = middle
        return low

    def _decoding_seconds(self, steps: int) -> float:
        costs, count = self.settings.costs, len(self.batch)
        attended = steps * int(self.batch.held.sum()) + count * steps * (steps - 1) / 2
        return steps * costs.seconds(count, 0.0) + costs.cached * attended

    def _decode(self, steps: int) -> None:
        self.now += self._decoding_seconds(steps)
        self.batch.held += steps
        self.batch.generated += steps

    def _let_go(self) -> None:
        batch = self.batch
        ended = (batch.pending == 0) & (batch.generated >= self.requests.output[batch.request])
        if not ended.any():
            return
        for job, generated in zip(batch.request[ended].tolist(), batch.generated[ended].tolist(), strict=True):
            self._finish[job] = self.now
            self.lengths.ended(int(self._kind[job]), generated)
        batch.keep(~ended)
