"""The node that benchmarks/tiers.py runs jobs on: a memory control group, swap areas, and jobs that start in it."""

from __future__ import annotations

import contextlib
import os
import resource
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from memory_tiers.kernel import cgroups, swaps

MIB = 1 << 20
SOURCE = Path(__file__).with_name("tiers_load.c")


@dataclass(frozen=True)
class Task:
    """A process of a job.

    Attributes
    ----------
    job : int
        The job's number; tasks of an ensemble have one each.
    kind : str
        The load's name.
    megabytes : int
        Its footprint [MiB].
    arguments : tuple of str
        What the load takes after that.
    tier_class : str
        What its user would give as `--tier-class`.
    promised : int
        What its user would give as `--tier-dram` [MiB].
    after : float
        When it starts, after the first [s]; or 0.
    queue : str
        Tasks of one queue run one after the other; empty: at once.
    cpu : int or None
        The core that it is bound to.
    """

    job: int
    kind: str
    megabytes: int
    arguments: tuple[str, ...]
    tier_class: str
    promised: int
    after: float = 0.0
    queue: str = ""
    cpu: int | None = None


@dataclass(frozen=True)
class Done:
    """How a task ended.

    Attributes
    ----------
    task : Task
        The task.
    seconds : float
        From its start to its end.
    processor : float
        Processor time that it took, its share of the kernel's paging included [s].
    faults : int
        Pages that it had to wait for: major faults.
    intact : bool
        Whether its memory still held what it had put there.
    """

    task: Task
    seconds: float
    processor: float
    faults: int
    intact: bool


def build(folder: Path) -> Path:
    """Compile the load."""
    program = folder / "tiers_load"
    subprocess.run(["cc", "-O2", "-o", str(program), str(SOURCE)], check=True)
    return program


@contextlib.contextmanager
def node(limit: int | None) -> Iterator[Path]:
    """Make the group that stands for the node: its DRAM is the group's limit."""
    found = cgroups.memory_root()
    if found is None:
        raise SystemExit("no memory controller in /sys/fs/cgroup")
    folder = found[1] / f"tierwise-bench-{os.getpid()}"
    folder.mkdir()
    try:
        if limit is not None:
            (folder / "memory.limit_in_bytes" if found[0] == 1 else folder / "memory.max").write_text(str(limit))
        if found[0] == 2:
            (folder / "cgroup.subtree_control").write_text("+memory")
        yield folder
    finally:
        for group in folder.glob("job_*"):
            _remove(group)
        _remove(folder)


@contextlib.contextmanager
def far_tiers(zram: int | None, file: int | None, page_cluster: int, zram_algorithm: str | None) -> Iterator[None]:
    """Swap to zram and to a file, the slow last tier, while this lasts; read-ahead as given.

    Parameters
    ----------
    zram, file : int or None
        Bytes of each; None for none.
    page_cluster : int
        Read-ahead of swap: two to this power pages.
    zram_algorithm : str or None
        Compression; None for the kernel's choice.
    """
    switch = Path("/proc/sys/vm/page-cluster")
    before = switch.read_text()
    with contextlib.ExitStack() as stack:
        switch.write_text(str(page_cluster))
        stack.callback(switch.write_text, before)
        if file is not None:
            path = Path(tempfile.gettempdir()) / f"tierwise-bench-{os.getpid()}.swap"
            swaps.add_file(path, file, 1)
            stack.callback(swaps.remove_file, path)
        if zram is not None:
            device = swaps.add_zram(zram, zram_algorithm, 100)
            stack.callback(swaps.remove_zram, device)
        yield


class Registry:
    """Tells nobody of jobs: the environments without an agent."""

    def register(self, task: Task, group: Path) -> None:
        """Hear of a task before it starts."""

    def deregister(self, task: Task) -> None:
        """Hear of a task that has ended."""


class Running:
    """Runs tasks in a node's groups, `job_1` and so on as Slurm names them, and waits for them.

    Parameters
    ----------
    program : Path
        The load.
    group : Path
        The node's group.
    swappiness : int
        Set for each job's group (version 1).
    registry : Registry
        Told of each task's group before it starts, and after it ended.
    """

    def __init__(self, program: Path, group: Path, swappiness: int, registry: Registry) -> None:
        self._program, self._group, self._swappiness, self._registry = program, group, swappiness, registry

    def run(self, tasks: tuple[Task, ...]) -> tuple[Done, ...]:
        """Run tasks to their ends."""
        waiting, running, done = list(tasks), {}, []
        began = time.monotonic()
        try:
            while waiting or running:
                busy = {task.queue for task, _, _ in running.values()}
                for task in [one for one in waiting if time.monotonic() - began >= one.after]:
                    if not task.queue or task.queue not in busy:
                        busy.add(task.queue)
                        waiting.remove(task)
                        child, at = self._start(task), time.monotonic()
                        running[child.pid] = (task, child, at)
                for pid, (task, child, at) in list(running.items()):
                    ended, status, used = os.wait4(pid, os.WNOHANG)
                    if ended:
                        child.returncode = os.waitstatus_to_exitcode(status)
                        seconds = time.monotonic() - at
                        done.append(self._finish(task, child, seconds, used))
                        del running[pid]
                time.sleep(0.005)
        finally:
            for _, child, _ in running.values():
                child.kill()
                child.wait()
        return tuple(done)

    def _start(self, task: Task) -> subprocess.Popen[str]:
        group = self._group / f"job_{task.job}"
        group.mkdir(exist_ok=True)
        if (group / "memory.swappiness").exists():
            (group / "memory.swappiness").write_text(str(self._swappiness))
        self._registry.register(task, group)
        bound = ["taskset", "-c", str(task.cpu)] if task.cpu is not None else []
        words = [*bound, str(self._program), task.kind, str(task.megabytes), *task.arguments]
        inside = 'echo $$ > "$0/cgroup.procs" && exec "$@"'
        return subprocess.Popen(["/bin/sh", "-c", inside, str(group), *words], stdout=subprocess.PIPE, text=True)

    def _finish(self, task: Task, child: subprocess.Popen[str], seconds: float, used: resource.struct_rusage) -> Done:
        assert child.stdout is not None
        words = child.stdout.read().split()
        self._registry.deregister(task)
        _remove(self._group / f"job_{task.job}")
        intact = child.returncode == 0 and len(words) == 6 and words[3] == words[5]
        return Done(task, seconds, used.ru_utime + used.ru_stime, used.ru_majflt, intact)


def _remove(group: Path) -> None:
    for _ in range(100):
        try:
            group.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            time.sleep(0.02)
        else:
            return
    raise SystemExit(f"{group} cannot be removed: somebody is still in it")
