"""A cluster that runs, for programs: its environment, its commands, its processes, and its end."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType

from scheduler.cluster import client, daemons, home, processes, record, stopping
from scheduler.cluster.errors import ClusterError
from scheduler.cluster.layout import Layout, this_host, this_user
from scheduler.cluster.processes import Identity


@dataclass(frozen=True)
class Cluster:
    """A cluster of ours; as a context manager it stops at the end.

    Attributes
    ----------
    directory : Path
        Its directory, absolute and without links.
    children : tuple of subprocess.Popen
        The daemons that this very program started, to be asked for their exit status in the end.

    Examples
    --------
    >>> from scheduler.cluster import Options, up
    >>> with up(Options(nodes=2)) as cluster:  # doctest: +SKIP
    ...     print(cluster.run("srun", "-N2", "hostname").stdout)
    """

    directory: Path
    children: tuple[subprocess.Popen[bytes], ...] = field(default=(), repr=False, compare=False)

    @property
    def slurm_conf(self) -> Path:
        """Return the configuration that Slurm's commands need."""
        return self.directory / "slurm.conf"

    @property
    def environment(self) -> dict[str, str]:
        """Return the variables that make Slurm's commands talk to this cluster, to be added to others."""
        return client.environment(self.slurm_conf)

    @property
    def record(self) -> record.Record:
        """Return what `up` wrote down.

        Raises
        ------
        ClusterError
            Where it is gone.
        """
        found = record.read(self.directory)
        if found is None:
            raise ClusterError(f"{self.directory}: there is no cluster any more; start one with `tierwise cluster up`")
        return found

    def run(self, *command: str, timeout: float = 60.0, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
        """Run a command against the cluster.

        Parameters
        ----------
        *command : str
            The program, looked up in PATH, and its arguments.
        timeout : float
            How long it may take [s].
        stdin : str, optional
            Text for its standard input.

        Returns
        -------
        subprocess.CompletedProcess
            Whatever its exit status is.

        Raises
        ------
        subprocess.TimeoutExpired
            Where it takes longer.
        """
        return client.run(command, self.slurm_conf, timeout=timeout, stdin=stdin)

    def process(self, name: str) -> Identity | None:
        """Return the process of a daemon (`slurmctld`, `n1`, ...), None where it does not run.

        Raises
        ------
        InputError
            Where there is no daemon of that name.
        """
        found = self.record.daemon(name).process
        return found if found is not None and processes.alive(found) else None

    def kill(self, names: Sequence[str]) -> None:
        """Kill daemons with SIGKILL and wait until they are gone, as a crash would take them.

        Parameters
        ----------
        names : sequence of str
            Such as `["slurmctld"]`; those that do not run are passed over.
        """
        found = [process for name in names if (process := self.process(name)) is not None]
        processes.kill(found)
        processes.end(found, grace=5.0)
        for child in self.children:
            child.poll()

    def start(self, name: str) -> Cluster:
        """Start a daemon that has died, with the same files and port, and do not wait until it answers.

        Parameters
        ----------
        name : str
            Such as `slurmctld` or `n1`.

        Returns
        -------
        Cluster
            This cluster, which now also knows its new child.

        Raises
        ------
        ClusterError
            Where it runs already, or does not start.
        """
        with home.held(self.directory):
            known = self.record
            if self.process(name) is not None:
                raise ClusterError(f"{name} of the cluster in {self.directory} runs already; kill it first")
            version = tuple(int(part) for part in known.slurm.split("."))
            layout = Layout(self.directory, this_host(), this_user(), (version[0], version[1], version[2]), {})
            started, child = daemons.start(known.daemon(name), layout)
            record.write(known.with_daemon(started))
        return replace(self, children=(*self.children, child))

    def down(self, *, remove: bool = False) -> None:
        """Stop the cluster; see `stopping.down`. It may be called again.

        Parameters
        ----------
        remove : bool
            Whether to remove its files too.
        """
        try:
            stopping.down(self.directory, remove=remove)
        finally:
            for child in self.children:
                with suppress(subprocess.TimeoutExpired):
                    child.wait(1)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self.down()
