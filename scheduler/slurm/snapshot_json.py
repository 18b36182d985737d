"""A snapshot and a request as the document that `tierwise decide` reads (docs/preemption.md)."""

from __future__ import annotations

import math
from typing import Any

from cosim.snapshot import Request, Snapshot

_COLUMNS = (
    *("nodes", "start", "expected_end", "checkpoint_interval", "checkpoint_cost", "restart_cost"),
    *("on_demand_checkpoint", "preemptible", "priority"),
)


def document(snapshot: Snapshot, request: Request) -> dict[str, Any]:
    """Return what `json.dumps` turns into the document.

    Parameters
    ----------
    snapshot : Snapshot
        The machine.
    request : Request
        What is asked of it.

    Returns
    -------
    dict
        Numbers, strings, lists and dicts alone.
    """
    columns = {name: getattr(snapshot, name).tolist() for name in _COLUMNS}
    jobs = []
    for place, job_id in enumerate(snapshot.ids):
        job = {"id": job_id} | {name: column[place] for name, column in columns.items()}
        # JSON has no infinity: null stands for an end or an interval that is not known.
        for name in ("expected_end", "checkpoint_interval"):
            job[name] = job[name] if math.isfinite(job[name]) else None
        jobs.append(job)
    return {
        "now": snapshot.now,
        "free_nodes": snapshot.free_nodes,
        "request": {
            "nodes": request.nodes,
            "duration": request.duration,
            "max_delay": request.max_delay,
            "delay_weight": request.delay_weight,
        },
        "jobs": jobs,
    }
