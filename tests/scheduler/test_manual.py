"""Manual pages and completion: made from the commands, so that they say what `--help` says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scheduler import manual
from tests.availability import unavailable

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return manual.pages()


def test_the_pages_are_those_of_the_commands(pages: dict[str, str]) -> None:
    kept = {path.name: path.read_text("utf-8") for path in (ROOT / "docs" / "man").glob("*.1")}
    assert sorted(kept) == sorted(pages)
    stale = [name for name, text in pages.items() if kept[name] != text]
    assert stale == [], "write them anew with: python -m scheduler.manual"


def test_every_command_has_a_page_that_says_what_it_does_and_lists_its_options(pages: dict[str, str]) -> None:
    assert {"tierwise.1", "tierwise-controller.1", "tierwise-trace-import.1", "tierwise-doctor.1"} <= set(pages)
    for name, text in pages.items():
        assert ".SH NAME\n" + name.removesuffix(".1").replace("-", "\\-") in text
        assert "\\fB\\-h, \\-\\-help\\fR" in text
    controller = pages["tierwise-controller.1"]
    assert "\\fB\\-\\-metrics\\fR \\fIPORT\\fR\n" in controller
    assert "Default: 1s." in controller
    assert "tierwise\\-policy\\-check" in pages["tierwise-policy.1"]


def test_troff_has_nothing_to_say_of_the_pages(pages: dict[str, str], tmp_path: Path) -> None:
    if shutil.which("groff") is None:
        unavailable("groff", "no groff: apt-get install groff-base")
    files = []
    for name, text in pages.items():
        (tmp_path / name).write_text(text, "utf-8")
        files.append(str(tmp_path / name))
    command = ["groff", "-man", "-Tutf8", "-ww", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "tierwise-controller" in done.stdout
    (tmp_path / "bad.1").write_text(".TH BAD 1\n.NOSUCH\n")
    bad = subprocess.run([*command, str(tmp_path / "bad.1")], capture_output=True, text=True, check=False, timeout=60)
    assert "NOSUCH" in bad.stderr


def test_text_that_looks_like_a_request_to_troff_stays_text() -> None:
    assert manual._plain(".so /etc/passwd") == "\\&.so /etc/passwd"
    assert manual._plain("`a-b`\\n") == "\\fBa\\-b\\fR\\en"


def completed(words: str, folder: Path) -> list[str]:
    """Complete the last word under bash."""
    if shutil.which("bash") is None:
        unavailable("bash", "no bash: apt-get install bash")
    command = folder / "tierwise"
    command.write_text(f"#!{sys.executable}\nimport sys\nfrom scheduler.cli.app import main\nsys.exit(main())\n")
    command.chmod(0o755)
    script = f"""
source <(_TIERWISE_COMPLETE=source_bash tierwise)
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_tierwise_completion tierwise
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", script], env=environment, capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split()


def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    assert completed("tierwise doc", tmp_path) == ["doctor"]
    assert {"up", "status", "down"} <= set(completed("tierwise cluster ''", tmp_path))
    assert completed("tierwise controller --met", tmp_path) == ["--metrics"]


def test_help_says_how_completion_is_installed(capsys: pytest.CaptureFixture[str]) -> None:
    from scheduler.cli.app import main

    assert main(["--help"]) == 0
    said = capsys.readouterr().out
    assert "--install-completion" in said
    assert "--show-completion" in said
