"""The prolog and epilog on a real cluster: the agent learns of jobs, and no way of its failing drains a node."""

from __future__ import annotations

import json
import pwd
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from flags_cluster import ORDINARY_USER, FlagsCluster, write_ours

from scheduler.cluster import Options, up
from scheduler.options import OPTIONS
from slurm_plugins import building, hooks
from tests.availability import unavailable
from traces import InputError

pytestmark = pytest.mark.slurm


@dataclass
class Hooked:
    """A cluster whose slurm.conf calls the installed hooks, and where their agent would be."""

    flags: FlagsCluster
    folders: dict[str, Path]
    socket: Path
    requests: list[dict[str, object]] = field(default_factory=list)

    def install(self, python: Path | None = None) -> None:
        """Write both hooks, as `tierwise plugin hooks` does."""
        for name, folder in self.folders.items():
            text = hooks.script(name, OPTIONS, python or hooks.default_python(), self.socket)
            hooks.change(name, folder, text).apply()

    @contextmanager
    def agent(self, answer: bytes | None) -> Iterator[None]:
        """Listen at the agent's socket, note what is said there, and answer; None: never answer."""
        self.requests.clear()
        done = threading.Event()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(self.socket))
            listener.listen()
            listener.settimeout(0.1)
            thread = threading.Thread(target=self._serve, args=(listener, answer, done))
            thread.start()
            try:
                yield
            finally:
                done.set()
                thread.join()
                self.socket.unlink()

    def _serve(self, listener: socket.socket, answer: bytes | None, done: threading.Event) -> None:
        callers = []
        while not done.is_set():
            try:
                caller, _ = listener.accept()
            except TimeoutError:
                continue
            callers.append(caller)
            caller.settimeout(5)
            self.requests.append(json.loads(caller.recv(65536)))
            if answer is not None:
                caller.sendall(answer)
                caller.close()
        for caller in callers:
            caller.close()

    def said(self, operation: str, job: int) -> list[dict[str, object]]:
        """Return the requests of a kind for a job."""
        return [one for one in self.requests if one["op"] == operation and one["job"] == job]


@pytest.fixture(scope="module")
def hooked() -> Iterator[Hooked]:
    folder = Path(tempfile.mkdtemp(prefix="tw-hooks-"))
    folder.chmod(0o755)
    folders = {name: folder / f"{name}.d" for name in hooks.HOOKS}
    lines = [hooks.conf_line(name, place).partition("=") for name, place in folders.items()]
    try:
        try:
            plugin, script = write_ours(folder)
            options = Options(
                nodes=2,
                directory=folder / "cluster",
                spank_plugin=plugin,
                job_submit=script,
                settings={name: value for name, _, value in lines},
            )
            cluster = up(options)
        except InputError as error:
            unavailable("slurm", str(error))
        with cluster:
            found = Hooked(FlagsCluster(cluster, plugin), folders, folder / "agent.sock")
            found.install()
            yield found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def ran(hooked: Hooked) -> int:
    """Run a job with flags and one without to their ends, and see both nodes in service."""
    flags = hooked.flags
    plain = flags.submitted("--output=/dev/null", script="srun true\n")
    number = flags.submitted("--output=/dev/null", "--tier-class=latency", "--tier-dram=2G", "--slo=250ms")
    flags.until(lambda: {flags.state(plain), flags.state(number)} == {"COMPLETED"})
    # The epilogs have ended when the nodes are idle again; a failing one would drain its node.
    flags.until(lambda: all(state == "idle" for state in _states(flags)))
    assert flags.drained() == []
    return number


def _states(flags: FlagsCluster) -> list[str]:
    done = flags.run("sinfo", "--noheader", "--Node", "--format=%T")
    assert done.returncode == 0
    states = done.stdout.split()
    assert len(states) == 2
    return states


def test_a_failing_prolog_is_called_and_would_drain(hooked: Hooked) -> None:
    """Without this, the tests below could pass because nobody calls the hooks."""
    other = hooked.folders["prolog"] / "other"
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    flags = hooked.flags
    try:
        number = flags.submitted("--output=/dev/null", "--nodelist=n1", "--no-requeue")
        flags.until(lambda: flags.drained() != [])
    finally:
        other.unlink()
    flags.run("scancel", str(number))
    flags.until(lambda: flags.run("scontrol", "update", "NodeName=n1", "State=RESUME").returncode == 0)
    flags.until(lambda: flags.drained() == [])
    ran(hooked)


def test_the_agent_learns_of_a_jobs_start_and_of_its_end(hooked: Hooked) -> None:
    flags = hooked.flags
    with hooked.agent(b'{"ok":true}\n'):
        gate = flags.scratch / "gate"
        number = flags.submitted(
            *("--output=/dev/null", "--nodelist=n2", "--tier-class=latency", "--tier-dram=2G", "--slo=250ms"),
            script=f"while ! [ -e {gate} ]; do sleep 0.1; done\n",
            user=ORDINARY_USER,
        )
        flags.until(lambda: flags.state(number) == "RUNNING" and bool(hooked.said("register", number)))
        record = flags.record(number)
        assert hooked.said("deregister", number) == []
        gate.touch()
        flags.until(lambda: bool(hooked.said("deregister", number)))
        plain = ran(hooked) - 1
    (register,) = hooked.said("register", number)
    assert register["record"] == record == {"tierwise": 1, "tier_class": "latency", "tier_dram": 2 << 30, "slo": 0.25}
    assert (register["user"], register["node"]) == (ORDINARY_USER, "n2")
    assert isinstance(register["uid"], int)
    assert register["uid"] != 0
    assert hooked.said("register", plain) == []


def test_values_that_a_client_of_the_users_own_forges_are_left_out(hooked: Hooked) -> None:
    flags = hooked.flags
    forge = forge_in(flags)
    uid = str(pwd.getpwnam(ORDINARY_USER).pw_uid)
    odd = (
        'TIERWISE_TIER_CLASS="},"uid":0',
        "TIERWISE_TIER_SHARE=../../etc",
        f"TIERWISE_TIER_FAR={'9' * 5000}",
        "TIERWISE_HBM=1048576",
        "TIERWISE_SLO=nan",
        "PATH=/tmp",
        "SLURM_JOB_ID=1",
        "=",
        *(f"X{index}=y" for index in range(500)),
    )
    with hooked.agent(b'{"ok":true}\n'):
        done = flags.run(str(forge), uid, "", *odd, user=ORDINARY_USER)
        assert done.returncode == 0, done.stderr
        number = int(done.stdout)
        # It is submitted with priority 0, as a held job.
        assert flags.run("scontrol", "release", str(number)).returncode == 0
        flags.until(lambda: bool(hooked.said("deregister", number)))
    (register,) = hooked.said("register", number)
    assert register["record"] == {"tierwise": 1, "hbm": 1 << 20}
    assert str(register["uid"]) == uid
    assert {one["job"] for one in hooked.requests} == {number}
    assert flags.drained() == []


def forge_in(flags: FlagsCluster) -> Path:
    """Build a client that submits what it is told."""
    arguments = [
        f"-I{building.find_headers().folder}",
        str(Path(__file__).with_name("forge.c")),
        "-o",
        "forge",
        "-lslurm",
    ]
    building.compile_c(arguments, flags.scratch)
    return flags.scratch / "forge"


def test_jobs_run_without_an_agent(hooked: Hooked) -> None:
    ran(hooked)


@pytest.mark.parametrize("answer", [None, b"\xff\x00rubbish" * 1000, b"", b'{"ok":false,"error":"no"}\n'])
def test_jobs_run_whatever_the_agent_answers(hooked: Hooked, answer: bytes | None) -> None:
    with hooked.agent(answer):
        number = ran(hooked)
    assert len(hooked.said("register", number)) == 1
    assert len(hooked.said("deregister", number)) == 1


def test_jobs_run_without_the_interpreter(hooked: Hooked) -> None:
    hooked.install(python=hooked.socket.with_name("python-that-is-not-there"))
    try:
        ran(hooked)
    finally:
        hooked.install()


def test_rolling_back_the_lines_first_and_then_the_files_drains_nothing(hooked: Hooked) -> None:
    """The other way round slurmd finds no file for the pattern, takes that for a failure, and drains the node."""
    flags = hooked.flags
    conf = flags.cluster.slurm_conf
    text = conf.read_text()
    kept = [line for line in text.splitlines() if not line.startswith(("Prolog=", "Epilog="))]
    assert len(kept) == len(text.splitlines()) - 2
    conf.write_text("\n".join([*kept, ""]))
    try:
        assert flags.run("scontrol", "reconfigure").returncode == 0
        with hooked.agent(b'{"ok":true}\n'):
            # The nodes read it a moment later than slurmctld.
            flags.until(lambda: hooked.said("register", ran(hooked)) == [])
        for name, folder in hooked.folders.items():
            (folder / hooks.file_name(name)).unlink()
        ran(hooked)
    finally:
        hooked.install()
        conf.write_text(text)
        flags.run("scontrol", "reconfigure")
