"""Where the plugin is missing, broken or too old, ordinary jobs run as if Tierwise were not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from flags_cluster import FlagsCluster, started

from scheduler.options.table import LONGEST_VALUE, OPTIONS
from slurm_plugins import building

pytestmark = pytest.mark.slurm


@pytest.fixture(scope="module")
def flags() -> Iterator[FlagsCluster]:
    with started() as found:
        yield found


@contextmanager
def replaced(flags: FlagsCluster, other: bytes | None) -> Iterator[None]:
    """Take the plugin away, or put something else in its place."""
    kept = flags.plugin.rename(flags.plugin.with_suffix(".kept"))
    try:
        if other is not None:
            flags.plugin.write_bytes(other)
        yield
    finally:
        kept.replace(flags.plugin)


def for_another_slurm(folder: Path) -> bytes:
    """Build the plugin as it would be on a cluster that has been upgraded, but for the release's number."""
    headers = building.find_headers()
    other = folder / "other" / "slurm"
    other.mkdir(parents=True, exist_ok=True)
    for header in (headers.folder / "slurm").glob("*.h"):
        (other / header.name).write_bytes(header.read_bytes())
    (other / "slurm_version.h").write_text(
        "#define SLURM_VERSION_NUMBER 0x130508\n#define SLURM_VERSION_NUM(a,b,c) (((a) << 16) + ((b) << 8) + (c))\n"
    )
    out = folder / "other.so"
    building.build(OPTIONS, LONGEST_VALUE, "0.0.0", building.Headers(other.parent, building.Version(19, 5, 8)), out)
    return out.read_bytes()


def test_a_job_with_flags_runs_on_nodes_without_the_plugin(flags: FlagsCluster) -> None:
    out = flags.scratch / "without.txt"
    number = flags.submitted(
        "--hold", f"--output={out}", "--on-demand=2m", script="env | grep ^TIERWISE_\nsrun true\necho done\n"
    )
    with replaced(flags, None):
        assert flags.run("scontrol", "release", str(number)).returncode == 0
        flags.until(lambda: flags.state(number) == "COMPLETED")
    lines = out.read_text().splitlines()
    assert lines[0] == "TIERWISE_ON_DEMAND=120"
    assert lines[-1] == "done"
    assert flags.drained() == []


@pytest.mark.parametrize("state", ["missing", "broken", "of another release"])
def test_ordinary_jobs_are_submitted_and_run(flags: FlagsCluster, state: str) -> None:
    other = {"missing": None, "broken": b"\x7fELF rubbish", "of another release": for_another_slurm(flags.scratch)}
    with replaced(flags, other[state]):
        number = flags.submitted("--output=/dev/null", script="srun true\n")
        flags.until(lambda: flags.state(number) == "COMPLETED")
        assert flags.run("srun", "true").returncode == 0
        refused = flags.sbatch("--on-demand=2m")
        assert refused.returncode != 0
        assert "on-demand" in refused.stderr
    assert flags.drained() == []


def test_an_argument_in_plugstack_is_told_and_ignored(flags: FlagsCluster) -> None:
    stack = flags.cluster.directory / "plugstack.conf"
    line = stack.read_text()
    stack.write_text(line.rstrip("\n") + " colour=red\n")
    try:
        done = flags.sbatch("--output=/dev/null", "--hbm=1G")
        assert done.returncode == 0
        assert done.stderr == (
            "sbatch: error: tierwise: plugstack.conf: 'colour=red' is ignored: the plugin takes no arguments\n"
        )
        number = int(done.stdout)
        flags.until(lambda: flags.state(number) == "COMPLETED")
    finally:
        stack.write_text(line)
    assert flags.drained() == []


def test_jobs_run_when_job_submit_lua_fails(flags: FlagsCluster) -> None:
    script = flags.cluster.directory / "job_submit.lua"
    good = script.read_text()
    stamp = script.stat().st_mtime
    script.write_text(good.replace("local function asked(job_desc)", "local function asked(job_desc) error('defect')"))
    os.utime(script, (stamp + 70, stamp + 70))
    try:
        number = flags.submitted("--output=/dev/null", "--hbm=1G")
        flags.until(lambda: flags.state(number) == "COMPLETED")
        assert flags.record(number) is None
        log = (flags.cluster.directory / "log" / "slurmctld.log").read_text()
        assert log.count("tierwise: ") >= 1
        assert "defect" in log
    finally:
        script.write_text(good)
        os.utime(script, (stamp + 140, stamp + 140))
