"""What a person may ask of a cluster, and what is said where it cannot be."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from scheduler.cli.app import main
from scheduler.cluster import Options, chosen_directory, default_directory, down, executables, home, parse_size, status
from scheduler.cluster.daemons import PortTakenError, failure
from scheduler.cluster.ports import free_ports
from traces.errors import InputError


@pytest.mark.parametrize(
    ("text", "size"), [("512M", 512 << 20), ("1.5GiB", 3 << 29), ("2 tb", 2 << 40), ("1k", 1 << 10), ("0.5G", 1 << 29)]
)
def test_sizes_have_units_of_powers_of_1024(text: str, size: int) -> None:
    assert parse_size("--memory-per-node", text) == size


@pytest.mark.parametrize("text", ["", "4", "4X", "-1G", "1e3M", "1G2", "٤G", "1.G", "nanG", "1\nG2", "9" * 40 + "T"])
def test_other_sizes_are_refused_in_one_line(text: str) -> None:
    with pytest.raises(InputError, match=r"^--memory-per-node .*: expected a number with a unit") as caught:
        parse_size("--memory-per-node", text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "wrong",
    [
        {"nodes": 0},
        {"nodes": 1001},
        {"cpus_per_node": 0},
        {"memory_per_node": 1},
        {"gpus_per_node": -1},
        {"requeue_delay": 4},
        {"spank_plugin": Path("nowhere/x.so")},
        {"job_submit": Path("nowhere/job_submit.lua")},
        {"settings": {"KillWait": "1\nSlurmUser=other"}},
        {"lines": ("a\nb",)},
    ],
)
def test_options_that_no_cluster_can_have_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Options(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["a b", "a,b", "a#b", "a%n", 'a"b', "a=b", "ä", "a\nb", "x" * 65, "\0"])
def test_a_directory_that_slurm_cannot_name_is_refused(name: str) -> None:
    with pytest.raises(InputError, match=r"^--dir "):
        chosen_directory(Path("/tmp") / name)


def test_without_a_directory_it_is_the_users_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    assert default_directory() == Path("/home/somebody/.local/state/tierwise/cluster")
    monkeypatch.setenv("XDG_STATE_HOME", "/var/state")
    assert default_directory() == Path("/var/state/tierwise/cluster")


@pytest.fixture
def without_programs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(executables, "SYSTEM_PATH", ())
    return tmp_path


def test_missing_programs_are_named_with_their_packages_in_one_line(
    without_programs: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["cluster", "up", "--accounting", "--dir", "/tmp/tierwise-nothing"]) == 2
    line = capsys.readouterr().err
    assert line.count("\n") == 1
    assert line.startswith("tierwise: error: munged, slurmctld, slurmd, sinfo, scontrol, slurmdbd, sacctmgr, mariadbd,")
    assert "apt-get install munge slurmctld slurmd slurm-client slurmdbd mariadb-server;" in line
    assert "dnf install munge slurm-slurmctld slurm-slurmd slurm slurm-slurmdbd mariadb-server;" in line
    assert line.endswith("zypper install munge slurm slurm-node slurm-slurmdbd mariadb\n")
    assert not Path("/tmp/tierwise-nothing").exists()


def test_one_missing_program_names_one_package(without_programs: Path) -> None:
    for name in ("munged", "slurmctld", "sinfo", "scontrol"):
        (without_programs / name).write_text("#!/bin/sh\n")
        (without_programs / name).chmod(0o755)
    with pytest.raises(InputError, match=r"^slurmd: not found in PATH .* apt-get install slurmd; .* slurm-node$"):
        executables.find(accounting=False)


def test_a_plugin_that_slurm_does_not_find_is_named_with_its_package(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    log = tmp_path / "log/slurmctld.log"
    log.write_text("error: cannot find job_submit plugin for job_submit/lua\nfatal: failed to initialize\n")
    error = failure("slurmctld", tmp_path, "ended with status 1")
    assert "plugin job_submit/lua is missing: on Debian or Ubuntu: apt-get install slurm-wlm-basic-plugins" in str(
        error
    )
    assert error.log[-1] == "fatal: failed to initialize"
    log.write_text("fatal: slurm_init_msg_engine_port error Address already in use\n")
    assert isinstance(failure("slurmctld", tmp_path, "ended"), PortTakenError)


def test_a_directory_with_somebody_elses_files_is_left_alone() -> None:
    with tempfile.TemporaryDirectory(prefix="tw-") as name:
        directory = Path(name)
        (directory / "log").mkdir()
        with (
            home.held(directory),
            pytest.raises(InputError, match=r"is not empty and no cluster of ours \(it has log\)"),
        ):
            home.check_is_free(directory)
        with pytest.raises(InputError, match="holds no cluster of ours"):
            down(directory, remove=True)
        assert (directory / "log").is_dir()


def test_a_directory_that_others_may_write_to_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(InputError, match="others may write to it"), home.held(tmp_path):
        pass


def test_one_command_at_a_time_works_on_a_directory(tmp_path: Path) -> None:
    at_work = pytest.raises(InputError, match="another `tierwise cluster` is at work")
    with home.held(tmp_path), at_work, home.held(tmp_path):
        pass
    with home.held(tmp_path):
        pass


def test_nothing_runs_where_there_is_no_cluster() -> None:
    assert down(Path("/tmp/tierwise-nothing")) == 0
    assert status(Path("/tmp/tierwise-nothing")).state == "absent"
    assert main(["cluster", "status", "--dir", "/tmp/tierwise-nothing"]) == 1
    assert not Path("/tmp/tierwise-nothing").exists()


def test_ports_are_free_and_differ_and_lie_where_no_client_gets_them() -> None:
    ports = free_ports(50)
    low, high = (int(part) for part in Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split())
    assert len(set(ports)) == 50
    assert low < 10_500 or not [port for port in ports if low <= port <= high]
