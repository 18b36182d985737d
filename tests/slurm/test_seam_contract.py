"""What every way to Slurm must do, against each that there is: the fake, both ways by pyslurm, and a real cluster."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest
from test_seam_pyslurm import fake_pyslurm

from scheduler.slurm.commands import CommandSlurm
from scheduler.slurm.fake import FakeSlurm
from scheduler.slurm.pyslurm_way import PyslurmSlurm
from scheduler.slurm.seam import Job, Reservation, Slurm, SlurmError, Submission
from scheduler.slurm.values import ENDED

PATIENCE = 40.0
SLEEP = "#!/bin/sh\nexec sleep 600\n"
TRUE = "#!/bin/sh\nexec true\n"
ENDS_WHEN_SIGNALLED = "#!/bin/sh\ntrap 'exit 0' USR1\nwhile :; do sleep 0.1; done\n"

HOSTILE = [
    'it\'s; "quoted" `id` $(id) & | > /dev/null',
    "--hold",
    "-t1",
    "line\nbreak\ttab",
    "Grüße, 世界 🚀",
    "a=b,c:d;e%j/../x",
    "x" * 1000,
]


@dataclass(frozen=True)
class World:
    """One way to Slurm, and how time passes there."""

    slurm: Slurm
    fake: FakeSlurm | None

    def submit(self, name: str = "a", nodes: int = 1, script: str = SLEEP, **options: str) -> int:
        given = {key.replace("_", "-"): value for key, value in options.items()}
        extra = {} if self.fake else {"output": "/dev/null", "chdir": "/tmp"}
        return self.slurm.submit(Submission(script, name, nodes, 3600.0, options={**extra, **given}))

    def job(self, number: int) -> Job:
        return next(job for job in self.slurm.jobs() if job.id == number)

    def until(self, number: int, ready: Callable[[Job], bool]) -> Job:
        """Wait for a job to be as wanted."""
        deadline = time.monotonic() + PATIENCE
        while not ready(job := self.job(number)):
            assert time.monotonic() < deadline, f"still {job}"
            self.wait(0.5)
        return job

    def runs(self, number: int) -> Job:
        return self.until(number, lambda job: job.state == "running" and not job.flags)

    def ended(self, number: int) -> Job:
        return self.until(number, lambda job: job.state in ENDED and not job.flags)

    def waits(self, number: int) -> Job:
        return self.until(number, lambda job: job.state == "pending" and not job.flags)

    def wait(self, seconds: float) -> None:
        if self.fake:
            self.fake.advance(seconds)
        else:
            time.sleep(seconds)

    def now(self) -> float:
        return self.fake.now if self.fake else time.time()

    def reserve(self, name: str, *nodes: str) -> None:
        now = self.now()
        self.slurm.reserve(Reservation(name, nodes, now, now + 3600, ("root",)))


def _run_time(submission: Submission) -> float:
    return 0.0 if submission.script == TRUE else submission.time_limit


def _in_memory() -> FakeSlurm:
    fake = FakeSlurm(now=time.time(), completing=2.0, requeue_delay=120.0, run_time=_run_time)
    fake.on_signal = lambda job, _: fake.end(job)
    return fake


def _pyslurm() -> PyslurmSlurm:
    try:
        slurm = PyslurmSlurm()
    except SlurmError as error:
        pytest.skip(str(error))
    built = str(getattr(slurm._pyslurm, "__version__", "")).split(".")[:2]
    if tuple(map(int, built)) != slurm.version()[:2]:
        pytest.skip(f"pyslurm {'.'.join(built)} does not match Slurm {slurm.version()}")
    return slurm


@pytest.fixture(
    params=[
        "fake",
        "pyslurm_fake",
        pytest.param("commands", marks=pytest.mark.slurm),
        pytest.param("pyslurm", marks=pytest.mark.slurm),
    ]
)
def world(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    if request.param == "fake":
        fake = _in_memory()
        yield World(fake, fake)
        return
    if request.param == "pyslurm_fake":
        fake = _in_memory()
        yield World(PyslurmSlurm(fake_pyslurm(fake), fake, lambda: not fake.faults.down), fake)
        return
    if request.param == "pyslurm" and importlib.util.find_spec("pyslurm") is None:
        pytest.skip("no pyslurm: pip install pyslurm of the release that Slurm has, see docs/slurm.md")
    cluster = request.getfixturevalue("cluster")
    for name, value in cluster.environment.items():
        monkeypatch.setenv(name, value)
    slurm = _pyslurm() if request.param == "pyslurm" else CommandSlurm()
    world = World(slurm, None)
    yield world
    _tidy(world)


def _tidy(world: World) -> None:
    """Leave the cluster to the next test as it was found."""
    for reservation in world.slurm.reservations():
        world.slurm.unreserve(reservation.name)
    for job in world.slurm.jobs():
        if job.state not in ENDED:
            world.slurm.cancel(job.id)
    deadline = time.monotonic() + PATIENCE
    while any(node.states != {"idle"} for node in world.slurm.nodes()):
        assert time.monotonic() < deadline, world.slurm.nodes()
        time.sleep(0.3)


def test_the_release_is_told(world):
    release = world.slurm.version()
    assert release >= (22, 5, 0)
    assert world.slurm.configuration()["slurm_version"] == f"{release[0]}.{release[1]:02d}.{release[2]}"


def test_nodes_are_told(world):
    nodes = world.slurm.nodes()
    assert len(nodes) == 4
    assert all(node.states == {"idle"} and node.cpus >= 1 and node.memory >= 1 << 20 for node in nodes)
    assert all(len(node.partitions) == 1 for node in nodes)


def test_a_submitted_job_starts_and_tells_its_nodes_and_times(world):
    job = world.runs(world.submit("a job", nodes=2))
    assert (job.name, job.node_count, job.time_limit) == ("a job", 2, 3600.0)
    assert len(set(job.nodes)) == 2 and set(job.nodes) <= {node.name for node in world.slurm.nodes()}
    assert job.submit <= job.start <= world.now() + 1
    assert job.end == job.start + 3600
    assert job.exclusive and job.requeueable and job.batch and job.restarts == 0
    assert job.priority > 0 and job.array_job_id is None and job.het_job_id is None
    busy = {node.name for node in world.slurm.nodes() if node.states & {"allocated", "mixed"}}
    assert busy == set(job.nodes)


def test_a_job_without_a_limit_has_no_known_end(world):
    number = world.slurm.submit(
        Submission(SLEEP, "a", 1, float("inf"), options={} if world.fake else {"chdir": "/tmp"})
    )
    job = world.runs(number)
    assert job.time_limit == float("inf") and job.end is None


def test_a_waiting_job_has_no_nodes_no_start_and_no_end(world):
    world.runs(world.submit(nodes=4))
    job = world.waits(world.submit(nodes=3))
    assert (job.nodes, job.start, job.end, job.node_count) == ((), None, None, 3)
    assert job.reason


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_name_comment_or_script_is_nothing_but_text(world, text, tmp_path):
    mark = tmp_path / "mark"
    script = f"#!/bin/sh\ncat <<'EOF' >{mark}\n{text}\nEOF\n" if world.fake is None else TRUE
    options = {} if world.fake else {"output": "/dev/null", "chdir": "/tmp"}
    number = world.slurm.submit(Submission(script, text, 1, 600.0, options={"comment": text, **options}))
    job = world.ended(number)
    assert job.name == text and job.state == "completed"
    if world.fake is None:
        assert mark.read_text() == f"{text}\n"


def test_a_submission_that_slurm_refuses_is_one_line(world):
    with pytest.raises(SlurmError) as error:
        world.slurm.submit(Submission(SLEEP, "a\nb", 1, 600.0, partition="no\nsuch \x1b[2J"))
    assert str(error.value).isprintable() and "submit job" in str(error.value)
    with pytest.raises(SlurmError):
        world.slurm.submit(Submission(SLEEP, "a", 0, 600.0))
    with pytest.raises(SlurmError):
        world.slurm.submit(Submission("no script", "a", 1, 600.0))


def test_a_cancelled_job_ends_and_may_be_cancelled_again(world):
    number = world.submit()
    world.runs(number)
    world.slurm.cancel(number)
    job = world.ended(number)
    assert job.state == "cancelled" and job.nodes == ()
    world.slurm.cancel(number)
    world.slurm.cancel(9_999_999)


def test_a_requeued_job_waits_again_and_lets_its_nodes_go(world):
    number = world.submit(nodes=4)
    world.runs(number)
    world.slurm.requeue(number)
    assert world.job(number).state == "pending"
    job = world.waits(number)
    assert (job.nodes, job.start, job.restarts) == ((), None, 1)
    assert job.priority > 0
    world.runs(world.submit(nodes=4))


def test_a_job_requeued_into_hold_stays_until_it_is_released(world):
    number = world.submit()
    world.runs(number)
    world.slurm.requeue(number, hold=True)
    assert world.waits(number).priority == 0
    world.slurm.release(number)
    assert world.waits(number).priority > 0


def test_a_job_that_has_ended_is_not_run_again(world):
    number = world.submit(script=TRUE)
    before = world.ended(number)
    world.slurm.requeue(number)
    world.slurm.requeue(number, hold=True)
    world.wait(1.0)
    job = world.job(number)
    assert (job.state, job.restarts) == (before.state, 0)


def test_a_requeue_of_a_waiting_job_changes_nothing(world):
    number = world.submit(hold="")
    world.slurm.requeue(number)
    job = world.job(number)
    assert (job.state, job.restarts, job.priority) == ("pending", 0, 0)


def test_a_job_that_may_not_be_requeued_goes_on(world):
    number = world.submit(no_requeue="")
    assert not world.runs(number).requeueable
    with pytest.raises(SlurmError):
        world.slurm.requeue(number)
    assert world.job(number).state == "running"


@pytest.mark.parametrize("request_", ["requeue", "hold", "release", "place"])
def test_a_job_that_is_not_known_is_an_error(world, request_):
    with pytest.raises(SlurmError) as error:
        arguments = {"first": True} if request_ == "place" else {}
        getattr(world.slurm, request_)(9_999_999, **arguments)
    assert "9999999" in str(error.value)


def test_a_signal_reaches_the_batch_script(world):
    number = world.submit(script=ENDS_WHEN_SIGNALLED)
    world.runs(number)
    world.wait(1.0)
    world.slurm.signal(number, "USR1")
    assert world.ended(number).state == "completed"


def test_a_signal_to_a_job_that_has_ended_or_is_not_known_is_an_error(world):
    number = world.submit(script=TRUE)
    world.ended(number)
    for job in (number, 9_999_999):
        with pytest.raises(SlurmError):
            world.slurm.signal(job, "USR1")


def test_a_signal_to_a_job_that_waits_does_nothing(world):
    number = world.submit(hold="")
    world.slurm.signal(number, "TERM")
    assert world.job(number).state == "pending"


def test_a_held_job_starts_only_when_it_is_released(world):
    number = world.submit(hold="")
    world.wait(2.0)
    assert world.job(number).state == "pending" and world.job(number).priority == 0
    world.slurm.release(number)
    world.runs(number)


def test_a_waiting_job_may_be_held(world):
    first = world.submit(nodes=4)
    world.runs(first)
    number = world.submit()
    world.slurm.hold(number)
    assert world.job(number).priority == 0
    world.slurm.cancel(first)
    world.wait(3.0)
    assert world.job(number).state == "pending"


def test_reserved_nodes_are_kept_for_the_job_that_is_placed_there(world):
    victim = world.submit(nodes=4)
    names = world.runs(victim).nodes
    chosen = world.submit(nodes=2)
    other = world.submit(nodes=3)
    world.reserve("tierwise_1", *names[:2])
    (made,) = world.slurm.reservations()
    assert (made.name, made.nodes, made.users) == ("tierwise_1", names[:2], ("root",))
    assert made.start <= world.now() + 1 and abs(made.end - world.now() - 3600) < 30
    world.slurm.place(chosen, nodes=names[:2], reservation="tierwise_1", first=True)
    world.slurm.requeue(victim)
    assert world.runs(chosen).nodes == names[:2]
    assert world.job(chosen).reservation == "tierwise_1"
    assert world.job(other).state == "pending"
    # Slurm itself keeps a reservation that a job runs in.
    world.slurm.unreserve("tierwise_1")
    assert world.slurm.reservations() == ()
    assert world.job(chosen).state == "running"


def test_a_reservation_may_be_taken_away_twice(world):
    world.reserve("tierwise_1", "n1")
    world.slurm.unreserve("tierwise_1")
    world.slurm.unreserve("tierwise_1")
    world.slurm.unreserve("never was")


def test_a_reservation_of_nodes_that_are_reserved_or_unknown_is_an_error(world):
    world.reserve("tierwise_1", "n1", "n2")
    with pytest.raises(SlurmError):
        world.reserve("tierwise_2", "n2")
    with pytest.raises(SlurmError):
        world.reserve("tierwise_2", "n9")
    assert len(world.slurm.reservations()) == 1


def test_a_job_placed_on_nodes_starts_there(world):
    first = world.submit(nodes=4)
    world.runs(first)
    number = world.submit(nodes=1)
    world.slurm.place(number, nodes=["n3"])
    world.slurm.cancel(first)
    assert world.runs(number).nodes == ("n3",)


def test_a_job_placed_first_goes_before_others(world):
    running = world.submit(nodes=4)
    world.runs(running)
    earlier, later = world.submit(nodes=4), world.submit(nodes=4)
    world.slurm.place(later, first=True)
    assert world.job(later).priority > world.job(earlier).priority
    world.slurm.cancel(running)
    world.runs(later)
    assert world.job(earlier).state == "pending"


def test_a_job_that_runs_cannot_be_placed(world):
    number = world.submit(nodes=2)
    names = world.runs(number).nodes
    for wanted in (names[:1], names, ["n4"]):
        with pytest.raises(SlurmError):
            world.slurm.place(number, nodes=wanted)
    assert world.job(number).nodes == names
