"""`tierwise plugin`: the build against stub headers, plugstack.conf, and the check."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.cli.plugin import app
from slurm_plugins import building, installing
from tests.availability import unavailable
from traces import InputError

STUB = Path(__file__).parent / "spank_stub" / "slurm" / "spank.h"


def slurm(folder: Path, number: str = "0x160508") -> Path:
    """Make a Slurm of headers alone; return its prefix."""
    headers = folder / "include" / "slurm"
    headers.mkdir(parents=True, exist_ok=True)
    (headers / "spank.h").write_text(STUB.read_text())
    (headers / "slurm_version.h").write_text(f"#define SLURM_VERSION_NUMBER {number}\n")
    return folder


@pytest.fixture(autouse=True)
def no_sbatch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide a Slurm that is on this machine."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for folder in os.environ["PATH"].split(os.pathsep):
        for name in ("cc", "gcc", "as", "ld"):
            if (Path(folder) / name).exists() and not (tools / name).exists():
                (tools / name).symlink_to(Path(folder) / name)
    if not (tools / "cc").exists() and not (tools / "gcc").exists():
        unavailable("slurm", "no C compiler: apt-get install gcc")
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.delenv("SLURM_CONF", raising=False)
    monkeypatch.delenv("CC", raising=False)


def tierwise(*arguments: object) -> int | None:
    code = app([str(argument) for argument in arguments], standalone_mode=False)
    assert code is None or isinstance(code, int)
    return code


def built(folder: Path, number: str = "0x160508") -> Path:
    out = folder / "built" / building.FILE_NAME
    tierwise("build", "--out", out, "--slurm-prefix", slurm(folder / "slurm", number))
    return out


def test_a_plugin_says_which_slurm_it_is_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = built(tmp_path, "0x180b05")
    assert capsys.readouterr().out == f"{out}: built for Slurm 24.11\n"
    found = building.read_built(out)
    assert found is not None
    assert str(found.slurm) == "24.11.5"
    assert building.read_built(STUB) is None


def test_equal_sources_give_an_equal_plugin(tmp_path: Path) -> None:
    first = built(tmp_path).read_bytes()
    assert built(tmp_path).read_bytes() == first


def test_the_plugin_shows_slurm_only_what_it_needs(tmp_path: Path) -> None:
    plugin = built(tmp_path).read_bytes()
    assert b"slurm_spank_init_post_opt" in plugin
    for hidden in (b"tw_canonical", b"tw_complaint", b"tw_options"):
        assert hidden not in plugin


def test_missing_headers_are_told_with_their_packages(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"libslurm-dev \(Debian, Ubuntu\) or slurm-devel \(Red Hat, SUSE\)"):
        tierwise("build", "--out", tmp_path / "x.so", "--slurm-prefix", tmp_path)


def test_a_missing_or_failing_compiler_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = slurm(tmp_path)
    (prefix / "include/slurm/spank.h").write_text("#error broken headers\n")
    with pytest.raises(InputError, match=r"failed: .*broken headers"):
        tierwise("build", "--out", tmp_path / "x.so", "--slurm-prefix", prefix)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="no C compiler; install gcc"):
        tierwise("build", "--out", tmp_path / "x.so", "--slurm-prefix", prefix)
    assert not (tmp_path / "x.so").exists()


def test_installing_twice_changes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stack = tmp_path / "etc" / "plugstack.conf"
    stack.parent.mkdir()
    stack.write_text("# the site's\nrequired /opt/pyxis.so runtime_path=/run")
    stack.chmod(0o640)
    plugin = built(tmp_path)
    capsys.readouterr()
    arguments = ("install", "--plugin", plugin, "--prefix", tmp_path / "lib", "--plugstack", stack, "--json")
    reports = []
    for extra in ((), ()):
        tierwise(*arguments, *extra)
        reports.append(json.loads(capsys.readouterr().out))
    assert [[file["changed"] for file in report["files"]] for report in reports] == [[True, True], [False, False]]
    installed = tmp_path / "lib" / building.FILE_NAME
    expected = f"# the site's\nrequired /opt/pyxis.so runtime_path=/run\noptional {installed}\n"
    assert stack.read_text() == expected
    assert stat.S_IMODE(stack.stat().st_mode) == 0o640
    assert installed.read_bytes() == plugin.read_bytes()
    assert sorted(path.name for path in stack.parent.iterdir()) == ["plugstack.conf"]


def test_a_dry_run_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plugin = built(tmp_path)
    capsys.readouterr()
    stack, lua = tmp_path / "etc/plugstack.conf", tmp_path / "etc/job_submit.lua"
    tierwise(
        *("install", "--plugin", plugin, "--prefix", tmp_path / "lib", "--plugstack", stack),
        *("--job-submit", lua, "--dry-run"),
    )
    assert capsys.readouterr().out.count("would be created") == 3
    assert not stack.parent.exists()
    assert not (tmp_path / "lib").exists()


def test_a_sites_job_submit_is_never_written_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lua = tmp_path / "job_submit.lua"
    lua.write_text("function slurm_job_submit() return 0 end\n")
    plugin = built(tmp_path)
    capsys.readouterr()
    places = ("--prefix", tmp_path, "--plugstack", tmp_path / "p", "--job-submit", lua)
    arguments = ("install", "--plugin", plugin, *places)
    tierwise(*arguments, "--json")
    line = f'dofile("{tmp_path / installing.SIBLING_NAME}")'
    assert json.loads(capsys.readouterr().out)["to_do"] == [f"add as the last line of {lua}: {line}"]
    assert lua.read_text() == "function slurm_job_submit() return 0 end\n"
    lua.write_text(lua.read_text() + line + "\n")
    tierwise(*arguments, "--json")
    assert json.loads(capsys.readouterr().out)["to_do"] == []


def test_the_line_is_renewed_in_the_file_that_includes_hold_it_in(tmp_path: Path) -> None:
    folder = tmp_path / "plugstack.conf.d"
    folder.mkdir()
    stack, part = tmp_path / "plugstack.conf", folder / "tierwise.conf"
    stack.write_text(f"include {folder}/*.conf\n")
    part.write_text(f"optional /old/{building.FILE_NAME}\n")
    tierwise("install", "--plugin", built(tmp_path), "--prefix", tmp_path / "lib", "--plugstack", stack)
    assert stack.read_text() == f"include {folder}/*.conf\n"
    assert part.read_text() == f"optional {tmp_path / 'lib' / building.FILE_NAME}\n"


def test_what_cannot_be_installed_is_refused(tmp_path: Path) -> None:
    plugin = built(tmp_path)
    with pytest.raises(InputError, match="is no plugin that"):
        tierwise("install", "--plugin", STUB, "--plugstack", tmp_path / "p")
    for prefix in ("relative", f"{tmp_path}/with blank"):
        with pytest.raises(InputError, match="an absolute path without blanks"):
            tierwise("install", "--plugin", plugin, "--prefix", prefix, "--plugstack", tmp_path / "p")
    (tmp_path / "tools" / "sbatch").write_text("#!/bin/sh\necho slurm 24.11.5\n")
    (tmp_path / "tools" / "sbatch").chmod(0o755)
    with pytest.raises(InputError, match=r"built for Slurm 22\.05, and sbatch here is 24\.11"):
        tierwise("install", "--plugin", plugin, "--plugstack", tmp_path / "p")


def test_check_says_when_a_rebuild_is_due(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stack = tmp_path / "plugstack.conf"
    assert tierwise("check", "--plugstack", stack, "--slurm-version", "22.05.8") == 1
    assert "no line in plugstack.conf loads the plugin" in capsys.readouterr().out
    tierwise("install", "--plugin", built(tmp_path), "--prefix", tmp_path / "lib", "--plugstack", stack)
    assert tierwise("check", "--plugstack", stack, "--slurm-version", "22.05.11") == 0
    capsys.readouterr()
    assert tierwise("check", "--plugstack", stack, "--slurm-version", "24.11", "--json") == 1
    report = json.loads(capsys.readouterr().out)
    assert report["problems"] == ["rebuild: the plugin is for Slurm 22.05, Slurm is 24.11"]
    assert (report["built_for"], report["slurm"]) == ("22.05.8", "24.11.0")
    assert tierwise("check", "--plugstack", stack) == 1
    assert "name --slurm-version" in capsys.readouterr().out
    with pytest.raises(InputError, match="--slurm-version: 'new' is no release"):
        tierwise("check", "--slurm-version", "new")


LINES = st.lists(
    st.sampled_from(
        ["# note", "", "required /x/pyxis.so a=b", "include /etc/p.d/*.conf", f"optional /old/{building.FILE_NAME}"]
    )
    | st.text(
        alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\r\v\f\x1c\x1d\x1e\x85\u2028\u2029")
    )
)


@given(lines=LINES, end=st.sampled_from(["", "\n"]))
@settings(deadline=None)
def test_other_lines_of_plugstack_are_left_alone(lines: list[str], end: str) -> None:
    before = "\n".join(lines) + end
    plugin = Path("/lib") / building.FILE_NAME
    after = installing.with_plugin(before, plugin)
    assert installing.with_plugin(after, plugin) == after
    assert installing.plugin_lines(after) == [f"optional {plugin}"]

    def others(text: str) -> list[str]:
        return [line for line in text.splitlines() if line not in installing.plugin_lines(text)]

    assert others(after) == others(before)
