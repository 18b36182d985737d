"""How long it takes to read a large machine, told against Python's own parser, so that a busy host does not matter."""

from __future__ import annotations

import copy
import json
import time

import pytest

from scheduler.slurm.documents import read_jobs, read_nodes
from scheduler.slurm.observe import snapshot

RUNNING, WAITING, NODES, CORES = 200, 2000, 880, 16
"""A fifth of Theta's, for the time of the test: reading takes as long as there is to read."""

SHARE = {"v38": 1.0, "v42": 0.7, "v45": 0.7}
"""Of what Python's parser takes; the newer shapes are longer, and most of what is longer is skipped. 0.3 to 0.5 of it
was measured for these; all of it and more where each field becomes an object of its own."""

ROUNDS = 7
"""A neighbour on the machine slows a round down, not all of them."""


def _processor_seconds(*calls):
    """Return the answers of some calls, and the least processor time of each: taken in turn, so that a slow while hits
    them all, and more than once, as the first round builds the parser."""
    least = [float("inf")] * len(calls)
    for _ in range(ROUNDS):
        answers = []
        for place, call in enumerate(calls):
            began = time.process_time()
            answers.append(call())
            least[place] = min(least[place], time.process_time() - began)
    return answers, least


def _resources(shape: str, names: list[str]) -> object:
    if shape == "v38":
        cores = {"0": {"cores": {str(core): "allocated" for core in range(CORES)}}}
        return {"nodes": ",".join(names), "allocated_nodes": [{"sockets": cores, "nodename": name} for name in names]}
    sockets = [{"index": 0, "cores": [{"index": core, "status": ["ALLOCATED"]} for core in range(CORES)]}]
    return {"nodes": {"whole": True, "allocation": [{"name": name, "sockets": sockets} for name in names]}}


@pytest.fixture(params=["v38", "v42", "v45"])
def large(request, output) -> tuple[bytes, bytes, float]:
    """Return jobs and nodes of a large machine, and the share of the parser's time that is granted."""
    shape = request.param
    jobs, nodes = json.loads(output(f"{shape}_jobs.json")), json.loads(output(f"{shape}_nodes.json"))
    known = {job["job_id"]: job for job in jobs["jobs"]}
    found = [known[8] | {"job_id": 5000 + number} for number in range(WAITING)]
    for number in range(RUNNING):
        names = [f"nid{4 * number + place:05d}" for place in range(4)]
        fields = {"job_id": number + 1, "nodes": ",".join(names), "job_resources": _resources(shape, names)}
        found.append(known[1] | fields)
    jobs["jobs"] = found
    nodes["nodes"] = [copy.copy(nodes["nodes"][0]) | {"name": f"nid{number:05d}"} for number in range(NODES)]
    return json.dumps(jobs).encode(), json.dumps(nodes).encode(), SHARE[shape]


@pytest.mark.usefixtures("at_the_time")
def test_a_large_machine_is_read_faster_than_python_parses_its_json(large):
    jobs_text, nodes_text, share = large
    jobs, nodes = read_jobs("list jobs", jobs_text), read_nodes("list nodes", nodes_text)
    answers, (parser, *ours) = _processor_seconds(
        lambda: (json.loads(jobs_text), json.loads(nodes_text)),
        lambda: read_jobs("list jobs", jobs_text),
        lambda: read_nodes("list nodes", nodes_text),
        lambda: snapshot(1_796_077_549.0, nodes, jobs),
    )
    assert [len(answer) for answer in answers[1:]] == [RUNNING + WAITING, NODES, RUNNING]
    assert sum(ours) < share * parser
