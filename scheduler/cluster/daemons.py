"""Starting the daemons of a cluster: how each is called, and what it says when it does not stay up."""

from __future__ import annotations

import os
import secrets
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from scheduler.cluster import processes
from scheduler.cluster.errors import ClusterError
from scheduler.cluster.executables import PLUGINS, SYSTEM_PATH, how_to_install
from scheduler.cluster.layout import MARIADBD, MUNGED, SLURMCTLD, SLURMDBD, Layout, node_names
from scheduler.cluster.record import Daemon

_KEY_BYTES = 128  # what mungekey(8) takes: 1024 bits
_KEPT = ("HOME", "LANG", "LC_ALL", "TZ", "TMPDIR", "LD_LIBRARY_PATH")
# What daemons get of the environment of whoever starts them; a SLURM_ variable of a job would mislead them.

_LOG_LINES, _LOG_BYTES = 12, 1 << 14  # how much of a log's end is looked at
_BIND_FAILED = ("Address already in use", "Unable to bind")


class PortTakenError(ClusterError):
    """A daemon could not bind its port: somebody took it after it was chosen; another may do."""


def plan(layout: Layout, programs: Mapping[str, str], *, nodes: int, accounting: bool) -> tuple[Daemon, ...]:
    """Return the daemons of a cluster, in the order in which they are started.

    Parameters
    ----------
    layout : Layout
        Where the cluster lies.
    programs : Mapping of str to str
        Paths, from `executables.find`.
    nodes : int
        How many nodes.
    accounting : bool
        Whether MariaDB and slurmdbd belong to it.

    Returns
    -------
    tuple of Daemon
        None of them started.
    """
    configuration = ("-f", str(layout.slurm_conf))
    planned = [Daemon(MUNGED, (programs["munged"], *_munge_arguments(layout)))]
    if accounting:
        planned.append(Daemon(MARIADBD, (programs["mariadbd"], *_database_arguments(layout))))
        planned.append(Daemon(SLURMDBD, (programs["slurmdbd"], "-D"), port=layout.ports[SLURMDBD]))
    planned.append(Daemon(SLURMCTLD, (programs["slurmctld"], "-D", *configuration), port=layout.ports[SLURMCTLD]))
    for name in node_names(nodes):
        planned.append(Daemon(name, (programs["slurmd"], "-D", "-N", name, *configuration), port=layout.ports[name]))
    return tuple(planned)


def _munge_arguments(layout: Layout) -> tuple[str, ...]:
    return (
        "--foreground",
        "--force",  # it would refuse a directory that a group may write to somewhere above ours
        f"--key-file={layout.munge_key}",
        f"--socket={layout.munge_socket}",
        f"--pid-file={layout.run / 'munged.pid'}",
        f"--log-file={layout.logs / 'munged.log'}",
        f"--seed-file={layout.run / 'munge.seed'}",
    )


def _database_arguments(layout: Layout) -> tuple[str, ...]:
    return (
        "--no-defaults",  # it must come first, and keeps the files under /etc out
        f"--datadir={layout.database}",
        _temporary(layout),
        f"--socket={layout.database_socket}",
        f"--pid-file={layout.database / 'mariadb.pid'}",
        f"--init-file={layout.database_script}",
        f"--user={layout.user}",
        "--skip-networking",
        "--skip-log-bin",
        "--innodb-buffer-pool-size=64M",
        "--innodb-lock-wait-timeout=900",  # what slurmdbd asks for (Slurm's accounting guide)
        "--loose-innodb-snapshot-isolation=OFF",  # on from MariaDB 11.6 on, and slurmdbd dies of a conflict then
        "--loose-debug-no-sync",  # the data lives as long as the cluster, and starting takes half as long
    )


def _temporary(layout: Layout) -> str:
    # MariaDB clears its folder for temporary tables when it starts: in one shared with others, it takes theirs away.
    return f"--tmpdir={layout.run}"


def install_database(layout: Layout, programs: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Begin to make MariaDB's own tables, with its root account for this user alone, by way of the socket.

    Parameters
    ----------
    layout : Layout
        Where the cluster lies.
    programs : Mapping of str to str
        Paths, from `executables.find`.

    Returns
    -------
    subprocess.Popen
        To be waited for; its output goes to `log/mariadb-install-db.out`.
    """
    command = (
        programs["mariadb-install-db"],
        "--no-defaults",
        f"--datadir={layout.database}",
        _temporary(layout),
        f"--user={layout.user}",
        "--auth-root-authentication-method=socket",
        f"--auth-root-socket-user={layout.user}",
        "--skip-test-db",
        "--skip-name-resolve",
        "--loose-debug-no-sync",
    )
    return _spawn(command, layout, "mariadb-install-db")


def make_munge_key(layout: Layout) -> None:
    """Make a key that munged takes, readable by this user alone."""
    handle = os.open(layout.munge_key, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o400)
    with os.fdopen(handle, "wb") as stream:
        stream.write(secrets.token_bytes(_KEY_BYTES))


def start(daemon: Daemon, layout: Layout) -> tuple[Daemon, subprocess.Popen[bytes]]:
    """Start a daemon in a session of its own.

    Parameters
    ----------
    daemon : Daemon
        What to start.
    layout : Layout
        Where the cluster lies.

    Returns
    -------
    Daemon
        With its process.
    subprocess.Popen
        The same process, as this one's child.

    Raises
    ------
    ClusterError
        Where it cannot be run, or has ended at once.
    """
    child = _spawn(daemon.command, layout, daemon.name)
    process = processes.identity(child.pid)
    if process is None:
        child.wait()
        raise failure(daemon.name, layout.directory, f"ended at once with status {child.returncode}")
    return replace(daemon, process=process), child


def _spawn(command: tuple[str, ...], layout: Layout, name: str) -> subprocess.Popen[bytes]:
    # Its output goes below the directory from the first moment on: that is how `down` knows it without a record.
    with (layout.logs / f"{name}.out").open("ab") as output:
        try:
            return subprocess.Popen(  # noqa: S603 - an argument list of ours
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=layout.directory,
                env=environment(layout),
                start_new_session=True,
            )
        except OSError as error:
            raise ClusterError(f"{command[0]}: cannot be run: {error.strerror or error}; reinstall it") from None


def environment(layout: Layout) -> dict[str, str]:
    """Return the environment of the daemons: little of the caller's, and where this cluster's files and sockets are."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *SYSTEM_PATH))
    # slurmdbd has no option for either: it takes its file from beside slurm.conf, and libmariadb its socket from here.
    return {
        **kept,
        "PATH": path,
        "SLURM_CONF": str(layout.slurm_conf),
        "MYSQL_UNIX_PORT": str(layout.database_socket),
    }


def failure(name: str, directory: Path, what: str) -> ClusterError:
    """Return the error for a daemon that did not come up, with the last lines of its log.

    Parameters
    ----------
    name : str
        The daemon's name.
    directory : Path
        The cluster's directory.
    what : str
        What it did, as the end of a sentence.

    Returns
    -------
    ClusterError
        `PortTakenError` where it could not bind.
    """
    candidates = [directory / "log" / f"{name}.{kind}" for kind in ("log", "out")]
    path, lines = next(((path, found) for path in candidates if (found := _last_lines(path))), (candidates[-1], ()))
    text = "\n".join(line for candidate in candidates for line in _last_lines(candidate))
    kind = PortTakenError if any(phrase in text for phrase in _BIND_FAILED) else ClusterError
    hints = [
        f"Slurm's plugin {plugin} is missing: {how_to_install([package])}"
        for plugin, package in PLUGINS.items()
        if f"cannot find {plugin.partition('/')[0]} plugin for {plugin}" in text
    ]
    return kind(f"{name} {what}; {hints[0] if hints else f'look into {path}'}", lines)


def _last_lines(path: Path) -> tuple[str, ...]:
    try:
        with path.open("rb") as stream:
            stream.seek(max(0, path.stat().st_size - _LOG_BYTES))
            return tuple(stream.read().decode("utf-8", errors="replace").splitlines()[-_LOG_LINES:])
    except OSError:
        return ()
