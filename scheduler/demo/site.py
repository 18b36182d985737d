"""The cluster of the demo with everything of Tierwise's on it; what is started here is ended here."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from scheduler import __version__
from scheduler.cluster import Cluster, ClusterError, Options, executables, up
from scheduler.cluster.configuration import CLUSTER
from scheduler.demo.errors import DemoError
from scheduler.options.table import LONGEST_VALUE, OPTIONS
from scheduler.policy import load
from scheduler.policy.limits import limits_of
from scheduler.slurm.commands import CommandSlurm
from slurm_plugins import building
from slurm_plugins.limits import put_limits
from slurm_plugins.lua_table import FILE_NAME, job_submit

TIERWISE = (sys.executable, "-P", "-c", "import sys; from scheduler.cli.app import main; sys.exit(main())")
"""The command `tierwise`, wherever it is installed."""

POLICY = """\
# Who may preempt, and what jobs lose that do not say it themselves: `tierwise policy schema` lists all fields.
[defaults]
on_demand = true
on_demand_max_delay = "1m"
delay_weight = 1.0
"""
"""The policy file of the demo."""

_LONGEST_TEMPORARY = 40  # below it lie sockets, whose paths are short [bytes]
_READY = 240.0  # how long its first cycle may take, with the decision to be compiled on a busy machine [s]
_ENDING = 20.0  # how long the controller may take to end [s]
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Files:
    """What the demo leaves: all of it lies in one folder.

    Attributes
    ----------
    folder : Path
        Absolute.
    """

    folder: Path

    @property
    def jobs(self) -> Path:
        """Logs and checkpoints of the jobs."""
        return self.folder / "jobs"

    @property
    def journal(self) -> Path:
        """The controller's journal, for `tierwise explain`."""
        return self.folder / "journal.sqlite"

    @property
    def policy(self) -> Path:
        """The policy file."""
        return self.folder / "policy.toml"

    @property
    def log(self) -> Path:
        """The controller's log."""
        return self.folder / "controller.log"

    @property
    def history(self) -> Path:
        """The cluster's accounting as a trace, for `tierwise replay`."""
        return self.folder / "history.parquet"

    @property
    def results(self) -> Path:
        """What `--json` prints."""
        return self.folder / "results.json"

    @property
    def report(self) -> Path:
        """The report."""
        return self.folder / "report.html"

    def made(self) -> Files:
        """Make the folder, and take away what an earlier demo left in it."""
        self.jobs.mkdir(parents=True, exist_ok=True)
        ours = (self.journal, self.policy, self.log, self.history, self.results, self.report)
        beside = [self.journal.with_name(self.journal.name + end) for end in ("-wal", "-shm", ".lock")]
        for path in (*ours, *beside, *self.jobs.glob("*.log"), *self.jobs.glob("*.checkpoint")):
            path.unlink(missing_ok=True)
        self.policy.write_text(POLICY, "utf-8")
        return self


@dataclass(frozen=True)
class Site:
    """A cluster that runs, with a controller that makes room on it.

    Attributes
    ----------
    cluster : Cluster
        The cluster.
    slurm : CommandSlurm
        The way to it.
    controller : subprocess.Popen
        `tierwise controller`.
    files : Files
        What is left in the end.
    """

    cluster: Cluster
    slurm: CommandSlurm
    controller: subprocess.Popen[bytes]
    files: Files

    def check(self) -> None:
        """Raise `DemoError` where the controller has ended."""
        if self.controller.poll() is not None:
            lines = self._said()
            last = lines[-1][:300] if lines else "it said nothing"
            raise DemoError(f"tierwise controller ended with status {self.controller.returncode}: {last}")

    def wait(self) -> None:
        """Wait until the controller has looked at the queue once; the first of all compiles its decision before."""
        end = time.monotonic() + _READY
        while not any('"event": "cycle"' in line for line in self._said()):
            self.check()
            if time.monotonic() > end:
                raise DemoError(f"tierwise controller does nothing {_READY:g} s after its start: see {self.files.log}")
            time.sleep(0.1)

    def _said(self) -> list[str]:
        return self.files.log.read_text("utf-8", "replace").splitlines()


def check_packages() -> None:
    """Raise `InputError`, which names the packages, where something that the demo needs is not installed."""
    executables.find(accounting=True)
    building.find_headers()


@contextmanager
def started(nodes: int, files: Files, *, keep: bool) -> Iterator[Site]:
    """Start a cluster with Tierwise on it, and end it.

    Parameters
    ----------
    nodes : int
        Its nodes.
    files : Files
        Where to write what is left.
    keep : bool
        Leave the cluster and the controller running in the end, unless something fails.

    Yields
    ------
    Site
        All nodes are idle, and the controller watches the queue.

    Raises
    ------
    InputError
        Where a package is missing.
    DemoError
        Where a daemon does not come up.
    """
    folder = Path(tempfile.mkdtemp(prefix="tierwise-", dir=_temporary()))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        try:
            cluster = up(_options(nodes, folder))
        except ClusterError as error:
            raise DemoError(" ".join([*str(error).split(), *error.log[-1:]])) from None
        stack.callback(_undisturbed, cluster.down)
        _permit(cluster, files)
        controller = _controller(cluster, files)
        stack.callback(_undisturbed, lambda: _end(controller))
        yield Site(cluster, CommandSlurm(cluster.environment), controller, files)
        if keep:
            stack.pop_all()


def _temporary() -> str:
    usual = tempfile.gettempdir()
    return usual if len(os.fsencode(usual)) <= _LONGEST_TEMPORARY else "/tmp"  # noqa: S108 - mkdtemp makes a new folder there


def _options(nodes: int, folder: Path) -> Options:
    plugin, script = folder / building.FILE_NAME, folder / FILE_NAME
    building.build(OPTIONS, LONGEST_VALUE, __version__, building.find_headers(), plugin)
    script.write_text(job_submit(OPTIONS, LONGEST_VALUE), "utf-8")
    # Nodes may claim more than there is: the jobs of the demo do next to nothing.
    return Options(
        nodes=nodes,
        directory=folder / "c",
        accounting=True,
        cpus_per_node=1,
        memory_per_node=1 << 30,
        spank_plugin=plugin,
        job_submit=script,
    )


def _permit(cluster: Cluster, files: Files) -> None:
    """Write the policy's limits for job_submit.lua, as `tierwise policy apply` does on a site."""
    limits = limits_of(load(files.policy).policy, CLUSTER, frozenset({0, os.geteuid()}))
    put_limits(cluster.directory / FILE_NAME, limits)


def _controller(cluster: Cluster, files: Files) -> subprocess.Popen[bytes]:
    command = [*TIERWISE, "controller", "--policy", str(files.policy), "--journal", str(files.journal)]
    with files.log.open("wb") as log:
        return subprocess.Popen(  # noqa: S603 - an argument list
            [*command, "--interval", "0.5", "--log-level", "debug"],
            env={**os.environ, **cluster.environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,  # Ctrl-C is for us: the controller is ended in its turn
        )


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(_ENDING)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _undisturbed(work: Callable[[], object]) -> None:
    """Do what ends a process, and let no second Ctrl-C come in between."""
    main = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _SIGNALS} if main else {}
    try:
        work()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def ended_by_signals() -> Iterator[None]:
    """Take SIGTERM and a lost terminal as Ctrl-C, so that they too end what was started; in the main thread."""

    def interrupt(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
