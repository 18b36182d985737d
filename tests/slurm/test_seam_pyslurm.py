"""The way by pyslurm against pyslurm's published API, told after its 25.11 sources by a module that is none."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from scheduler.slurm.fake import FakeSlurm
from scheduler.slurm.pyslurm_way import PyslurmSlurm, load
from scheduler.slurm.seam import Reservation, SlurmError, SlurmUnreachableError, Submission


class PyslurmError(Exception):
    pass


class _Collection(dict):
    """What `Jobs.load()` and its like return: a mapping whose values are wanted."""


def fake_pyslurm(cluster: FakeSlurm) -> SimpleNamespace:  # noqa: C901 - a module's worth of small functions
    """Return a module with the parts of pyslurm's API that are used, in front of a cluster in memory."""

    def translated(call, *arguments, **keywords):
        try:
            return call(*arguments, **keywords)
        except SlurmError as error:
            raise PyslurmError(str(error)) from None

    class Job:
        def __init__(self, job_id):
            self.id = job_id

        def cancel(self):
            translated(cluster.cancel, self.id)

        def send_signal(self, signal, steps="children", hurry=False):
            assert steps == "all" and signal.startswith("SIG")
            translated(cluster.signal, self.id, signal.removeprefix("SIG"))

        def hold(self, mode=None):
            translated(cluster.hold, self.id)

        def release(self):
            translated(cluster.release, self.id)

        def modify(self, changes):
            assert set(vars(changes)) <= {"required_nodes", "reservations", "priority"}
            translated(
                cluster.place,
                self.id,
                nodes=getattr(changes, "required_nodes", ()),
                reservation=(getattr(changes, "reservations", None) or [""])[0],
                first=hasattr(changes, "priority"),
            )

    class ReservationOfPyslurm(SimpleNamespace):
        def __init__(self, name, **given):
            super().__init__(name=name, **given)

        def create(self):
            assert self.flags == "IGNORE_RUNNING_JOBS"
            nodes = tuple(name for name in self.nodes.replace("n[1-2]", "n1,n2").split(","))
            translated(cluster.reserve, Reservation(self.name, nodes, self.start_time, self.end_time, (*self.users,)))

    def jobs(preload_passwd_info=False):
        return _Collection({job.id: _job(job) for job in translated(cluster.jobs)})

    def nodes():
        return _Collection({node.name: _node(node) for node in translated(cluster.nodes)})

    def reservations():
        return _Collection(
            {
                known.name: SimpleNamespace(
                    name=known.name,
                    nodes=",".join(known.nodes),
                    start_time=int(known.start),
                    end_time=int(known.end),
                    users=list(known.users),
                )
                for known in translated(cluster.reservations)
            }
        )

    version = ".".join(map(str, cluster.version())) + "-1"
    return SimpleNamespace(
        PyslurmError=PyslurmError,
        Job=Job,
        Jobs=SimpleNamespace(load=jobs),
        Nodes=SimpleNamespace(load=nodes),
        Reservation=ReservationOfPyslurm,
        Reservations=SimpleNamespace(load=reservations),
        ReservationFlags=SimpleNamespace(IGNORE_RUNNING_JOBS="IGNORE_RUNNING_JOBS"),
        JobSubmitDescription=SimpleNamespace,
        slurmctld=SimpleNamespace(Config=SimpleNamespace(load=lambda: SimpleNamespace(version=version))),
    )


def _job(job):
    shown = "COMPLETING" if "completing" in job.flags else job.state.upper()
    return SimpleNamespace(
        id=job.id,
        name=job.name,
        user_name=job.user,
        user_id=job.uid,
        account=job.account or None,
        partition=job.partition,
        qos=job.qos or None,
        state=shown,
        # A waiting job shows a forecast.
        end_time=job.submit + job.time_limit if job.state == "pending" else job.end,
        start_time=job.start,
        submit_time=job.submit,
        eligible_time=job.eligible,
        time_limit=int(job.time_limit // 60) if job.time_limit < float("inf") else "UNLIMITED",
        allocated_nodes=",".join(job.nodes) or None,
        num_nodes=job.node_count,
        is_batch_job=job.batch,
        is_requeueable=job.requeueable,
        resource_sharing="NO" if job.exclusive else "OK",
        requeue_count=job.restarts,
        priority=job.priority,
        state_reason=job.reason,
        array_id=job.array_job_id,
        array_task_id=int(job.array_task) if job.array_task.isdecimal() else None,
        array_tasks_waiting=None if job.array_task.isdecimal() else job.array_task or None,
        heterogeneous_id=job.het_job_id,
        heterogeneous_offset=job.het_offset,
        reservation=job.reservation or None,
        admin_comment=job.admin_comment or None,
    )


def _node(node):
    base = sorted(node.states & {"idle", "allocated", "down", "mixed"})
    flags = sorted(node.states - set(base) - {"not_responding"})
    star = "*" if "not_responding" in node.states else ""
    return SimpleNamespace(
        name=node.name,
        state="+".join(word.upper() for word in (*base, *flags)) + star,
        total_cpus=node.cpus,
        real_memory=node.memory >> 20,
        partitions=list(node.partitions),
    )


@pytest.fixture
def cluster() -> FakeSlurm:
    return FakeSlurm()


@pytest.fixture
def slurm(cluster: FakeSlurm) -> PyslurmSlurm:
    return PyslurmSlurm(fake_pyslurm(cluster), cluster, lambda: not cluster.faults.down)


def test_submissions_and_requeues_go_by_the_commands(cluster, slurm):
    job = slurm.submit(Submission("", "a", 1, 600))
    slurm.requeue(job, hold=True)
    assert ("submit", None) in cluster.faults.requests
    assert ("requeue", job) in cluster.faults.requests


def test_a_task_of_an_array_is_never_addressed_by_a_number_that_means_the_whole_array(cluster, slurm):
    job = slurm.submit(Submission("", "a", 1, 600))
    cluster.change(job, array_job_id=job, array_task="3")
    slurm._pyslurm.Job = None  # nothing may be done to it through pyslurm
    slurm.cancel(job)
    assert cluster.job(job).state == "cancelled"


def test_waiting_tasks_of_an_array_keep_their_list(cluster, slurm):
    job = slurm.submit(Submission("", "a", 1, 600, options={"hold": ""}))
    cluster.change(job, array_job_id=job, array_task="3-5,9")
    assert slurm.jobs()[0].array_task == "3-5,9"


def test_states_of_nodes_are_taken_apart(cluster, slurm):
    cluster.set_node("n2", "idle", "drain", "not_responding")
    assert slurm.nodes()[1].states == {"idle", "drain", "not_responding"}


def test_a_controller_that_is_away_is_told_from_one_that_refuses(cluster, slurm):
    job = slurm.submit(Submission("", "a", 1, 600))
    cluster.end(job)
    with pytest.raises(SlurmError) as refused:
        slurm.place(job, first=True)
    assert not isinstance(refused.value, SlurmUnreachableError)
    cluster.faults.down = True
    with pytest.raises(SlurmUnreachableError):
        slurm.jobs()


def test_an_api_that_has_changed_is_one_line(cluster, slurm):
    slurm._pyslurm.Nodes = SimpleNamespace(load=SimpleNamespace)
    with pytest.raises(SlurmError, match="list nodes: pyslurm is not as expected"):
        slurm.nodes()


def test_a_missing_pyslurm_is_one_line(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyslurm", None)
    with pytest.raises(SlurmError, match="pyslurm cannot be used here"):
        load()
