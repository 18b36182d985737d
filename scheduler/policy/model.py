"""What may stand in a policy file: one model, from which the schema, the checks and the documentation come."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from traces.durations import parse_duration
from traces.errors import InputError

SCOPES = ("cluster", "partition", "account", "qos", "user")
"""Where a rule may be given beside `defaults`, from the weakest to the strongest."""

_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGTP]?)(?:i?B)?", re.IGNORECASE | re.ASCII)
_BINARY = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40, "P": 2**50}


def _seconds(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("expected a time such as 600, '10m' or '1h30m'")
    try:
        seconds = parse_duration(str(value))
    except InputError:
        raise ValueError(f"{value!r} is no time; expected one such as 600, '10m' or '1h30m'") from None
    if not 0 <= seconds < math.inf:
        raise ValueError(f"{value!r}: expected a time with an end, of at least 0")
    return seconds


def _interval(value: Any) -> Any:
    return 0.0 if value == "none" else _seconds(value)


def _bytes(value: Any) -> Any:
    found = _SIZE.fullmatch(str(value).strip()) if not isinstance(value, bool) else None
    if not found:
        raise ValueError(f"{value!r} is no size; expected one such as 1073741824, '512M' or '2G'")
    return int(float(found[1]) * _BINARY[found[2].upper()])


Seconds = Annotated[float, BeforeValidator(_seconds)]
Interval = Annotated[float, BeforeValidator(_interval)]
Bytes = Annotated[int, BeforeValidator(_bytes)]
Share = Annotated[float, Field(ge=0, le=1)]


class Rule(BaseModel):
    """What holds for the jobs of one scope; a field that is not given leaves the weaker scope's value."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    on_demand: bool | None = Field(default=None, description="Whether jobs may be on-demand, that is preempt others.")
    on_demand_max_delay: Seconds | None = Field(
        default=None,
        description="The longest delay that an on-demand job may tolerate; longer ones are refused [time].",
    )
    delay_weight: Annotated[float, Field(ge=0)] | None = Field(
        default=None, description="Lost node-seconds that a node-second of delay of an on-demand job is worth."
    )
    preemptible: bool | None = Field(default=None, description="Whether jobs may be preempted for an on-demand job.")
    exempt_time: Seconds | None = Field(
        default=None, description="How long after its start a job may not be preempted [time]."
    )
    checkpoint_every: Interval | None = Field(
        default=None,
        description="Checkpoint interval of jobs that do not say theirs, 'none' for no checkpoints [time].",
    )
    checkpoint_cost: Seconds | None = Field(default=None, description="What one checkpoint takes, likewise [time].")
    restart_cost: Seconds | None = Field(default=None, description="What a restart takes, likewise [time].")
    checkpoint_signal: Literal["", "USR1", "USR2", "TERM", "HUP", "INT", "CONT"] | None = Field(
        default=None, description="Signal upon which jobs write a checkpoint; '' where they do not."
    )
    checkpoint_grace: Seconds | None = Field(
        default=None,
        description="The longest checkpoint that is waited for upon the signal; a job whose checkpoint takes longer "
        "gets none [time].",
    )
    tier_class: Literal["latency", "bandwidth", "capacity", "short", "auto"] | None = Field(
        default=None, description="Memory class of jobs that do not say theirs."
    )
    tier_dram_max: Bytes | None = Field(
        default=None, description="The most DRAM a job may be promised per node [size]."
    )
    tier_far_max: Bytes | None = Field(default=None, description="The most far memory a job may use per node [size].")
    colocate: bool | None = Field(default=None, description="Whether jobs may share a GPU.")
    hbm_max: Bytes | None = Field(default=None, description="The most GPU memory a co-located job may ask for [size].")
    training_slowdown_max: Share | None = Field(
        default=None, description="By how much a co-located training job may be slowed, as a share."
    )


BUILT_IN = Rule(
    on_demand=False,
    on_demand_max_delay=3600,
    delay_weight=1.0,
    preemptible=True,
    exempt_time=0,
    checkpoint_every="none",  # type: ignore[arg-type]
    checkpoint_cost=0,
    restart_cost=0,
    checkpoint_signal="",
    checkpoint_grace=60,
    tier_class="auto",
    tier_dram_max=2**60,
    tier_far_max=2**60,
    colocate=False,
    hbm_max=2**60,
    training_slowdown_max=0.05,
)
"""What holds where the file says nothing: nobody may preempt anybody."""


class Policy(BaseModel):
    """The whole policy file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    defaults: Rule = Field(default=Rule(), description="For all jobs.")
    cluster: dict[str, Rule] = Field(default_factory=dict, description="For jobs of a cluster, by its name.")
    partition: dict[str, Rule] = Field(default_factory=dict, description="For jobs of a partition.")
    account: dict[str, Rule] = Field(default_factory=dict, description="For jobs of an account.")
    qos: dict[str, Rule] = Field(default_factory=dict, description="For jobs of a QOS.")
    user: dict[str, Rule] = Field(default_factory=dict, description="For jobs of a user.")

    def rule(self, scope: str, name: str) -> Rule | None:
        """Return the rule of one scope, such as `rule("qos", "urgent")`, if there is one."""
        rules: dict[str, Rule] = getattr(self, scope)
        return rules.get(name)
