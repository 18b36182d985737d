"""What the controller says: events with a name, a level and fields. The log writes them, the metrics count them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

DEBUG, INFO, WARNING, ERROR = "debug", "info", "warning", "error"
"""How much an event matters; `debug` for what happens in every cycle."""


@dataclass(frozen=True)
class Kind:
    """What an event of one name means.

    Attributes
    ----------
    level : str
        How much it matters.
    meaning : str
        What has happened, and what an administrator may want to do about it.
    fields : tuple of str
        The fields that it carries beside `time`, `level`, `event` and `message`.
    """

    level: str
    meaning: str
    fields: tuple[str, ...] = ()


KINDS: Mapping[str, Kind] = {
    "started": Kind(
        INFO, "The controller watches the cluster.", ("policy", "journal", "interval", "dry_run", "pid", "version")
    ),
    "stopped": Kind(INFO, "It has ended as it was told to; open plans go on at the next start.", ("open_plans",)),
    "cycle": Kind(
        DEBUG,
        "A cycle went well. `seconds` is all of it, `decision_seconds` the policy's part; `open_plans` by state.",
        ("seconds", "decision_seconds", "decided", "open_plans"),
    ),
    "decided": Kind(
        INFO,
        "Room will be made for an on-demand job; the plan is in the journal.",
        ("job", "reservation", "nodes", "victims", "lost_node_seconds", "delay_seconds"),
    ),
    "would_decide": Kind(
        INFO,
        "The same in a dry run: nothing is done.",
        ("job", "reservation", "nodes", "victims", "lost_node_seconds", "delay_seconds"),
    ),
    "plan_moved": Kind(
        INFO,
        "A step of a plan was taken, or seen. `lost_node_seconds` when the victims went, `latency_seconds` (from "
        "submission to start) when the on-demand job started.",
        ("job", "reservation", "before", "state", "lost_node_seconds", "latency_seconds"),
    ),
    "plan_closed": Kind(
        INFO, "A plan is over, and its reservation is gone.", ("job", "reservation", "before", "state")
    ),
    "step_refused": Kind(
        WARNING, "Slurm refused a step of a plan; the next cycle tries it again.", ("job", "state", "reason")
    ),
    "reservation_cleared": Kind(
        WARNING, "A reservation of Tierwise's that no open plan knows was taken away.", ("reservation",)
    ),
    "slurm_lost": Kind(WARNING, "Slurm does not answer. Said once; each cycle tries again.", ("reason",)),
    "slurm_back": Kind(INFO, "Slurm answers again.", ("seconds",)),
    "slurm_refused": Kind(
        WARNING, "Slurm answers, but not as expected. Said once for each reason; each cycle tries again.", ("reason",)
    ),
    "journal_lost": Kind(
        ERROR,
        "The journal cannot be written (a full disk, say). Nothing is done until it can. Said once.",
        ("reason",),
    ),
    "journal_back": Kind(INFO, "The journal can be written again, and the plans go on.", ("seconds",)),
    "policy_read": Kind(INFO, "A policy file was read at SIGHUP, and is in force.", ("policy",)),
    "policy_kept": Kind(WARNING, "A policy file is bad; the last good one stays in force.", ("policy", "reason")),
    "metrics_served": Kind(INFO, "Prometheus may scrape here.", ("address",)),
    "failed": Kind(
        ERROR,
        "A defect of Tierwise's own ended a cycle; the next one tries again. Said once a place. Please report it.",
        ("reason",),
    ),
    "recovered": Kind(INFO, "Cycles go well again after such a defect.", ("seconds",)),
}
"""All events by name."""


@dataclass(frozen=True)
class Event:
    """Something that has happened.

    Attributes
    ----------
    name : str
        One of `KINDS`.
    message : str
        The same for people. It may hold anything that comes from a job: only what writes it may trust it.
    fields : Mapping of str to value
        Numbers and texts, as the kind lists them; those that are not known may be missing.
    """

    name: str
    message: str
    fields: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        unknown = set(self.fields) - set(KINDS[self.name].fields)
        if unknown:
            raise ValueError(f"event {self.name} has no fields {sorted(unknown)}")

    @property
    def level(self) -> str:
        """How much it matters."""
        return KINDS[self.name].level


Say = Callable[[Event], None]
"""Takes each event as it happens."""


def event(name: str, message: str, /, **fields: object) -> Event:
    """Make an event; see `Event`."""
    return Event(name, message, fields)
