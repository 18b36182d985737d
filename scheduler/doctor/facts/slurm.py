"""Slurm, through its seam: whether it answers, how it is set up, and what the controller's user may do."""

from __future__ import annotations

import getpass
import glob
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler.doctor.facts.place import Place
from scheduler.slurm.commands import CommandSlurm
from scheduler.slurm.rights import admin_level
from scheduler.slurm.seam import Slurm, SlurmError

COMMANDS = ("sbatch", "scontrol", "squeue", "scancel", "sinfo")
"""What Tierwise runs of Slurm's."""

_OURS = "tierwise-"
_UNIT_USER = re.compile(r"^User=(\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class SlurmFacts:
    """What Slurm tells.

    Attributes
    ----------
    absent : tuple of str
        Commands that are not in the PATH.
    configuration : Mapping of str to str
        Slurm's; empty where it does not answer. Patterns of prologs and epilogs are replaced by the files that match
        them on this node.
    problem : str
        Why it does not answer.
    version : tuple of int or None
        Its release.
    listing_problem : str
        Why its nodes and jobs cannot be read.
    nodes, jobs : int
        How many there are.
    leftovers : tuple of str
        Reservations that are named as the controller names them, and whose job neither waits nor runs.
    user : str
        Whom the controller runs as: by its unit, else whoever asks.
    right : str
        `root`, `SlurmUser`, `administrator`, `operator` or `none`.
    accounting_problem : str
        Why the accounting does not answer; empty also where there is none.
    """

    absent: tuple[str, ...] = ()
    configuration: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    version: tuple[int, int, int] | None = None
    listing_problem: str = ""
    nodes: int = 0
    jobs: int = 0
    leftovers: tuple[str, ...] = ()
    user: str = ""
    right: str = "none"
    accounting_problem: str = ""

    @property
    def has_accounting(self) -> bool:
        """Whether Slurm is set up with accounting."""
        return self.configuration.get("accountingstoragetype", "").endswith("/slurmdbd")


def gather(place: Place) -> SlurmFacts:
    """Ask Slurm."""
    absent = tuple(name for name in COMMANDS if shutil.which(name) is None)
    user = _user(place)
    if "scontrol" in absent:
        return SlurmFacts(absent=absent, problem="its commands are not here", user=user)
    slurm = CommandSlurm(timeout=place.seconds)
    try:
        configuration, version = slurm.configuration(), slurm.version()
    except SlurmError as error:
        return SlurmFacts(absent=absent, problem=str(error), user=user)
    listing_problem, nodes, jobs, leftovers = _listed(slurm)
    right, accounting_problem = _right(user, configuration, place.seconds)
    return SlurmFacts(
        absent=absent,
        configuration={key: with_files(key, value) for key, value in configuration.items()},
        version=version,
        listing_problem=listing_problem,
        nodes=nodes,
        jobs=jobs,
        leftovers=leftovers,
        user=user,
        right=right,
        accounting_problem=accounting_problem,
    )


def with_files(key: str, value: str) -> str:
    """Return a parameter's value; of Prolog and Epilog, the files that slurmd finds by it (glob(7)), where it does."""
    # Later releases number them: prolog[0].
    if key.partition("[")[0] not in {"prolog", "epilog"}:
        return value
    return ",".join(sorted(glob.glob(value))) or value  # noqa: PTH207 - an absolute pattern


def _listed(slurm: Slurm) -> tuple[str, int, int, tuple[str, ...]]:
    try:
        nodes, jobs = slurm.nodes(), slurm.jobs()
        alive = {f"{_OURS}{job.id}" for job in jobs if job.state in ("pending", "running")}
        names = {known.name for known in slurm.reservations() if known.name.startswith(_OURS)}
    except SlurmError as error:
        return str(error), 0, 0, ()
    return "", len(nodes), len(jobs), tuple(sorted(names - alive))


def _right(user: str, configuration: Mapping[str, str], seconds: float) -> tuple[str, str]:
    slurm_user = configuration.get("slurmuser", "").partition("(")[0]
    known = "root" if user == "root" else "SlurmUser" if user == slurm_user else ""
    if not configuration.get("accountingstoragetype", "").endswith("/slurmdbd"):
        return known or "none", ""
    try:
        level = admin_level(user, timeout=seconds)
    except SlurmError as error:
        return known or "none", str(error)
    return known or level, ""


def _user(place: Place) -> str:
    try:
        named = _UNIT_USER.search(place.unit.read_text("utf-8", "replace"))
    except OSError:
        named = None
    if named:
        return named[1]
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user id without a name
        return ""
