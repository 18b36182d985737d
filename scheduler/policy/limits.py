"""The policy as job_submit.lua reads it: who may ask for what, the strongest scope first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from scheduler.policy.model import BUILT_IN, SCOPES, Policy, Rule
from slurm_plugins import limits

_FIELDS = {
    "on_demand": ("on_demand", "on_demand_max_delay"),
    "tier_dram": (None, "tier_dram_max"),
    "tier_far": (None, "tier_far_max"),
    "colocate": ("colocate", None),
    "hbm": (None, "hbm_max"),
}
"""By option: the field that permits it, and the one that bounds it."""


def limits_of(policy: Policy, cluster: str, trusted_uids: frozenset[int] = frozenset({0})) -> limits.Limits:
    """Turn a policy into the limits of one cluster's job_submit.lua.

    Parameters
    ----------
    policy : Policy
        The policy.
    cluster : str
        The cluster's name; rules of other clusters are left out.
    trusted_uids : frozenset of int
        Who may set a job's admin_comment by hand.

    Returns
    -------
    Limits
        Rules from the strongest scope to what is built in, so that the first that says anything about a field says
        what `effective` says.
    """
    return limits.Limits(
        {key: tuple(_rules(policy, cluster, *fields)) for key, fields in _FIELDS.items()}, trusted_uids
    )


def _rules(policy: Policy, cluster: str, permits: str | None, bounds: str | None) -> Iterator[limits.Rule]:
    for scope in reversed([scope for scope in SCOPES if scope != "cluster"]):
        for name, rule in getattr(policy, scope).items():
            if {permits, bounds} & rule.model_fields_set:
                yield replace(_rule(rule, permits, bounds), **{scope: name})
    # These match every job here, so they are one rule.
    values = dict(BUILT_IN)
    for rule in (policy.defaults, policy.rule("cluster", cluster) or Rule()):
        values.update({name: getattr(rule, name) for name in rule.model_fields_set})
    yield _rule(Rule.model_construct(**values), permits, bounds)


def _rule(rule: Rule, permits: str | None, bounds: str | None) -> limits.Rule:
    allow = True if permits is None else getattr(rule, permits)
    maximum = None if bounds is None else getattr(rule, bounds)
    return limits.Rule(allow=allow, maximum=maximum)
