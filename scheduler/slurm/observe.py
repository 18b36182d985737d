"""From what Slurm shows to what a preemption decision looks at: a pure conversion.

Nodes are counted whole, so only nodes that one job has to itself can change hands:

- A node is free where it is idle and may be used. What is down, drained, failing, powered down, about to reboot, in
  maintenance or in an active reservation is neither free nor becomes free.
- A job counts with the nodes that are usable and its own. A job that shares a node, or holds one that is drained, is no
  victim: it would lose more nodes than it frees.
- A completing job (ended or requeued) still holds its nodes; they count as coming free `COMPLETING` seconds from now.
- A configuring or suspended job is no victim: nobody knows what state its nodes or its processes are in.
- Components of a heterogeneous job are requeued together, and only by the leader's id: they count as one job of that
  id, which ends when the last component does.
- Each task of an array counts by itself.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from cosim.snapshot import RunningJob, Snapshot
from scheduler.options import from_record
from scheduler.slurm.seam import Job, Node

COMPLETING = 30.0
"""Seconds in which a completing job is expected to let its nodes go: `KillWait`'s default in slurm.conf(5), between the
SIGTERM and the SIGKILL."""

_OUT = frozenset(
    {"down", "drain", "fail", "error", "unknown", "future", "not_responding", "maintenance", "maint", "reserved"}
    | {"powered_down", "powering_down", "powering_up", "power_down", "power_up", "power_drain"}
    | {"reboot_requested", "reboot_issued", "invalid_reg", "blocked", "external"}
)
"""States of a node on which no job can be started now."""

_GONE = frozenset({"down", "drain", "fail", "error"})
"""States of a node that does not come back by itself; one that does not respond may, until Slurm calls it down."""

_HOLDING = frozenset({"running", "suspended"})


@dataclass(frozen=True)
class Terms:
    """What holds for a running job in a decision; fields as in `RunningJob`."""

    preemptible: bool = True
    checkpoint_interval: float | None = None
    checkpoint_cost: float = 0.0
    restart_cost: float = 0.0
    on_demand_checkpoint: bool = False
    priority: int = 0


def terms_by_record(job: Job) -> Terms:
    """Take a job's terms from its record alone, without a policy: an on-demand job is never a victim.

    Parameters
    ----------
    job : Job
        The job.

    Returns
    -------
    Terms
        Its terms.
    """
    options = from_record(job.admin_comment)
    if options is None:
        return Terms()
    every = options.checkpoint_every
    return Terms(
        preemptible=options.on_demand is None,
        checkpoint_interval=every if isinstance(every, int | float) and every > 0 else None,
        checkpoint_cost=options.checkpoint_cost or 0.0,
        restart_cost=options.restart_cost or 0.0,
    )


def standing_nodes(nodes: Iterable[Node]) -> frozenset[str]:
    """Return the names of the nodes that a reserved job may still wait for: neither down, drained nor failing."""
    return frozenset(node.name for node in nodes if not node.states & _GONE)


def usable_nodes(nodes: Iterable[Node], partition: str = "", blocked: Collection[str] = ()) -> frozenset[str]:
    """Return the names of the nodes that may be used.

    Parameters
    ----------
    nodes : iterable of Node
        All nodes.
    partition : str
        Only those of this partition; empty for all.
    blocked : collection of str
        Nodes to leave out, such as those promised to another on-demand job.

    Returns
    -------
    frozenset of str
        The names.
    """
    left_out = frozenset(blocked)
    return frozenset(
        node.name
        for node in nodes
        if not node.states & _OUT and node.name not in left_out and (not partition or partition in node.partitions)
    )


def snapshot(
    now: float,
    nodes: Sequence[Node],
    jobs: Iterable[Job],
    *,
    partition: str = "",
    blocked: Collection[str] = (),
    terms: Callable[[Job], Terms] = terms_by_record,
    completing: float = COMPLETING,
) -> Snapshot:
    """Turn what Slurm shows into a snapshot.

    Parameters
    ----------
    now : float
        The time [s].
    nodes : sequence of Node
        All nodes.
    jobs : iterable of Job
        All jobs.
    partition : str
        Only the nodes of this partition, and the jobs on them; empty for all.
    blocked : collection of str
        Nodes that neither are nor become free.
    terms : callable
        What holds for a job; of a heterogeneous job, the leader is asked.
    completing : float
        How long a completing job holds its nodes [s].

    Returns
    -------
    Snapshot
        Running jobs under their ids, and how many nodes are free.
    """
    usable = usable_nodes(nodes, partition, blocked)
    holding = [job for job in jobs if job.nodes]
    holders = Counter(name for job in holding for name in job.nodes)
    own = usable - {name for name, count in holders.items() if count > 1}
    idle = {node.name for node in nodes if "idle" in node.states and "completing" not in node.states}
    free = len((idle & usable) - holders.keys())
    running = [_running(job, own, now, terms, completing) for job in holding]
    return Snapshot.of(now, free, _joined([found for found in running if found is not None]))


@dataclass(frozen=True)
class _Counted:
    job: Job
    running: RunningJob


def _running(
    job: Job, own: Collection[str], now: float, terms: Callable[[Job], Terms], completing: float
) -> _Counted | None:
    count = sum(name in own for name in job.nodes)
    if not count:
        return None
    if job.state not in _HOLDING or "completing" in job.flags:
        return _Counted(job, RunningJob(str(job.id), count, now, now + completing, preemptible=False))
    known = terms(job)
    # Slurm's clock and ours may differ by a moment.
    start = min(job.start if job.start is not None else now, now)
    runs = job.state == "running" and not job.flags
    running = RunningJob(
        id=str(job.id),
        nodes=count,
        start=start,
        expected_end=max(job.end, start) if job.end is not None else math.inf,
        checkpoint_interval=known.checkpoint_interval,
        checkpoint_cost=known.checkpoint_cost,
        restart_cost=known.restart_cost,
        on_demand_checkpoint=known.on_demand_checkpoint,
        preemptible=known.preemptible and runs and job.requeueable and job.exclusive and count == len(job.nodes),
        priority=known.priority,
    )
    return _Counted(job, running)


def _joined(counted: Sequence[_Counted]) -> list[RunningJob]:
    """Make one of the components of each heterogeneous job."""
    single = [found.running for found in counted if found.job.het_job_id is None]
    groups: dict[int, list[_Counted]] = {}
    for found in counted:
        if found.job.het_job_id is not None:
            groups.setdefault(found.job.het_job_id, []).append(found)
    return single + [_one(number, sorted(group, key=lambda c: c.job.het_offset)) for number, group in groups.items()]


def _one(number: int, components: Sequence[_Counted]) -> RunningJob:
    leader = components[0]
    parts = [component.running for component in components]
    # Components that we do not see (other nodes, ended by themselves) lose work too, or make the requeue fail.
    whole = leader.job.het_offset == 0 and [c.job.het_offset for c in components] == list(range(len(components)))
    return replace(
        leader.running,
        id=str(number),
        nodes=sum(part.nodes for part in parts),
        start=min(part.start for part in parts),
        expected_end=max(part.expected_end for part in parts),
        preemptible=whole and all(part.preemptible for part in parts),
    )
