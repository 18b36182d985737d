"""`up`: choose ports, write the files, start the daemons one after the other, and wait until all nodes are idle."""

from __future__ import annotations

import os
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from scheduler.cluster import client, configuration, daemons, executables, home, record
from scheduler.cluster.handle import Cluster
from scheduler.cluster.layout import (
    LOOPBACK,
    MARIADBD,
    MUNGED,
    SLURMCTLD,
    SLURMDBD,
    Layout,
    node_names,
    this_host,
    this_user,
)
from scheduler.cluster.options import Options, chosen_directory
from scheduler.cluster.ports import free_ports
from scheduler.cluster.stopping import end_all
from scheduler.slurm.seam import SlurmError

_ATTEMPTS = 3
_LOOK_EVERY = 0.05  # [s]
_FIRST_STEPS = 60.0  # how long a single daemon may take until it answers [s]
_WAIT, _WAIT_PER_NODE = 60.0, 0.25  # how long all nodes together may take to become idle [s]


def up(options: Options | None = None) -> Cluster:
    """Start a Slurm cluster on this machine, in a directory of its own.

    Nothing outside the directory is written, nothing of a Slurm that is there already is read, and where something
    fails, all that was started is ended again; the logs stay.

    Parameters
    ----------
    options : Options, optional
        What it is to be like; by default four nodes in the user's state directory.

    Returns
    -------
    Cluster
        All of its nodes are idle.

    Raises
    ------
    InputError
        Where a program is missing, or the directory is in use or not ours.
    ClusterError
        Where a daemon does not come up, with the last lines of its log.
    """
    options = Options() if options is None else options
    programs = executables.find(accounting=options.accounting)
    version = executables.slurm_version(programs["slurmctld"])
    user = this_user()
    directory = chosen_directory(options.directory)
    home.made(directory)
    with home.held(directory):
        home.check_is_free(directory)
        for attempt in range(1, _ATTEMPTS + 1):
            home.clear(directory)
            ports = _ports(options)
            layout = Layout(directory, this_host(), user, version, ports)
            try:
                return _attempt(options, layout, programs)
            except daemons.PortTakenError:
                if attempt == _ATTEMPTS:
                    raise
    raise AssertionError("the last attempt returns or raises")


def _ports(options: Options) -> dict[str, int]:
    names = [SLURMCTLD, *([SLURMDBD] if options.accounting else []), *node_names(options.nodes)]
    return dict(zip(names, free_ports(len(names)), strict=True))


def _attempt(options: Options, layout: Layout, programs: Mapping[str, str]) -> Cluster:
    bringing_up = _Up(options, layout, programs)
    try:
        bringing_up.prepare()
        bringing_up.start_all()
    except BaseException:  # also an interrupt: what was started must not outlive it
        end_all(layout.directory, bringing_up.record)
        bringing_up.reap()
        raise
    return Cluster(layout.directory, tuple(bringing_up.children.values()))


@dataclass
class _Up:
    """A cluster that comes up: what of it runs so far."""

    options: Options
    layout: Layout
    programs: Mapping[str, str]
    children: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)
    record: record.Record = field(init=False)

    def __post_init__(self) -> None:
        options, layout = self.options, self.layout
        self.record = record.Record(
            directory=str(layout.directory),
            slurm="{}.{:02}.{}".format(*layout.version),
            nodes=options.nodes,
            accounting=options.accounting,
            daemons=daemons.plan(layout, self.programs, nodes=options.nodes, accounting=options.accounting),
        )

    def prepare(self) -> None:
        """Write all that the daemons read; the record comes first, and makes the directory ours."""
        record.write(self.record)
        layout = self.layout
        for folder in (layout.run, layout.logs, layout.spool):
            folder.mkdir(mode=0o755)
        layout.state.mkdir(mode=0o700)
        daemons.make_munge_key(layout)
        configuration.write_files(self.options, layout)

    def start_all(self) -> None:
        """Start the daemons, each once what it needs answers."""
        installing = None
        if self.options.accounting:
            self.layout.database.mkdir(mode=0o700)
            installing = daemons.install_database(self.layout, self.programs)
            self.children["mariadb-install-db"] = installing
        self.start(MUNGED)
        self.wait(MUNGED, lambda: _answers(self.layout.munge_socket))
        if installing is not None:
            self.start_accounting(installing)
        self.start(SLURMCTLD, *node_names(self.options.nodes))
        self.wait_for_nodes()

    def start(self, *names: str) -> None:
        """Start daemons and write them down; what dies before that is found by the files it holds open."""
        for name in names:
            started, self.children[name] = daemons.start(self.record.daemon(name), self.layout)
            self.record = self.record.with_daemon(started)
        record.write(self.record)

    def start_accounting(self, installing: subprocess.Popen[bytes]) -> None:
        """Start MariaDB on its new tables, then slurmdbd, and tell it the cluster's name."""
        layout = self.layout
        with suppress(subprocess.TimeoutExpired):
            installing.wait(_FIRST_STEPS)
        if installing.returncode != 0:
            raise daemons.failure("mariadb-install-db", layout.directory, f"ended with status {installing.returncode}")
        del self.children["mariadb-install-db"]
        self.start(MARIADBD)
        self.wait(MARIADBD, lambda: _answers(layout.database_socket))
        self.start(SLURMDBD)
        self.wait(SLURMDBD, lambda: _listens(layout.ports[SLURMDBD]))
        try:
            client.accounting(layout.slurm_conf).add_cluster(configuration.CLUSTER)
        except SlurmError as error:
            raise daemons.failure(SLURMDBD, layout.directory, f"did not take the cluster's name: {error}") from None

    def wait(self, name: str, ready: Callable[[], bool]) -> None:
        """Wait until a daemon is ready, and fail at once where any has ended."""
        until = time.monotonic() + _FIRST_STEPS
        while True:
            # In this order: whoever took a port before our daemon did may answer in its place.
            self.check_all_run()
            if ready():
                return
            if time.monotonic() > until:
                raise daemons.failure(name, self.layout.directory, f"did not answer within {_FIRST_STEPS:g} s")
            time.sleep(_LOOK_EVERY)

    def check_all_run(self) -> None:
        """Raise for a daemon that has ended."""
        for name, child in self.children.items():
            if child.poll() is not None:
                raise daemons.failure(name, self.layout.directory, f"ended with status {child.returncode}")

    def wait_for_nodes(self) -> None:
        """Wait until slurmctld calls all nodes idle."""
        layout = self.layout
        # One connection that says nothing, then only questions: each of the former leaves an error in the log.
        self.wait(SLURMCTLD, lambda: _listens(layout.ports[SLURMCTLD]))
        seconds = self.options.timeout or _WAIT + _WAIT_PER_NODE * self.options.nodes
        until = time.monotonic() + seconds
        slurm = client.slurm(layout.slurm_conf)
        while True:
            self.check_all_run()
            states = client.node_states(slurm)
            late = [name for name in node_names(self.options.nodes) if states.get(name) != frozenset({"idle"})]
            if not late:
                return
            refused = next((name for name in late if "invalid_reg" in states.get(name, ())), None)
            if refused is not None:
                raise daemons.failure(SLURMCTLD, layout.directory, f"takes {refused} as invalid")
            if time.monotonic() > until:
                who = late[0] if states else SLURMCTLD
                what = f"is {client.in_words(states.get(who))} and not idle" if states else "did not answer"
                raise daemons.failure(who, layout.directory, f"{what} after {seconds:g} s")
            time.sleep(_LOOK_EVERY)

    def reap(self) -> None:
        """Ask for the exit status of the children, so that no zombie stays with a long-lived caller."""
        for child in self.children.values():
            child.kill()  # only what makes MariaDB's tables, a script, is still there
            with suppress(subprocess.TimeoutExpired):
                child.wait(1)


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(os.fspath(path))
        except OSError:
            return False
    return True


def _listens(port: int) -> bool:
    try:
        socket.create_connection((LOOPBACK, port), timeout=1).close()
    except OSError:
        return False
    return True
