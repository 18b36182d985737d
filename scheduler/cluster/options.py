"""What a person may ask of a cluster for one machine, and the checks that need nothing but the values."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from traces.errors import InputError

MOST_NODES = 1000
"""More slurmds than this do not fit on one host: their memory grows with the square of their number."""

MOST_CPUS_PER_NODE, LEAST_MEMORY_PER_NODE = 4096, 1 << 20
"""What slurm.conf can say of a node: 16 bits hold its processors, and its memory is counted in MiB."""

MOST_GPUS_PER_NODE = 64
"""More than any machine has."""

REQUEUE_DELAYS = (5, 3600)
"""Shortest and longest wait after a requeue [s]: Slurm takes a `cred_expire` below five seconds for a mistake, and then
its default of two minutes."""

_LONGEST_DIRECTORY = 64
# unix(7) allows a socket's path 107 bytes, and the longest below the directory is that of a step:
# /spool/n1000/n1000_67108863.4294967292 has 38 [bytes]; some are left for longer job ids.

_PLAIN_PATH = re.compile(r"/[\w./+@~-]*", re.ASCII)  # no comma, blank, # or %: slurm.conf(5) gives them meanings
_SIZE = re.compile(r"(?P<number>\d{1,15}(?:\.\d{1,6})?)\s*(?P<unit>[KMGT])(?:i?B)?", re.IGNORECASE | re.ASCII)
_BYTES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


@dataclass(frozen=True)
class Options:
    """What a cluster for one machine is to be like.

    Attributes
    ----------
    nodes : int
        Nodes, each a slurmd of its own, named n1, n2, ...
    directory : Path or None
        Where everything of the cluster lies; None for `default_directory()`.
    accounting : bool
        Whether to start MariaDB and slurmdbd too.
    cpus_per_node : int or None
        Processors that each node claims; None to share this machine's among the nodes.
    memory_per_node : int or None
        Memory that each node claims [bytes]; None to share this machine's among the nodes.
    gpus_per_node : int
        GPUs that each node claims, as `gres/gpu`: jobs are told their numbers, and no device is touched.
    spank_plugin : Path or None
        Shared object of Tierwise's SPANK plugin, for plugstack.conf.
    job_submit : Path or None
        A job_submit.lua, which is copied beside slurm.conf.
    requeue_delay : int or None
        How long a requeued job waits before it may start again [s]: the lifetime of a job credential, `cred_expire` of
        slurm.conf(5). None: as short as launching a job on all nodes allows.
    settings : Mapping of str to str
        Further parameters of slurm.conf; they replace those generated, whatever the case of their names.
    lines : tuple of str
        Further lines of slurm.conf, such as partitions.
    timeout : float or None
        How long to wait for all nodes to be idle [s]; None for a minute and a quarter of a second per node.
    """

    nodes: int = 4
    directory: Path | None = None
    accounting: bool = False
    cpus_per_node: int | None = None
    memory_per_node: int | None = None
    gpus_per_node: int = 0
    spank_plugin: Path | None = None
    job_submit: Path | None = None
    requeue_delay: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    lines: tuple[str, ...] = ()
    timeout: float | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.nodes <= MOST_NODES:
            raise InputError(f"--nodes {self.nodes}: expected 1 to {MOST_NODES}, as many as one machine can hold")
        if self.cpus_per_node is not None and not 1 <= self.cpus_per_node <= MOST_CPUS_PER_NODE:
            raise InputError(f"--cpus-per-node {self.cpus_per_node}: expected 1 to {MOST_CPUS_PER_NODE}")
        if self.memory_per_node is not None and self.memory_per_node < LEAST_MEMORY_PER_NODE:
            raise InputError(f"--memory-per-node: {self.memory_per_node} bytes is too little, expected 1M or more")
        if not 0 <= self.gpus_per_node <= MOST_GPUS_PER_NODE:
            raise InputError(f"gpus_per_node {self.gpus_per_node}: expected 0 to {MOST_GPUS_PER_NODE}")
        least, most = REQUEUE_DELAYS
        if self.requeue_delay is not None and not least <= self.requeue_delay <= most:
            raise InputError(f"requeue_delay {self.requeue_delay}: expected {least} to {most} seconds")
        for what, path in (("SPANK plugin", self.spank_plugin), ("job_submit.lua", self.job_submit)):
            if path is not None and not path.is_file():
                raise InputError(f"{what} {path}: there is no such file; build or name it before the cluster starts")
        if self.spank_plugin is not None:
            checked_path("SPANK plugin", self.spank_plugin.resolve())
        for text in (*self.settings, *self.settings.values(), *self.lines):
            if "\n" in text:
                raise InputError(f"slurm.conf {text!r}: a setting is one line; give further lines one by one")


def default_directory() -> Path:
    """Return where a cluster lies if nobody says: a directory for state that belongs to the user.

    Returns
    -------
    Path
        `$XDG_STATE_HOME/tierwise/cluster`, by default below `~/.local/state` (XDG Base Directory Specification).
    """
    state = os.environ.get("XDG_STATE_HOME", "")
    base = Path(state) if state.startswith("/") else Path.home() / ".local" / "state"
    return base / "tierwise" / "cluster"


def chosen_directory(directory: Path | None) -> Path:
    """Return the cluster's directory as an absolute path without links, checked for what Slurm can name.

    Parameters
    ----------
    directory : Path or None
        What --dir said.

    Returns
    -------
    Path
        It need not exist.

    Raises
    ------
    InputError
        Where it is too long for the sockets below it, or has letters that slurm.conf gives a meaning.
    """
    given = default_directory() if directory is None else directory
    try:
        chosen = given.expanduser().resolve()
        chosen.is_dir()
    except (OSError, RuntimeError, ValueError) as error:  # the latter two: a loop of links, a NUL
        raise InputError(f"--dir {str(given)!r}: cannot be looked up: {error}; give one of your own") from None
    if len(os.fsencode(chosen)) > _LONGEST_DIRECTORY:
        raise InputError(
            f"--dir {chosen}: is longer than {_LONGEST_DIRECTORY} bytes, and sockets below it would pass the limit of "
            "unix(7); use a shorter one, such as /tmp/cluster"
        )
    return checked_path("--dir", chosen)


def checked_path(what: str, path: Path) -> Path:
    """Return the path, if it can stand in a file of Slurm's.

    Raises
    ------
    InputError
        Where it has letters that slurm.conf(5) gives a meaning.
    """
    if not _PLAIN_PATH.fullmatch(str(path)):
        raise InputError(f"{what} {str(path)!r}: expected only letters, digits and /._+@~-, others mislead slurm.conf")
    return path


def parse_size(flag: str, text: str) -> int:
    """Return a size of memory in bytes.

    Parameters
    ----------
    flag : str
        For the error.
    text : str
        A number with a unit of powers of 1024, such as `512M`, `4G` or `1.5GiB`.

    Returns
    -------
    int
        Bytes.

    Raises
    ------
    InputError
        Where it is not of this form; a bare number is refused, since Slurm's own commands read it as MiB.

    Examples
    --------
    >>> parse_size("--memory-per-node", "1.5G")
    1610612736
    """
    found = _SIZE.fullmatch(text.strip())
    if not found:
        raise InputError(f"{flag} {text!r}: expected a number with a unit K, M, G or T, such as 512M or 4G")
    return int(float(found["number"]) * _BYTES[found["unit"].upper()])
