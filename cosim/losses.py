"""What a victim loses, and when that can get better: the two facts the preemption decision is made of.

A victim killed at t loses the work since its newest checkpoint and the time of its restart; one that is signalled
early enough writes a checkpoint and loses the time of that and of its restart. So, as t grows, a job's loss only
grows, except at the moments that `candidate_starts` lists.
"""

from __future__ import annotations

import math

import numpy as np

from cosim.jit import kernel
from cosim.snapshot import Booleans, Floats


@kernel
def last_checkpoint(t: float, start: float, interval: float, cost: float) -> float:
    """Return when the newest checkpoint completed by t was completed, or the job's start where there is none [s].

    Checkpoint k = 1, 2, ... starts at ``start + k * interval`` and completes `cost` seconds later.
    """
    if interval == math.inf:
        return start
    k = math.floor((t - start - cost) / interval)
    # The division rounds; the comparison with the completion time itself decides.
    while start + (k + 1) * interval + cost <= t:
        k += 1
    while k >= 1 and start + k * interval + cost > t:
        k -= 1
    return start + k * interval + cost if k >= 1 else start


@kernel
def loss_on_a_node(
    t: float, now: float, start: float, interval: float, cost: float, restart: float, on_demand: bool
) -> tuple[float, bool]:
    """Return what one job loses on each of its nodes if it is a victim at t, by the cheaper of the two ways.

    Parameters
    ----------
    t, now : float
        The on-demand job's start, and the moment of the decision [s].
    start, interval, cost, restart : float
        Start of the run, checkpoint interval (infinite: none), checkpoint cost and restart cost [s].
    on_demand : bool
        Whether the job can checkpoint on demand.

    Returns
    -------
    seconds : float
        The loss divided by the job's nodes.
    by_checkpoint : bool
        Whether signalling it for a checkpoint is the cheaper way; at equal loss it is killed.
    """
    killed = (t - last_checkpoint(t, start, interval, cost)) + restart
    if on_demand and now + cost <= t and cost + restart < killed:
        return cost + restart, True
    return killed, False


@kernel
def seconds_lost(
    t: float, now: float, start: Floats, interval: Floats, cost: Floats, restart: Floats, on_demand: Booleans
) -> tuple[Floats, Booleans]:
    """Return what each job loses on each of its nodes if it is a victim at t (see `loss_on_a_node`).

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
        seconds[j], by_checkpoint[j] = loss_on_a_node(t, now, start[j], interval[j], cost[j], restart[j], on_demand[j])
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
