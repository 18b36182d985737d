"""`tierwise demo` as a newcomer runs it: a real cluster, its report in a browser, and nothing left running."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from scheduler.demo.scenario import SCENARIO
from traces import read

pytestmark = pytest.mark.slurm

TIERWISE = [sys.executable, "-c", "import sys; from scheduler.cli.app import main; sys.exit(main())"]
PATIENCE = 300.0
MARK = "TIERWISE_TEST_DEMO"


class Demo:
    """A demo in a folder, told from all others on this machine by a variable that its processes inherit."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self.folder = folder
        self.mark = f"{MARK}={self.folder.name}"
        variables = {name: value for name, value in os.environ.items() if name != "DISPLAY"}
        self.process = subprocess.Popen(
            [*TIERWISE, "demo", "--dir", str(self.folder / "out put"), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**variables, MARK: self.folder.name, "TMPDIR": str(self.folder)},
        )

    def end(self) -> tuple[str, str]:
        return self.process.communicate(timeout=PATIENCE)

    def left(self) -> list[str]:
        """Return the command lines of its processes that still run."""
        found = []
        for entry in Path("/proc").iterdir():
            if entry.name.isdecimal() and int(entry.name) != os.getpid():
                with suppress(OSError):
                    if self.mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                        found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        return found


@pytest.fixture(scope="module")
def shown(installed: None) -> Iterator[tuple[Demo, str, dict[str, Any]]]:
    folder = Path(tempfile.mkdtemp(prefix="twd-"))  # sockets want a short one
    try:
        yield _shown(Demo(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _shown(demo: Demo) -> tuple[Demo, str, dict[str, Any]]:
    out, err = demo.end()
    assert demo.process.returncode == 0, out + err
    assert err == ""
    return demo, out, json.loads((demo.folder / "out put" / "results.json").read_text())


def test_the_jobs_that_lose_least_make_room_and_all_jobs_complete(
    shown: tuple[Demo, str, dict[str, Any]],
) -> None:
    _, _, results = shown
    assert results["good"] is True
    assert {job["name"]: job["state"] for job in results["jobs"]} == {job.name: "completed" for job in SCENARIO.jobs}
    policies: Mapping[str, Any] = {found["policy"]: found for found in results["policies"]}
    assert sorted(results["victims"]) == sorted(policies["exact"]["victims"]) == sorted(policies["dp"]["victims"])
    assert results["lost_node_seconds"]["decided"] == pytest.approx(policies["exact"]["lost_node_seconds"], abs=1e-3)
    assert all(
        results["lost_node_seconds"]["decided"] < policies[other]["lost_node_seconds"]
        for other in ("slurm", "youngest")
    )
    assert 0 < results["on_demand"]["latency_seconds"] < 30


def test_each_run_is_told_from_the_accounting_and_victims_go_on_from_their_checkpoints(
    shown: tuple[Demo, str, dict[str, Any]],
) -> None:
    demo, _, results = shown
    for job in results["jobs"]:
        ended = [run["state"] for run in job["runs"]]
        assert all(len(run["nodes"]) == job["nodes"] for run in job["runs"])
        if job["name"] in results["victims"]:
            assert len(ended) == 2
            assert ended[0] != "completed"
            assert job["resumed_from_second"] > 0
            assert job["explanation"].startswith("chosen")
        else:
            assert ended == ["completed"]
            assert job["resumed_from_second"] is None
    trace = read([demo.folder / "out put" / "history.parquet"])
    assert sorted(trace.column("name")) == sorted(job.name for job in SCENARIO.jobs)


def test_it_tells_the_story_in_plain_lines_and_names_the_report(
    shown: tuple[Demo, str, dict[str, Any]],
) -> None:
    demo, out, results = shown
    assert "\x1b" not in out
    assert f"$ sbatch --nodes=4 --on-demand={SCENARIO.tolerated:g}s" in out
    for name in results["victims"]:
        assert f"{name}: chosen" in out
        assert re.search(rf"{name} is back, on .*; it goes on from second \d", out)
    assert str(demo.folder / "out put" / "report.html") in out


def test_nothing_is_left_running_or_lying_about(shown: tuple[Demo, str, dict[str, Any]]) -> None:
    demo, _, _ = shown
    assert demo.left() == []
    assert [entry.name for entry in demo.folder.iterdir()] == ["out put"]


def test_the_report_is_drawn_in_a_browser_without_a_word_on_the_console(
    shown: tuple[Demo, str, dict[str, Any]], chromium: str, tmp_path: Path
) -> None:
    demo, _, results = shown
    quiet = ("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync")
    done = subprocess.run(
        [
            *(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", *quiet),
            *("--window-size=1280,900", "--virtual-time-budget=8000", "--enable-logging=stderr"),
            *(f"--user-data-dir={tmp_path}", "--dump-dom", (demo.folder / "out put" / "report.html").as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    assert [line for line in done.stderr.splitlines() if ":CONSOLE" in line] == []
    parts = re.split(r'<div class="plot[^>]*data-figure="([^"]+)"', done.stdout)
    plots = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert set(plots) == {"gantt", "losses"}
    bars = {name: len(re.findall(r'<g class="point">', markup)) for name, markup in plots.items()}
    assert bars["losses"] == len(results["policies"])
    assert bars["gantt"] >= sum(len(job["runs"]) for job in results["jobs"])
    assert all(job["explanation"].partition(";")[0] in done.stdout for job in results["jobs"][:-1])


def test_an_interrupt_ends_all_that_was_started(folder: Path) -> None:
    demo = Demo(folder, "--json")
    end = time.monotonic() + PATIENCE
    while not any("batch_job.py" in line for line in demo.left()):
        assert demo.process.poll() is None, demo.end()
        assert time.monotonic() < end
        time.sleep(0.2)
    demo.process.send_signal(signal.SIGINT)
    out, err = demo.end()
    assert demo.process.returncode == 130
    assert out == ""
    assert err.count("\n") == 1
    assert demo.left() == []
    assert [entry.name for entry in demo.folder.iterdir()] == ["out put"]


def test_missing_packages_are_named_and_nothing_is_started(tmp_path: Path) -> None:
    done = subprocess.run(
        [*TIERWISE, "demo", "--dir", str(tmp_path / "out")],
        capture_output=True,
        text=True,
        env={"PATH": str(tmp_path), "TMPDIR": str(tmp_path)},
        timeout=60,
        check=False,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert "apt-get install slurm-client" in done.stderr
    assert list(tmp_path.iterdir()) == []
