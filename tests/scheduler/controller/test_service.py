"""The controller as a process: its log, its signals, its journal's disk, its lock, and what it tells systemd."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from controller_room import POLICY, Process

from scheduler.controller import lock
from scheduler.controller.events import KINDS, event
from scheduler.controller.log import line
from scheduler.controller.notify import Notify
from scheduler.controller.signals import Pace
from tests.availability import unavailable

TIERWISE = [sys.executable, "-c", "import sys; from scheduler.cli.app import main; sys.exit(main())"]


def test_every_line_of_the_log_is_a_known_event_with_its_fields_whatever_a_job_is_called(process: Process) -> None:
    process.start()
    process.submit(4)
    process.until(lambda: [job[0] for job in process.jobs().values()] == ["running"])
    process.submit(2, on_demand="0")
    process.until(lambda: [line for line in process.events("plan_moved") if line["state"] == "running"])
    process.send(signal.SIGTERM)
    assert process.wait() == 0
    lines = process.lines()
    for found in lines:
        kind = KINDS[found["event"]]
        assert found["level"] == kind.level
        assert set(found) <= {"time", "level", "event", "message", *kind.fields}
    assert process.log.read_bytes().count(b"\n") == len(lines)
    assert process.names()[-1] == "stopped"
    assert process.names().count("stopped") == 1
    decided = process.events("decided")[0]
    assert (decided["job"], decided["nodes"], decided["victims"]) == (2, 2, [1])
    assert process.events("plan_moved")[-1]["latency_seconds"] >= 0
    assert [entry for entry in process.events("plan_moved") if entry.get("lost_node_seconds", 0) > 0]


def test_text_from_outside_stays_in_its_line() -> None:
    hostile = 'a\n{"event":"stopped"}\r\u2028\x85\x1b[2J\x7f"\ud800'
    written = line(event("slurm_lost", hostile, reason=hostile), 1.0)
    assert written.endswith("}\n")
    assert len(written.splitlines()) == 1
    assert all(32 <= ord(letter) < 127 for letter in written[:-1])
    assert len(line(event("slurm_lost", "x" * 100_000), 1.0)) < 2200


def test_numbers_that_json_has_no_word_for_are_null() -> None:
    assert '"seconds": null' in line(event("slurm_back", "", seconds=float("inf")), 1.0)


def test_an_event_takes_no_field_that_is_not_documented() -> None:
    with pytest.raises(ValueError, match="user"):
        event("started", "", user="x")


def test_every_event_is_in_the_documentation_with_its_fields() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "controller.md").read_text()
    rows = [
        f"| `{name}` | {kind.level} | {kind.meaning} | {', '.join(f'`{field}`' for field in kind.fields)} |"
        for name, kind in KINDS.items()
    ]
    assert [row for row in rows if row not in page] == []


def test_the_loss_of_slurmctld_is_said_once_and_its_return_too(process: Process) -> None:
    process.start()
    process.ask("down")
    process.until(lambda: "slurm_lost" in process.names())
    before = len(process.lines())
    time.sleep(1)  # ten cycles
    process.take_back("down")
    process.until(lambda: "slurm_back" in process.names())
    assert before == process.names().index("slurm_back")
    assert process.events("slurm_back")[0]["seconds"] >= 0.9


def test_a_defect_of_ours_ends_a_cycle_and_not_the_controller(process: Process) -> None:
    process.start()
    process.ask("defect")
    process.until(lambda: "failed" in process.names())
    time.sleep(0.5)
    process.take_back("defect")
    process.until(lambda: "recovered" in process.names())
    assert process.names().count("failed") == 1
    assert "ZeroDivisionError: a defect (controller_process.py:" in process.events("failed")[0]["reason"]


def _own_disk(process: Process) -> list[str]:
    """Return what gives a command a small disk of its own for the journal."""
    words = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    mount = f'mount -t tmpfs -o size=2m none "{process.disk}" && exec "$@"'
    trial = [*words, "sh", "-c", mount, "sh", "true"]
    if shutil.which("unshare") is None or subprocess.run(trial, capture_output=True, check=False).returncode:
        unavailable("mount", "no file system can be mounted here, not even in a namespace of one's own")
    return [*words, "sh", "-c", mount, "sh"]


def test_with_a_full_disk_nothing_is_done_and_with_space_it_goes_on(process: Process) -> None:
    process.start(*_own_disk(process))
    process.submit(4)
    process.until(lambda: [job[0] for job in process.jobs().values()] == ["running"])
    process.ask("full")
    process.until((process.control / "filled").exists)
    process.submit(4, on_demand="0")
    process.until(lambda: "journal_lost" in process.names())
    before = len(process.lines())
    time.sleep(1)
    assert len(process.lines()) == before
    assert process.jobs()["1"] == ["running", 0]
    assert not {"reserve", "requeue", "signal", "place"} & set(process.requests())
    # Cycles stand still, so the space comes from outside, as at a site.
    child = process.child
    assert child is not None
    (Path(f"/proc/{child.pid}/root") / process.disk.relative_to("/") / "filler").unlink()
    process.take_back("full")
    process.until(lambda: process.jobs().get("2", [""])[0] in ("running", "completed"))
    assert process.names().count("journal_lost") == 1
    assert process.names().count("journal_back") == 1
    assert process.jobs()["1"] == ["pending", 1]


def test_a_second_controller_on_a_journal_refuses_in_one_line(process: Process) -> None:
    process.start()
    journal = process.disk / "journal.sqlite"
    command = [*TIERWISE, "controller", "--journal", str(journal)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert process.child is not None
    assert f"another controller (process {process.child.pid}) uses it" in done.stderr
    found = lock.holder(journal)
    assert found is not None
    assert found.running
    assert time.time() - found.last_cycle < 30
    process.child.kill()
    process.wait()
    after = lock.holder(journal)
    assert after is not None
    assert not after.running


def test_a_journal_that_cannot_be_opened_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    command = [*TIERWISE, "controller", "--journal", str(tmp_path / "journal"), "--once"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert "cannot be opened" in done.stderr


@pytest.mark.parametrize("hangs", [False, True], ids=["between cycles", "while Slurm hangs"])
def test_sigterm_ends_it_within_a_second(process: Process, hangs: bool) -> None:
    process.start()
    if hangs:
        process.ask("hang")
        time.sleep(0.5)
    began = time.time()
    process.send(signal.SIGTERM)
    assert process.wait() == 0
    assert process.names()[-1] == "stopped"
    # What is ours ends with that line; the interpreter's own end takes what a busy machine lets it take.
    took = process.events("stopped")[0]["time"] - began
    assert took < (1.0 if os.getloadavg()[0] < 2 else 3.0)


def test_a_reload_takes_a_good_policy_and_keeps_the_last_good_one(process: Process) -> None:
    process.start()
    process.policy.write_text("[defaults]\non_demnd = true\n")
    process.send(signal.SIGHUP)
    process.until(lambda: "policy_kept" in process.names())
    assert "on_demnd" in process.events("policy_kept")[0]["reason"]
    process.policy.write_text(POLICY)
    process.send(signal.SIGHUP)
    process.until(lambda: "policy_read" in process.names())


@pytest.mark.parametrize("abstract", [False, True], ids=["path", "abstract"])
def test_it_tells_the_service_manager_how_it_is(process: Process, abstract: bool) -> None:
    name = f"@tierwise-test-{os.getpid()}" if abstract else str(process.folder / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind("\0" + name[1:] if abstract else name)
        manager.settimeout(30)
        process.start(NOTIFY_SOCKET=name, WATCHDOG_USEC="300000")
        process.send(signal.SIGHUP)
        process.until(lambda: "policy_read" in process.names())
        process.send(signal.SIGTERM)
        said: list[str] = []
        while not said or not said[-1].startswith("STOPPING=1"):
            said.append(manager.recv(4096).decode())
    assert said[0].startswith("READY=1\nSTATUS=")
    assert "WATCHDOG=1" in said
    at = next(place for place, text in enumerate(said) if text.startswith("RELOADING=1\nMONOTONIC_USEC="))
    assert 0 < int(said[at].rpartition("=")[2]) <= time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
    assert any(text.startswith("READY=1") for text in said[at:])
    assert process.wait() == 0


def test_a_status_cannot_add_a_line_for_the_service_manager() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(f"\0tierwise-status-{os.getpid()}")
        manager.settimeout(10)
        Notify(f"@tierwise-status-{os.getpid()}").status("a\nMAINPID=1")
        assert manager.recv(4096) == b"STATUS=a MAINPID=1"


def test_the_variables_of_the_service_manager_are_not_handed_on() -> None:
    environment = {"NOTIFY_SOCKET": "/run/x", "WATCHDOG_USEC": "6000000", "WATCHDOG_PID": str(os.getpid()), "A": "b"}
    found = Notify.from_environment(environment)
    assert (found.address, found.watchdog_seconds, environment) == ("/run/x", 6.0, {"A": "b"})
    assert Notify.from_environment({"NOTIFY_SOCKET": "/x", "WATCHDOG_USEC": "1", "WATCHDOG_PID": "1"}) == Notify("/x")


def test_a_service_manager_that_is_gone_is_no_error(tmp_path: Path) -> None:
    Notify(str(tmp_path / "nowhere")).ready("")


def test_a_slow_cycle_delays_the_next_beat_and_no_later_one() -> None:
    pace = Pace(1.0)
    start = -pace.left(0.0)
    assert start == -pace._due
    zero = pace._due
    for cycle, took in enumerate([0.3, 0.9, 0.2]):
        assert pace.left(zero + cycle) == pytest.approx(0)
        pace.took(zero + cycle + took)
    pace.took(zero + 3 + 2.5)  # longer than two beats
    assert pace.left(zero + 5.5) == pytest.approx(0.5)
