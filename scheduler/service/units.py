"""Fill a unit's template for a site."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from traces.errors import InputError

UNITS: Mapping[str, str] = {"controller": "tierwise-controller.service"}
"""The units by what they run."""

NOTIFY_RELOAD_SINCE = 253
"""The first systemd that has Type=notify-reload (systemd.service(5))."""

DEFAULT_METRICS = 9813
"""The port that the unit lets Prometheus scrape at."""

_PLAIN = re.compile(r"[A-Za-z0-9_/.,:@+=-]+", re.ASCII)
_USER = re.compile(r"[a-z_][a-z0-9_-]{0,30}\$?", re.ASCII)
_HOMES = ("/home/", "/root/", "/run/user/")
_STANDARD_FOLDERS = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_VERSION = re.compile(r"systemd (\d+)")
_SECONDS = 5


@dataclass(frozen=True)
class Site:
    """What differs from site to site.

    Attributes
    ----------
    user : str
        Whom the daemon runs as.
    command : Path
        The installed `tierwise`.
    policy : Path
        The policy file.
    metrics : int or None
        The port that Prometheus may scrape; None for none.
    slurm : Path or None
        The folder of Slurm's commands.
    systemd : int
        The release of systemd.
    """

    user: str
    command: Path
    policy: Path
    metrics: int | None = DEFAULT_METRICS
    slurm: Path | None = None
    systemd: int = 0


def render(unit: str, site: Site) -> str:
    """Write a unit.

    Parameters
    ----------
    unit : str
        One of `UNITS`.
    site : Site
        What fills it.

    Returns
    -------
    str
        The unit's file.

    Raises
    ------
    InputError
        Where there is no such unit, or a value cannot stand in it.
    """
    if unit not in UNITS:
        raise InputError(f"there is no unit {unit!r}: accepted are {', '.join(UNITS)}")
    if not _USER.fullmatch(site.user):
        raise InputError(f"--user {site.user!r} is no user's name: lower-case letters, digits, '_' and '-'")
    # Newer ones are told of the reload by the protocol; older ones run a command for it.
    new = site.systemd >= NOTIFY_RELOAD_SINCE
    values = {
        "TYPE": "Type=notify-reload" if new else "Type=notify\nExecReload=/bin/kill -HUP $MAINPID",
        "COMMAND": _word(site.command),
        "POLICY": _word(site.policy),
        "METRICS": "" if site.metrics is None else f" --metrics {site.metrics}",
        "USER": site.user,
        "HOME": "read-only" if str(site.command).startswith(_HOMES) else "yes",
        "PATH": _path(site.slurm),
    }
    template = (Path(__file__).parent / UNITS[unit]).read_text("utf-8")
    text = re.sub(r"@([A-Z]+)@", lambda found: values[found[1]], template)
    # An empty place leaves no empty line.
    return text.replace("\n\n# SLURM_CONF", "\n# SLURM_CONF")


def _word(path: Path) -> str:
    """Write a path as a word of ExecStart (systemd.service(5), "COMMAND LINES")."""
    text = str(path)
    if not path.is_absolute() or not text.isprintable():
        raise InputError(f"{text!r}: a unit takes absolute paths without control characters")
    escaped = text.replace("%", "%%").replace("$", "$$")
    if _PLAIN.fullmatch(text):
        return escaped
    return '"' + escaped.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _path(slurm: Path | None) -> str:
    if slurm is None or str(slurm) in _STANDARD_FOLDERS:
        return ""
    if not _PLAIN.fullmatch(str(slurm)) or not slurm.is_absolute() or ":" in str(slurm):
        raise InputError(f"--slurm-bin {slurm}: a unit takes an absolute path of plain letters there")
    return f"Environment=PATH={slurm}:{':'.join(_STANDARD_FOLDERS)}"


def installed_command() -> Path:
    """Return the `tierwise` of this installation.

    Returns
    -------
    Path
        The one beside this Python, else the one in the PATH.

    Raises
    ------
    InputError
        Where there is none.
    """
    beside = Path(sys.executable).parent / "tierwise"
    found = str(beside) if beside.is_file() else shutil.which("tierwise")
    if found is None:
        raise InputError("no command tierwise beside this Python nor in the PATH; name it with --command")
    return Path(found).absolute()


def slurm_folder() -> Path | None:
    """Return the folder of Slurm's commands here, if they are in the PATH."""
    found = shutil.which("scontrol")
    return Path(found).parent if found else None


def systemd_version() -> int:
    """Return the release of systemd here, 0 where there is none."""
    command = shutil.which("systemctl")
    if command is None:
        return 0
    try:
        done = subprocess.run(  # noqa: S603 - a list of arguments, no shell
            [command, "--version"], capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return 0
    found = _VERSION.match(done.stdout)
    return int(found[1]) if found else 0
