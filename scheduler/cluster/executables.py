"""Which programs a cluster needs, where they are, and which package to install where one is missing."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from scheduler.cluster.errors import ClusterError
from traces.errors import InputError

SYSTEM_PATH = ("/usr/local/sbin", "/usr/sbin", "/sbin")
"""Where daemons lie that an ordinary user's PATH need not name."""


@dataclass(frozen=True)
class Package:
    """The package that holds a program, by family of distributions.

    Attributes
    ----------
    debian, red_hat, suse : str
        Its names: of Debian and Ubuntu; of Fedora and, from EPEL, Red Hat's family; of SUSE and openSUSE.
    """

    debian: str
    red_hat: str
    suse: str


_CONTROLLER = Package("slurmctld", "slurm-slurmctld", "slurm")
_NODE = Package("slurmd", "slurm-slurmd", "slurm-node")
_CLIENT = Package("slurm-client", "slurm", "slurm")
_MUNGE = Package("munge", "munge", "munge")
_ACCOUNTING = Package("slurmdbd", "slurm-slurmdbd", "slurm-slurmdbd")
_DATABASE = Package("mariadb-server", "mariadb-server", "mariadb")

PLUGINS: Mapping[str, Package] = {
    "job_submit/lua": Package("slurm-wlm-basic-plugins", "slurm", "slurm-lua"),
    "accounting_storage/mysql": Package("slurm-wlm-mysql-plugin", "slurm-slurmdbd", "slurm-sql"),
    "select/cons_tres": Package("slurm-wlm-basic-plugins", "slurm", "slurm-plugins"),
    "auth/munge": Package("slurm-wlm-basic-plugins", "slurm", "slurm-munge"),
}
"""Plugins of Slurm's that a distribution may have put into a package of their own."""

_ALWAYS: Mapping[str, Package] = {
    "munged": _MUNGE,
    "slurmctld": _CONTROLLER,
    "slurmd": _NODE,
    "sinfo": _CLIENT,
    "scontrol": _CLIENT,
}
_WITH_ACCOUNTING: Mapping[str, Package] = {
    "slurmdbd": _ACCOUNTING,
    "sacctmgr": _CLIENT,
    "mariadbd": _DATABASE,
    "mariadb-install-db": _DATABASE,
}
_OLD_NAMES = {"mariadbd": "mysqld", "mariadb-install-db": "mysql_install_db"}  # MariaDB before 10.5


def find(*, accounting: bool) -> dict[str, str]:
    """Find the programs that a cluster needs.

    Parameters
    ----------
    accounting : bool
        Whether those of the accounting are needed too.

    Returns
    -------
    dict of str to str
        The absolute path by the program's name.

    Raises
    ------
    InputError
        Where some are missing: one line that names their packages.
    """
    wanted = {**_ALWAYS, **(_WITH_ACCOUNTING if accounting else {})}
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), *SYSTEM_PATH))
    found = {name: shutil.which(name, path=path) or _old(name, path) for name in wanted}
    missing = [name for name, where in found.items() if where is None]
    if missing:
        raise InputError(
            f"{', '.join(missing)}: not found in PATH or {', '.join(SYSTEM_PATH)}; "
            f"{how_to_install(wanted[name] for name in missing)}"
        )
    return {name: where for name, where in found.items() if where is not None}


def _old(name: str, path: str) -> str | None:
    return shutil.which(_OLD_NAMES[name], path=path) if name in _OLD_NAMES else None


def how_to_install(packages: Iterable[Package]) -> str:
    """Return the commands that install some packages, for each family of distributions, in one line.

    Parameters
    ----------
    packages : iterable of Package
        What is missing.

    Returns
    -------
    str
        The end of a sentence.
    """
    listed = list(packages)

    def names(family: str) -> str:
        return " ".join(dict.fromkeys(getattr(package, family) for package in listed))

    return (
        f"on Debian or Ubuntu: apt-get install {names('debian')}; on Fedora or Red Hat with EPEL: dnf install "
        f"{names('red_hat')}; on SUSE: zypper install {names('suse')}"
    )


def slurm_version(slurmctld: str) -> tuple[int, int, int]:
    """Ask slurmctld for its release.

    Parameters
    ----------
    slurmctld : str
        Its path.

    Returns
    -------
    tuple of int
        Such as (22, 5, 8): what `slurmctld -V` prints, without the leading zeros.

    Raises
    ------
    ClusterError
        Where it cannot be run or names no release.
    """
    try:
        answer = subprocess.run(  # noqa: S603 - a fixed argument list
            [slurmctld, "-V"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ClusterError(f"{slurmctld} -V: cannot be run: {error}; reinstall Slurm's controller") from None
    found = re.search(r"(\d+)\.(\d+)\.(\d+)", answer.stdout)
    if not found:
        said = (answer.stdout + answer.stderr).strip()
        raise ClusterError(f"{slurmctld} -V: expected a release such as 24.11.5, it says {said[:200]!r}")
    major, minor, patch = (int(part) for part in found.groups())
    return major, minor, patch
