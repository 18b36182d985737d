"""A cluster on this machine comes up, runs jobs, and goes away with all that belongs to it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from scheduler.cluster import Cluster, ClusterError, Options, configuration, down, starting, status, up
from scheduler.cluster.layout import this_host
from traces.errors import InputError

pytestmark = pytest.mark.slurm

PATIENCE = 30.0


def until(ready: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < end, f"not within {PATIENCE:g} s"
        time.sleep(0.05)


def mentioning(directory: Path) -> list[str]:
    """Return what runs and has to do with the directory: by arguments, environment or open files, but this process."""
    wanted = os.fsencode(directory)
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal() or int(entry.name) == os.getpid():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
            seen = [command, (entry / "environ").read_bytes()]
            seen += [os.fsencode(link.readlink()) for link in (entry / "fd").iterdir()]
        except OSError:
            continue
        if any(wanted in text for text in seen):
            found.append(f"{entry.name} {command.decode(errors='replace')}")
    return found


@pytest.fixture
def two(folder: Path) -> Iterator[Cluster]:
    with up(Options(nodes=2, directory=folder / "c")) as started:
        yield started


def test_it_runs_a_job_on_all_nodes(cluster: Cluster) -> None:
    done = cluster.run("srun", "-N4", "printenv", "SLURMD_NODENAME")
    assert sorted(done.stdout.split()) == ["n1", "n2", "n3", "n4"], done.stderr


def test_its_accounting_remembers_the_job(cluster: Cluster) -> None:
    assert cluster.run("srun", "--job-name=remembered", "true").returncode == 0
    command = ("sacct", "--allusers", "-X", "--noheader", "--parsable2", "--name=remembered", "--format=JobName,State")
    until(lambda: "remembered|COMPLETED" in cluster.run(*command).stdout.splitlines())


def test_it_listens_on_the_loopback_interface_alone(cluster: Cluster) -> None:
    if not this_host().named_by_loopback:
        pytest.skip("the host's name does not stand for 127.0.0.1, and Slurm listens on all interfaces then")
    ports = {f"{daemon.port:04X}" for daemon in cluster.record.daemons if daemon.port}
    listening = [line.split()[1].split(":") for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    # The address is in the byte order of the machine: loopback is the last byte of it.
    assert {address[-2:] for address, port in listening if port in ports} == {"7F"}


def test_nothing_is_left_when_a_cluster_with_jobs_goes_down(folder: Path) -> None:
    cluster = up(Options(nodes=2, directory=folder / "c"))
    script = "#!/bin/sh\ntrap '' TERM\nsetsid sleep 1000 &\nsleep 1000 & wait; sleep 1000\n"
    done = cluster.run("sbatch", "-N1", "--output=/dev/null", "--chdir=/", stdin=script)
    assert done.returncode == 0, done.stderr
    until(lambda: sum("sleep" in line for line in mentioning(cluster.slurm_conf)) == 2)
    assert status(cluster.directory).others
    cluster.down()
    assert mentioning(cluster.directory) == []
    assert status(cluster.directory).state == "stopped"
    assert (cluster.directory / "log/slurmctld.log").is_file()
    cluster.down(remove=True)
    assert not cluster.directory.exists()


def test_a_process_that_is_not_the_clusters_survives(two: Cluster) -> None:
    # A client with the cluster's variables, and a reader of one of its logs, belong to the person.
    with (two.directory / "log/n1.log").open() as log:
        mine = subprocess.Popen(["sleep", "60"], stdin=log, env={**os.environ, **two.environment})
        two.down()
        alive = mine.poll() is None
        mine.kill()
        mine.wait()
    assert alive


def test_two_clusters_run_side_by_side(two: Cluster, folder: Path) -> None:
    with up(Options(nodes=1, directory=folder / "other")) as other:
        assert len(two.run("srun", "-N2", "hostname").stdout.split()) == 2
        assert other.run("srun", "-N1", "printenv", "SLURM_CONF").stdout.strip() == str(other.slurm_conf)
    assert len(two.run("srun", "-N2", "hostname").stdout.split()) == 2
    assert mentioning(folder / "other") == []


def test_a_directory_in_use_is_refused(two: Cluster) -> None:
    with pytest.raises(InputError, match=r"a cluster runs there; stop it with `tierwise cluster down"):
        up(Options(nodes=2, directory=two.directory))
    assert two.run("srun", "-N2", "true").returncode == 0


def test_a_stopped_cluster_makes_room_for_a_new_one(two: Cluster) -> None:
    two.down()
    with up(Options(nodes=1, directory=two.directory)) as again:
        assert again.run("srun", "-N1", "printenv", "SLURM_JOB_ID").stdout.split() == ["1"]


def test_it_goes_down_when_slurmctld_was_killed(two: Cluster) -> None:
    two.kill(["slurmctld"])
    found = status(two.directory)
    assert found.state == "damaged"
    assert [daemon.name for daemon in found.daemons if daemon.state == "gone"] == ["slurmctld"]
    two.down()
    assert mentioning(two.directory) == []
    assert down(two.directory) == 0


def test_a_killed_daemon_can_be_started_again(two: Cluster) -> None:
    two.kill(["slurmctld", "n2"])
    started = two.start("slurmctld").start("n2")
    until(lambda: [d.node_state for d in status(two.directory).daemons if d.node_state] == ["idle", "idle"])
    assert len(started.run("srun", "-N2", "hostname").stdout.split()) == 2
    started.down()
    assert mentioning(two.directory) == []


def test_a_requeued_job_starts_again_soon(two: Cluster) -> None:
    done = two.run("sbatch", "--parsable", "-N1", "--output=/dev/null", "--chdir=/", "--wrap=sleep 100")
    job = done.stdout.strip()
    state = ("squeue", "--noheader", f"--job={job}", "--format=%T")
    until(lambda: two.run(*state).stdout.strip() == "RUNNING")
    assert two.run("scontrol", "requeue", job).returncode == 0
    until(lambda: two.run(*state).stdout.strip() == "PENDING")
    until(lambda: two.run(*state).stdout.strip() == "RUNNING")  # Slurm's own default takes two minutes


def test_down_ends_what_a_start_that_died_half_way_left(folder: Path) -> None:
    # It dies once all run, and none of them is written down.
    code = (
        "import sys, os, signal; from pathlib import Path\n"
        "from scheduler.cluster import Options, starting, up, record\n"
        "starting.record.write = lambda found, real=record.write: real(found) if not any("
        "d.process for d in found.daemons) else None\n"
        "starting._Up.wait_for_nodes = lambda self: os.kill(os.getpid(), signal.SIGKILL)\n"
        "up(Options(nodes=2, directory=Path(sys.argv[1])))\n"
    )
    died = subprocess.run([sys.executable, "-c", code, str(folder / "c")], capture_output=True, text=True, check=False)
    assert died.returncode == -signal.SIGKILL, died.stderr
    assert all(daemon.process is None for daemon in Cluster(folder / "c").record.daemons)
    until(lambda: sum("slurmd" in line for line in mentioning(folder / "c")) >= 2)
    assert down(folder / "c") >= 4
    assert mentioning(folder / "c") == []


def test_a_port_that_somebody_takes_meanwhile_costs_another_try(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, calls = starting.free_ports, []
    with socket.create_server(("", 0)) as holder:

        def ports(count: int) -> list[int]:
            calls.append(count)
            return [*real(count - 1), holder.getsockname()[1]] if len(calls) == 1 else real(count)

        monkeypatch.setattr(starting, "free_ports", ports)
        with up(Options(nodes=1, directory=folder / "c")):
            assert len(calls) == 2


def test_a_daemon_that_fails_shows_the_end_of_its_log_and_leaves_nothing(folder: Path) -> None:
    options = Options(nodes=1, directory=folder / "c", settings={"proctracktype": "proctrack/nonesuch"})
    with pytest.raises(ClusterError, match=r"ended with status 1; look into .*/log/n1\.log") as caught:
        up(options)
    assert any("proctrack/nonesuch" in line for line in caught.value.log)
    assert mentioning(folder / "c") == []


def test_settings_and_lines_of_the_caller_are_in_force(folder: Path) -> None:
    extra = "PartitionName=shared Nodes=ALL OverSubscribe=NO"
    options = Options(
        nodes=1, directory=folder / "c", settings={"KillWait": "7"}, lines=(extra,), gpus_per_node=2, cpus_per_node=3
    )
    with up(options) as cluster:
        assert "KillWait                = 7 sec" in cluster.run("scontrol", "show", "config").stdout
        done = cluster.run("srun", "-p", "shared", "--gres=gpu:2", "-n1", "-c3", "printenv", "CUDA_VISIBLE_DEVICES")
        assert done.stdout == "0,1\n", done.stderr


def test_a_node_that_slurmctld_refuses_is_told_at_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configuration, "_gres_conf", lambda *_: "")
    with pytest.raises(ClusterError, match="slurmctld takes n1 as invalid"):
        up(Options(nodes=1, directory=folder / "c", gpus_per_node=1))
