"""What the controller's user has to be: an operator may do all that a plan takes, and nobody else may."""

from __future__ import annotations

import os
import pwd
import time
from collections.abc import Callable

import pytest

from scheduler.cluster import Cluster
from scheduler.slurm.commands import CommandSlurm
from scheduler.slurm.rights import admin_level
from scheduler.slurm.seam import Reservation, SlurmError, Submission
from tests.availability import unavailable

pytestmark = pytest.mark.slurm

OPERATOR, ORDINARY = "daemon", "nobody"
PATIENCE = 60.0
_SILENT = {"output": "/dev/null"}


def as_user(name: str, act: Callable[[], None]) -> str:
    """Do something as another user in a process of its own; return what Slurm had against it, if anything."""
    if os.geteuid() != 0:
        unavailable("slurm", "only root can act as other users")
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        known = pwd.getpwnam(name)
        os.setgroups([])
        os.setgid(known.pw_gid)
        os.setuid(known.pw_uid)
        try:
            act()
        except SlurmError as error:
            os.write(writes, str(error).encode())
        except BaseException as error:
            os.write(writes, f"unexpected {error!r}".encode())
        finally:
            os._exit(0)
    os.close(writes)
    os.waitpid(child, 0)
    with os.fdopen(reads) as said:
        return said.read()


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.3)


def test_an_operator_may_do_all_that_a_plan_takes_and_an_ordinary_user_nothing(cluster: Cluster) -> None:
    added = ["sacctmgr", "--immediate", "add", "user", OPERATOR, "account=root", "adminlevel=operator"]
    assert cluster.run(*added).returncode == 0
    environment = cluster.environment
    assert [admin_level(name, environment) for name in (OPERATOR, ORDINARY)] == ["operator", "none"]
    slurm = CommandSlurm(environment)
    node = slurm.nodes()[0].name
    victim = slurm.submit(
        Submission("#!/bin/sh\nsleep 300\n", "v", 1, 600, options={"nodelist": node, "requeue": "", **_SILENT})
    )
    urgent = slurm.submit(
        Submission("#!/bin/sh\nsleep 1\n", "u", 1, 600, options={"nodelist": node, "exclusive": "", **_SILENT})
    )
    by_id = lambda: {job.id: job for job in slurm.jobs()}  # noqa: E731
    try:
        until(lambda: by_id()[victim].state == "running")
        name = f"tierwise-{urgent}"
        now = time.time()
        acts: dict[str, Callable[[], None]] = {
            "reserve": lambda: slurm.reserve(Reservation(name, (node,), now, now + 900, ("root",))),
            "place": lambda: slurm.place(urgent, reservation=name, first=True),
            "signal": lambda: slurm.signal(victim, "CONT"),
            "requeue": lambda: slurm.requeue(victim),
        }
        for request, act in acts.items():
            assert as_user(ORDINARY, act) != "", request
            assert "unexpected" not in as_user(ORDINARY, act)
            assert as_user(OPERATOR, act) == "", request
        until(lambda: by_id()[urgent].state == "completed")
        assert by_id()[victim].restarts == 1
        assert as_user(ORDINARY, lambda: slurm.unreserve(name)) != ""
        assert as_user(OPERATOR, lambda: slurm.unreserve(name)) == ""
        assert name not in {known.name for known in slurm.reservations()}
    finally:
        slurm.cancel(victim)
        slurm.cancel(urgent)
        cluster.run("sacctmgr", "--immediate", "delete", "user", OPERATOR)
