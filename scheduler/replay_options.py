"""The values of `tierwise replay`'s options: text in, typed values out, one line for each mistake."""

from __future__ import annotations

import math
from collections.abc import Collection
from pathlib import Path

from cosim.checkpoints import CheckpointRules
from cosim.draw import FORMS, Draw
from cosim.draw import parse as parse_draw
from cosim.outages import Outage
from cosim.outages import read as read_outages
from cosim.policies import POLICIES
from cosim.workload import OnDemandRule
from scheduler.replaying import NO_POLICY
from traces.durations import parse_duration
from traces.errors import InputError


def one_of(option: str, text: str, accepted: Collection[str]) -> str:
    """Return the text if it is one of the accepted words.

    Parameters
    ----------
    option : str
        The option, for the message.
    text : str
        What was given.
    accepted : collection of str
        What there is.

    Raises
    ------
    InputError
        Where it is none of them.
    """
    if text not in accepted:
        raise InputError(f"{option} {text!r}: expected one of {', '.join(accepted)}")
    return text


def duration(option: str, text: str) -> float:
    """Return a finite duration [s].

    Parameters
    ----------
    option, text : str
        The option and what was given.

    Raises
    ------
    InputError
        Where the text is no duration, or one without an end.
    """
    try:
        seconds = parse_duration(text)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None
    if seconds == math.inf:
        raise InputError(f"{option} {text!r}: expected a duration with an end")
    return seconds


def weight(option: str, value: float) -> float:
    """Return a finite number of at least 0.

    Parameters
    ----------
    option : str
        The option, for the message.
    value : float
        What was given.

    Raises
    ------
    InputError
        Where it is none.
    """
    if not 0 <= value < math.inf:
        raise InputError(f"{option} {value}: expected a finite number of at least 0")
    return value


def draw(option: str, text: str) -> Draw:
    """Return a distribution of durations (see `cosim.draw.parse`).

    Parameters
    ----------
    option, text : str
        The option and what was given.

    Raises
    ------
    InputError
        Where the text is none.
    """
    try:
        return parse_draw(text)
    except InputError as error:
        raise InputError(f"{option}: {error}") from None


def checkpoint_every(text: str) -> Draw | str | None:
    """Return the checkpoint interval: a distribution, "daly", or None.

    Parameters
    ----------
    text : str
        What was given to --checkpoint-every.

    Raises
    ------
    InputError
        Where the text is neither, or the interval is zero.
    """
    if text in ("none", "daly"):
        return None if text == "none" else text
    every = draw("--checkpoint-every", text)
    if every.first <= 0:
        raise InputError(f"--checkpoint-every {text!r}: expected above 0 s, or daly, or none ({FORMS})")
    return every


def checkpoint_rules(every: str, cost: str, restart: str, signalled: str, node_mtbf: str) -> CheckpointRules:
    """Return how jobs write checkpoints.

    Parameters
    ----------
    every, cost, restart, signalled, node_mtbf : str
        What was given to --checkpoint-every, --checkpoint-cost, --restart-cost, --on-demand-checkpoint, --node-mtbf.

    Raises
    ------
    InputError
        Where one of them is wrong.
    """
    mtbf = duration("--node-mtbf", node_mtbf)
    if mtbf <= 0:
        raise InputError(f"--node-mtbf {node_mtbf!r}: expected above 0 s")
    return CheckpointRules(
        checkpoint_every(every),
        draw("--checkpoint-cost", cost),
        draw("--restart-cost", restart),
        share("--on-demand-checkpoint", signalled),
        mtbf,
    )


def outages(path: Path | None) -> tuple[Outage, ...]:
    """Return the outages of a file, none without one.

    Parameters
    ----------
    path : Path or None
        What was given to --outages.

    Raises
    ------
    InputError
        Where the file is not one of outages.
    """
    return read_outages(path) if path else ()


def share(option: str, text: str) -> float:
    """Return a share from 0 to 1; `10%` is 0.1.

    Parameters
    ----------
    option, text : str
        The option and what was given.

    Raises
    ------
    InputError
        Where the text is no such number.
    """
    try:
        value = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise InputError(f"{option} {text!r}: expected a share from 0 to 1, or a percentage")
    return value


def on_demand(text: str | None) -> tuple[OnDemandRule | None, str | None]:
    """Return which jobs are on-demand: a rule, or the file that holds them.

    Parameters
    ----------
    text : str or None
        What was given to --on-demand, if it was.

    Raises
    ------
    InputError
        Where the text is neither a share, a rule nor a file that exists.
    """
    if text is None:
        return None, None
    kind, _, value = text.partition(":")
    if kind == "queue" and value:
        return OnDemandRule("queue", queue=value), None
    if kind == "users" and value:
        return OnDemandRule("users", share("--on-demand users:", value)), None
    if Path(text).exists():
        return None, text
    try:
        return OnDemandRule("share", share("--on-demand", text)), None
    except InputError:
        raise InputError(
            f"--on-demand {text!r}: expected a share of the jobs (0.1 or 10%), users:SHARE, queue:NAME or a trace file "
            "that exists"
        ) from None


def policies(text: str) -> tuple[str, ...]:
    """Return the names of policies, each once.

    Parameters
    ----------
    text : str
        Names separated by commas.

    Raises
    ------
    InputError
        Where a name is not known.
    """
    names = tuple(dict.fromkeys(name.strip() for name in text.split(",") if name.strip()))
    for name in names:
        one_of("--policy", name, [*POLICIES, NO_POLICY])
    if not names:
        raise InputError(f"--policy {text!r}: expected at least one of {', '.join([*POLICIES, NO_POLICY])}")
    return names
