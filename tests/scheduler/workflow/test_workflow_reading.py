"""Reading workflows: the three forms, and every mistake with its file, line and task."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.workflow.model import Workflow
from scheduler.workflow.reading import read, read_text
from scheduler.workflow.slurm_script import read as read_script
from tests.availability import unavailable
from tests.conftest import SHARED
from traces.errors import InputError

FLOW = """\
workflow: alignment
defaults: {time: 10m, memory: 512M}
data: {reference: 3G}
containers: {aligner.sif: 1G}
tasks:
  split:
    run: ./split.sh
    time: 90
  align:
    needs: split
    each: {chunk: 1..3, mode: [fast, slow]}
    run: ./align.sh "$chunk"
    class: latency
    memory: 2G
    dram: 1G
    far: 1.5G
    cpus: 2
    shares: reference
    container: aligner.sif
  join: {needs: [align, split]}
"""


def fault(text: str, source: str = "flow.yaml") -> str:
    with pytest.raises(InputError) as error:
        read_text(source, text)
    message = str(error.value)
    assert "\n" not in message
    return message


def edges(workflow: Workflow) -> set[tuple[str, str]]:
    return {(workflow.tasks[a].id, workflow.tasks[b].id) for a, b in workflow.graph.edges}


def wfformat(tasks: list[dict], ran: list[dict] = [], files: list[dict] = [], **more: object) -> str:  # noqa: B006
    workflow = {"specification": {"tasks": tasks, "files": files}, "execution": {"tasks": ran}}
    return json.dumps({"name": "w", "schemaVersion": "1.5", "workflow": workflow, **more}, indent=1)


def task(name: str, *parents: str, **more: object) -> dict:
    return {"name": name, "id": name, "parents": list(parents), "children": [], **more}


def test_the_short_form_says_all_that_a_task_has():
    found = read_text("flow.yaml", FLOW)
    assert found.name == "alignment" and len(found.tasks) == 8
    split, first, *_, join = found.tasks
    assert (split.seconds, split.memory, split.line, split.estimated) == (90.0, 512 << 20, 7, ())
    assert first.id == "align[chunk=1,mode=fast]" and first.variables == (("chunk", "1"), ("mode", "fast"))
    assert (first.memory, first.dram, first.far, first.cpus) == (2 << 30, 1 << 30, 3 << 29, 2)
    assert (first.tier_class, first.share, first.container, first.ensemble) == (
        "latency",
        "reference",
        "aligner.sif",
        "align",
    )
    assert dict(found.shares) == {"reference": 3 << 30} and dict(found.containers) == {"aligner.sif": 1 << 30}
    # Who needs an ensemble needs all of its members.
    assert len(join.parents) == 7 and ("align[chunk=3,mode=slow]", "join") in edges(found)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("tasks:\n  a: {time: 5 fortnights}\n", ["flow.yaml:2: task 'a': time: '5 fortnights'", "accepted are"]),
        ("tasks:\n  a: {memory: 5X}\n", ["flow.yaml:2: task 'a': memory: '5X' is not accepted", "512M"]),
        ("tasks:\n  a: {}\n  b: {needs: [a, c]}\n", ["flow.yaml:3: task 'b': needs 'c'", "no such task"]),
        ("tasks:\n  a: {}\n  b: {}\n  a: {}\n", ["flow.yaml:4: tasks: 'a' is there twice"]),
        ("tasks:\n  a: {needs: c}\n  b: {needs: a}\n  c: {needs: b}\n", ["flow.yaml:2: task 'a'", "'a' -> 'b' -> 'c'"]),
        ("tasks:\n  a: {needs: a}\n", ["flow.yaml:2: task 'a'", "'a' -> 'a'"]),
        ("tasks:\n  a: {class: fast}\n", ["flow.yaml:2: task 'a': class: 'fast'", "latency, bandwidth"]),
        ("tasks:\n  a: {cpus: none}\n", ["flow.yaml:2: task 'a': cpus: 'none'"]),
        ("tasks:\n  a: {shares: x}\n", ["flow.yaml:2: task 'a': shares: there is no 'x'"]),
        ("tasks:\n  a: {speed: 9}\n", ["flow.yaml:2: task 'a': there is no 'speed'; take one of"]),
        ("tasks:\n  a: {each: {'x;y': [1]}}\n", ["flow.yaml:2", "'x;y' is no name of a variable"]),
        ("tasks:\n  a: {each: {x: 1..2000, y: 1..2000}}\n", ["flow.yaml:2", "makes 4000000 tasks"]),
        ("tasks: [a, b]\n", ["flow.yaml:1: tasks: expected `key: value` lines"]),
        ("tasks:\n  a: {time: unlimited}\n", ["flow.yaml:2: task 'a': time"]),
        ("tasks:\n a: [\n", ["flow.yaml:3: not YAML"]),
        ('{"workflow": [}', ["flow.yaml:1: not JSON"]),
        ('{"a": 1}', ["no object `workflow`"]),
    ],
)
def test_each_mistake_is_named_with_its_place(text, parts):
    message = fault(text)
    assert all(part in message for part in parts), message


@pytest.mark.parametrize(
    ("tasks", "parts"),
    [
        ([task("a"), task("a")], r"task 'a': there is another task with this id, as at line \d+"),
        ([task("a", "ghost")], "task 'a': needs 'ghost'"),
        ([task("a", children=["ghost"])], "task 'a': has the child 'ghost'"),
        ([task("a", "b"), task("b", "a")], "task 'a': waits for itself: 'a' -> 'b' -> 'a'"),
        ([{"name": 5}], "a task has no `id`"),
        ([7], "a task is no object"),
    ],
)
def test_mistakes_in_wfformat_have_their_line(tasks, parts):
    message = fault(wfformat(tasks), "w.json")
    assert re.match(rf"w\.json:\d+: {parts}", message), message


def test_the_line_of_a_task_in_wfformat_is_where_it_begins():
    text = wfformat([task("a"), task("b"), task("a")])
    lines = text.splitlines()
    message = fault(text, "w.json")
    line = int(message.split(":")[1])
    assert lines[line - 1].strip() == "{" and '"name": "a"' in lines[line]
    first = int(message.split("as at line ")[1].split(";")[0])
    assert first < line and '"name": "a"' in lines[first]


def test_wfformat_takes_what_was_recorded_and_says_what_it_made_up():
    ran = [
        {"id": "a_ID01", "runtimeInSeconds": 5, "memoryInBytes": 7 << 20, "coreCount": 2},
        {"id": "c_ID01", "runtimeInSeconds": 700.5, "avgCPU": 310.0},
    ]
    files = [{"id": "f", "sizeInBytes": 1000}]
    tasks = [task("a_ID01"), task("a_ID02", "a_ID01"), task("c_ID01", inputFiles=["f"], outputFiles=["f", "g"])]
    found = read_text("w.json", wfformat(tasks, ran, files))
    a1, a2, c = found.tasks
    assert (a1.seconds, a1.memory, a1.cpus, a1.kind, a1.estimated) == (5.0, 7 << 20, 2, "a", ())
    assert (a2.seconds, a2.memory, a2.estimated) == (5.0, 7 << 20, ("seconds", "memory"))
    assert (c.seconds, c.cpus, c.tier_class, c.memory) == (700.5, 3, "capacity", (32 << 20) + 2000)
    assert c.estimated == ("memory",) and "2 of 3 tasks" in found.remarks[0]


@pytest.mark.parametrize("key", ["jobs", "tasks"])
def test_old_schemas_count_in_kilobytes_and_name_parents_by_name(key):
    jobs = [
        {"name": "x", "type": "compute", "runtime": 3, "memory": 2048, "files": [], "parents": []},
        {
            "name": "y",
            "runtime": 4,
            "parents": ["x"],
            "files": [{"link": "input", "name": "f", "size": 4}, {"link": "output", "name": "g", "size": 2}],
        },
    ]
    found = read_text("w.json", json.dumps({"name": "old", "schemaVersion": "1.1", "workflow": {key: jobs}}))
    x, y = found.tasks
    assert (x.memory, x.seconds, y.inputs) == (2 << 20, 3.0, (("f", 4096),))
    assert y.memory == (32 << 20) + 6144 and edges(found) == {("x", "y")}


def test_schema_1_4_has_ids_beside_names():
    tasks = [
        {"name": "x", "id": "1", "runtimeInSeconds": 3, "memoryInBytes": 5, "children": ["2"], "parents": []},
        {"name": "y", "id": "2", "runtimeInSeconds": 4, "children": [], "parents": ["1"]},
    ]
    found = read_text("w.json", json.dumps({"name": "w", "schemaVersion": "1.4", "workflow": {"tasks": tasks}}))
    assert edges(found) == {("1", "2")} and found.tasks[0].memory == 5


@pytest.mark.parametrize("value", ["NaN", "-1", "1e999", '"soon"', "true", "[]"])
def test_a_run_time_that_is_none_is_refused(value):
    text = wfformat([task("a")], [{"id": "a", "runtimeInSeconds": "@"}]).replace('"@"', value)
    assert "w.json" in (message := fault(text, "w.json")) and "task 'a': runtimeInSeconds" in message


def test_a_script_of_submissions(tmp_path: Path):
    (tmp_path / "b.sh").write_text("#!/bin/sh\n#SBATCH --mem=4G -t 1:00:00 --tier-class=capacity\nexit 0\n")
    script = tmp_path / "submit.sh"
    script.write_text(
        "#!/bin/bash\n# sbatch commented\n"
        "a=$(sbatch --parsable --mem 100 -c4 -t 30 -J first a.sh input)\n"
        "b=$(sbatch --parsable --dependency=afterok:$a b.sh)\n"
        "sbatch -d afterany:${a}:$b \\\n  --wrap 'echo done; true' --job-name='the last'\n"
    )
    found = read(script)
    first, second, last = found.tasks
    assert (first.id, first.memory, first.cpus, first.seconds) == ("first", 100 << 20, 4, 1800.0)
    assert (second.id, second.memory, second.seconds, second.tier_class) == ("b", 4 << 30, 3600.0, "capacity")
    assert (last.id, last.command, last.parents, last.line) == ("the last", "echo done; true", ("first", "b"), 5)


@pytest.mark.parametrize(
    ("line", "part"),
    [
        ("sbatch -d afterok:$x a.sh", "submit.sh:2: task 'a': --dependency names $x"),
        ("sbatch -d expand:5 a.sh", "submit.sh:2: task 'a': --dependency=expand:5"),
        ("sbatch -d afterok:17 a.sh", "names no job of this script"),
        ("sbatch --mem=lots a.sh", "submit.sh:2: task 'a': --mem: 'lots'"),
        ("sbatch -t unlimited a.sh", "submit.sh:2: task 'a': --time"),
        ("sbatch 'a.sh", "submit.sh:2: the line cannot be split"),
        ("sbatch a.sh\nsbatch a.sh", "submit.sh:3: task 'a': there is another job"),
    ],
)
def test_a_script_that_is_wrong(line, part):
    with pytest.raises(InputError) as error:
        read_script("submit.sh", f"#!/bin/sh\n{line}\n", lambda _: None)
    assert part in str(error.value)


@pytest.mark.parametrize("text", ["", "tasks:\n", "workflow: x\n", "# nothing\n", wfformat([])])
def test_an_empty_workflow_is_one(text):
    found = read_text("flow", text)
    assert found.tasks == () and found.order() == []


NASTY = 'it\'s "x"; $(rm -rf /)\nnew line \x1b[2J'


def test_names_are_taken_as_they_are_and_shown_in_one_line():
    found = read_text("w.json", wfformat([task(NASTY), task("b", NASTY)]))
    assert found.tasks[0].id == NASTY
    message = fault(wfformat([task(NASTY), task(NASTY)]), "w.json")
    assert "\x1b" not in message and "new line" in message


def test_twenty_thousand_tasks():
    tasks = [task(f"t{k}", *([f"t{k // 2}"] if k else [])) for k in range(20_000)]
    found = read_text("w.json", wfformat(tasks))
    assert len(found.tasks) == 20_000 and found.graph.number_of_edges() == 19_999
    assert found.tasks[-1].line > found.tasks[0].line
    tasks[0]["parents"] = ["t19999"]
    assert "more)" in (message := fault(wfformat(tasks), "w.json")) or "->" in message


def test_a_cycle_of_thousands_is_cut_short():
    tasks = [task(f"t{k}", f"t{(k - 1) % 5000}") for k in range(5000)]
    assert "'t7' -> '(4992 more)'" in fault(wfformat(tasks), "w.json").replace("(4992 more)", "'(4992 more)'")


def test_the_graph_cannot_be_changed():
    found = read_text("flow.yaml", FLOW)
    with pytest.raises(Exception, match="Frozen"):
        found.graph.add_edge(0, 1)


def test_an_unreadable_file_is_named(tmp_path: Path):
    for path in (tmp_path / "none.yaml", tmp_path):
        with pytest.raises(InputError, match="cannot be read"):
            read(path)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00tasks")
    with pytest.raises(InputError, match="UTF-8"):
        read(tmp_path / "binary.yaml")


@given(st.text(max_size=200))
def test_whatever_is_read_it_is_a_workflow_or_one_line(text):
    for source in ("f.yaml", "f.json", "f.sh"):
        try:
            found = read_text(source, text)
        except InputError as error:
            assert str(error)
        else:
            assert isinstance(found, Workflow)


@pytest.fixture(scope="module")
def instances() -> list[Path]:
    folder = SHARED / "workflows"
    if not folder.is_dir():
        unavailable("shared", "no ../shared/workflows beside the checkout: real instances are not part of the project")
    return sorted(folder.glob("*.json"))


@pytest.mark.shared
def test_the_real_instances(instances):
    tasks = {path.name.split("-")[0]: len(read(path).tasks) for path in instances}
    assert tasks == {"1000genome": 164, "epigenomics": 41, "montage": 103, "seismology": 101, "soykb": 96}
