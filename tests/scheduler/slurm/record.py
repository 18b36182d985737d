"""Record the documents in `data/` from the Slurm that is installed.

As root: `python -m tests.scheduler.slurm.record OUT`.

The scene: a running job, a task of an array that was requeued and a job that was cancelled, both still completing,
components of a heterogeneous job, held and waiting jobs, a drained node, two reservations. Of what Slurm prints, times
are moved to a fixed day, and this machine's name and folders are taken out; nothing else is changed. The users alice
and bob must exist: `./dev rootfs run trixie` is a place where they can be added to /etc/passwd for a moment.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scheduler.cluster import Cluster, Options, up

SUBMITTED = 1_796_077_541
"""When the first job was submitted, in the documents."""

RECORD = {"tierwise": 1, "checkpoint_every": 600, "checkpoint_cost": 20, "restart_cost": 30}
AS_ALICE = ("setpriv", "--reuid=1001", "--regid=100", "--clear-groups", "--")
BASIC = ("sbatch", "--parsable", "--account=physics", "--chdir=/", "--output=/dev/null", "--requeue")
PATIENCE = 30.0


def main(out: Path) -> None:
    """Play the scene, and write what Slurm says of it."""
    with tempfile.TemporaryDirectory(prefix="tw-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "j.sh").write_text("#!/bin/sh\nexec sleep 1000\n")
        (folder / "epilog").write_text("#!/bin/sh\nexec sleep 60\n")
        for script in folder.iterdir():
            script.chmod(0o755)
        options = Options(
            directory=folder / "c",
            cpus_per_node=2,
            memory_per_node=1000 << 20,
            requeue_delay=5,
            settings={"ClusterName": "lab", "Epilog": str(folder / "epilog")},
            lines=("PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=EXCLUSIVE",),
        )
        with up(options) as cluster:
            moved = _scene(cluster, str(folder / "j.sh"))
            for what, command in (
                ("jobs", ("squeue", "--all", "--states=all", "--json")),
                ("nodes", ("scontrol", "--all", "--json", "show", "nodes")),
                ("reservations", ("scontrol", "--all", "--json", "show", "reservations")),
            ):
                found = _cleaned(json.loads(_run(cluster, *command)), moved, str(folder))
                shape = found["meta"]["plugin"]["data_parser"].rpartition(".")[2]
                text = json.dumps(found, separators=(",", ":"), ensure_ascii=False)
                (out / f"v{shape}_{what}.json").write_text(text)


def _scene(cluster: Cluster, script: str) -> dict[int, int]:
    """Play it; return which times mean which in the documents."""
    alice = (*AS_ALICE, *BASIC)
    _run(cluster, "scontrol", "delete", "PartitionName=batch")
    _run(cluster, *alice, "--hold", "--time=60", "--nodelist=n1", '--job-name=it\'s "quoted"; $(id) é', script)
    _run(cluster, *alice, "--time=10", "--array=1-6%1", "--nodelist=n2", script)
    _run(cluster, *alice, "--time=30", "--nodelist=n3", script)
    time.sleep(1)  # the first job does not start in the second in which it was submitted
    _run(cluster, "scontrol", "release", "1")
    _until(lambda: all(_job(cluster, k)["job_state"] == ["RUNNING"] for k in (1, 3)) and len(_jobs(cluster)) == 4)
    _run(cluster, "scontrol", "update", "JobId=1", f"AdminComment={json.dumps(RECORD, separators=(',', ':'))}")
    _run(cluster, "scontrol", "update", "NodeName=n4", "State=DRAIN", "Reason=disk")
    _run(cluster, *alice, "--time=10", "-N1", ":", "--time=5", "-N2", script)
    _run(cluster, *alice, "--hold", "-N4", *("--no-requeue", "--time=UNLIMITED", script))
    _run(cluster, *alice, "--time=30", "-N1", script)
    now = int(time.time())
    first, second = now + 60, now + 1000  # neither is active yet
    for name, start, nodes, users, flags in (
        ("tierwise_7", first, "n[1-2]", "root,bob", "IGNORE_JOBS"),
        ("odd name; x=1", second, "n4", "root", "MAINT,IGNORE_JOBS"),
    ):
        times = (f"StartTime=uts{start}", f"EndTime=uts{start + 600}")
        who = (f"Nodes={nodes}", f"Users={users}", f"Flags={flags}")
        _run(cluster, "scontrol", "create", f"ReservationName={name}", *times, *who)
    _run(cluster, "scancel", "3")
    _run(cluster, "scontrol", "requeue", "4")
    _until(lambda: all("COMPLETING" in _job(cluster, k)["job_state"] for k in (3, 4)))
    time.sleep(1.5)  # backfill comes by
    job, cancelled = _job(cluster, 1), _job(cluster, 3)
    submitted, started = (job[key]["number"] for key in ("submit_time", "start_time"))
    moved = {submitted: SUBMITTED, started: SUBMITTED + 1, started + 3600: SUBMITTED + 3601}
    moved |= {cancelled["end_time"]["number"]: SUBMITTED + 6}
    for start, shown in ((first, SUBMITTED + 8), (second, SUBMITTED + 1008)):
        moved |= {start: shown, start + 600: shown + 600}
    return moved


def _cleaned(value: Any, moved: dict[int, int], folder: str) -> Any:
    """Return a document with its times moved, and without this machine's names."""
    if isinstance(value, dict):
        return {key: _cleaned(found, moved, folder) for key, found in value.items()}
    if isinstance(value, list):
        return [_cleaned(found, moved, folder) for found in value]
    if isinstance(value, str):
        for own, shown in ((folder, "/home/alice"), (" ".join(os.uname()[:3:2]), "Linux"), (os.uname().version, "#1")):
            value = value.replace(own, shown)
        return "n1" if value == socket.gethostname() else value
    real = min(moved)
    if isinstance(value, int) and not isinstance(value, bool) and abs(value - real) < 400 * 86_400:
        return moved.get(value, value - real + SUBMITTED)
    return value


def _jobs(cluster: Cluster) -> list[dict[str, Any]]:
    return list(json.loads(_run(cluster, "squeue", "--states=all", "--json"))["jobs"])


def _job(cluster: Cluster, number: int) -> dict[str, Any]:
    return next(job for job in _jobs(cluster) if job["job_id"] == number)


def _run(cluster: Cluster, *command: str) -> str:
    done = cluster.run(*command)
    if done.returncode:
        raise subprocess.CalledProcessError(done.returncode, command, done.stdout, done.stderr)
    return done.stdout


def _until(ready: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not ready():
        if time.monotonic() > end:
            raise TimeoutError("the scene did not come about")
        time.sleep(0.3)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
