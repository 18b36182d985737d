"""What the plugin adds to a submission: sbatch with and without it, in turns, on a cluster of its own.

Then what prolog and epilog take, each as a whole process from its start to its end, with an agent that answers at once,
in turns with a Python that does nothing.

    python benchmarks/plugin.py [--jobs 60]

Each pair is submitted back to back with the order changing, so that whatever else the machine does falls on both. The
target is less than 3 ms added to the median, and 60 ms for each hook; job_submit.lua's own time is measured by
tests/slurm_plugins.
"""

from __future__ import annotations

import argparse
import os
import random
import socket
import statistics
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from scheduler.cluster import Cluster, Options, up
from scheduler.options.table import LONGEST_VALUE, OPTIONS
from slurm_plugins import building, hooks
from slurm_plugins.limits import Limits, Rule, limits_file
from slurm_plugins.lua_table import FILE_NAME, LIMITS_FILE_NAME, job_submit

TARGET_MS = 3.0
HOOK_TARGET_MS = 60.0
FLAGS = ("--on-demand=2m", "--tier-class=latency", "--tier-dram=2G", "--checkpoint-every=1h")
SBATCH = ("sbatch", "--hold", "--output=/dev/null", "--chdir=/", "--wrap=true")


def milliseconds(cluster: Cluster, command: tuple[str, ...], conf: Path) -> float:
    """Return what one submission takes."""
    environment = {"PATH": "/usr/bin:/bin", **cluster.environment, "SLURM_CONF": str(conf)}
    start = time.perf_counter()
    subprocess.run(command, env=environment, capture_output=True, check=True)
    return (time.perf_counter() - start) * 1e3


def measure(cluster: Cluster, jobs: int) -> dict[str, list[float]]:
    """Submit without the plugin, with it, and with it and flags."""
    without = cluster.directory / "without" / "slurm.conf"
    without.parent.mkdir()
    empty = without.with_name("plugstack.conf")
    empty.write_text("")
    kept = [line for line in cluster.slurm_conf.read_text().splitlines() if not line.startswith("PlugStackConfig")]
    without.write_text("\n".join([*kept, f"PlugStackConfig={empty}", ""]))
    ways = {
        "without the plugin": (SBATCH, without),
        "with the plugin": (SBATCH, cluster.slurm_conf),
        "with four flags": ((SBATCH[0], *FLAGS, *SBATCH[1:]), cluster.slurm_conf),
    }
    times: dict[str, list[float]] = {name: [] for name in ways}
    order = list(ways)
    for round_ in range(jobs + 5):
        random.Random(round_).shuffle(order)
        for name in order:
            command, conf = ways[name]
            taken = milliseconds(cluster, command, conf)
            if round_ >= 5:  # the first ones fill the caches
                times[name].append(taken)
    return times


def measure_hooks(folder: Path, rounds: int) -> dict[str, list[float]]:
    """Run prolog, epilog and a Python that does nothing, in turns, beside an agent that answers."""
    python = hooks.default_python()
    environment = {
        "SLURM_JOB_ID": "1234",
        "SLURM_JOB_UID": "1000",
        "SLURM_JOB_USER": "alice",
        "SPANK_TIERWISE_TIER_CLASS": "latency",
        "SPANK_TIERWISE_TIER_DRAM": "2147483648",
        "SPANK_TIERWISE_SLO": "0.25",
    }
    commands = {"python -I -S alone": [str(python), "-I", "-S", "-c", "pass"]}
    for name in hooks.HOOKS:
        path = folder / hooks.file_name(name)
        path.write_text(hooks.script(name, OPTIONS, python, folder / "agent.sock"))
        path.chmod(0o755)
        commands[name] = [str(path)]
    times: dict[str, list[float]] = {name: [] for name in commands}
    order = list(commands)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "agent.sock"))
        listener.listen()
        answering = threading.Thread(target=_answer, args=(listener, len(hooks.HOOKS) * (rounds + 5)))
        answering.start()
        for round_ in range(rounds + 5):
            random.Random(round_).shuffle(order)
            for name in order:
                start = time.perf_counter()
                subprocess.run(commands[name], env=environment, capture_output=True, check=True)
                if round_ >= 5:
                    times[name].append((time.perf_counter() - start) * 1e3)
        answering.join()
    return times


def _answer(listener: socket.socket, callers: int) -> None:
    for _ in range(callers):
        caller, _ = listener.accept()
        with caller:
            caller.recv(65536)
            caller.sendall(b'{"ok":true}\n')


def print_hooks(times: dict[str, list[float]]) -> None:
    """Print what the hooks took."""
    for name, found in times.items():
        median, quartiles = statistics.median(found), statistics.quantiles(found, n=4)
        print(f"{name:20} median {median:6.2f} ms ({quartiles[0]:.2f} to {quartiles[2]:.2f})")
    slowest = max(statistics.median(times[name]) for name in hooks.HOOKS)
    print(f"at most {slowest:.2f} ms, target {HOOK_TARGET_MS:g} ms: {'met' if slowest < HOOK_TARGET_MS else 'MISSED'}")


def main() -> None:
    """Print the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=60, help="submissions of each sort")
    jobs = parser.parse_args().jobs
    with tempfile.TemporaryDirectory(prefix="tierwise-bench-") as scratch:
        folder = Path(scratch)
        plugin, script = folder / building.FILE_NAME, folder / FILE_NAME
        building.build(OPTIONS, LONGEST_VALUE, "0.0.0", building.find_headers(), plugin)
        script.write_text(job_submit(OPTIONS, LONGEST_VALUE))
        directory = folder / "cluster"
        with up(Options(nodes=1, directory=directory, spank_plugin=plugin, job_submit=script)) as cluster:
            (directory / LIMITS_FILE_NAME).write_text(limits_file(Limits({"on_demand": (Rule(allow=True),)})))
            # slurmctld loads its script, and the limits with it, when the script's time in whole seconds has changed.
            os.utime(directory / FILE_NAME, (time.time() + 5,) * 2)
            times = measure(cluster, jobs)
        of_hooks = measure_hooks(folder, jobs)
    base = statistics.median(times["without the plugin"])
    for name, found in times.items():
        median, quartiles = statistics.median(found), statistics.quantiles(found, n=4)
        print(
            f"{name:20} median {median:6.2f} ms ({quartiles[0]:.2f} to {quartiles[2]:.2f}), added {median - base:+.2f}"
        )
    added = max(statistics.median(found) for found in times.values()) - base
    print(f"added at most {added:.2f} ms, target {TARGET_MS:g} ms: {'met' if added < TARGET_MS else 'MISSED'}")
    print_hooks(of_hooks)


if __name__ == "__main__":
    main()
