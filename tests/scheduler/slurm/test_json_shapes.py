"""The same cluster in the three shapes of Slurm's JSON."""

from __future__ import annotations

import json
import math
import random

import pytest

from scheduler.slurm import key_value
from scheduler.slurm.documents import read_jobs, read_nodes, read_reservations, read_shape
from scheduler.slurm.seam import SlurmError
from scheduler.slurm.shape_plain import base_state

SHAPES = ["v38", "v42", "v45"]
pytestmark = pytest.mark.usefixtures("at_the_time")


@pytest.fixture(params=SHAPES)
def shape(request) -> str:
    return request.param


@pytest.fixture
def jobs(shape, output):
    return {job.id: job for job in read_jobs("list jobs", output(f"{shape}_jobs.json"))}


def test_the_shape_is_asked_of_slurm(shape, output):
    found = read_shape("list jobs", output(f"{shape}_jobs.json"))
    name = {"v38": "openapi/v0.0.38", "v42": "data_parser/v0.0.42", "v45": "data_parser/v0.0.45"}[shape]
    assert (found.name, found.scontrol_json) == (name, shape != "v38")


def test_a_running_job_has_its_nodes_and_times(jobs):
    job = jobs[1]
    assert job.name == 'it\'s "quoted"; $(id) é'
    assert (job.user, job.uid, job.account, job.partition) == ("alice", 1001, "physics", "main")
    assert (job.state, job.flags, job.nodes, job.node_count) == ("running", frozenset(), ("n1",), 1)
    assert (job.submit, job.start, job.end) == (1_796_077_541.0, 1_796_077_542.0, 1_796_081_142.0)
    assert (job.time_limit, job.requeueable, job.exclusive, job.restarts) == (3600.0, True, True, 0)
    assert json.loads(job.admin_comment)["checkpoint_every"] == 600


def test_a_requeued_job_that_is_completing_waits_and_still_holds_its_node(jobs):
    job = jobs[4]
    assert (job.state, job.flags, job.nodes, job.restarts) == ("pending", {"completing"}, ("n2",), 1)
    assert (job.start, job.end) == (None, None)


def test_a_cancelled_job_that_is_completing_has_ended_and_still_holds_its_node(jobs, shape):
    job = jobs[3]
    # 22.05 hides behind COMPLETING how the job ended.
    assert job.state == ("completed" if shape == "v38" else "cancelled")
    assert (job.flags, job.nodes, job.end) == ({"completing"}, ("n3",), 1_796_077_547.0)


def test_waiting_tasks_of_an_array_are_one_record_with_their_numbers(jobs):
    assert (jobs[2].array_job_id, jobs[2].array_task, jobs[2].state) == (2, "2-6", "pending")
    assert (jobs[4].array_job_id, jobs[4].array_task) == (2, "1")
    assert (jobs[1].array_job_id, jobs[1].array_task) == (None, "")


def test_components_of_a_heterogeneous_job_name_their_leader(jobs):
    assert [(jobs[number].het_job_id, jobs[number].het_offset) for number in (5, 6, 1)] == [(5, 0), (5, 1), (None, 0)]
    assert (jobs[6].node_count, jobs[6].time_limit) == (2, 300.0)


def test_a_held_job_without_a_limit(jobs):
    job = jobs[7]
    assert (job.state, job.priority, job.reason, job.requeueable) == ("pending", 0, "JobHeldUser", False)
    assert (job.time_limit, job.start, job.end, job.eligible, job.nodes) == (math.inf, None, None, None, ())


def test_nodes_have_states_and_flags(shape, output):
    nodes = {node.name: node for node in read_nodes("list nodes", output(f"{shape}_nodes.json"))}
    assert nodes["n1"].states == {"allocated"}
    assert nodes["n2"].states == {"idle", "completing", "planned"}
    assert nodes["n4"].states == {"idle", "drain"}
    assert (nodes["n1"].cpus, nodes["n1"].memory, nodes["n1"].partitions) == (2, 1000 << 20, ("main",))


def test_reservations_are_alike_as_json_and_as_key_and_value(shape, output):
    if shape == "v38":
        found = key_value.reservations("list reservations", output("v38_reservations.txt"))
    else:
        found = read_reservations("list reservations", output(f"{shape}_reservations.json"))
    first, second = found
    assert (first.name, first.nodes, first.users) == ("tierwise_7", ("n1", "n2"), ("root", "bob"))
    assert (first.start, first.end) == (1_796_077_549.0, 1_796_078_149.0)
    assert (second.name, second.nodes) == ("odd name; x=1", ("n4",))


def test_no_reservations_is_no_error():
    assert key_value.reservations("list reservations", b"No reservations in the system\n") == ()


def test_a_reservation_in_another_form_is_an_error_and_not_left_out():
    with pytest.raises(SlurmError, match="list reservations: a reservation is not as expected"):
        key_value.reservations("list reservations", b"ReservationName=a StartTime=soon EndTime=5\n")


def test_the_configuration_is_read_by_name(output):
    found = key_value.configuration(output("v38_config.txt"))
    assert (found["clustername"], found["slurm_version"], found["killwait"]) == ("lab", "22.05.8", "2 sec")
    assert found["accountingstorageparameters"] == ""


@pytest.mark.parametrize(
    ("word", "state"), [("CONFIGURING", "running"), ("REQUEUE_HOLD", "pending"), ("STAGE_OUT", "completed")]
)
def test_the_state_behind_a_flag_is_told_on_22_05(word, state):
    assert base_state(word, None, 0.0) == (state, {word.lower()})


def test_a_states_own_word_has_no_flag_on_22_05():
    assert base_state("OUT_OF_MEMORY", 5.0, 10.0) == ("out_of_memory", frozenset())


def test_an_error_inside_a_document_is_an_error_although_the_command_exits_with_0(output):
    document = json.loads(output("v38_jobs.json"))
    document["errors"] = [
        {"description": "Failed while looking for jobs", "error_number": -1, "error": "Unspecified\n"}
    ]
    with pytest.raises(SlurmError, match=r"^list jobs: Failed while looking for jobs: Unspecified$"):
        read_jobs("list jobs", json.dumps(document).encode())


def test_an_unknown_shape_is_named(output):
    text = output("v42_jobs.json").replace(b"data_parser/v0.0.42", b"data_parser/v1.2.3")
    with pytest.raises(SlurmError, match=r"list jobs: Slurm's JSON has the shape 'data_parser/v1.2.3', expected"):
        read_jobs("list jobs", text)


def test_a_name_that_is_not_utf_8_stays_readable(output):
    text = output("v38_jobs.json").replace("é".encode(), b"\xe9")
    job = next(job for job in read_jobs("list jobs", text) if job.id == 1)
    assert job.name.endswith("\ufffd")


def test_a_state_in_one_word_is_that_state_and_not_its_letters(output):
    document = json.loads(output("v42_jobs.json"))
    document["jobs"][0]["job_state"] = "RUNNING"
    assert read_jobs("list jobs", json.dumps(document).encode())[0].state == "running"


def test_numbers_that_are_no_json_do_not_hide_the_jobs(output, shape):
    document = json.loads(output(f"{shape}_jobs.json"))
    document["jobs"][0]["billable_tres"] = math.nan
    document["jobs"][1]["priority"] = math.inf
    text = json.dumps(document).encode()
    assert b"NaN" in text and b"Infinity" in text
    assert len(read_jobs("list jobs", text)) == len(document["jobs"])


def test_anything_else_is_one_line(output, shape):
    """Cut, change and drop: the answer is jobs, or one line."""
    text = output(f"{shape}_jobs.json")
    draw = random.Random(7)
    for _ in range(300):
        at, length = draw.randrange(len(text)), draw.choice([1, 3, 50, len(text)])
        broken = text[:at] + draw.choice([b"", b"null", b"{}", b'"x"', b"-1", b"\x00"]) + text[at + length :]
        try:
            read_jobs("list jobs", broken)
        except SlurmError as error:
            assert str(error).startswith("list jobs: ") and str(error).isprintable() and len(str(error)) < 500


@pytest.mark.parametrize("text", [b"", b"[]", b"null", b"slurm_load_jobs error", b"{}", b'{"jobs": []}'])
def test_no_document_at_all_is_one_line(text):
    with pytest.raises(SlurmError, match=r"^list jobs: Slurm's JSON "):
        read_jobs("list jobs", text)
