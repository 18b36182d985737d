"""Why a job makes room or is spared, and what a plan is, in words and numbers."""

from __future__ import annotations

from cosim.losses import last_checkpoint, seconds_lost
from cosim.preemption import CHECKPOINT
from cosim.snapshot import Snapshot
from scheduler.controller.journal import Plan
from scheduler.slurm.seam import Job


def explained(plan: Plan, total: float, snapshot: Snapshot, job: Job) -> dict[int, str]:
    """Say of each running job why it goes or stays, with the numbers.

    Parameters
    ----------
    plan : Plan
        What is to be done.
    total : float
        What all that go at its start lose [node-seconds].
    snapshot : Snapshot
        What the decision looked at.
    job : Job
        The on-demand job.

    Returns
    -------
    dict of int to str
        By job; the on-demand job's own among them.
    """
    head = f"on-demand job {job.id} asks for {job.node_count} nodes; it starts {plan.start - snapshot.now:.0f} s"
    head += " after the decision"
    found = {job.id: f"{head}; {len(plan.victims)} jobs make room and lose {total:.0f} node-seconds together"}
    seconds, _ = seconds_lost(
        float(plan.start),
        float(snapshot.now),
        snapshot.start,
        snapshot.checkpoint_interval,
        snapshot.checkpoint_cost,
        snapshot.restart_cost,
        snapshot.on_demand_checkpoint,
    )
    ways = {victim.job: victim.how for victim in plan.victims}
    for place, name in enumerate(snapshot.ids):
        each, nodes = float(seconds[place]), int(snapshot.nodes[place])
        loss = f"{each * nodes:.0f} node-seconds on {nodes} nodes ({each:.0f} s on each)"
        if int(name) in ways:
            by_signal = ways[int(name)] == CHECKPOINT
            how = "after a checkpoint on a signal" if by_signal else f"at once and loses {loss}"
            since = f" and loses {loss}" if by_signal else f"; {_since(plan.start, snapshot, place)}"
            text = f"chosen: it is requeued {how}{since}"
        elif not snapshot.preemptible[place]:
            text = "spared: it may not be preempted (policy, exempt time, on-demand itself, or not requeueable)"
        else:
            text = f"spared: it would lose {loss}; those chosen lose {total:.0f} together"
        found[int(name)] = f"{text}; {head}"
    return found


def _since(start: float, snapshot: Snapshot, place: int) -> str:
    """Say since when a killed job's work is lost."""
    began, cost = float(snapshot.start[place]), float(snapshot.checkpoint_cost[place])
    newest = float(last_checkpoint(start, began, float(snapshot.checkpoint_interval[place]), cost))
    if newest > began:
        return f"its newest checkpoint was completed {start - newest:.0f} s before"
    return f"it has no checkpoint since its start {start - began:.0f} s before"


def outlined(plan: Plan) -> str:
    """Return what a plan would do, in a few lines, for a person who looks on at a dry run.

    Parameters
    ----------
    plan : Plan
        The plan.

    Returns
    -------
    str
        The start, the nodes, and a line for each victim: how it goes, and its loss.
    """
    lines = [f"on-demand job {plan.job}: would start {plan.start - plan.made:.0f} s from now on {','.join(plan.nodes)}"]
    for victim in plan.victims:
        how = "checkpoint on a signal, then requeue" if victim.how == CHECKPOINT else "requeue at once"
        lines.append(f"  job {victim.job}: {how}, loses {victim.loss:.0f} node-seconds")
    if not plan.victims:
        lines.append("  nobody has to make room")
    return "\n".join(lines)
