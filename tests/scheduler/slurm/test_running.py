"""How commands are run: no shell, no end to neither time nor output, and errors in one line. The commands are fakes."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from scheduler.slurm import running
from scheduler.slurm.accounting import Accounting
from scheduler.slurm.commands import CommandSlurm
from scheduler.slurm.running import Runner
from scheduler.slurm.seam import Reservation, SlurmError, SlurmUnreachableError, Submission

HOSTILE_FOLDER = "a 'b' \"c\"; $(touch gone) `id` é"


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Put commands of Slurm's names, in a folder with a hostile name, in front of all others."""
    folder = tmp_path / HOSTILE_FOLDER
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")

    def make(name: str, script: str) -> Path:
        file = folder / name
        file.write_text(f"#!/bin/sh\n{script}\n")
        file.chmod(0o755)
        return folder

    make("scontrol", "exit 0")
    return make


def _arguments(folder: Path) -> list[str]:
    return (folder / "said").read_bytes().decode().split("\0")[:-1]


SAY = 'printf "%s\\0" "$@" >"$(dirname "$0")/said"'


def test_a_refusal_is_one_line_with_slurms_reason(commands):
    commands("scancel", "printf 'scancel: error: a\\033[31m\\nb\\n' >&2; exit 3")
    with pytest.raises(SlurmError, match=r"^cancel job 5: scancel: error: a\?\[31m; b$") as error:
        Runner().run("cancel job 5", ["scancel", "5"])
    assert not isinstance(error.value, SlurmUnreachableError)


def test_a_failure_while_the_controller_does_not_answer_is_told_apart_whatever_the_command_says(commands):
    commands("scontrol", "[ $1 = ping ] && exit 1; echo 'Unexpected message received' >&2; exit 1")
    with pytest.raises(SlurmUnreachableError, match="requeue job 5: Unexpected message received"):
        Runner().run("requeue job 5", ["scontrol", "requeue", "5"])


def test_a_command_that_hangs_is_ended(commands):
    commands("squeue", "exec sleep 60")
    began = time.monotonic()
    with pytest.raises(SlurmUnreachableError, match=r"list jobs: no answer from squeue within 0.3 s"):
        CommandSlurm(timeout=0.3).jobs()
    assert time.monotonic() - began < 5


def test_a_command_that_never_stops_printing_is_ended(commands, monkeypatch):
    monkeypatch.setattr(running, "MOST_OUTPUT", 1 << 20)
    commands("squeue", "exec cat /dev/zero")
    with pytest.raises(SlurmError, match="list jobs: squeue printed more than 1 MiB"):
        CommandSlurm().jobs()


def test_a_flood_of_complaints_is_cut(commands):
    commands("squeue", "head -c 3000000 /dev/zero | tr '\\0' x >&2; exit 1")
    with pytest.raises(SlurmError) as error:
        CommandSlurm().jobs()
    assert len(str(error.value)) < 400


def test_a_missing_command_names_the_packages(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(SlurmError, match=r"list jobs: there is no command squeue: .*Debian: slurm-client"):
        CommandSlurm().jobs()


def test_what_would_reshape_the_output_is_kept_from_the_commands(commands, monkeypatch):
    for name in (
        "SQUEUE_STATES",
        "SQUEUE_USERS",
        "SINFO_FORMAT",
        "SLURM_CLUSTERS",
        "SLURM_TIME_FORMAT",
        "SACCT_FORMAT",
    ):
        monkeypatch.setenv(name, "evil")
    monkeypatch.setenv("SLURM_CONF", "/x/slurm.conf")
    environment = Runner({"EXTRA": "1"}).environment()
    assert "evil" not in environment.values()
    assert (environment["SLURM_CONF"], environment["EXTRA"], environment["LC_ALL"]) == ("/x/slurm.conf", "1", "C")


@pytest.mark.parametrize("text", ["--hold", "-n5", "a b;$(id)`id`", "q\"'\\", "x\ny", "世界", "=", "--"])
def test_every_value_of_a_submission_is_part_of_the_argument_that_names_it(commands, text):
    folder = commands("sbatch", f"{SAY}; cat >/dev/null; echo '17;cluster'")
    submission = Submission(text, text, 2, 90.0, text, {"comment": text, "hold": ""}, {"X": text})
    assert CommandSlurm().submit(submission) == 17
    assert _arguments(folder) == [
        *("--parsable", f"--job-name={text}", "--nodes=2", "--time=2", f"--partition={text}"),
        *(f"--comment={text}", "--hold"),
    ]


def test_the_script_goes_in_through_standard_input_whole(commands):
    folder = commands("sbatch", 'cat >"$(dirname "$0")/script"; echo 17')
    script = "#!/bin/sh\n" + "é$(id)\n" * 200_000
    CommandSlurm().submit(Submission(script, "a", 1, 60.0))
    assert (folder / "script").read_text() == script


def test_the_job_inherits_no_locale_of_ours_and_the_variables_given(commands, monkeypatch):
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    folder = commands("sbatch", 'cat >/dev/null; printf "%s %s" "$LC_ALL" "$GIVEN" >"$(dirname "$0")/said"; echo 17')
    CommandSlurm().submit(Submission("", "a", 1, 60.0, environment={"GIVEN": "x"}))
    assert (folder / "said").read_text() == "de_DE.UTF-8 x"


@pytest.mark.parametrize(
    "submission",
    [
        Submission("", "a", 0, 60.0),
        Submission("", "a", 1, 0.0),
        Submission("", "a", 1, float("nan")),
        Submission("", "a", 1, -1.0),
        Submission("", "a", 1, 60.0, options={"Hold": ""}),
        Submission("", "a", 1, 60.0, options={"-hold": ""}),
        Submission("", "a", 1, 60.0, options={"hold=x": ""}),
        Submission("", "a", 1, 60.0, options={"": ""}),
        Submission("", "a", 1, 60.0, options={"wait": ""}),
        Submission("", "a", 1, 60.0, options={"wrap": "rm -rf /"}),
        Submission("", "a", 1, 60.0, options={"job-name": "b"}),
        Submission("", "a", 1, 60.0, environment={"A=B": "c"}),
        Submission("", "a", 1, 60.0, environment={"": "c"}),
        Submission("", "a\0b", 1, 60.0),
        Submission("", "a" * 3_000_000, 1, 60.0),
        Submission("", "a", 1, 60.0, environment={"A": "\0"}),
        Submission("\ud800", "a", 1, 60.0),
    ],
)
def test_a_submission_that_cannot_be_is_an_error_before_anything_is_asked(commands, submission):
    folder = commands("sbatch", f"{SAY}; echo 17")
    with pytest.raises(SlurmError) as error:
        CommandSlurm().submit(submission)
    assert str(error.value).startswith("submit job ") and str(error.value).isprintable()
    assert not (folder / "said").exists()


@pytest.mark.parametrize("said", ["", "Submitted batch job 17", "-5", "1.5"])
def test_an_answer_that_is_no_job_id_is_an_error(commands, said):
    commands("sbatch", f"cat >/dev/null; echo '{said}'")
    with pytest.raises(SlurmError, match="sbatch printed no job id but"):
        CommandSlurm().submit(Submission("", "a", 1, 60.0))


@pytest.mark.parametrize("name", ["", "a b", "a,b", "a=b", "x\ny", "é", "-", "ReservationName=x y"])
def test_a_reservation_has_a_plain_name(commands, name):
    folder = commands("scontrol", SAY)
    if name == "-":
        return
    with pytest.raises(SlurmError, match="is no name of letters"):
        CommandSlurm().reserve(Reservation(name, ("n1",), 0.0, 9e9))
    with pytest.raises(SlurmError, match="is no name of letters"):
        CommandSlurm().reserve(Reservation("ok", ("n1",), 0.0, 9e9, (name,)))
    assert not (folder / "said").exists()


def test_a_reservation_is_asked_for_in_posix_time_with_the_jobs_on_its_nodes_ignored(commands):
    folder = commands("scontrol", SAY)
    CommandSlurm().reserve(Reservation("tw_5", ("n2", "n1"), 5e9, 6e9, ("root", "bob")))
    assert _arguments(folder) == [
        *("create", "ReservationName=tw_5", "StartTime=uts5000000000", "EndTime=uts6000000000"),
        *("Users=root,bob", "Nodes=n[1-2]", "Flags=IGNORE_JOBS"),
    ]


def test_a_reservation_that_has_begun_begins_now(commands):
    folder = commands("scontrol", SAY)
    CommandSlurm().reserve(Reservation("tw_5", ("n1",), 5.0, float("inf")))
    assert _arguments(folder)[2:5] == ["StartTime=now", "Duration=UNLIMITED", "Users=root"]


@pytest.mark.parametrize(
    "reservation",
    [
        Reservation("a", (), 5.0, 6e9),
        Reservation("a", ("n 1",), 5.0, 6e9),
        Reservation("a", ("n1",), float("nan"), 6e9),
    ],
)
def test_a_reservation_that_cannot_be_is_an_error(commands, reservation):
    with pytest.raises(SlurmError, match="reserve 'a'"):
        CommandSlurm().reserve(reservation)


@pytest.mark.parametrize("name", ["", "usr1", "USR1;id", "--full", "USR1\n", "-9"])
def test_a_signal_has_a_plain_name(commands, name):
    with pytest.raises(SlurmError, match="is no signal"):
        CommandSlurm().signal(5, name)


def test_with_a_configuration_of_its_own_no_variable_of_another_clusters_job_counts(commands, monkeypatch):
    monkeypatch.setenv("SLURM_JOB_ID", "7")
    monkeypatch.setenv("SLURM_CONF_SERVER", "elsewhere")
    commands("squeue", "env")
    own = Runner({"SLURM_CONF": "/a/slurm.conf"}).run("list jobs", ["squeue"]).decode()
    assert "SLURM_CONF=/a/slurm.conf\n" in own
    assert "SLURM_JOB_ID" not in own and "SLURM_CONF_SERVER" not in own
    assert "SLURM_JOB_ID=7\n" in Runner().run("list jobs", ["squeue"]).decode()


def test_the_accounting_is_asked_with_names_alone(commands):
    folder = commands("sacctmgr", SAY)
    Accounting().add_qos("urgent", preempts=("normal", "low"), priority=9)
    assert _arguments(folder)[2:] == ["add", "qos", "urgent", "Priority=9", "Preempt=normal,low"]
    for name in ("a b", "", "--help", "x\n", "a;b"):
        with pytest.raises(SlurmError, match=r"change the accounting: .* is no name of letters"):
            Accounting().permit_qos("root", (name,), "normal")


def test_nodes_and_jobs_are_asked_for_at_the_same_time(commands, output):
    folder = commands("squeue", 'touch "$(dirname "$0")/asked"; cat "$(dirname "$0")/jobs.json"')
    commands("sinfo", 'until [ -e "$(dirname "$0")/asked" ]; do sleep 0.05; done; cat "$(dirname "$0")/nodes.json"')
    for what in ("jobs", "nodes"):
        (folder / f"{what}.json").write_bytes(output(f"v38_{what}.json"))
    slurm = CommandSlurm(timeout=30)
    nodes, jobs = slurm.look()
    assert (nodes, jobs) == (slurm.nodes(), slurm.jobs())


def test_a_look_without_nodes_is_an_error(commands, output):
    folder = commands("squeue", 'cat "$(dirname "$0")/jobs.json"')
    (folder / "jobs.json").write_bytes(output("v38_jobs.json"))
    commands("sinfo", "echo 'no such thing' >&2; exit 1")
    with pytest.raises(SlurmError, match="list nodes: no such thing"):
        CommandSlurm().look()
