"""Who may ask for what, as job_submit.lua reads it: the file `tierwise_limits.lua` beside it.

The file returns a table that holds `version = 1`, `trusted_uids`, and per option a list of rules. For each option that
a job gives, and each partition that it may run in, the first rule that matches decides; without a match the options
that are `restricted` (on-demand) are refused and the others permitted. slurmctld reads the file when it loads
job_submit.lua, so touch that file after a change. A file that cannot be read counts as absent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from slurm_plugins.lua_table import lua_string


@dataclass(frozen=True)
class Rule:
    """One rule. Of the fields that name a job's submitter and place, those that are None match everybody.

    Attributes
    ----------
    allow : bool
        Whether the option is permitted to those that the rule matches.
    user, account, qos, partition : str or None
        Names that must be equal.
    uid : int or None
        The user's id.
    minimum, maximum : float or None
        Bounds of a permitted value: seconds or bytes.
    words : frozenset of str or None
        The permitted words of an option that has words.
    """

    allow: bool
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


def _rule(rule: Rule) -> str:
    parts = [f"allow = {str(rule.allow).lower()}"]
    for name in ("user", "account", "qos", "partition"):
        if (text := getattr(rule, name)) is not None:
            parts.append(f"{name} = {lua_string(text)}")
    for name in ("uid", "minimum", "maximum"):
        if (number := getattr(rule, name)) is not None:
            parts.append(f"{name} = {number:.17g}")
    if rule.words is not None:
        parts.append(f"words = {{{', '.join(f'[{lua_string(word)}] = true' for word in sorted(rule.words))}}}")
    return f"      {{ {', '.join(parts)} }},\n"
