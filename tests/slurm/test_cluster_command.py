"""`tierwise cluster`, as a person types it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scheduler.cluster import Cluster, home

pytestmark = pytest.mark.slurm


def tierwise(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; from scheduler.cli.app import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "cluster", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **variables}, timeout=60, check=False
    )


def test_up_says_how_to_use_it_and_status_and_down_speak_json(folder: Path) -> None:
    where = ("--dir", str(folder / "c"))
    started = tierwise("up", "--nodes=2", "--cpus-per-node=2", "--memory-per-node=1.5G", *where)
    try:
        assert started.returncode == 0, started.stderr
        assert f"export SLURM_CONF={folder}/c/slurm.conf\n" in started.stdout
        assert "CPUs=2 RealMemory=1536 " in (folder / "c/slurm.conf").read_text()
        found = json.loads(tierwise("status", "--json", *where).stdout)
        assert found["state"] == "running"
        assert {daemon["node_state"] for daemon in found["daemons"] if daemon["name"] in ("n1", "n2")} == {"idle"}
        refused = tierwise("up", *where)
        assert refused.returncode == 2
        assert refused.stderr.startswith(f"tierwise: error: --dir {folder}/c: a cluster runs there; stop it with")
    finally:
        ended = tierwise("down", "--json", "--remove", *where)
    assert json.loads(ended.stdout)["ended"] >= 4
    assert not (folder / "c").exists()
    assert tierwise("down", *where).returncode == 0


def test_an_interrupt_while_it_comes_up_leaves_nothing(folder: Path) -> None:
    code = "import sys; from scheduler.cli.app import main; sys.exit(main())"
    command = [sys.executable, "-c", code, "cluster", "up", "--accounting", "--dir", str(folder / "c")]
    coming = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 30
    while not (folder / "c/database/ibdata1").exists():
        assert time.monotonic() < end and coming.poll() is None
        time.sleep(0.05)
    coming.send_signal(signal.SIGINT)
    _, said = coming.communicate(timeout=30)
    assert coming.returncode == 130, said
    assert home.running(folder / "c", None) == []
    assert tierwise("up", "--nodes=1", "--dir", str(folder / "c")).returncode == 0  # the directory is as good as new
    assert tierwise("down", "--dir", str(folder / "c")).returncode == 0


def test_status_is_a_table_for_people(cluster: Cluster) -> None:
    shown = tierwise("status", "--dir", str(cluster.directory))
    assert shown.returncode == 0, shown.stderr
    lines = shown.stdout.splitlines()
    heading = next(line for line in lines if line.startswith("DAEMON"))
    assert len({line[heading.index("STATE") :].startswith("running") for line in lines[4:]}) == 1
    assert lines[0].endswith("with accounting")


def test_a_daemon_that_fails_is_one_line_after_the_end_of_its_log(folder: Path) -> None:
    script = folder / "job_submit.lua"
    script.write_text("this is no lua")
    code = (
        "import sys, functools; from pathlib import Path; from scheduler import cluster\n"
        "cluster.Options = functools.partial(cluster.Options, job_submit=Path(sys.argv.pop(1)))\n"
        "from scheduler.cli.app import main; sys.exit(main())"
    )
    command = [sys.executable, "-c", code, str(script), "cluster", "up", "--nodes=1", "--dir", str(folder / "c")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    *log, line = done.stderr.splitlines()
    assert done.returncode == 1
    assert line.startswith("tierwise: error: slurmctld ended with status 1; look into ")
    assert any("job_submit.lua" in text for text in log)
    assert "Traceback" not in done.stderr
