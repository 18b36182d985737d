"""Who may reserve, requeue and signal for others: root, SlurmUser, and users with an AdminLevel in the accounting."""

from __future__ import annotations

import re
from collections.abc import Mapping

from scheduler.slurm.running import Runner, one_line
from scheduler.slurm.seam import SlurmError

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*\$?", re.ASCII)
_LEVELS = {"": "none", "None": "none", "Not Set": "none", "Operator": "operator", "Administrator": "administrator"}


def admin_level(user: str, environment: Mapping[str, str] | None = None, timeout: float = 10.0) -> str:
    """Ask the accounting for a user's AdminLevel.

    `sacctmgr` has no JSON before 23.11; `--parsable2 --noheader` with one field prints that field alone, for programs.

    Parameters
    ----------
    user : str
        The user's name.
    environment : Mapping of str to str, optional
        Variables on top of this process's, such as `SLURM_CONF`.
    timeout : float
        Seconds that it may take.

    Returns
    -------
    str
        `none` (for users that the accounting does not know, too), `operator` or `administrator`.

    Raises
    ------
    SlurmError
        Where the accounting does not answer.
    """
    request = f"read the rights of {one_line(user)[:40]!r}"
    if not _NAME.fullmatch(user):
        raise SlurmError(f"{request}: that is no user's name")
    arguments = ["sacctmgr", "--parsable2", "--noheader", "show", "user", f"name={user}", "format=AdminLevel"]
    output = Runner(dict(environment or {}), timeout).run(request, arguments)
    found = output.decode(errors="replace").strip()
    if found not in _LEVELS:
        raise SlurmError(f"{request}: {one_line(found)[:40]!r} is no AdminLevel")
    return _LEVELS[found]
