"""Options of a job from the places in which they come: variables, and the record that job_submit.lua wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache

from scheduler.options.table import BY_KEY, OPTIONS, Kind, Option
from scheduler.options.values import canonical
from traces.errors import InputError

RECORD_VERSION = 1
"""The value of `tierwise` in a record."""

_LONGEST_RECORD = 4096
"""Characters of a record; job_submit.lua writes a fraction of it."""


@dataclass(frozen=True)
class JobOptions:
    """What a job asks for; None where it does not say.

    Attributes
    ----------
    tier_class, tier_share, colocate : str or None
        Words and a name.
    tier_dram, tier_far, hbm : int or None
        Sizes [bytes].
    slo, on_demand, checkpoint_cost, restart_cost : float or None
        Times [s].
    checkpoint_every : float or str or None
        Interval [s], or `none`.
    """

    tier_class: str | None = None
    tier_dram: int | None = None
    tier_far: int | None = None
    tier_share: str | None = None
    colocate: str | None = None
    hbm: int | None = None
    slo: float | None = None
    on_demand: float | None = None
    checkpoint_every: float | str | None = None
    checkpoint_cost: float | None = None
    restart_cost: float | None = None

    def given(self) -> dict[str, str | int | float]:
        """Return those that the job gave, by key, in the order of the table."""
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name)) is not None}


def typed(option: Option, text: str) -> str | int | float:
    """Turn a canonical value into what `JobOptions` holds."""
    if option.kind in {Kind.CHOICE, Kind.NAME} or text in option.words:
        return text
    return int(text) if option.kind is Kind.SIZE else float(text)


def from_variables(environment: Mapping[str, str]) -> JobOptions:
    """Read the `TIERWISE_*` variables.

    Parameters
    ----------
    environment : Mapping of str to str
        Such as `os.environ`; empty variables count as not set, as the plugin has it.

    Returns
    -------
    JobOptions
        What they say.

    Raises
    ------
    InputError
        For a wrong value; one line that names the variable.
    """
    values = {}
    for option in OPTIONS:
        text = environment.get(option.variable, "")
        if text:
            values[option.key] = typed(option, canonical(option, text, f"{option.variable} (for --{option.flag})"))
    return JobOptions(**values)  # type: ignore[arg-type]


@lru_cache(maxsize=16_384)  # a controller reads the same records each second, and most are alike
def from_record(admin_comment: str) -> JobOptions | None:
    """Read the record that job_submit.lua wrote.

    Parameters
    ----------
    admin_comment : str
        A job's; believed only in form, as anything may stand there on a cluster without job_submit.lua.

    Returns
    -------
    JobOptions or None
        None where it is no record of this version. Keys that are unknown or hold a wrong value are left out, since
        a record is written by a program: there is nobody to complain to.
    """
    if len(admin_comment) > _LONGEST_RECORD or not admin_comment.startswith("{"):
        return None
    try:
        record = json.loads(admin_comment)
    except (ValueError, RecursionError):
        return None
    if record.get("tierwise") != RECORD_VERSION:
        return None
    values = {key: record[key] for key, option in BY_KEY.items() if key in record and _fits(option, record[key])}
    return JobOptions(**values)


def _fits(option: Option, value: object) -> bool:
    if isinstance(value, str):
        if option.kind is Kind.NAME:
            return _unchanged(option, value)
        return value in option.words
    if option.kind in {Kind.CHOICE, Kind.NAME} or isinstance(value, bool) or not isinstance(value, int | float):
        return False
    if option.kind is Kind.SIZE:
        return isinstance(value, int) and option.minimum <= value <= option.maximum
    return option.minimum <= value * 1000 <= option.maximum  # False for NaN


def _unchanged(option: Option, value: str) -> bool:
    try:
        return canonical(option, value) == value
    except InputError:
        return False
