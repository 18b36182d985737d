"""From nodes and jobs to a snapshot: what is free, what becomes free, and who may be a victim."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from cosim.decision_json import parse
from cosim.snapshot import Request
from scheduler.slurm.documents import read_jobs, read_nodes
from scheduler.slurm.observe import Terms, snapshot
from scheduler.slurm.seam import Job, Node
from scheduler.slurm.snapshot_json import document

NOW = 1000.0


def node(name: str, *states: str, partitions: tuple[str, ...] = ("main",)) -> Node:
    return Node(name, frozenset(states or {"idle"}), 2, 1 << 30, partitions)


def job(number: int, *nodes: str, **fields: object) -> Job:
    known = Job(
        id=number, name="a", user="alice", uid=1001, account="", partition="main", qos="", state="running",
        flags=frozenset(), nodes=nodes, node_count=len(nodes), submit=0.0, eligible=0.0, start=400.0, end=4000.0,
        time_limit=3600.0, requeueable=True, exclusive=True, restarts=0, priority=1, reason="None",
    )  # fmt: skip
    return replace(known, **fields)


NODES = [node(f"n{number}", "allocated") for number in range(1, 7)]


def only(*jobs: Job, nodes=NODES, **keywords):
    """Return the one running job of a snapshot."""
    found = snapshot(NOW, nodes, jobs, **keywords)
    assert len(found) == 1
    return {name: getattr(found, name)[0] for name in ("ids", "nodes", "start", "expected_end", "preemptible")}


def test_a_running_job_counts_with_its_nodes_and_times():
    assert only(job(5, "n1", "n2")) == {
        "ids": "5",
        "nodes": 2,
        "start": 400.0,
        "expected_end": 4000.0,
        "preemptible": True,
    }


def test_waiting_and_ended_jobs_do_not_count():
    found = snapshot(NOW, NODES, [job(1, state="pending"), job(2, state="completed")])
    assert len(found) == 0


@pytest.mark.parametrize(
    ("states", "free"),
    [
        (["idle"], 1),
        (["idle", "planned"], 1),
        (["idle", "cloud", "dynamic_norm"], 1),
        (["idle", "drain"], 0),
        (["down"], 0),
        (["down", "not_responding"], 0),
        (["idle", "not_responding"], 0),
        (["idle", "completing"], 0),
        (["idle", "reserved"], 0),
        (["idle", "maintenance"], 0),
        (["idle", "powered_down"], 0),
        (["idle", "reboot_requested"], 0),
        (["mixed"], 0),
        (["allocated"], 0),
        (["unknown"], 0),
    ],
)
def test_a_node_is_free_where_a_job_could_start_on_it_now(states, free):
    assert snapshot(NOW, [node("n1", *states)], []).free_nodes == free


def test_a_node_that_a_job_holds_is_not_free_although_it_shows_as_idle():
    # Between two looks, the nodes' answer may be older than the jobs'.
    assert snapshot(NOW, [node("n1")], [job(1, "n1")]).free_nodes == 0


def test_only_the_nodes_of_the_partition_count():
    nodes = [node("n1"), node("n2", partitions=("other",)), node("n3", partitions=("main", "other"))]
    assert snapshot(NOW, nodes, [], partition="other").free_nodes == 2
    assert snapshot(NOW, nodes, [], partition="main").free_nodes == 2
    assert snapshot(NOW, nodes, []).free_nodes == 3


def test_blocked_nodes_neither_are_nor_become_free():
    found = snapshot(NOW, [*NODES, node("n7")], [job(1, "n1", "n2"), job(2, "n3")], blocked={"n1", "n3", "n7"})
    assert (found.free_nodes, list(found.ids), found.nodes.tolist()) == (0, ["1"], [1])
    assert not found.preemptible[0]


def test_a_job_on_a_drained_node_frees_the_others_at_its_end_and_is_no_victim():
    nodes = [*NODES[:5], node("n6", "allocated", "drain")]
    found = only(job(1, "n5", "n6"), nodes=nodes)
    assert (found["nodes"], found["preemptible"]) == (1, False)


def test_a_job_that_shares_a_node_is_no_victim():
    found = snapshot(NOW, NODES, [job(1, "n1", "n2"), job(2, "n2"), job(3, "n3")])
    assert list(found.ids) == ["1", "3"]
    assert (found.nodes.tolist(), found.preemptible.tolist()) == ([1, 1], [False, True])


@pytest.mark.parametrize(
    "fields",
    [
        {"requeueable": False},
        {"exclusive": False},
        {"state": "suspended"},
        {"flags": frozenset({"configuring"})},
        {"flags": frozenset({"stopped"})},
        {"admin_comment": '{"tierwise":1,"on_demand":120}'},
    ],
)
def test_who_is_no_victim_still_frees_its_nodes_at_its_end(fields):
    found = only(job(1, "n1", **fields))
    assert (found["expected_end"], found["preemptible"]) == (4000.0, False)


def test_a_completing_job_frees_its_nodes_soon_and_is_no_victim():
    for state, end in (("pending", None), ("completed", 990.0)):
        found = only(job(1, "n1", state=state, flags=frozenset({"completing"}), end=end, start=None), completing=20.0)
        assert (found["expected_end"], found["preemptible"]) == (1020.0, False)


def test_a_job_without_a_limit_ends_nobody_knows_when():
    assert only(job(1, "n1", end=None))["expected_end"] == float("inf")


def test_a_clock_that_is_ahead_of_ours_does_not_start_a_job_in_the_future():
    assert only(job(1, "n1", start=1003.0))["start"] == NOW


def test_checkpoints_come_from_the_record_of_job_submit():
    record = '{"tierwise":1,"checkpoint_every":600,"checkpoint_cost":20,"restart_cost":30}'
    found = snapshot(NOW, NODES, [job(1, "n1", admin_comment=record), job(2, "n2", admin_comment="checkpoint_every=5")])
    assert found.checkpoint_interval.tolist() == [600.0, float("inf")]
    assert found.checkpoint_cost.tolist() == [20.0, 0.0]
    assert found.restart_cost.tolist() == [30.0, 0.0]


@pytest.mark.parametrize("record", ["", "{", "[1]", '{"tierwise":2,"on_demand":1}', "x" * 9000, '{"on_demand":1}'])
def test_another_admin_comment_says_nothing(record):
    assert only(job(1, "n1", admin_comment=record))["preemptible"]


def test_a_policy_may_say_otherwise():
    terms = Terms(preemptible=False, checkpoint_interval=60.0, on_demand_checkpoint=True, priority=7)
    found = snapshot(NOW, NODES, [job(1, "n1")], terms=lambda _: terms)
    assert (found.preemptible[0], found.checkpoint_interval[0]) == (False, 60.0)
    assert (found.on_demand_checkpoint[0], found.priority[0]) == (True, 7)


def component(number: int, offset: int, *nodes: str, **fields: object) -> Job:
    return job(number, *nodes, het_job_id=5, het_offset=offset, **fields)


def test_components_of_a_heterogeneous_job_are_one_job_under_the_leaders_id():
    found = only(component(6, 1, "n2", "n3", end=3000.0), component(5, 0, "n1"))
    assert (found["ids"], found["nodes"], found["expected_end"], found["preemptible"]) == ("5", 3, 4000.0, True)


@pytest.mark.parametrize(
    "components",
    [
        [component(5, 0, "n1"), component(6, 1, "n2", requeueable=False)],
        [component(6, 1, "n2")],  # the leader is elsewhere, or has ended
        [component(5, 0, "n1"), component(7, 2, "n2")],
        [component(5, 0, "n1"), component(6, 1, "n2", flags=frozenset({"completing"}))],
    ],
)
def test_a_heterogeneous_job_is_a_victim_only_as_a_whole(components):
    assert not only(*components)["preemptible"]


def test_tasks_of_an_array_count_one_by_one():
    found = snapshot(NOW, NODES, [job(8, "n1", array_job_id=7, array_task="1"), job(9, "n2", array_job_id=7)])
    assert list(found.ids) == ["8", "9"]


@pytest.mark.usefixtures("at_the_time")
@pytest.mark.parametrize("shape", ["v38", "v42", "v45"])
def test_what_slurm_printed_becomes_a_document_that_decide_reads(shape, output):
    jobs = read_jobs("list jobs", output(f"{shape}_jobs.json"))
    nodes = read_nodes("list nodes", output(f"{shape}_nodes.json"))
    found = snapshot(1_796_077_549.0, nodes, jobs)
    text = json.dumps(document(found, Request(2, 60.0, 120.0)), allow_nan=False)
    read, request = parse(text, "it")
    assert list(read.ids) == list(found.ids) == ["1", "3", "4"]
    assert read.preemptible.tolist() == [True, False, False]
    assert read.checkpoint_interval.tolist() == found.checkpoint_interval.tolist()
    assert (read.free_nodes, request) == (0, Request(2, 60.0, 120.0))
