"""One job out of Slurm's JSON. What differs between releases is asked of the shape; the rest is alike since 22.05."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from scheduler.slurm.hostlists import expand
from scheduler.slurm.raw import RawJob
from scheduler.slurm.seam import Job
from scheduler.slurm.values import limit, moment, number, whole

States = Callable[[RawJob], tuple[str, frozenset[str]]]
Exclusive = Callable[[RawJob], bool]

_HOLDING = frozenset({"running", "suspended"})
_HOLDING_FLAGS = frozenset({"completing", "configuring", "resizing", "stopped", "signaling"})

NODES_OF = lru_cache(maxsize=16_384)(expand)
"""Lists of nodes repeat from one look to the next, and stay what they are."""


def job(raw: RawJob, states: States, exclusive: Exclusive) -> Job:
    """Turn one record into a job.

    Parameters
    ----------
    raw : RawJob
        The record.
    states, exclusive : callable
        The shape's own way to tell the base state with the flags, and whether the job has its nodes for itself.

    Returns
    -------
    Job
        The job.
    """
    state, flags = states(raw)
    waits = state == "pending"
    time_limit = limit(raw.time_limit)
    names = NODES_OF(raw.nodes or "") if state in _HOLDING or flags & _HOLDING_FLAGS else ()
    batch = bool(raw.batch_flag)
    # Slurm gives a job without a limit an end a year ahead, and a waiting job a forecast: neither is known.
    end_is_known = not waits and (time_limit != float("inf") or state not in _HOLDING)
    return Job(
        id=raw.job_id,
        name=raw.name or "",
        user=raw.user_name or "",
        uid=raw.user_id,
        account=raw.account or "",
        partition=raw.partition or "",
        qos=raw.qos or "",
        state=state,
        flags=flags,
        nodes=names,
        node_count=len(names) or whole(raw.node_count),
        submit=moment(raw.submit_time),
        eligible=moment(raw.eligible_time),
        start=None if waits else moment(raw.start_time),
        end=moment(raw.end_time) if end_is_known else None,
        time_limit=time_limit,
        requeueable=bool(raw.requeue) and batch,
        exclusive=exclusive(raw),
        restarts=whole(raw.restart_cnt),
        # Not yet computed is not held: 0 is for that.
        priority=whole(raw.priority, 1),
        reason=raw.state_reason or "",
        array_job_id=whole(raw.array_job_id) or None,
        array_task=_task(raw),
        het_job_id=whole(raw.het_job_id) or None,
        het_offset=whole(raw.het_job_offset),
        batch=batch,
        reservation=raw.resv_name or "",
        admin_comment=raw.admin_comment or "",
    )


def _task(raw: RawJob) -> str:
    if not whole(raw.array_job_id):
        return ""
    task = number(raw.array_task_id)
    # "3-9%2": at most two at once, which is not part of which tasks they are.
    return f"{task:.0f}" if task == task else (raw.array_task_string or "").partition("%")[0]  # noqa: PLR0124
