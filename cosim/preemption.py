r"""Whom to preempt, and when the on-demand job starts: the exact decision, and nothing else.

Read it from top to bottom: what a victim loses, at which starts that can change, what the least loss at one start is,
the frontier over all starts, and the choice on it. Everything is a pure function of a `Snapshot` and a `Request`; the
replayer and the live controller call the same `decide`.

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
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from cosim.cover import NONE_BETTER, UNREACHED, lower_bound, minimum_cover, prices
from cosim.jit import kernel
from cosim.snapshot import Booleans, Floats, Integers, Request, Snapshot

KILL = "kill"
CHECKPOINT = "checkpoint"

_FINEST_TICK = 1e-6
"""Losses are added up as whole ticks of a node, so that equal losses compare equal. Slurm's clock counts seconds."""


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
    victims : tuple of Victim
        In ascending order of the ids; empty where free nodes and ending jobs are enough.
    """

    start: float
    lost_node_seconds: float
    victims: tuple[Victim, ...]


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
def _kill_loss(t: float, start: float, interval: float, cost: float, restart: float) -> float:
    """Return the seconds that a job killed at t loses on each node: since its newest checkpoint, and the restart."""
    newest = start
    if interval < math.inf:
        k = math.floor((t - start - cost) / interval)
        # The division rounds; the comparison with the completion time itself decides.
        while start + (k + 1) * interval + cost <= t:
            k += 1
        while k >= 1 and start + k * interval + cost > t:
            k -= 1
        if k >= 1:
            newest = start + k * interval + cost
    return (t - newest) + restart


@kernel
def seconds_lost(
    t: float, now: float, start: Floats, interval: Floats, cost: Floats, restart: Floats, on_demand: Booleans
) -> tuple[Floats, Booleans]:
    """Return what each job loses on each of its nodes if it is a victim at t.

    Parameters
    ----------
    t, now : float
        The on-demand job's start, and the moment of the decision [s].
    start, interval, cost, restart : float64 arrays, shape (jobs,)
        Start of the run, checkpoint interval (infinite: none), checkpoint cost and restart cost [s].
    on_demand : bool array, shape (jobs,)
        Whether the job can checkpoint on demand.

    Returns
    -------
    seconds : float64 array, shape (jobs,)
        The loss of each job divided by its nodes.
    by_checkpoint : bool array, shape (jobs,)
        Whether signalling it for a checkpoint is the cheaper way (killing it is, otherwise).
    """
    seconds = np.empty(len(start), np.float64)
    by_checkpoint = np.zeros(len(start), np.bool_)
    for j in range(len(start)):
        seconds[j] = _kill_loss(t, start[j], interval[j], cost[j], restart[j])
        if on_demand[j] and now + cost[j] <= t and cost[j] + restart[j] < seconds[j]:
            seconds[j] = cost[j] + restart[j]
            by_checkpoint[j] = True
    return seconds, by_checkpoint


@kernel
def candidate_starts(
    now: float,
    max_delay: float,
    start: Floats,
    expected_end: Floats,
    interval: Floats,
    cost: Floats,
    on_demand: Booleans,
    preemptible: Booleans,
) -> Floats:
    """Return the times in the window at which something gets better, ascending: no other start can be on the frontier.

    Parameters
    ----------
    now, max_delay : float
        The window is [now, now + max_delay] [s].
    start, expected_end, interval, cost : float64 arrays, shape (jobs,)
        As in `Snapshot` [s].
    on_demand, preemptible : bool arrays, shape (jobs,)
        As in `Snapshot`.

    Returns
    -------
    float64 array
        `now`, each expected end, each completion of a checkpoint, and `now + cost` of each job that can checkpoint
        on demand; between two of these a victim's loss only grows.
    """
    last = now + max_delay
    times = [now]
    for j in range(len(start)):
        if now < expected_end[j] <= last:
            times.append(expected_end[j])
        if not preemptible[j] or expected_end[j] <= now:
            continue
        if on_demand[j] and now < now + cost[j] <= last:
            times.append(now + cost[j])
        if interval[j] < math.inf:
            k = max(1, math.floor((now - start[j] - cost[j]) / interval[j]))
            done = start[j] + k * interval[j] + cost[j]
            while done <= last and done < expected_end[j]:
                if done > now:
                    times.append(done)
                k += 1
                done = start[j] + k * interval[j] + cost[j]
    return np.unique(np.array(times))


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
    least = UNREACHED // (len(nodes) + 2)  # the loss of the best start so far; a later one has to lose less
    multiplier = 0.0
    for t in times:
        ended = expected_end <= t
        need = request_nodes - free_nodes - nodes[ended].sum()
        if need <= 0:
            if least > 0:
                starts.append(t)
                victims.append(np.zeros(0, np.int64))
            break  # nothing is lost: no later start can be better
        may_go = np.flatnonzero(preemptible & ~ended)
        seconds, _ = seconds_lost(
            t, now, start[may_go], interval[may_go], cost[may_go], restart[may_go], on_demand[may_go]
        )
        of = nodes[may_go]
        price = prices(of * np.rint(seconds * ticks).astype(np.int64), len(nodes))
        # A cover of a smaller loss has a lower price than this, whatever the number of its victims.
        limit = least * (len(nodes) + 1)
        if lower_bound(of, price, need, multiplier) * (1 - 1e-9) > limit:
            continue  # the relaxation of the last start shows already that this one is no better
        total, chosen, found = minimum_cover(of, price, need, limit)
        if found > 0:
            multiplier = found
        if total != NONE_BETTER:
            least = total // (len(nodes) + 1)
            starts.append(t)
            victims.append(may_go[chosen])
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
    """Return the starts at which the frontier can have a point, ascending (see `candidate_starts`)."""
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
    losses, by_checkpoint = _losses_of(
        np.sort(chosen),
        float(t),
        float(snapshot.now),
        snapshot.nodes,
        snapshot.start,
        snapshot.checkpoint_interval,
        snapshot.checkpoint_cost,
        snapshot.restart_cost,
        snapshot.on_demand_checkpoint,
    )
    victims = tuple(
        Victim(snapshot.ids[j], CHECKPOINT if signalled else KILL, loss, j)
        for j, signalled, loss in zip(np.sort(chosen).tolist(), by_checkpoint.tolist(), losses.tolist(), strict=True)
    )
    return Point(float(t), math.fsum(losses.tolist()), victims)


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
