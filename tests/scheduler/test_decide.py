"""`tierwise decide`: answers, exit codes, and one line for whatever is wrong with a file."""

from __future__ import annotations

import copy
import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cosim.decision_json import parse
from scheduler.cli.app import main
from scheduler.cli.decide import described
from traces.errors import InputError

DOCUMENT: dict[str, Any] = {
    "now": 1000.0,
    "free_nodes": 10,
    "request": {"nodes": 42, "duration": 3600, "max_delay": 600, "delay_weight": 1.0},
    "jobs": [
        {
            "id": "17",
            "nodes": 32,
            "start": 0.0,
            "expected_end": 5000.0,
            "checkpoint_interval": 300,
            "checkpoint_cost": 20,
            "restart_cost": 30,
            "on_demand_checkpoint": False,
            "preemptible": True,
        },
        {"id": 18, "nodes": 32, "start": 0, "expected_end": None},
    ],
}

SHARED: dict[str, Any] = {
    "now": 100,
    "nodes": [{"name": "a", "free": {"cpus": 2}}, {"name": "b", "free": {"cpus": 8}}],
    "request": {"nodes": 2, "duration": 60, "per_node": {"cpus": 8}},
    "jobs": [{"id": 1, "start": 0, "expected_end": 500, "allocation": {"a": {"cpus": 6, "gpus": 1}}}],
}


@pytest.fixture
def told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def ask(content: object, *options: str) -> tuple[int, str, str]:
        file = tmp_path / "s.json"
        file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        code = main(["decide", str(file), *options])
        out, err = capsys.readouterr()
        return code, out, err.replace(str(tmp_path) + "/", "")

    return ask


def changed(path: str, value: object, document: dict[str, Any] = DOCUMENT) -> dict[str, Any]:
    """Set or, for the value `...`, remove what stands at a dotted path."""
    result = copy.deepcopy(document)
    *way, last = path.split(".")
    place: Any = result
    for step in way:
        place = place[int(step) if isinstance(place, list) else step]
    if value is ...:
        del place[last]
    else:
        place[last] = value
    return result


def test_prints_the_start_the_victims_and_the_frontier(told: Any) -> None:
    code, out, err = told(DOCUMENT)
    # Its newest checkpoint began at 900 and was complete at 920; the next is at 1220.
    killed = [{"id": "17", "how": "kill", "loss": 32 * (80 + 30.0)}]
    later = [{"id": "17", "how": "kill", "loss": 32 * 30.0}]
    assert (code, err) == (0, "")
    assert json.loads(out) == {
        "feasible": True,
        "start": 1000.0,
        "victims": killed,
        "lost_node_seconds": 3520.0,
        "frontier": [
            {"start": 1000.0, "lost_node_seconds": 3520.0, "victims": killed},
            {"start": 1220.0, "lost_node_seconds": 960.0, "victims": later},
        ],
    }
    assert list(json.loads(out)) == ["feasible", "start", "victims", "lost_node_seconds", "frontier"]


@pytest.mark.parametrize("policy", ["dp", "slurm", "youngest", "smallest", "greedy", "random", "exact"])
def test_every_policy_answers(told: Any, policy: str) -> None:
    code, out, _ = told(DOCUMENT, "--policy", policy, "--seed", "3")
    assert code == 0
    assert json.loads(out)["feasible"] is True


def test_an_infeasible_request_exits_3_where_it_was_the_only_one(told: Any) -> None:
    impossible = changed("request.nodes", 75)
    code, out, err = told(impossible)
    assert (code, json.loads(out), err) == (3, {"feasible": False, "most_nodes": 74}, "")
    two = f"{json.dumps(impossible)}\n\n{json.dumps(DOCUMENT)}\n".encode()
    code, out, _ = told(two)
    assert (code, [json.loads(line)["feasible"] for line in out.splitlines()]) == (0, [False, True])


def test_one_object_may_span_lines_and_have_a_byte_order_mark(told: Any) -> None:
    assert told(json.dumps(DOCUMENT, indent=1).encode()) == told(DOCUMENT)
    assert told(b"\xef\xbb\xbf" + json.dumps(DOCUMENT).encode()) == told(DOCUMENT)
    assert told(b"\r\n" + json.dumps(DOCUMENT).encode() + b"\r\n") == told(DOCUMENT)


def test_reads_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(DOCUMENT).encode() + b"\n")))
    assert main(["decide", "-"]) == 0
    assert json.loads(capsys.readouterr().out)["start"] == 1000.0


def test_shared_nodes_are_decided_by_exact_and_refused_by_the_others(told: Any) -> None:
    code, out, _ = told(SHARED, "--policy", "exact")
    answer = json.loads(out)
    assert (code, answer["victims"], answer["nodes"]) == (0, [{"id": "1", "how": "kill", "loss": 100.0}], ["a", "b"])
    code, out, err = told(SHARED)
    assert (code, out) == (2, "")
    assert "--policy exact" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("document", "message"),
    [
        (
            changed("jobs.0.chekpoint_interval", 300),
            "jobs[0].chekpoint_interval is not a known key: did you mean check",
        ),
        (changed("request.delay", 300), "request.delay is not a known key: did you mean"),
        (changed("xyz", 1), "xyz is not a known key: expected one of now, free_nodes, request, jobs"),
        (changed("now", ...), "now is missing, expected a time in seconds"),
        (changed("request.nodes", ...), "request.nodes is missing, expected a whole number from 1 to"),
        (changed("jobs.1.nodes", "32"), 'jobs[1].nodes is "32", expected a whole number'),
        (changed("jobs.1.nodes", 32.0), "jobs[1].nodes is 32.0, expected a whole number"),
        (changed("jobs.1.nodes", True), "jobs[1].nodes is true, expected a whole number"),
        (changed("jobs.1.nodes", 0), "jobs[1].nodes is 0, expected a whole number from 1"),
        (changed("jobs.1.nodes", 10**30), "expected a whole number from 1"),
        (changed("jobs.1.nodes", 999_999), "1000041 together, expected at most 1000000"),
        (changed("jobs.1.start", 1001), "job '18': start is 1001.0, after now"),
        (changed("jobs.1.start", "0"), 'jobs[1].start is "0", expected a time in seconds'),
        (changed("jobs.0.expected_end", -5), "job '17': expected_end is -5.0, expected a time at or after start"),
        (changed("jobs.0.checkpoint_interval", 0), "jobs[0].checkpoint_interval is 0, expected a number of seconds"),
        (changed("jobs.0.checkpoint_interval", 1e-9), "expected a number of seconds of at least 0.001"),
        (changed("jobs.0.restart_cost", -1), "jobs[0].restart_cost is -1, expected a number of seconds, at least 0"),
        (changed("jobs.0.preemptible", 1), "jobs[0].preemptible is 1, expected true or false"),
        (changed("jobs.0.id", "18"), "job '18' occurs twice"),
        (changed("jobs.0.id", ""), 'jobs[0].id is "", expected a string or an integer'),
        (changed("jobs.0.id", "a\nb"), "jobs[0].id is"),
        (changed("jobs.0.id", None), "jobs[0].id is null"),
        (changed("jobs", {}), "jobs is an object, expected an array"),
        (changed("jobs", [3]), "jobs[0] is 3, expected an object"),
        (changed("request", []), "request is an array, expected an object"),
        (changed("free_nodes", -1), "free_nodes is -1, expected a whole number from 0"),
        (changed("request.duration", 0), "request.duration is 0, expected a number of seconds above 0"),
        (changed("nodes", 5), "has nodes and free_nodes, expected one of them"),
        ([], "is an array, expected a JSON object"),
        ("text", 'is "text", expected a JSON object'),
        (changed("jobs.0.allocation", {}, SHARED), "jobs[0].allocation is an object, expected an object of amounts"),
        (changed("jobs.0.allocation.a", 5, SHARED), "jobs[0].allocation.a is 5, expected an object of amounts by res"),
        (changed("jobs.0.allocation.a.cpus", -5, SHARED), "jobs[0].allocation.a.cpus is -5, expected a whole number"),
        (changed("jobs.0.allocation.c", {}, SHARED), "names node 'c', which is not listed"),
        (changed("request.per_node", {"cups": 1}, SHARED), "'cups', which no node has: expected one of 'cpus', 'gpus'"),
        (changed("request.per_node", ..., SHARED), "request.per_node is missing, expected an object of amounts"),
        (changed("jobs.0.nodes", 2, SHARED), "nodes is 2, expected 1"),
        (b'{"now": NaN}', "NaN is not a JSON number"),
        (b'{"now": -Infinity}', "-Infinity is not a JSON number"),
        (b'{"now": 1, "now": 2}', 'key "now" occurs twice'),
        (b'{"now": 1' + b"0" * 5000 + b"}", "a number is too long"),
        (b'{"now": 1,\n "free_nodes": }', "line 2, column 16: expecting value"),
        (b'{"now": 1', "expected JSON"),
        (b"", "is empty, expected a JSON object"),
        (b"\n \n", "is empty"),
        (b"\x1f\x8b\x08\x00", "byte 2 of line 1 is not UTF-8"),
        (b"\x00\x00\x00", "expected JSON"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a":' * 200_000, "nested too deeply"),
        (b"123", "is 123, expected a JSON object"),
    ],
)
def test_what_is_wrong_with_a_file_is_one_line_that_names_it(told: Any, document: object, message: str) -> None:
    code, out, err = told(document)
    assert (code, out) == (2, "")
    assert err.startswith("tierwise: error: s.json")
    assert message in err
    assert err.count("\n") == 1
    assert len(err) < 500


def test_numbers_beyond_floating_point_are_refused(told: Any) -> None:
    text = json.dumps(DOCUMENT).replace("1000.0", "1e400")
    code, out, err = told(text.encode())
    assert (code, out) == (2, "")
    assert "now is" in err


def test_an_error_in_a_line_is_found_before_anything_is_printed(told: Any) -> None:
    lines = [json.dumps(DOCUMENT)] * 3 + [json.dumps(changed("request.nodes", 0))]
    code, out, err = told("\n".join(lines).encode())
    assert (code, out) == (2, "")
    assert err.startswith("tierwise: error: s.json, line 4: request.nodes is 0, expected")
    code, out, err = told("\n".join([lines[0], "{", lines[0]]).encode())
    assert (code, out) == (2, "")
    assert err.startswith("tierwise: error: s.json, line 2: column")


def test_a_window_with_too_many_starts_is_found_before_anything_is_printed(told: Any) -> None:
    dense = changed("jobs.0.checkpoint_interval", 0.001)
    dense["request"]["max_delay"] = 86_400
    code, out, err = told(f"{json.dumps(DOCUMENT)}\n{json.dumps(dense)}".encode())
    assert (code, out) == (2, "")
    assert "line 2: request: max_delay is 86400.0" in err


def test_paths_that_are_no_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for path, message in ((str(tmp_path), "is a directory"), (str(tmp_path / "no"), "no such file"), ("a\0b", "name")):
        assert main(["decide", path]) == 2
        err = capsys.readouterr().err
        assert message in err
        assert err.count("\n") == 1


def test_a_line_without_an_end_is_given_up(monkeypatch: pytest.MonkeyPatch, told: Any) -> None:
    monkeypatch.setattr("cosim.decision_files.LONGEST", 1000)
    assert "line 1 is longer than" in told(b" " * 1001)[2]
    assert "is longer than" in told(b"{\n" * 600)[2]


def test_a_wrong_option_is_one_line(told: Any) -> None:
    code, out, err = told(DOCUMENT, "--policy", "fair")
    assert (code, out) == (2, "")
    assert "expected one of dp, slurm" in err


@given(st.binary(max_size=300))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_give_one_line(told: Any, content: bytes) -> None:
    code, out, err = told(content)
    assert (code, out) == (2, "")
    assert err.count("\n") == 1


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just(10**400),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
PLACES = [
    *("now", "free_nodes", "request", "jobs", "nodes"),
    *(f"request.{key}" for key in ("nodes", "duration", "max_delay", "delay_weight", "per_node")),
    *(f"jobs.0.{key}" for key in (*DOCUMENT["jobs"][0], "priority", "allocation")),
]


@given(st.sampled_from(PLACES), values, st.sampled_from([DOCUMENT, SHARED]), st.sampled_from(["dp", "exact"]))
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_value_at_any_place_gives_an_answer_or_one_line(
    told: Any, place: str, value: object, document: dict[str, Any], policy: str
) -> None:
    code, out, err = told(changed(place, value, document), "--policy", policy)
    if code == 2:
        assert (out, err.count("\n")) == ("", 1)
    else:
        assert err == ""
        assert json.loads(out)["feasible"] is (code == 0)


def answered(document: dict[str, Any]) -> str:
    from cosim.preemption import decide

    snapshot, request = parse(json.dumps(document), "here")
    return described(decide(snapshot, request), snapshot, request)


def test_a_person_is_told_start_victims_frontier_and_why() -> None:
    text = answered(DOCUMENT)
    assert text.splitlines()[0] == (
        "42 nodes for 1 h, at most 10 min late: start now (t = 1000), lost: 3,520 node-seconds"
    )
    assert "17         32  kill          3,520" in text
    assert [" ".join(line.split()) for line in text.splitlines()[6:8]] == [
        "> now 1 3,520 3,520",
        "in 3 min 40 s 1 960 10,200",
    ]
    assert "Why: a wait of 3 min 40 s would lose 2,560 less, but counts as 9,240 of delay" in text


def test_a_person_is_told_what_waiting_spares() -> None:
    text = answered(changed("request.delay_weight", 0.1))
    assert "start in 3 min 40 s (t = 1220)" in text
    assert "starting now would lose 2,560 more, and the wait counts as 924" in text


def test_a_person_is_told_when_nobody_goes_and_when_nothing_helps() -> None:
    assert "Nobody is preempted" in answered(changed("request.nodes", 10))
    assert "at most 74 nodes can be had" in answered(changed("request.nodes", 100))


def test_names_that_a_terminal_might_obey_are_refused() -> None:
    for name in ("\x1b[2J", "a b", "\u0085", "x" * 300):
        with pytest.raises(InputError, match="id is"):
            parse(json.dumps(changed("jobs.0.id", name)), "here")


def test_a_terminal_gets_a_table_and_json_when_asked(tmp_path: Path) -> None:
    pty = pytest.importorskip("pty")
    file = tmp_path / "s.json"
    file.write_text(json.dumps(DOCUMENT))
    for options, start in ((["--json"], b'{"feasible": true'), ([], b"42 nodes for 1 h")):
        ours, theirs = pty.openpty()
        command = [sys.executable, "-c", "import sys; from scheduler.cli.app import main; sys.exit(main())"]
        subprocess.run([*command, "decide", str(file), *options], stdout=theirs, check=True)
        os.close(theirs)
        assert os.read(ours, 5000).startswith(start)
        os.close(ours)


def test_the_help_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decide", "--help"]) == 0
    assert "free_nodes" in capsys.readouterr().out
