"""The flags on a real cluster: where they can stand, what becomes of them, and who is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from flags_cluster import FlagsCluster, started

from scheduler.options.table import BY_KEY, OPTIONS, Option

pytestmark = pytest.mark.slurm

VALUES = {
    "tier_class": ("Latency", "latency"),
    "tier_dram": ("2G", 2 << 30),
    "tier_far": ("0", 0),
    "tier_share": ("genome.v2", "genome.v2"),
    "colocate": ("infer", "infer"),
    "hbm": ("1.5G", 3 << 29),
    "slo": ("250ms", 0.25),
    "on_demand": ("2m", 120),
    "checkpoint_every": ("none", "none"),
    "checkpoint_cost": ("1m30s", 90),
    "restart_cost": ("30:00", 1800),
}
WRITTEN = {key: written for key, (written, _) in VALUES.items()}
RECORD = {"tierwise": 1, **{key: value for key, (_, value) in VALUES.items()}}
FLAGS = [f"--{BY_KEY[key].flag}={written}" for key, written in WRITTEN.items()]
VARIABLES = {BY_KEY[key].variable: written for key, written in WRITTEN.items()}
CANONICAL = sorted(f"{BY_KEY[key].variable}={value}" for key, (_, value) in VALUES.items())
SHOW = "env | grep ^TIERWISE_ | sort\n"
HELD = ("--hold", "--output=/dev/null")


@pytest.fixture(scope="module")
def flags() -> Iterator[FlagsCluster]:
    with started() as found:
        yield found


@pytest.mark.parametrize("command", ["sbatch", "salloc", "srun"])
def test_help_lists_every_flag(flags: FlagsCluster, command: str) -> None:
    text = flags.run(command, "--help").stdout
    for option in OPTIONS:
        assert f"--{option.flag}={option.metavar}" in text


def test_flags_on_the_command_line_reach_the_record(flags: FlagsCluster) -> None:
    assert flags.record(flags.submitted(*HELD, "--comment=mine", *FLAGS)) == RECORD


def test_flags_in_the_script_reach_the_record(flags: FlagsCluster) -> None:
    lines = "".join(f"#SBATCH {flag}\n" for flag in FLAGS)
    number = flags.submitted(*HELD, script=f"{lines}exit 0\n")
    assert flags.record(number) == RECORD
    overridden = flags.submitted(*HELD, "--on-demand=7", script=f"{lines}exit 0\n")
    assert flags.record(overridden) == {**RECORD, "on_demand": 7}


def test_variables_act_as_flags_and_flags_beat_them(flags: FlagsCluster) -> None:
    assert flags.record(flags.submitted(*HELD, **VARIABLES)) == RECORD
    assert flags.record(flags.submitted(*HELD, "--on-demand=7", **VARIABLES)) == {**RECORD, "on_demand": 7}
    beaten = flags.submitted(*HELD, script="#SBATCH --on-demand=7\n", **VARIABLES)
    assert flags.record(beaten) == {**RECORD, "on_demand": 7}


@pytest.mark.parametrize("command", ["salloc", "srun"])
@pytest.mark.parametrize("by_variable", [False, True])
def test_salloc_and_srun_take_them_too(flags: FlagsCluster, command: str, by_variable: bool) -> None:
    look = ("sh", "-c", f"{SHOW}echo $SLURM_JOB_ID")
    given = VARIABLES if by_variable else {}
    done = flags.run(command, *([] if by_variable else FLAGS), *look, **given)
    assert done.returncode == 0, done.stderr
    *variables, number = done.stdout.splitlines()
    assert variables == CANONICAL
    assert flags.record(int(number)) == RECORD


def test_a_job_without_flags_has_no_record(flags: FlagsCluster) -> None:
    assert flags.record(flags.submitted(*HELD)) is None


def test_the_users_comment_is_never_touched(flags: FlagsCluster) -> None:
    number = flags.submitted(*HELD, '--comment=it\'s "mine"; $(id)', '--job-name=x","on_demand":0', "--hbm=1G")
    job = flags.jobs()[number]
    assert job["comment"] == 'it\'s "mine"; $(id)'
    assert flags.record(number) == {"tierwise": 1, "hbm": 1 << 30}


WAYS = [(command, way) for command in ("sbatch", "salloc", "srun") for way in ("flag", "variable")]
WAYS.append(("sbatch", "script"))
WRONG = "1\x1b[31m\u202e'; id"


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.flag)
@pytest.mark.parametrize(("command", "way"), WAYS)
def test_a_wrong_value_is_refused_in_one_line_and_no_job_is_made(
    flags: FlagsCluster, option: Option, command: str, way: str
) -> None:
    before = set(flags.jobs())
    given = {option.variable: WRONG} if way == "variable" else {}
    flag = [f"--{option.flag}={WRONG}"] if way == "flag" else []
    if command == "sbatch":
        # Slurm itself splits the line at blanks and takes quotes away.
        line = f"#SBATCH --{option.flag}=1?!\n" if way == "script" else ""
        done = flags.sbatch(*flag, script=f"{line}exit 0\n", **given)
    else:
        done = flags.run(command, *flag, "true", **given)
    assert done.returncode == 1
    place = f"{option.variable} (for --{option.flag})" if way == "variable" else f"--{option.flag}"
    shown = "1?!" if way == "script" else r"1\x1b[31m\xe2\x80\xae\x27; id"
    assert done.stderr == (
        f"{command}: error: tierwise: {place}: '{shown}' is not accepted; expected {option.accepted}\n"
    )
    assert done.stdout == ""
    assert set(flags.jobs()) == before


def test_the_job_and_its_steps_see_one_form(flags: FlagsCluster) -> None:
    assert flags.printed(*FLAGS, script=f"{SHOW}echo --\nsrun sh -c '{SHOW.strip()}'\n") == [
        *CANONICAL,
        "--",
        *CANONICAL,
    ]


def test_a_step_may_differ_from_its_job(flags: FlagsCluster) -> None:
    script = (
        "look='env | grep ^TIERWISE_ | sort'\n"
        'srun --hbm=3G sh -c "$look"\necho --\nTIERWISE_TIER_CLASS=short srun sh -c "$look"\n'
    )
    assert flags.printed("--tier-class=latency", script=script) == [
        "TIERWISE_HBM=3221225472",
        "TIERWISE_TIER_CLASS=latency",
        "--",
        "TIERWISE_TIER_CLASS=short",
    ]


def test_values_reach_a_job_that_gets_no_environment(flags: FlagsCluster) -> None:
    printed = flags.printed("--export=NONE", "--hbm=1G", script=SHOW, TIERWISE_ON_DEMAND="2m")
    assert printed == ["TIERWISE_HBM=1073741824", "TIERWISE_ON_DEMAND=120"]


def test_a_job_submitted_from_inside_a_job_starts_afresh(flags: FlagsCluster) -> None:
    nested = "sbatch --parsable --hold --output=/dev/null --wrap 'exit 0'"
    plain, chosen = flags.printed("--on-demand=2m", script=f"{nested}\nTIERWISE_ON_DEMAND=7 {nested}\n")
    assert flags.record(int(plain)) is None
    assert flags.record(int(chosen)) == {"tierwise": 1, "on_demand": 7}


def test_all_parts_of_a_heterogeneous_job_and_all_tasks_of_an_array_have_a_record(flags: FlagsCluster) -> None:
    number = flags.submitted(*HELD, "--on-demand=2m", "--array=1-3")
    assert flags.record(number) == {"tierwise": 1, "on_demand": 120}
    path = flags.scratch / "het.sh"
    path.write_text("#!/bin/sh\nexit 0\n")
    done = flags.run("sbatch", "--parsable", *HELD, "--hbm=1G", "-n1", ":", "--hbm=2G", "-n1", str(path))
    assert done.returncode == 0, done.stderr
    parts = [job for job in flags.jobs().values() if _het(job) == int(done.stdout)]
    assert sorted(json.loads(str(job["admin_comment"]))["hbm"] for job in parts) == [1 << 30, 2 << 30]


def _het(job: dict[str, object]) -> object:
    found = job["het_job_id"]
    return found["number"] if isinstance(found, dict) else found
