"""`tierwise doctor` as a command: on a bare machine, with what hangs, and for programs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from scheduler.cli.app import main
from scheduler.controller import lock
from scheduler.doctor import examine
from scheduler.doctor.examining import Family
from scheduler.doctor.facts import flags, service
from scheduler.doctor.facts.place import Place
from scheduler.doctor.finding import EVERYWHERE, OK, WARN, Check, ok
from scheduler.doctor.roles import detected

TIERWISE = [sys.executable, "-c", "import sys; from scheduler.cli.app import main; sys.exit(main())"]


def bare(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run doctor with nothing in the PATH but what is given."""
    (folder / "bin").mkdir(exist_ok=True)
    variables = {"PATH": str(folder / "bin"), "SLURM_CONF": str(folder / "none"), **environment}
    command = [*TIERWISE, "doctor", "--policy", str(folder / "policy.toml"), "--journal", str(folder / "no/journal")]
    return subprocess.run(
        [*command, *arguments], env=variables, capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.parametrize("role", ["login", "controller", "compute"])
def test_where_nothing_is_installed_it_says_so_without_a_traceback(tmp_path: Path, role: str) -> None:
    done = bare(tmp_path, "--role", role)
    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    assert lines[0] == f"{role} node"
    assert any(line.startswith("fail     slurm commands") for line in lines)
    assert any("mend: apt-get install slurm-client" in line for line in lines)
    assert "\x1b" not in done.stdout


def test_a_user_without_a_name_and_a_home_is_served() -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can become a user without a name")
    script = """
import os, sys
from scheduler.cli.app import main
arguments = ["doctor", "--role", "controller", "--role", "compute", "--role", "login", "--json"]
main(arguments)  # all is imported then: another user need not be able to read this Python
sys.stdout.write("\\f")
os.setgroups([]), os.setgid(54321), os.setuid(54321)
sys.exit(main(arguments))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], env={"PATH": ""}, capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stderr) == (1, "")
    found = json.loads(done.stdout.split("\f")[1])
    assert found["roles"] == ["compute", "controller", "login"]
    assert "kernel cache" in {finding["check"] for finding in found["findings"] if finding["level"] == "warn"}


def test_the_table_lines_up(tmp_path: Path) -> None:
    lines = bare(tmp_path, "--role", "controller").stdout.splitlines()[2:-2]
    heads = [line for line in lines if not line.startswith(" ")]
    names = max(len(line[9:].split("  ")[0]) for line in heads)
    place = 9 + names + 2
    assert len(heads) > 5
    for line in lines:
        assert line[place - 2 : place] == "  "
        assert line[place] != " "


def test_json_says_the_same_for_programs(tmp_path: Path) -> None:
    done = bare(tmp_path, "--role", "login", "--json")
    found = json.loads(done.stdout)
    assert found["roles"] == ["login"]
    assert sum(found["counts"].values()) == len(found["findings"])
    assert {"check", "level", "found", "costs", "mend"} == set(found["findings"][0])
    assert found["counts"]["fail"] == 1
    assert done.returncode == 1


def test_a_role_that_does_not_exist_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--role", "gateway"]) == 2
    assert capsys.readouterr().err == (
        "tierwise: error: --role 'gateway' does not exist: accepted are login, controller, compute\n"
    )


def test_commands_of_slurm_that_hang_hold_nothing_up(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("sbatch", "scontrol"):
        script = tmp_path / "bin" / name
        script.write_text(f"#!/bin/sh\necho $$ >{tmp_path}/{name}.pid\nexec /bin/sleep 3600\n")
        script.chmod(0o755)
    began = time.monotonic()
    done = bare(tmp_path, "--role", "login", "--json", "--timeout", "12")
    assert time.monotonic() - began < 30
    assert done.stderr == ""
    found = {finding["check"]: finding for finding in json.loads(done.stdout)["findings"]}
    assert "no answer from scontrol within 3 s" in found["slurmctld"]["found"]
    for name in ("sbatch", "scontrol"):
        assert not Path("/proc", (tmp_path / f"{name}.pid").read_text().strip()).exists()


def test_what_hangs_is_a_finding_and_the_rest_is_told() -> None:
    release = threading.Event()
    families = [
        Family("disk", lambda _: release.wait(60), [Check("disk", lambda _: ok("there"), EVERYWHERE)]),
        Family("other", lambda _: 1, [Check("other", lambda _: ok("there"), EVERYWHERE)]),
    ]
    began = time.monotonic()
    report = examine(Place(frozenset({"login"})), families, patience=0.5)
    release.set()
    assert time.monotonic() - began < 10
    assert [(name, finding.level) for name, finding in report.findings] == [("disk", WARN), ("other", OK)]
    assert "no answer within 0.5 s" in report.findings[0][1].found


def test_a_look_that_fails_is_a_finding_in_one_line() -> None:
    def broken(_: Place) -> int:
        raise OSError("stale\nfile handle")

    family = Family("disk", broken, [Check("disk", lambda _: ok("there"), EVERYWHERE)])
    report = examine(Place(frozenset({"login"})), [family])
    assert report.findings[0][1].found == "cannot be looked at: OSError: stale; file handle"


def test_a_node_is_what_runs_on_it(tmp_path: Path) -> None:
    assert detected(tmp_path) == {"login"}
    for pid, name in (("1", "init"), ("20", "slurmd"), ("30", "slurmctld"), ("self", "x")):
        (tmp_path / pid).mkdir()
        (tmp_path / pid / "comm").write_text(f"{name}\n")
    assert detected(tmp_path) == {"controller", "compute"}
    (tmp_path / "30" / "comm").write_text("slurmctld-x\n")
    assert detected(tmp_path) == {"compute"}


def test_it_knows_whether_a_controller_runs(tmp_path: Path) -> None:
    place = Place(frozenset({"controller"}), tmp_path / "policy.toml", tmp_path / "journal", tmp_path / "unit")
    assert (service.gather(place).ran, service.gather(place).runs) == (False, False)
    with lock.held(place.journal) as held:
        held.note(pid=4711)
        found = service.gather(place)
        assert (found.ran, found.runs, found.pid) == (True, True, "4711")
        assert found.age < 30
    assert (service.gather(place).ran, service.gather(place).runs) == (True, False)


def test_it_reads_the_policy_and_whom_it_lets(tmp_path: Path) -> None:
    place = Place(frozenset({"controller"}), tmp_path / "policy.toml", tmp_path / "journal", tmp_path / "unit")
    assert service.gather(place).policy_state == "absent"
    place.policy.write_text("[qos.urgent]\non_demand = true\n")
    assert (service.gather(place).policy_state, service.gather(place).grants) == ("good", True)
    place.policy.write_text("[qos.urgent]\non_demand = false\n")
    assert not service.gather(place).grants
    place.policy.write_text("[defaults]\non_demnd = true\n")
    bad = service.gather(place)
    assert bad.policy_state == "bad"
    assert "line 2: defaults.on_demnd: there is no such key" in bad.policy_problem


def test_it_finds_the_plugin_that_plugstack_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "slurm.conf").write_text(f"PlugStackConfig={tmp_path}/stack.conf\n")
    monkeypatch.setenv("SLURM_CONF", str(tmp_path / "slurm.conf"))
    place = Place(frozenset({"login"}))
    assert flags.gather(place).plugin is None
    plugin = tmp_path / "spank_tierwise.so"
    (tmp_path / "stack.conf").write_text(f"optional {plugin}\n")
    assert (flags.gather(place).plugin, flags.gather(place).built_for) == (str(plugin), None)
    plugin.write_bytes(b"\x7fELF tierwise-spank-build;slurm=22.05.8;version=0.1.0;")
    assert (flags.gather(place).built_for, flags.gather(place).of) == ("22.05", "0.1.0")
    (tmp_path / "job_submit.lua").write_text("-- the site's own\n")
    assert flags.gather(place).job_submit_state == "foreign"
    (tmp_path / "job_submit.lua").write_text('dofile("/etc/slurm/tierwise_job_submit.lua")\n')
    assert flags.gather(place).job_submit_state == "calls ours"
