"""What jobs say of themselves, and a policy file that is broken, while the controller works on a real cluster."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from flags_cluster import ORDINARY_USER, FlagsCluster, started

from slurm_plugins.limits import Rule

pytestmark = pytest.mark.slurm

TIERWISE = [sys.executable, "-c", "import sys; from scheduler.cli.app import main; sys.exit(main())"]
PATIENCE = 60.0
TELLS = "touch told-on"
"""What runs where a shell gets what a job says."""

HOSTILE = (
    f'x"}}\n{{"event": "stopped", "level": "error"}}\r\n\x1b[2J\x1b]0;owned\x07 $({TELLS}) `{TELLS}`; {TELLS} & '
    f"| {TELLS} ' {TELLS} ' || {TELLS} \\ --on-demand=0 ../../../../told-on %n%s \u2028\u202e é"
)


class Room:
    """A cluster of two nodes, a controller in a folder of its own, and what it says."""

    def __init__(self, flags: FlagsCluster, folder: Path) -> None:
        self.flags, self.folder = flags, folder
        self.environment = {**os.environ, **flags.cluster.environment}
        self.policy, self.journal, self.log = (folder / name for name in ("policy.toml", "journal.sqlite", "log"))
        self.policy.write_text("[defaults]\non_demand = true\n")
        self.log.touch()
        self.controller: subprocess.Popen[bytes] | None = None

    def start(self) -> subprocess.Popen[bytes]:
        command = [*TIERWISE, "controller", "--policy", str(self.policy), "--journal", str(self.journal)]
        with self.log.open("ab") as log:
            # In its own folder, so that whatever it made there by a relative name would be seen.
            self.controller = subprocess.Popen(
                [*command, "--interval", "0.3"], env=self.environment, stdout=log, stderr=log, cwd=self.folder
            )
        return self.controller

    def events(self) -> list[dict[str, object]]:
        lines = self.log.read_bytes().split(b"\n")
        assert lines[-1] == b""
        return [json.loads(line) for line in lines[:-1]]

    def tierwise(self, *arguments: str) -> str:
        done = subprocess.run(
            [*TIERWISE, *arguments], env=self.environment, cwd=self.folder, capture_output=True, check=False, timeout=60
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    def until(self, ready: Callable[[], bool]) -> None:
        end = time.monotonic() + PATIENCE
        while not ready():
            assert time.monotonic() < end, (
                {job: self.flags.state(job) for job in self.flags.jobs()},
                self.log.read_text()[-2000:],
            )
            time.sleep(0.3)

    def states(self) -> dict[int, str]:
        return {job: self.flags.state(job) for job in self.flags.jobs()}

    def all_are(self, state: str, *jobs: int) -> Callable[[], bool]:
        return lambda: {self.flags.state(job) for job in jobs} == {state}


@pytest.fixture(scope="module")
def flags() -> Iterator[FlagsCluster]:
    with started() as found:
        found.permit(Rule(allow=True))
        yield found


@pytest.fixture
def room(flags: FlagsCluster) -> Iterator[Room]:
    with tempfile.TemporaryDirectory(prefix="tw-") as name:
        found = Room(flags, Path(name))
        try:
            yield found
        finally:
            if found.controller is not None and found.controller.poll() is None:
                found.controller.terminate()
                found.controller.wait(30)
            flags.run("scancel", f"--user={ORDINARY_USER}")
            flags.run("scancel", "--user=root")
            found.until(lambda: not {"RUNNING", "COMPLETING", "PENDING"} & set(found.states().values()))


def sbatch(room: Room, seconds: int, *options: str, user: str | None = None) -> int:
    """Submit a job that calls itself what it likes."""
    hostile = (f"--job-name={HOSTILE}", f"--comment={HOSTILE}", f"--wckey={HOSTILE}", "--output=/dev/null")
    common = ("--exclusive", "--nodes=1", "--requeue", *hostile, *options)
    script = f"# {json.dumps(HOSTILE)}\nsleep {seconds}\n"
    return room.flags.submitted(*common, script=script, user=user, TIERWISE_TIER_SHARE="a.b", ODD=HOSTILE)


def is_harmless(text: str) -> bool:
    """Tell whether a terminal shows a text as it is, line for line."""
    return all(letter.isprintable() or letter == "\n" for letter in text)


def test_what_a_job_says_of_itself_gets_into_no_command_no_log_line_and_no_file_name(room: Room) -> None:
    user = ORDINARY_USER if os.geteuid() == 0 else None
    before = {path.name for path in room.folder.iterdir()}
    batch = [sbatch(room, 8, user=user), sbatch(room, 8, user=user)]
    room.until(room.all_are("RUNNING", *batch))
    # It is there, as it was given: nothing on the way has disarmed it.
    assert room.flags.jobs()[batch[0]]["name"] == HOSTILE
    controller = room.start()
    urgent = sbatch(room, 1, "--on-demand=0", user=user)
    room.until(room.all_are("COMPLETED", *batch, urgent))
    room.until(lambda: any(event["event"] == "plan_closed" for event in room.events()))
    controller.send_signal(signal.SIGTERM)
    assert controller.wait(30) == 0

    events = room.events()
    assert [event["event"] for event in events].count("decided") == 1
    assert [event["event"] for event in events].count("stopped") == 1
    assert room.log.read_bytes().isascii()
    assert all(letter.isprintable() for letter in room.log.read_text().replace("\n", ""))
    victims = [job for event in events if event["event"] == "decided" for job in event["victims"]]  # type: ignore[attr-defined]
    assert len(victims) == 1 and victims[0] in batch
    for job in (*batch, urgent):
        said = room.tierwise("explain", str(job), "--journal", str(room.journal))
        assert said.count("\n") == 1 and is_harmless(said), said
    shown = room.tierwise(
        *("policy", "show", "--file", str(room.policy), "--cluster", HOSTILE, "--partition", HOSTILE),
        *("--account", HOSTILE, "--qos", HOSTILE, "--user", HOSTILE),
    )
    assert is_harmless(shown)

    made = {path.name for path in room.folder.iterdir()} - before - {"log"}
    assert all(name.startswith("journal.sqlite") for name in made), made
    places = (Path("/"), Path.cwd(), room.flags.cluster.directory, room.flags.scratch, room.folder, room.folder.parent)
    assert not [place for place in places if (place / "told-on").exists()]
    assert room.flags.drained() == []


def test_with_a_broken_policy_the_controller_says_so_and_ordinary_jobs_run(room: Room) -> None:
    room.policy.write_text("[defaults\non_demand = true\n")
    assert room.start().wait(30) == 2
    said = room.log.read_text()
    assert said.count("\n") == 1 and f"{room.policy}:1" in said and "Traceback" not in said, said
    numbers = [room.flags.submitted("--output=/dev/null", script="srun true\n") for _ in range(2)]
    urgent = room.flags.submitted("--output=/dev/null", "--on-demand=2m")
    room.until(room.all_are("COMPLETED", *numbers, urgent))
    assert {room.flags.jobs()[number]["restart_cnt"] for number in (*numbers, urgent)} == {0}
    assert room.flags.drained() == []


def test_a_policy_that_breaks_meanwhile_leaves_the_last_good_one_in_force(room: Room) -> None:
    controller = room.start()
    room.until(lambda: any(event["event"] == "started" for event in room.events()))
    room.policy.write_text('[defaults]\non_demand = "perhaps"\n')
    controller.send_signal(signal.SIGHUP)
    room.until(lambda: any(event["event"] == "policy_kept" for event in room.events()))
    batch = [room.flags.submitted("--exclusive", "--requeue", "--output=/dev/null", script="sleep 6\n") for _ in "12"]
    room.until(room.all_are("RUNNING", *batch))
    urgent = room.flags.submitted("--exclusive", "--output=/dev/null", "--on-demand=0", script="sleep 1\n")
    room.until(room.all_are("COMPLETED", *batch, urgent))
    assert [event["event"] for event in room.events()].count("decided") == 1
    assert controller.poll() is None
