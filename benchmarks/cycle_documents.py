"""What Slurm's commands would print of a machine of Theta's size, in the shapes of three releases.

The records are those of tests/scheduler/slurm/data, with all their fields; names, times, sizes and cores are the large
machine's. `stubs` puts commands that print them into a folder for PATH.
"""

from __future__ import annotations

import json
import random
import time
from pathlib import Path
from typing import Any

from scheduler.slurm.hostlists import compress

DATA = Path(__file__).parent.parent / "tests" / "scheduler" / "slurm" / "data"
SHAPES = {"v38": "22.05", "v42": "24.11", "v45": "26.05"}
"""The shapes, and the releases that print them."""

NODES, WAITING, RUNNING, CORES = 4392, 10_000, 1_000, 64
ON_DEMAND_NODES = 512

_Record = dict[str, Any]


def _number(shape: str, value: int) -> Any:
    return value if shape == "v38" else {"set": True, "infinite": False, "number": value}


def _resources(shape: str, given: _Record, names: list[str]) -> _Record:
    """Return a job's resources down to each core, as Slurm lists them."""
    if shape == "v38":
        cores = {"0": {"cores": {str(core): "allocated" for core in range(CORES)}}}
        pieces: list[_Record] = [{"sockets": cores, "nodename": name, "cpus_used": 0} for name in names]
        return given | {"nodes": compress(names), "allocated_hosts": len(names), "allocated_nodes": pieces}
    sockets = [{"index": 0, "cores": [{"index": core, "status": ["ALLOCATED"]} for core in range(CORES)]}]
    pieces = [
        {"index": place, "name": name, "cpus": {"count": CORES, "used": 0}, "sockets": sockets}
        for place, name in enumerate(names)
    ]
    return given | {"nodes": given["nodes"] | {"list": compress(names), "count": len(names), "allocation": pieces}}


def _running(shape: str, record: _Record, names: list[list[str]], now: int) -> list[_Record]:
    draw = random.Random(1)
    found = []
    for place, held in enumerate(names):
        start, limit = now - draw.randrange(60, 20 * 3600), draw.randrange(21, 48) * 60  # [s], [min]
        options = {"tierwise": 1, "checkpoint_every": draw.choice((600, 1800, 3600)), "checkpoint_cost": 20}
        times = {"submit_time": start - 600, "eligible_time": start - 600, "start_time": start}
        numbers = {**times, "end_time": start + limit * 60, "time_limit": limit, "node_count": len(held)}
        found.append(
            record
            | {name: _number(shape, value) for name, value in numbers.items()}
            | {"job_id": place + 1, "nodes": compress(held), "admin_comment": json.dumps(options)}
            | {"job_resources": _resources(shape, record["job_resources"], held)}
        )
    return found


def _waiting(shape: str, record: _Record, now: int) -> list[_Record]:
    draw = random.Random(2)
    found = [
        record
        | {"job_id": RUNNING + place, "node_count": _number(shape, draw.choice((128, 256, 512)))}
        | {"submit_time": _number(shape, now - draw.randrange(60, 86400))}
        for place in range(1, WAITING)
    ]
    asks = {"job_id": RUNNING + WAITING, "node_count": _number(shape, ON_DEMAND_NODES), "admin_comment": _ASKS}
    return [*found, record | asks | {"submit_time": _number(shape, now)}]


_ASKS = '{"tierwise":1,"on_demand":600}'


def documents(shape: str) -> tuple[bytes, bytes]:
    """Return the jobs and the nodes as Slurm prints them.

    Parameters
    ----------
    shape : str
        One of `SHAPES`.

    Returns
    -------
    jobs, nodes : bytes
        The documents.
    """
    jobs, nodes = (json.loads((DATA / f"{shape}_{what}.json").read_bytes()) for what in ("jobs", "nodes"))
    known = {record["job_id"]: record for record in jobs["jobs"]}
    names = [f"nid{number:05d}" for number in range(NODES)]
    held, first = [], 0
    for place in range(RUNNING):
        count = NODES // RUNNING + (place < NODES % RUNNING)
        held.append(names[first : first + count])
        first += count
    now = int(time.time())
    jobs["jobs"] = [*_running(shape, known[1], held, now), *_waiting(shape, known[8], now)]
    state = "allocated" if shape == "v38" else ["ALLOCATED"]
    nodes["nodes"] = [nodes["nodes"][0] | {"name": name, "state": state} for name in names]
    return tuple(json.dumps(document, separators=(",", ":")).encode() for document in (jobs, nodes))  # type: ignore


def stubs(shape: str, folder: Path) -> int:
    """Put commands into a folder that print the documents, as the release would.

    Parameters
    ----------
    shape : str
        One of `SHAPES`.
    folder : Path
        An existing folder.

    Returns
    -------
    int
        Bytes that are printed of jobs and nodes.
    """
    jobs, nodes = documents(shape)
    (folder / "jobs.json").write_bytes(jobs)
    (folder / "nodes.json").write_bytes(nodes)
    (folder / "config.txt").write_bytes((DATA / "v38_config.txt").read_bytes())
    scripts = {
        "squeue": f"exec cat '{folder}/jobs.json'",
        "sinfo": f"exec cat '{folder}/nodes.json'",
        "scontrol": f"case \"$*\" in *nodes*) exec cat '{folder}/nodes.json';; esac\nexec cat '{folder}/config.txt'",
    }
    for name, script in scripts.items():
        file = folder / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
    return len(jobs) + len(nodes)
