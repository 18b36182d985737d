"""What the policy says about one job, and which line says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scheduler.policy.lines import line_of
from scheduler.policy.load import PolicyFile
from scheduler.policy.model import BUILT_IN, SCOPES, Policy, Rule


@dataclass(frozen=True)
class Who:
    """Whose job it is.

    Attributes
    ----------
    cluster, partition, account, qos, user : str
        As Slurm states them; empty where it does not.
    """

    cluster: str = ""
    partition: str = ""
    account: str = ""
    qos: str = ""
    user: str = ""


@dataclass(frozen=True)
class Effective:
    """The values that hold for a job.

    Attributes
    ----------
    rule : Rule
        With no field left open.
    origin : dict of str to str
        For each field, where its value comes from: `built in`, or `FILE:LINE [table]`.
    """

    rule: Rule
    origin: dict[str, str]


def effective(policy: PolicyFile | None, who: Who) -> Effective:
    """Work out what holds for a job: built in, then defaults, cluster, partition, account, QOS, user, the last wins.

    Parameters
    ----------
    policy : PolicyFile or None
        The policy; None: only what is built in.
    who : Who
        Whose job it is.

    Returns
    -------
    Effective
        Each field's value and where it comes from.
    """
    values: dict[str, Any] = dict(BUILT_IN)
    origin = dict.fromkeys(values, "built in")
    if policy is not None:
        for table, rule in _rules(policy.policy, who):
            for name in sorted(rule.model_fields_set):
                values[name] = getattr(rule, name)
                line = line_of(policy.lines, (*table, name))
                origin[name] = f"{policy.path}:{line} [{'.'.join(table)}]"
    return Effective(Rule.model_construct(**values), origin)


def _rules(policy: Policy, who: Who) -> list[tuple[tuple[str, ...], Rule]]:
    found: list[tuple[tuple[str, ...], Rule]] = [(("defaults",), policy.defaults)]
    for scope in SCOPES:
        name = getattr(who, scope)
        rule = policy.rule(scope, name)
        if rule is not None:
            found.append(((scope, name), rule))
    return found
