"""What the files of a cluster say, without starting one."""

from __future__ import annotations

import socket
from dataclasses import replace
from pathlib import Path

import pytest

from scheduler.cluster import Options, configuration
from scheduler.cluster.layout import Host, Layout, node_names, this_host

LAYOUT = Layout(
    directory=Path("/tmp/c"),
    host=Host("box", named_by_loopback=True),
    user="somebody",
    version=(22, 5, 8),
    ports={"slurmctld": 10001, "slurmdbd": 10002, "n1": 10011, "n2": 10012},
)
TWO = Options(nodes=2, cpus_per_node=2, memory_per_node=3 << 30)

REMOVED = {"crypto", "checkpoint", "route", "power", "layouts", "acctgatherfilesystem"}
"""Beginnings of parameters that later releases no longer know."""


def parameters(text: str) -> dict[str, str]:
    lines = [line.partition("=") for line in text.splitlines() if not line.startswith(("#", "Node", "Partition"))]
    assert len({name.lower() for name, _, _ in lines}) == len(lines)
    return {name: value for name, _, value in lines}


def test_each_node_has_a_port_of_its_own_on_this_host() -> None:
    lines = [line for line in configuration.slurm_conf(TWO, LAYOUT).splitlines() if line.startswith("NodeName=")]
    assert lines == [
        f"NodeName=n{k} NodeHostname=box NodeAddr=127.0.0.1 Port=1001{k} CPUs=2 RealMemory=3072 State=UNKNOWN"
        for k in (1, 2)
    ]


def test_every_file_it_names_lies_in_its_directory() -> None:
    found = parameters(configuration.slurm_conf(replace(TWO, accounting=True), LAYOUT))
    paths = [value for name, value in found.items() if value.startswith("/") and name != "MailProg"]
    paths.append(found["AuthInfo"].split(",")[0].removeprefix("socket="))
    assert len(paths) > 7
    assert all(path.startswith("/tmp/c/") for path in paths)
    assert "/etc" not in configuration.slurm_conf(TWO, LAYOUT)


def test_no_parameter_is_used_that_a_later_release_has_dropped() -> None:
    found = parameters(configuration.slurm_conf(replace(TWO, accounting=True, gpus_per_node=1), LAYOUT))
    assert not [name for name in found if name.lower().startswith(tuple(REMOVED))]


def test_daemons_keep_to_the_loopback_interface_where_the_hosts_name_stands_for_it() -> None:
    assert parameters(configuration.slurm_conf(TWO, LAYOUT))["CommunicationParameters"] == "NoCtldInAddrAny,NoInAddrAny"
    elsewhere = replace(LAYOUT, host=Host("box", named_by_loopback=False))
    assert "CommunicationParameters" not in configuration.slurm_conf(TWO, elsewhere)


@pytest.mark.parametrize(
    ("addresses", "expected"), [(["127.0.0.1"], True), (["127.0.1.1"], False), (["192.0.2.2"], False), ([], False)]
)
def test_the_hosts_name_must_stand_for_the_address_that_srun_is_answered_at(
    monkeypatch: pytest.MonkeyPatch, addresses: list[str], expected: bool
) -> None:
    def look_up(*_: object) -> list[tuple[int, int, int, str, tuple[str, int]]]:
        if not addresses:
            raise socket.gaierror
        return [(2, 1, 6, "", (address, 0)) for address in addresses]

    monkeypatch.setattr(socket, "gethostname", lambda: "box.example.org")
    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    assert this_host() == Host("box", expected)


def test_settings_replace_those_generated_whatever_their_case() -> None:
    options = replace(
        TWO, settings={"killwait": "9", "PreemptType": "preempt/qos"}, lines=("PartitionName=x Nodes=n1",)
    )
    text = configuration.slurm_conf(options, LAYOUT)
    found = parameters(text)
    assert found["KillWait"] == "9"
    assert found["PreemptType"] == "preempt/qos"
    assert text.endswith("\nPartitionName=x Nodes=n1\n")


@pytest.mark.parametrize(("nodes", "given", "expected"), [(4, None, 5), (400, None, 100), (400, 7, 7)])
def test_a_requeued_job_waits_as_long_as_a_launch_may_take(nodes: int, given: int | None, expected: int) -> None:
    options = replace(TWO, nodes=nodes, requeue_delay=given)
    layout = replace(LAYOUT, ports=dict.fromkeys(["slurmctld", *node_names(nodes)], 1))
    assert parameters(configuration.slurm_conf(options, layout))["AuthInfo"].endswith(f",cred_expire={expected}")


def test_the_plugin_and_the_script_are_there_only_when_given(tmp_path: Path) -> None:
    without = configuration.other_files(TWO, LAYOUT)
    assert without == {"gres.conf": "", "plugstack.conf": ""}
    assert "JobSubmitPlugins" not in configuration.slurm_conf(TWO, LAYOUT)

    plugin, script = tmp_path / "ours.so", tmp_path / "job_submit.lua"
    plugin.touch()
    script.write_text("-- ours\n")
    options = replace(TWO, spank_plugin=plugin, job_submit=script, gpus_per_node=2)
    given = configuration.other_files(options, LAYOUT)
    assert given["plugstack.conf"] == f"optional {plugin}\n"
    assert given["job_submit.lua"] == "-- ours\n"
    assert given["gres.conf"] == "AutoDetect=off\nNodeName=n[1-2] Name=gpu File=/tmp/c/gpus/gpu[0-1]\n"
    assert parameters(configuration.slurm_conf(options, LAYOUT))["JobSubmitPlugins"] == "lua"


def test_cgroups_are_left_alone_where_slurm_can_be_told_to() -> None:
    assert "cgroup.conf" not in configuration.other_files(TWO, LAYOUT)
    for version in ((24, 11, 5), (26, 5, 5)):
        files = configuration.other_files(TWO, replace(LAYOUT, version=version))
        assert files["cgroup.conf"] == "CgroupPlugin=disabled\n"


def test_clients_find_munge_for_the_accounting_too() -> None:
    options = replace(TWO, accounting=True)
    assert parameters(configuration.slurm_conf(options, LAYOUT))["AccountingStoragePass"] == "/tmp/c/run/munge.sock"
    found = parameters(configuration.other_files(options, LAYOUT)["slurmdbd.conf"])
    assert (found["DbdPort"], found["StorageUser"]) == ("10002", "somebody")
    assert "StoragePass" not in found


def test_only_this_user_may_read_what_slurmdbd_reads(tmp_path: Path) -> None:
    layout = replace(LAYOUT, directory=tmp_path)
    configuration.write_files(replace(TWO, accounting=True, gpus_per_node=1), layout)
    assert (tmp_path / "slurmdbd.conf").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "slurm.conf").stat().st_mode & 0o777 == 0o644
    assert (tmp_path / "gpus/gpu0").is_char_device()
