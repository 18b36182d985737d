"""What a user without the right cannot do, however the job is submitted."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from flags_cluster import ORDINARY_USER, FlagsCluster, started

from scheduler.cli.app import main
from slurm_plugins import building
from slurm_plugins.limits import Rule
from tests.availability import unavailable
from traces import InputError

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to act as another user"),
]

HELD = ("--hold", "--output=/dev/null")
FORGED = '{"tierwise":1,"on_demand":0}'
DENIED = "Access/permission denied"


@pytest.fixture(scope="module")
def flags() -> Iterator[FlagsCluster]:
    with started() as found:
        yield found


@pytest.fixture(scope="module")
def forge(flags: FlagsCluster) -> Path:
    """Return a client that submits what it is told."""
    program = flags.scratch / "forge"
    source = Path(__file__).with_name("forge.c")
    try:
        headers = building.find_headers()
        arguments = [f"-I{headers.folder}", str(source), "-o", program.name, "-lslurm"]
        building.compile_c(arguments, flags.scratch)
    except InputError as error:
        unavailable("slurm", str(error))
    return program


def uid() -> str:
    return str(pwd.getpwnam(ORDINARY_USER).pw_uid)


def forged(
    flags: FlagsCluster, forge: Path, *arguments: str, user: str | None = ORDINARY_USER
) -> subprocess.CompletedProcess[str]:
    return flags.run(str(forge), *arguments, user=user)


def test_without_the_right_a_job_is_refused_and_told_why(flags: FlagsCluster) -> None:
    flags.permit(Rule(allow=True, user="root"))
    before = set(flags.jobs())
    for done in (
        flags.sbatch(*HELD, "--on-demand=2m", user=ORDINARY_USER),
        flags.sbatch(*HELD, user=ORDINARY_USER, TIERWISE_ON_DEMAND="2m"),
        flags.sbatch(*HELD, "--on-demand=2m", user=ORDINARY_USER, USER="root", LOGNAME="root", SLURM_JOB_USER="root"),
        flags.run("srun", "--on-demand=2m", "true", user=ORDINARY_USER),
        flags.run("salloc", "--on-demand=2m", "true", user=ORDINARY_USER),
    ):
        assert done.returncode == 1
        assert f"tierwise: --on-demand: is not permitted here (user {ORDINARY_USER}, partition " in done.stderr
        assert DENIED in done.stderr
    assert set(flags.jobs()) == before
    assert flags.record(flags.submitted(*HELD, "--hbm=1G", user=ORDINARY_USER)) == {"tierwise": 1, "hbm": 1 << 30}
    assert flags.record(flags.submitted(*HELD, "--on-demand=2m")) == {"tierwise": 1, "on_demand": 120}


def test_without_a_limits_file_not_even_root_is_on_demand(flags: FlagsCluster) -> None:
    flags.permit()
    assert DENIED in flags.sbatch(*HELD, "--on-demand=2m").stderr
    assert flags.sbatch(*HELD, "--hbm=1G").returncode == 0


def test_a_broken_limits_file_lets_ordinary_jobs_run(flags: FlagsCluster) -> None:
    flags.permit(Rule(allow=True))
    (flags.cluster.directory / "tierwise_limits.lua").write_text("return {")
    script = flags.cluster.directory / "job_submit.lua"
    os.utime(script, (script.stat().st_mtime + 7,) * 2)
    assert flags.sbatch(*HELD).returncode == 0
    assert DENIED in flags.sbatch(*HELD, "--on-demand=2m").stderr


def test_a_client_of_the_users_own_cannot_forge_a_record(flags: FlagsCluster, forge: Path) -> None:
    flags.permit(Rule(allow=True, user="root"))
    before = set(flags.jobs())
    done = forged(flags, forge, uid(), FORGED)
    # Slurm refuses the field to users; where a release does not, job_submit.lua drops it.
    if done.returncode == 0:
        assert flags.record(int(done.stdout)) is None
    reasons: list[str] = []
    for arguments in (
        (uid(), "", "TIERWISE_ON_DEMAND=0"),
        ("0", "", "TIERWISE_ON_DEMAND=0"),
        (uid(), "", "TIERWISE_HBM=1048576", "TIERWISE_ON_DEMAND=0"),
    ):
        done_so = forged(flags, forge, *arguments)
        assert done_so.returncode == 1
        reasons.append(done_so.stderr.strip())
    # A job that claims to be another user's does not even get to job_submit.lua.
    assert [DENIED in reason or reason == "Invalid user id" for reason in reasons] == [True] * 3
    assert set(flags.jobs()) - before <= ({int(done.stdout)} if done.returncode == 0 else set())


def test_what_the_plugin_would_not_send_never_gets_into_a_record(flags: FlagsCluster, forge: Path) -> None:
    flags.permit(Rule(allow=True))
    odd = (
        'TIERWISE_TIER_SHARE=x","on_demand":0,"y":"',
        "TIERWISE_ON_DEMAND=-5",
        "TIERWISE_HBM=1048576",
        "=",
        "TIERWISE_",
    )
    done = forged(flags, forge, uid(), "", *odd)
    assert done.returncode == 0, done.stderr
    assert flags.record(int(done.stdout)) == {"tierwise": 1, "hbm": 1 << 20}
    many = forged(flags, forge, uid(), "", *(f"X{index}=y" for index in range(3000)))
    assert many.returncode == 0, many.stderr


def test_roots_own_admin_comment_survives(flags: FlagsCluster, forge: Path) -> None:
    done = forged(flags, forge, "0", "ticket 7", "TIERWISE_HBM=1048576", user=None)
    assert done.returncode == 0, done.stderr
    assert flags.record(int(done.stdout)) == {"tierwise": 1, "hbm": 1 << 20, "text": "ticket 7"}


def test_a_user_cannot_change_a_record_afterwards(flags: FlagsCluster) -> None:
    flags.permit(Rule(allow=True))
    number = flags.submitted(*HELD, "--on-demand=2m", user=ORDINARY_USER)
    done = flags.run("scontrol", "update", f"JobId={number}", f"AdminComment={FORGED}", user=ORDINARY_USER)
    assert done.returncode != 0
    assert flags.record(number) == {"tierwise": 1, "on_demand": 120}
    done = flags.run("scontrol", "update", f"JobId={number}", f"AdminComment={FORGED}")
    assert done.returncode == 0, done.stderr
    assert flags.record(number) == {"tierwise": 1, "on_demand": 0}


def test_a_job_cannot_be_moved_to_where_it_would_have_been_refused(flags: FlagsCluster) -> None:
    flags.permit(Rule(allow=True, partition="other"))
    number = flags.submitted(*HELD, "--partition=other", "--on-demand=2m", user=ORDINARY_USER)
    assert DENIED in flags.sbatch(*HELD, "--on-demand=2m", user=ORDINARY_USER).stderr
    assert DENIED in flags.sbatch(*HELD, "--partition=other,batch", "--on-demand=2m", user=ORDINARY_USER).stderr
    moved = flags.run("scontrol", "update", f"JobId={number}", "Partition=batch", user=ORDINARY_USER)
    assert moved.returncode != 0
    assert DENIED in moved.stderr
    assert flags.jobs()[number]["partition"] == "other"
    ordinary = flags.submitted(*HELD, "--partition=other", user=ORDINARY_USER)
    moved = flags.run("scontrol", "update", f"JobId={ordinary}", "Partition=batch", user=ORDINARY_USER)
    assert moved.returncode == 0, moved.stderr


def test_the_policy_file_says_who_may_and_how_late(flags: FlagsCluster, tmp_path: Path) -> None:
    policy, script = tmp_path / "policy.toml", flags.cluster.directory / "job_submit.lua"
    policy.write_text('[user.root]\non_demand = true\non_demand_max_delay = "10m"\n')
    assert main(["policy", "apply", "--file", str(policy), "--job-submit", str(script)]) == 0
    before = set(flags.jobs())
    for done, why in (
        (flags.sbatch(*HELD, "--on-demand=2m", user=ORDINARY_USER), "is not permitted here"),
        (flags.sbatch(*HELD, "--on-demand=11m"), "must be at most 600 s"),
    ):
        assert done.returncode == 1
        assert sum("tierwise" in line for line in done.stderr.splitlines()) == 1
        assert f"tierwise: --on-demand: {why}" in done.stderr
    assert set(flags.jobs()) == before
    number = flags.submitted(*HELD, "--on-demand=10m")
    assert flags.record(number) == {"tierwise": 1, "on_demand": 600}
    tierwise = (sys.executable, "-c", "import sys; from scheduler.cli.app import main; sys.exit(main())")
    shown = flags.run(*tierwise, "policy", "show", "--file", str(policy), "--job", str(number), "--json")
    assert shown.returncode == 0, shown.stderr
    found = json.loads(shown.stdout)
    assert (found["who"]["user"], found["asked"]) == ("root", {"on_demand": 600})
    assert found["values"]["on_demand"] == {"value": True, "from": f"{policy}:2 [user.root]"}
