"""Put a unit where systemd looks for it, and say what an administrator has to do beside that."""

from __future__ import annotations

import pwd
from dataclasses import dataclass
from pathlib import Path

from slurm_plugins.files import replace_file
from traces.errors import InputError


@dataclass(frozen=True)
class Installed:
    """What was done.

    Attributes
    ----------
    path : Path
        The unit's file.
    changed : bool
        Whether it held something else, or nothing.
    to_do : list of str
        What is left to do, in order; commands to be copied.
    """

    path: Path
    changed: bool
    to_do: list[str]


def install(path: Path, text: str, user: str, policy: Path, *, dry_run: bool) -> Installed:
    """Write a unit.

    Parameters
    ----------
    path : Path
        Its file; replaced as a whole.
    text : str
        What it shall hold.
    user : str
        Whom it runs as.
    policy : Path
        The policy file that it names.
    dry_run : bool
        Write nothing.

    Returns
    -------
    Installed
        What was done, and what is left to do.

    Raises
    ------
    InputError
        Where it cannot be written.
    """
    try:
        before = path.read_text("utf-8", "replace")
    except FileNotFoundError:
        before = None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    changed = before != text
    if changed and not dry_run:
        replace_file(path, text.encode(), 0o644)
    return Installed(path, changed, _to_do(path, user, policy, changed=changed))


def _to_do(path: Path, user: str, policy: Path, *, changed: bool) -> list[str]:
    found = []
    if not _exists(user):
        found.append(f"useradd --system --no-create-home --shell /usr/sbin/nologin {user}")
        found.append(f"sacctmgr add user {user} account=root adminlevel=operator")
    if not policy.is_file():
        found.append(f"write {policy}; without it the unit does not start (tierwise policy schema, docs/controller.md)")
    if changed:
        found.append("systemctl daemon-reload")
        found.append(f"systemctl enable --now {path.stem}")
    return found


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True
