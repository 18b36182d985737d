"""Who may ask for what, as job_submit.lua reads it: the file `tierwise_limits.lua` beside it.

The file returns a table that holds `version = 1`, `trusted_uids`, and per option a list of rules. For each option that
a job gives, and each partition that it may run in, each field is settled by the first rule that matches and has it.
Where none says whether an option is permitted, those that are `restricted` (on-demand) are refused and the others
permitted. slurmctld reads the file when it loads job_submit.lua, as `put_limits` makes it do. A file that is broken
counts as absent.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slurm_plugins.files import replace_file
from slurm_plugins.lua_table import LIMITS_FILE_NAME, lua_string
from traces.errors import InputError


@dataclass(frozen=True)
class Rule:
    """One rule. Of the fields that name a job's submitter and place, those that are None match everybody.

    Attributes
    ----------
    allow : bool or None
        Whether the option is permitted to those that the rule matches; None leaves it to later rules.
    user, account, qos, partition : str or None
        Names that must be equal.
    uid : int or None
        The user's id.
    minimum, maximum : float or None
        Bounds of a permitted value: seconds or bytes; None leaves them to later rules.
    words : frozenset of str or None
        The permitted words of an option that has words.
    """

    allow: bool | None
    user: str | None = None
    account: str | None = None
    qos: str | None = None
    partition: str | None = None
    uid: int | None = None
    minimum: float | None = None
    maximum: float | None = None
    words: frozenset[str] | None = None


@dataclass(frozen=True)
class Limits:
    """What the limits file says.

    Attributes
    ----------
    rules : Mapping of str to sequence of Rule
        By the option's key, such as `on_demand`.
    trusted_uids : frozenset of int
        Who may set a job's admin_comment by hand: root, and the user that the controller runs as.
    """

    rules: Mapping[str, Sequence[Rule]] = field(default_factory=dict)
    trusted_uids: frozenset[int] = frozenset({0})


def limits_file(limits: Limits) -> str:
    """Write `tierwise_limits.lua`.

    Parameters
    ----------
    limits : Limits
        Such as a policy file says.

    Returns
    -------
    str
        Lua; names are quoted, so that none can end its string.
    """
    uids = ", ".join(f"[{uid:d}] = true" for uid in sorted(limits.trusted_uids))
    options = "".join(
        f"    [{lua_string(key)}] = {{\n{''.join(map(_rule, rules))}    }},\n" for key, rules in limits.rules.items()
    )
    return f"return {{\n  version = 1,\n  trusted_uids = {{{uids}}},\n  options = {{\n{options}  }},\n}}\n"


def put_limits(job_submit: Path, limits: Limits) -> Path:
    """Write the limits beside a job_submit.lua, and have slurmctld load it anew.

    Parameters
    ----------
    job_submit : Path
        The script that slurmctld loads; slurmctld looks at its time in whole seconds, so that is moved forward.
    limits : Limits
        What to write; the file is replaced as a whole.

    Returns
    -------
    Path
        The limits' file.

    Raises
    ------
    InputError
        Where there is no such script, or one of the two cannot be written.
    """
    if not job_submit.is_file():
        raise InputError(f"--job-submit {job_submit}: there is no such file: tierwise plugin install --job-submit FILE")
    path = job_submit.parent / LIMITS_FILE_NAME
    replace_file(path, limits_file(limits).encode(), 0o644)
    known = job_submit.stat()
    try:
        os.utime(job_submit, (known.st_atime, int(known.st_mtime) + 1))
    except OSError as error:
        raise InputError(f"{job_submit}: its time cannot be changed: {error.strerror}; touch it by hand") from error
    return path


def _rule(rule: Rule) -> str:
    parts = [] if rule.allow is None else [f"allow = {str(rule.allow).lower()}"]
    for name in ("user", "account", "qos", "partition"):
        if (text := getattr(rule, name)) is not None:
            parts.append(f"{name} = {lua_string(text)}")
    for name in ("uid", "minimum", "maximum"):
        if (number := getattr(rule, name)) is not None:
            parts.append(f"{name} = {number:.17g}")
    if rule.words is not None:
        parts.append(f"words = {{{', '.join(f'[{lua_string(word)}] = true' for word in sorted(rule.words))}}}")
    return f"      {{ {', '.join(parts)} }},\n"
