"""The plugin's hooks, under the sanitizers, with Slurm played by a few functions; no Slurm is needed."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler.options.table import OPTIONS, Option

REMOTE = ["remote", "slurmd", "job_script"]
SUBMITTING = ["local", "allocator"]


@dataclass(frozen=True)
class Played:
    code: int
    lines: list[str]
    complaints: list[str]

    def named(self, word: str) -> dict[str, str]:
        """Return the variables of one sort: `control` or `env`."""
        found = [line.removeprefix(f"{word} ") for line in self.lines if line.startswith(f"{word} ")]
        return dict(entry.split("=", 1) for entry in found)


def play(program: Path, context: str, *arguments: str | bytes, **variables: str | bytes) -> Played:
    done = subprocess.run([program, context, *arguments], env=variables, capture_output=True, timeout=60, check=False)
    text, complaints = (raw.decode("utf-8", "surrogateescape").splitlines() for raw in (done.stdout, done.stderr))
    return Played(done.returncode, text, complaints)


@pytest.mark.parametrize("context", SUBMITTING)
def test_a_flag_is_exported_in_its_canonical_form(spank: Path, context: str) -> None:
    played = play(spank, context, "on-demand=2m", "tier-far=1G", "on-demand=3m")
    assert (played.code, played.complaints) == (0, [])
    assert played.named("control") == {"TIERWISE_TIER_FAR": "1073741824", "TIERWISE_ON_DEMAND": "180"}
    assert played.named("env") == {"TIERWISE_TIER_FAR": "1073741824", "TIERWISE_ON_DEMAND": "180"}


@pytest.mark.parametrize("context", SUBMITTING)
def test_a_variable_acts_as_the_flag_and_the_flag_beats_it(spank: Path, context: str) -> None:
    assert play(spank, context, TIERWISE_HBM="1G").named("control") == {"TIERWISE_HBM": "1073741824"}
    assert play(spank, context, "hbm=2G", TIERWISE_HBM="1G").named("control") == {"TIERWISE_HBM": "2147483648"}
    assert play(spank, context, "hbm=2G", TIERWISE_HBM="junk").code == 0
    assert play(spank, context, TIERWISE_HBM="").named("control") == {}


@pytest.mark.parametrize("context", SUBMITTING)
@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.flag)
def test_a_wrong_value_ends_the_command_in_one_line(spank: Path, context: str, option: Option) -> None:
    for played in (play(spank, context, f"{option.flag}=?!"), play(spank, context, **{option.variable: "?!"})):
        assert played.code == 1
        assert len(played.complaints) == 1
        assert f"--{option.flag}" in played.complaints[0]
        assert played.named("control") == {}


@pytest.mark.parametrize("context", REMOTE)
def test_where_no_person_waits_nothing_fails_and_nothing_is_said(spank: Path, context: str) -> None:
    played = play(spank, context, "--plugstack=junk", "hbm=junk", "on-demand=5", TIERWISE_SLO="junk")
    assert (played.code, played.complaints) == (0, [])
    assert [line for line in played.lines if not line.startswith("env")] == ["init 0", "flag 0", "flag 0", "post_opt 0"]


def test_the_job_sees_its_flags_whatever_its_environment(spank: Path) -> None:
    assert play(spank, "remote", "on-demand=2m", TIERWISE_ON_DEMAND="7").named("env")["TIERWISE_ON_DEMAND"] == "120"


def test_the_job_sees_its_variables_even_with_an_empty_environment(spank: Path) -> None:
    played = play(spank, "remote", SLURM_SPANK_TIERWISE_ON_DEMAND="120", SLURM_SPANK_TIERWISE_HBM="junk")
    assert played.named("env").get("TIERWISE_ON_DEMAND") == "120"
    assert "TIERWISE_HBM" not in played.named("env")


def test_an_argument_in_plugstack_keeps_nobody_from_submitting(spank: Path) -> None:
    played = play(spank, "allocator", "--plugstack=colour=red", "hbm=1G")
    assert (played.code, len(played.named("control"))) == (0, 1)
    assert played.complaints == ["tierwise: plugstack.conf: 'colour=red' is ignored: the plugin takes no arguments"]


def test_a_job_submitted_from_inside_a_job_starts_afresh(spank: Path) -> None:
    around = {
        "SLURM_JOB_ID": "7",
        "TIERWISE_ON_DEMAND": "120",
        "SLURM_SPANK_TIERWISE_ON_DEMAND": "120",
        "SLURM_SPANK__SLURM_SPANK_OPTION_tierwise_on_demand": "2m",
    }
    nested = play(spank, "allocator", **around)
    assert (nested.named("control"), nested.named("env")) == ({}, {})
    assert play(spank, "allocator", **{**around, "TIERWISE_ON_DEMAND": "60"}).named("control") == {
        "TIERWISE_ON_DEMAND": "60"
    }
    step = play(spank, "local", **around)
    assert step.named("control") == {"TIERWISE_ON_DEMAND": "120"}


def test_only_the_commands_that_are_known_are_ended(spank: Path, tmp_path: Path) -> None:
    other = tmp_path / "scrontab"
    shutil.copy2(spank, other)
    played = play(other, "allocator", "hbm=junk")
    assert played.code == 0
    assert "flag 3001" in played.lines


@given(raw=st.binary(max_size=120).filter(lambda raw: b"\0" not in raw))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_value_breaks_the_plugin(spank: Path, raw: bytes) -> None:
    for context in ("allocator", "remote"):
        played = play(spank, context, b"tier-share=" + raw, TIERWISE_SLO=raw)
        assert played.code in {0, 1}
        assert len(played.complaints) == played.code
        assert all(line.isascii() and line.isprintable() for line in played.complaints)
