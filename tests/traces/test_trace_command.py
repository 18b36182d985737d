from __future__ import annotations

import json
from pathlib import Path

import pytest
from trace_lines import SWF_HEADER, swf_line
from typer.testing import CliRunner

from scheduler.cli.trace import app
from traces import InputError, read

runner = CliRunner()


@pytest.fixture
def swf(tmp_path: Path) -> Path:
    path = tmp_path / "t.swf"
    path.write_text(SWF_HEADER + swf_line(1) + swf_line(2, submit=3600, run=300))
    return path


def run(*arguments: object, code: int = 0) -> str:
    result = runner.invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.stdout


def test_info_shows_jobs_load_and_units(swf: Path) -> None:
    text = run("info", swf)
    assert "Standard Workload Format" in text
    assert "100 nodes" in text
    assert "node-hours" in text
    assert "over_limit" in text


def test_info_as_json_is_nothing_else(swf: Path) -> None:
    shown = json.loads(run("info", swf, "--json"))
    assert shown["jobs"] == 2
    assert shown["load"] == pytest.approx(4 * 400 / (100 * 3600))
    assert shown["summary"]["problems"]["over_limit"]["kept"] == 1


def test_convert_writes_what_generate_made(tmp_path: Path) -> None:
    run("generate", tmp_path / "a.parquet", "--jobs", 50, "--seed", 3)
    text = run("convert", tmp_path / "a.parquet", tmp_path / "b.swf")
    assert "50 jobs written" in text
    assert "no field for account, on_demand" in text
    shown = json.loads(run("convert", tmp_path / "a.parquet", tmp_path / "c.csv", "--json"))
    assert (shown["jobs"], shown["lost_columns"]) == (50, [])
    assert len(read([tmp_path / "b.swf"])) == 50


def test_convert_joins_several_files(swf: Path, tmp_path: Path) -> None:
    run("convert", swf, swf, tmp_path / "both.parquet")
    assert len(read([tmp_path / "both.parquet"])) == 4


def test_generate_makes_the_same_bytes_from_the_same_seed(tmp_path: Path) -> None:
    for name in ("a.swf", "b.swf"):
        run("generate", tmp_path / name, "--like", "synthetic", "--jobs", 40, "--seed", 9, "--load", 0.5)
    assert (tmp_path / "a.swf").read_bytes() == (tmp_path / "b.swf").read_bytes()


def test_check_exits_0_for_a_clean_trace_and_1_for_one_with_problems(swf: Path, tmp_path: Path) -> None:
    run("generate", tmp_path / "clean.swf", "--jobs", 20)
    assert "0 dropped" in run("check", tmp_path / "clean.swf")
    text = run("check", swf, code=1)
    assert "over_limit" in text
    assert "t.swf:6: field 4 (run time): ran 300 s, asked for 200 s" in " ".join(text.split())
    assert json.loads(run("check", swf, "--json", code=1))["summary"]["rows_read"] == 2


def test_a_treatment_can_be_chosen(swf: Path) -> None:
    shown = json.loads(run("info", swf, "--json", "--treat", "over_limit=drop"))
    assert shown["jobs"] == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("info", "absent.swf"), "no such file"),
        (("convert", "only.swf"), "expected at least two names"),
        (("convert", "t.swf", "out.xyz"), "accepted are .swf"),
        (("generate", "out.swf", "--like", "mira"), "expected theta-like or synthetic"),
        (("generate", "out.swf", "--like", "synthetic", "--days", "3"), "neither --days"),
        (("generate", "out.swf", "--load", "0"), "load=0.0 is out of range"),
        (("generate", "absent/out.swf"), "no directory"),
        (("check", "t.swf", "--treat", "x=y"), "expected KIND=TREATMENT"),
    ],
)
def test_mistakes_are_one_line(
    swf: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(swf.parent)
    with pytest.raises(InputError) as caught:
        run(*arguments)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_help_teaches_by_examples() -> None:
    for command in ("info", "convert", "generate", "check"):
        text = run(command, "--help")
        assert "Example" in text
        assert "Exit codes" in text
