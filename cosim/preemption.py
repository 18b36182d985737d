r"""Whom to preempt, and when the on-demand job starts: the exact decision, and nothing else.

Read `cosim.losses` first (what a victim loses, at which starts that can change), then this from top to bottom: the
least loss at one start, the frontier over all starts, and the choice on it. Everything is a pure function of a
`Snapshot` and a `Request`; the replayer and the live controller call the same `decide`.

The rules (losses in node-seconds, for a start at t in [now, now + max_delay] with N nodes):

* a job whose expected end is at or before t frees its nodes at no loss;
* a victim killed at t loses ``nodes * ((t - last_checkpoint(t)) + restart_cost)``;
* a victim that can checkpoint on demand is signalled at ``t - checkpoint_cost``, not before now, and loses
  ``nodes * (checkpoint_cost + restart_cost)``; the cheaper of the two ways counts, and at equal loss the kill;
* the nodes freed, the free ones and those of ended jobs must make N.

The least loss at t is a 0/1 knapsack cover (`cosim.cover`). The *frontier* is the set of starts that lose less than
every earlier one. The decision is the frontier's point of the least ``loss + delay_weight * N * (t - now)``; ties go
to the earlier start, then to fewer victims, then to fewer nodes freed beyond the need, then to the lower job ids.
The definition is this project's own; preempting at the moment at which little is lost goes back to checkpoint-aware
victim selection as in the papers on hybrid workloads (docs/preemption.md names them).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np

from cosim.cover import NONE_BETTER, UNREACHED, lower_bound, minimum_cover, prices
from cosim.jit import kernel
from cosim.losses import candidate_starts, last_checkpoint, loss_on_a_node, seconds_lost
from cosim.shared import whole_nodes_only
from cosim.snapshot import Booleans, Floats, Integers, Request, Snapshot
from traces.errors import InputError

__all__ = [
    "CHECKPOINT",
    "KILL",
    "Decision",
    "Point",
    "Victim",
    "choose",
    "decide",
    "last_checkpoint",
    "most_nodes",
    "point_at",
    "points_at",
    "starts_to_try",
    "ticks_per_second",
]

KILL = "kill"
CHECKPOINT = "checkpoint"

_FINEST_TICK = 1e-6
"""Losses are added up as whole ticks of a node, so that equal losses compare equal. Slurm's clock counts seconds."""

_MOST_STARTS = 1_000_000
"""A window with more starts than this to look at is a mistake in a unit: a day of a job that checkpoints every second
and nine more of them has fewer."""


class Victim(NamedTuple):
    """One job to preempt.

    Attributes
    ----------
    id : str
        The job's id.
    how : str
        `KILL`: end it at the start; `CHECKPOINT`: signal it `checkpoint_cost` seconds before.
    loss : float
        What it loses [node-seconds].
    place : int
        Its place in the snapshot's columns.
    """

    id: str
    how: str
    loss: float
    place: int


@dataclass(frozen=True)
class Point:
    """A start and the cheapest way to make room for it.

    Attributes
    ----------
    start : float
        When the on-demand job starts [s].
    lost_node_seconds : float
        What all victims lose together.
    places : tuple of int
        The victims' places in the snapshot's columns, ascending.
    losses, by_checkpoint : tuples of float and of bool
        What each of them loses [node-seconds], and whether it is signalled for a checkpoint rather than killed.
    ids : sequence of str
        The ids of all jobs of the snapshot.
    """

    start: float
    lost_node_seconds: float
    places: tuple[int, ...]
    losses: tuple[float, ...] = field(repr=False)
    by_checkpoint: tuple[bool, ...] = field(repr=False)
    ids: Sequence[str] = field(repr=False, compare=False)

    @cached_property
    def victims(self) -> tuple[Victim, ...]:
        """The victims in ascending order of their ids; empty where free nodes and ending jobs are enough."""
        # Made when asked for: a frontier of a large machine names tens of thousands, of which one start's matter.
        return tuple(
            Victim(self.ids[place], CHECKPOINT if signalled else KILL, loss, place)
            for place, signalled, loss in zip(self.places, self.by_checkpoint, self.losses, strict=True)
        )


@dataclass(frozen=True)
class Decision:
    """The answer to a request.

    Attributes
    ----------
    chosen : Point or None
        The start and the victims; None where the request cannot be met within its window.
    frontier : tuple of Point
        All starts worth a thought, in ascending order of the start, losses strictly falling.
    most_nodes : int
        The most nodes that could be had at any start in the window.
    """

    chosen: Point | None
    frontier: tuple[Point, ...]
    most_nodes: int


@kernel
def _who_may_go(
    t: float,
    now: float,
    ticks: float,
    nodes: Integers,
    start: Floats,
    expected_end: Floats,
    interval: Floats,
    cost: Floats,
    restart: Floats,
    on_demand: Booleans,
    preemptible: Booleans,
    place: Integers,
    loss: Integers,
) -> tuple[int, int]:
    """Write down who may be a victim at t and what each loses [ticks]; return how many, and the nodes of ended jobs."""
    count, ended = 0, 0
    for j in range(len(nodes)):
        if expected_end[j] <= t:
            ended += nodes[j]
        elif preemptible[j]:
            seconds, _ = loss_on_a_node(t, now, start[j], interval[j], cost[j], restart[j], on_demand[j])
            place[count] = j
            loss[count] = nodes[j] * np.int64(np.rint(seconds * ticks))
            count += 1
    return count, ended


@kernel
def _frontier(
    request_nodes: int,
    free_nodes: int,
    now: float,
    times: Floats,
    ticks: float,
    nodes: Integers,
    start: Floats,
    expected_end: Floats,
    interval: Floats,
    cost: Floats,
    restart: Floats,
    on_demand: Booleans,
    preemptible: Booleans,
) -> tuple[list[float], list[Integers]]:
    """Return the frontier's starts, and the victims' indices at each."""
    starts = [now for _ in range(0)]
    victims = [np.zeros(0, np.int64) for _ in range(0)]
    place, loss = np.empty(len(nodes), np.int64), np.empty(len(nodes), np.int64)
    least = UNREACHED // (len(nodes) + 2)  # the loss of the best start so far; a later one has to lose less
    multiplier = 0.0
    for t in times:
        count, ended = _who_may_go(
            t, now, ticks, nodes, start, expected_end, interval, cost, restart, on_demand, preemptible, place, loss
        )
        need = request_nodes - free_nodes - ended
        if need <= 0:
            if least > 0:
                starts.append(t)
                victims.append(np.zeros(0, np.int64))
            break  # nothing is lost: no later start can be better
        of = nodes[place[:count]]
        price = prices(loss[:count], len(nodes))
        # A cover of a smaller loss has a lower price than this, whatever the number of its victims.
        limit = least * (len(nodes) + 1)
        if lower_bound(of, price, need, multiplier) > limit:
            continue  # the relaxation of an earlier start shows already that this one is no better
        total, chosen, found = minimum_cover(of, price, need, limit)
        if found > 0:
            multiplier = found
        if total != NONE_BETTER:
            least = total // (len(nodes) + 1)
            starts.append(t)
            victims.append(place[:count][chosen])
    return starts, victims


@kernel
def _losses_of(
    chosen: Integers,
    t: float,
    now: float,
    nodes: Integers,
    start: Floats,
    interval: Floats,
    cost: Floats,
    restart: Floats,
    on_demand: Booleans,
) -> tuple[Floats, Booleans]:
    """Return the node-seconds that each of the chosen loses, and whether by a checkpoint (see `seconds_lost`)."""
    seconds, by_checkpoint = seconds_lost(
        t, now, start[chosen], interval[chosen], cost[chosen], restart[chosen], on_demand[chosen]
    )
    return nodes[chosen] * seconds, by_checkpoint


def ticks_per_second(snapshot: Snapshot, last: float) -> float:
    """Return how finely losses are counted: microseconds, or coarser where a sum of prices could leave 61 bits.

    Parameters
    ----------
    snapshot : Snapshot
        The machine.
    last : float
        The latest start that is looked at [s].

    Returns
    -------
    float
        Ticks in a second, a power of ten.
    """
    if len(snapshot) == 0:
        return 1.0
    longest = float(np.max(last - snapshot.start + snapshot.restart_cost))
    largest = longest * float(snapshot.nodes.sum())
    ticks = 1 / _FINEST_TICK
    while largest * ticks * (len(snapshot) + 2) >= UNREACHED / 2:
        ticks /= 10
    return ticks


def starts_to_try(snapshot: Snapshot, request: Request) -> Floats:
    """Return the starts at which the frontier can have a point, ascending (see `candidate_starts`).

    Parameters
    ----------
    snapshot : Snapshot
        The machine.
    request : Request
        What the on-demand job asks for.

    Returns
    -------
    float64 array
        Starts, `now` the first of them [s].

    Raises
    ------
    InputError
        Where there are more than a million: some job's checkpoint interval is tiny beside the window.
    """
    checkpoints = float((request.max_delay / snapshot.checkpoint_interval).sum())
    if checkpoints > _MOST_STARTS:
        raise InputError(
            f"request: max_delay is {request.max_delay}, in which the jobs write some {checkpoints:.3g} checkpoints, "
            f"expected at most {_MOST_STARTS}: shorten the window or correct the jobs' checkpoint_interval"
        )
    return candidate_starts(
        float(snapshot.now),
        float(request.max_delay),
        snapshot.start,
        snapshot.expected_end,
        snapshot.checkpoint_interval,
        snapshot.checkpoint_cost,
        snapshot.on_demand_checkpoint,
        snapshot.preemptible,
    )


def point_at(snapshot: Snapshot, t: float, chosen: Integers) -> Point:
    """Describe a start and its victims, with each victim's way and loss.

    Parameters
    ----------
    snapshot : Snapshot
        The machine.
    t : float
        The on-demand job's start [s].
    chosen : int64 array
        The victims' places in the snapshot.

    Returns
    -------
    Point
        With the victims in the order of the snapshot, that is of their ids.
    """
    places = np.sort(chosen)
    losses, by_checkpoint = _losses_of(
        places,
        float(t),
        float(snapshot.now),
        snapshot.nodes,
        snapshot.start,
        snapshot.checkpoint_interval,
        snapshot.checkpoint_cost,
        snapshot.restart_cost,
        snapshot.on_demand_checkpoint,
    )
    lost = tuple(losses.tolist())
    return Point(float(t), math.fsum(lost), tuple(places.tolist()), lost, tuple(by_checkpoint.tolist()), snapshot.ids)


def points_at(snapshot: Snapshot, request: Request, times: Floats) -> tuple[Point, ...]:
    """Return the frontier over the given starts: those of them that lose less than every earlier one.

    Parameters
    ----------
    snapshot : Snapshot
        The machine.
    request : Request
        What the on-demand job asks for.
    times : float64 array
        Starts, ascending, none before `now` [s].

    Returns
    -------
    tuple of Point
        Each with the exact least loss at its start; empty where no start frees enough nodes.
    """
    whole_nodes_only(snapshot)
    starts, victims = _frontier(
        request.nodes,
        snapshot.free_nodes,
        float(snapshot.now),
        times,
        ticks_per_second(snapshot, float(times[-1])),
        snapshot.nodes,
        snapshot.start,
        snapshot.expected_end,
        snapshot.checkpoint_interval,
        snapshot.checkpoint_cost,
        snapshot.restart_cost,
        snapshot.on_demand_checkpoint,
        snapshot.preemptible,
    )
    return tuple(point_at(snapshot, t, chosen) for t, chosen in zip(starts, victims, strict=True))


def most_nodes(snapshot: Snapshot, request: Request) -> int:
    """Return the most nodes that can be had in the window: free, of ended jobs, and of all who may be victims."""
    whole_nodes_only(snapshot)
    available = snapshot.preemptible | (snapshot.expected_end <= snapshot.now + request.max_delay)
    return snapshot.free_nodes + int(snapshot.nodes[available].sum())


def choose(frontier: tuple[Point, ...], snapshot: Snapshot, request: Request) -> Point:
    """Take the frontier's point of the least ``loss + delay_weight * N * (start - now)``; ties: the earlier start."""
    weight = request.delay_weight * request.nodes
    return min(frontier, key=lambda point: point.lost_node_seconds + weight * (point.start - snapshot.now))


def decide(snapshot: Snapshot, request: Request) -> Decision:
    """Decide whom to preempt and when the on-demand job starts, exactly.

    Parameters
    ----------
    snapshot : Snapshot
        The machine.
    request : Request
        What the on-demand job asks for.

    Returns
    -------
    Decision
        The chosen start with its victims, and the whole frontier.

    Examples
    --------
    Job 7 finishes a checkpoint in a minute, job 8 writes none; 4 nodes are wanted within five minutes.

    >>> from cosim.snapshot import RunningJob
    >>> jobs = [RunningJob("7", 4, 0, 9000, checkpoint_interval=1000, checkpoint_cost=60), RunningJob("8", 4, 0, 9000)]
    >>> decision = decide(Snapshot.of(1000, 0, jobs), Request(nodes=4, duration=600, max_delay=300))
    >>> [(point.start, point.lost_node_seconds) for point in decision.frontier]
    [(1000.0, 4000.0), (1060.0, 0.0)]
    >>> decision.chosen.start, [victim.id for victim in decision.chosen.victims]
    (1060.0, ['7'])
    """
    most = most_nodes(snapshot, request)
    if most < request.nodes:
        return Decision(None, (), most)
    frontier = points_at(snapshot, request, starts_to_try(snapshot, request))
    return Decision(choose(frontier, snapshot, request), frontier, most)
