"""`tierwise replay` as a person types it: what it prints, what it writes, and one line for each mistake."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet
import pytest

from scheduler.cli.app import main

TIERWISE = [sys.executable, "-c", "import sys; from scheduler.cli.app import main; sys.exit(main())"]

SWF = """\
; MaxNodes: 8
1 0 -1 100 4 -1 -1 4 200 -1 1 1 -1 -1 1 -1 -1 -1
2 0 -1 300 4 -1 -1 4 300 -1 1 2 -1 -1 1 -1 -1 -1
3 50 -1 60 8 -1 -1 8 60 -1 1 3 -1 -1 2 -1 -1 -1
"""


@pytest.fixture
def swf(tmp_path: Path) -> Path:
    path = tmp_path / "three.swf"
    path.write_text(SWF)
    return path


def complaint(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Return the one line that a mistake is answered with."""
    code = main(["replay", *arguments])
    captured = capsys.readouterr()
    assert code == 2
    assert captured.out == ""
    lines = captured.err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("tierwise: error: ")
    return lines[0]


def test_the_summary_has_the_promised_figures_of_each_policy(swf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # At 50 s job 3 wants all 8 nodes: jobs 1 and 2 lose 50 s on 4 nodes each and a restart of 10 s.
    arguments = ["replay", str(swf), "--on-demand", "queue:2", "--policy", "dp,none", "--max-delay", "0"]
    assert main([*arguments, "--restart-cost", "10", "--checkpoint-every", "none", "--json"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["trace"]["jobs"] == 3
    dp, none = summary["policies"]["dp"], summary["policies"]["none"]
    assert dp["preemptions"] == 2
    assert dp["lost_node_hours"] == pytest.approx(8 * 60 / 3600)
    assert dp["on_demand_latency_mean"] == 0
    assert dp["makespan"] == pytest.approx(50 + 60 + 310)
    assert none["preemptions"] == 0
    assert none["on_demand_latency_mean"] == pytest.approx(250)
    assert {"utilisation", "mean_wait", "bounded_slowdown_mean"} <= dp.keys()


def test_the_same_seed_gives_the_same_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["replay", "theta-like:400", "--policy", "dp,random", "--seed", "7", "--json"]
    outputs = []
    for _ in range(2):
        assert main(arguments) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]
    assert main([*arguments[:-2], "8", "--json"]) == 0
    assert capsys.readouterr().out != outputs[0]


def test_the_files_hold_each_job_and_agree_with_the_summary(
    swf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "results"
    assert main(["replay", str(swf), "--on-demand", "queue:2", "--policy", "dp", "--out", str(out)]) == 0
    assert "report.html" in capsys.readouterr().out
    assert sorted(path.name for path in out.iterdir()) == [
        "jobs-dp.csv",
        "jobs-dp.parquet",
        "report.html",
        "summary.json",
    ]
    rows = pyarrow.parquet.read_table(out / "jobs-dp.parquet")
    assert rows.column("job_id").to_pylist() == ["1", "2", "3"]
    assert rows.column("on_demand").to_pylist() == [False, False, True]
    same = pyarrow.csv.read_csv(out / "jobs-dp.csv")
    assert same.column("end").to_pylist() == rows.column("end").to_pylist()
    summary = json.loads((out / "summary.json").read_text())
    lost = sum(rows.column("lost_node_seconds").to_pylist())
    assert summary["policies"]["dp"]["lost_node_hours"] == pytest.approx(lost / 3600)


def test_the_table_lines_up_and_has_no_colours_off_a_terminal(swf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(swf), "--on-demand", "queue:2"]) == 0
    printed = capsys.readouterr().out
    assert "\x1b" not in printed
    rows = [line for line in printed.splitlines() if line.startswith(("dp ", "slurm ", "youngest ", "greedy "))]
    assert len(rows) == 4
    assert len({len(row.rstrip()) for row in rows}) == 1


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--policy", "best"], "--policy 'best'"),
        (["--backfill", "some"], "--backfill 'some'"),
        (["--priority", "lifo"], "--priority 'lifo'"),
        (["--max-delay", "soon"], "--max-delay"),
        (["--max-delay", "UNLIMITED"], "--max-delay"),
        (["--on-demand", "2"], "--on-demand '2'"),
        (["--on-demand", "queue:nowhere"], "it has 1, 2"),
        (["--on-demand", "users:200%"], "--on-demand users:"),
        (["--checkpoint-every", "0"], "--checkpoint-every '0'"),
        (["--checkpoint-every", "uniform:1h:1m"], "--checkpoint-every"),
        (["--checkpoint-every", "daly", "--checkpoint-cost", "0"], "daly"),
        (["--on-demand-checkpoint", "2"], "--on-demand-checkpoint"),
        (["--delay-weight", "nan"], "--delay-weight"),
        (["--node-mtbf", "0"], "--node-mtbf"),
        (["--outages", "/nonexistent"], "/nonexistent"),
        (["--nodes", "0"], "--nodes"),
        (["--bogus"], "--bogus"),
    ],
)
def test_a_wrong_option_is_one_line_that_names_it(
    swf: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], named: str
) -> None:
    assert named in complaint(capsys, str(swf), *arguments)


def test_an_output_directory_that_cannot_be_made_is_found_before_any_work(
    swf: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "--out" in complaint(capsys, str(swf), "--out", str(swf / "below-a-file"))


def test_a_machine_of_unknown_size_is_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "nameless.swf"
    path.write_text(SWF.split("\n", 1)[1])
    assert "--nodes" in complaint(capsys, str(path))


def test_the_generator_stands_alone(swf: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "generator" in complaint(capsys, "theta-like", str(swf))
    assert "theta-like:0d" in complaint(capsys, "theta-like:0d")


def test_two_traces_are_played_as_one(swf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = tmp_path / "more.swf"
    more.write_text("; MaxNodes: 8\n9 10 -1 20 2 -1 -1 2 30 -1 1 9 -1 -1 1 -1 -1 -1\n")
    assert main(["replay", str(swf), str(more), "--json", "--policy", "dp", "--on-demand", "0"]) == 0
    assert json.loads(capsys.readouterr().out)["trace"]["jobs"] == 4


def test_on_demand_jobs_can_come_from_a_second_trace(
    swf: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    urgent = tmp_path / "urgent.swf"
    urgent.write_text("; MaxNodes: 8\n9 10 -1 20 8 -1 -1 8 30 -1 1 9 -1 -1 1 -1 -1 -1\n")
    assert main(["replay", str(swf), "--on-demand", str(urgent), "--json", "--policy", "dp", "--max-delay", "0"]) == 0
    summary = json.loads(capsys.readouterr().out)
    assert summary["trace"]["on_demand_jobs"] == 1
    assert summary["policies"]["dp"]["preemptions"] == 2


def test_missing_estimates_are_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "no-estimates.swf"
    path.write_text("; MaxNodes: 8\n1 0 -1 100 4 -1 -1 4 -1 -1 1 1 -1 -1 1 -1 -1 -1\n")
    assert main(["replay", str(path)]) == 0
    assert "no wall time limit: taken as 3600 s" in capsys.readouterr().out


def test_an_interrupt_says_so_and_leaves_no_file_half_written(tmp_path: Path) -> None:
    out = tmp_path / "results"
    command = [*TIERWISE, "replay", "theta-like:300000", "--out", str(out)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not out.is_dir() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    printed, complained = process.communicate(timeout=60)
    assert process.returncode == 130
    assert printed == ""
    assert complained.splitlines()[-1] == "tierwise: interrupted; nothing half-written is left"
    assert "Traceback" not in complained
    assert list(out.iterdir()) == []


def test_a_reader_that_goes_away_is_no_error(swf: Path) -> None:
    process = subprocess.Popen([*TIERWISE, "replay", str(swf)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.close()
    _, complained = process.communicate(timeout=60)
    assert complained == b""
    assert process.returncode in (0, 1)  # typer's own answer to a broken pipe is 1
