"""A cluster with the plugin and job_submit.lua, and the ways in which a person submits to it."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from scheduler.cluster import Cluster, Options, up
from scheduler.options.table import LONGEST_VALUE, OPTIONS
from scheduler.slurm.commands import CommandSlurm
from slurm_plugins import building
from slurm_plugins.limits import Limits, Rule, limits_file
from slurm_plugins.lua_table import FILE_NAME, LIMITS_FILE_NAME, job_submit
from tests.availability import unavailable
from traces import InputError

PATIENCE = 40.0
ORDINARY_USER = "nobody"
"""A user without any right; every system has it."""


@dataclass(frozen=True)
class FlagsCluster:
    """A running cluster, and the files of ours that it loads."""

    cluster: Cluster
    plugin: Path

    def run(self, *command: str, user: str | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
        """Run a command, with further variables, as this or another user."""
        words = ["env", *(f"{name}={value}" for name, value in variables.items()), *command]
        if user is not None:
            known = pwd.getpwnam(user)
            words = ["setpriv", f"--reuid={known.pw_uid}", f"--regid={known.pw_gid}", "--clear-groups", "--", *words]
        return self.cluster.run(*words)

    def sbatch(
        self, *flags: str, script: str = "exit 0\n", user: str | None = None, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Submit a batch script, which gets its first line."""
        path = self.scratch / "job.sh"
        path.write_text(f"#!/bin/sh\n{script}")
        path.chmod(0o755)
        return self.run("sbatch", "--parsable", "--chdir=/", "--time=5", *flags, str(path), user=user, **variables)

    def submitted(self, *flags: str, script: str = "exit 0\n", user: str | None = None, **variables: str) -> int:
        """Submit a batch script that must be accepted; return the job's id."""
        done = self.sbatch(*flags, script=script, user=user, **variables)
        assert done.returncode == 0, done.stderr
        return int(done.stdout)

    def printed(self, *flags: str, script: str, **variables: str) -> list[str]:
        """Run a batch script to its end; return what it printed."""
        # slurmstepd opens it as the job's user, a link or a folder of another's would not do.
        out = self.scratch / "out.txt"
        out.unlink(missing_ok=True)
        number = self.submitted(f"--output={out}", *flags, script=script, **variables)
        self.until(lambda: self.state(number) == "COMPLETED")
        return out.read_text().splitlines()

    @property
    def scratch(self) -> Path:
        """Return a folder that every user may read."""
        return self.plugin.parent

    def jobs(self) -> dict[int, dict[str, object]]:
        """Return all jobs that slurmctld remembers, by id."""
        done = self.cluster.run("squeue", "--json", "--states=all")
        assert done.returncode == 0, done.stderr
        return {job["job_id"]: job for job in json.loads(done.stdout)["jobs"]}

    def state(self, number: int) -> str:
        """Return a job's state."""
        found = self.jobs()[number]["job_state"]
        return str(found[0]) if isinstance(found, list) else str(found)

    def record(self, number: int) -> dict[str, object] | None:
        """Return the record of a job; None where its admin_comment is empty."""
        text = str(self.jobs()[number]["admin_comment"])
        return json.loads(text) if text else None

    def until(self, ready: Callable[[], bool]) -> None:
        """Wait for something."""
        end = time.monotonic() + PATIENCE
        while not ready():
            assert time.monotonic() < end, f"not within {PATIENCE:g} s"
            time.sleep(0.1)

    def drained(self) -> list[str]:
        """Return the nodes that are not in service."""
        nodes = CommandSlurm(self.cluster.environment).nodes()
        return [node.name for node in nodes if node.states & {"drain", "down"}]

    def permit(self, *rules: Rule) -> None:
        """Say who may be on-demand; none: no limits file."""
        path = self.cluster.directory / LIMITS_FILE_NAME
        path.unlink(missing_ok=True)
        if rules:
            path.write_text(limits_file(Limits({"on_demand": rules})))
        # slurmctld loads its script, and the limits with it, anew when the script's time in whole seconds has changed.
        script = self.cluster.directory / FILE_NAME
        stamp = script.stat().st_mtime + 7
        os.utime(script, (stamp, stamp))


@contextmanager
def started() -> Iterator[FlagsCluster]:
    """Start a cluster of two nodes with the plugin and job_submit.lua, in which everybody may be on-demand."""
    # Another user's jobs must get there, which pytest's own folders do not permit.
    folder = Path(tempfile.mkdtemp(prefix="tierwise-flags-"))
    folder.chmod(0o755)
    try:
        try:
            plugin, script = write_ours(folder)
            other = "PartitionName=other Nodes=ALL MaxTime=INFINITE State=UP OverSubscribe=EXCLUSIVE"
            cluster = up(
                Options(nodes=2, directory=folder / "cluster", spank_plugin=plugin, job_submit=script, lines=(other,))
            )
        except InputError as error:  # a package is missing; a cluster that does not come up is a failure
            unavailable("slurm", str(error))
        with cluster:
            found = FlagsCluster(cluster, plugin)
            found.permit(Rule(allow=True))
            yield found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def write_ours(folder: Path) -> tuple[Path, Path]:
    """Build the plugin and write job_submit.lua into a folder."""
    plugin, script = folder / building.FILE_NAME, folder / FILE_NAME
    building.build(OPTIONS, LONGEST_VALUE, "0.0.0", building.find_headers(), plugin)
    script.write_text(job_submit(OPTIONS, LONGEST_VALUE))
    return plugin, script
