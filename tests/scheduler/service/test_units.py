"""The systemd units: what systemd itself says of them, and what fills them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scheduler.cli.app import main
from scheduler.service import Site, render, systemd_version
from tests.availability import unavailable
from traces.errors import InputError

WORST = 20
"""The exposure that is accepted, in tenths: 0 is none, 100 is all (systemd-analyze(1)); it needs the network."""


def site(folder: Path, **values: object) -> Site:
    """A site whose command and policy exist, and who runs it too."""
    command = folder / "bin dir%" / "tierwise"
    command.parent.mkdir(exist_ok=True)
    command.write_text("#!/bin/sh\n")
    command.chmod(0o755)
    common = {"user": "daemon", "command": command, "policy": Path("/etc/tierwise/policy.toml")}
    return Site(**{**common, "systemd": systemd_version(), **values})


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    if shutil.which("systemd-analyze") is None:
        unavailable("systemd", "no systemd-analyze: apt-get install systemd")
    return subprocess.run(["systemd-analyze", *arguments], capture_output=True, text=True, check=False, timeout=60)


def test_systemd_finds_no_fault_with_the_unit(tmp_path: Path) -> None:
    unit = tmp_path / "tierwise-controller.service"
    unit.write_text(render("controller", site(tmp_path, slurm=Path("/opt/slurm/bin"))))
    done = analyze("verify", str(unit))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    unit.write_text(unit.read_text().replace("NoNewPrivileges=yes", "NoNewPrivilges=yes"))
    assert "NoNewPrivilges" in analyze("verify", str(unit)).stderr


def test_the_unit_is_little_exposed(tmp_path: Path) -> None:
    unit = tmp_path / "tierwise-controller.service"
    unit.write_text(render("controller", site(tmp_path)))
    done = analyze("security", "--offline=true", f"--threshold={WORST}", str(unit))
    assert done.returncode == 0, done.stdout
    assert analyze("security", "--offline=true", "--threshold=5", str(unit)).returncode != 0


def test_each_promise_of_the_sandbox_is_in_the_unit(tmp_path: Path) -> None:
    lines = set(render("controller", site(tmp_path)).splitlines())
    assert lines >= {
        "NoNewPrivileges=yes",
        "ProtectSystem=strict",
        "StateDirectory=tierwise",
        "CapabilityBoundingSet=",
        "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6",
        "SystemCallFilter=@system-service",
        "PrivateTmp=yes",
        "ProtectKernelTunables=yes",
        "ProtectKernelModules=yes",
        "ProtectKernelLogs=yes",
        "Restart=on-failure",
        "WatchdogSec=3min",
    }


def test_memory_that_is_written_and_executed_is_allowed_because_numba_cannot_do_without() -> None:
    code = """
import ctypes, sys
if ctypes.CDLL(None).prctl(65, ctypes.c_ulong(1), 0, 0, 0):  # PR_SET_MDWE, as MemoryDenyWriteExecute sets it
    sys.exit(77)
import numba
numba.njit(lambda x: x + 1)(1)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120)
    if done.returncode == 77:
        unavailable("mdwe", "this kernel has no PR_SET_MDWE (Linux 6.3 and later): what Numba needs cannot be tried")
    # Should this fail some day, MemoryDenyWriteExecute=yes belongs into the unit.
    assert done.returncode == 1
    assert "executable memory" in done.stderr


@pytest.mark.parametrize(
    ("systemd", "expected"),
    [(0, "Type=notify\nExecReload=/bin/kill -HUP $MAINPID\n"), (252, "Type=notify\n"), (253, "Type=notify-reload\n")],
)
def test_a_reload_goes_by_the_protocol_where_systemd_has_it(tmp_path: Path, systemd: int, expected: str) -> None:
    text = render("controller", site(tmp_path, systemd=systemd))
    assert expected in text
    assert ("ExecReload" in text) == (systemd < 253)


def test_no_place_of_the_template_stays_open_and_paths_are_quoted(tmp_path: Path) -> None:
    text = render("controller", site(tmp_path, metrics=None, slurm=Path("/opt/slurm/bin")))
    assert not re.search(r"@[A-Z]+@", text)
    assert f'ExecStart="{tmp_path}/bin dir%%/tierwise" controller --policy /etc/tierwise/policy.toml' in text
    assert "--metrics" not in text
    assert "Environment=PATH=/opt/slurm/bin:/usr/local/sbin:" in text
    assert "\n\n\n" not in text


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"user": "a\nExecStart=x"}, "no user's name"),
        ({"policy": Path("relative.toml")}, "absolute paths"),
        ({"policy": Path("/x\nUser=root")}, "control characters"),
        ({"slurm": Path("/opt/a b")}, "plain letters"),
    ],
)
def test_a_value_cannot_add_a_line(tmp_path: Path, values: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        render("controller", site(tmp_path, **values))


def test_a_command_in_a_home_can_be_read_and_no_other_home_is_written(tmp_path: Path) -> None:
    assert "ProtectHome=yes" in render("controller", site(tmp_path, command=Path("/opt/tierwise/bin/tierwise")))
    assert "ProtectHome=read-only" in render("controller", site(tmp_path, command=Path("/home/a/bin/tierwise")))


def test_install_writes_once_and_says_what_is_left_to_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "tierwise-controller.service"
    command = ["service", "install", "controller", "--user", "no-such-user", "--folder", str(tmp_path), "--json"]
    command += ["--command", "/opt/tierwise/bin/tierwise", "--policy", str(tmp_path / "policy.toml")]
    assert main([*command, "--dry-run"]) == 0
    assert not target.exists()
    capsys.readouterr()
    assert main(command) == 0
    first = json.loads(capsys.readouterr().out)
    assert first["changed"]
    assert target.stat().st_mode & 0o777 == 0o644
    said = "\n".join(first["to_do"])
    for expected in ("useradd --system", "adminlevel=operator", "policy.toml", "daemon-reload", "enable --now"):
        assert expected in said
    assert main(command) == 0
    second = json.loads(capsys.readouterr().out)
    assert not second["changed"]
    assert "daemon-reload" not in "\n".join(second["to_do"])
    assert main([*command[:2], "agent"]) == 2
    assert "there is no unit 'agent': accepted are controller" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["service", "install", "controller", "--folder", "/dev/null"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1
