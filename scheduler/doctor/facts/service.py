"""The controller and its policy: what is configured, what runs, and where the journal lies."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from scheduler.controller.lock import holder
from scheduler.doctor.facts.place import Place
from traces.errors import InputError


@dataclass(frozen=True)
class Service:
    """What is there of the controller; paths as texts.

    Attributes
    ----------
    policy : str
        The policy file.
    policy_state : str
        `good`, `bad`, `absent` or `unreadable`.
    policy_problem : str
        Its first fault, with the line.
    grants : bool
        Whether a rule of it lets somebody be on-demand.
    unit : str
        The systemd unit's file.
    has_unit : bool
        Whether it exists.
    journal : str
        The journal.
    journal_problem : str
        Why its folder cannot be used by this user; empty where it can, or where root asks.
    journal_absent : bool
        Whether the folder does not exist.
    free : int or None
        Bytes that are free for it.
    ran, runs : bool or None
        Whether a controller ever used the journal, and whether one does now; None: not known.
    age : float
        How long ago a cycle went well [s].
    pid : str
        The controller's process, as its lock says.
    """

    policy: str
    policy_state: str = "absent"
    policy_problem: str = ""
    grants: bool = False
    unit: str = ""
    has_unit: bool = False
    journal: str = ""
    journal_problem: str = ""
    journal_absent: bool = False
    free: int | None = None
    ran: bool | None = False
    runs: bool | None = False
    age: float = 0.0
    pid: str = ""


def gather(place: Place) -> Service:
    """Look at the policy, the unit and the journal."""
    state, problem, grants = _policy(place)
    absent, journal_problem, free = _folder(place)
    ran, runs, age, pid = _lock(place)
    return Service(
        policy=str(place.policy),
        policy_state=state,
        policy_problem=problem,
        grants=grants,
        unit=str(place.unit),
        has_unit=place.unit.is_file(),
        journal=str(place.journal),
        journal_problem=journal_problem,
        journal_absent=absent,
        free=free,
        ran=ran,
        runs=runs,
        age=age,
        pid=pid,
    )


def _policy(place: Place) -> tuple[str, str, bool]:
    from scheduler.policy import check  # noqa: PLC0415 - pydantic takes a fifth of a second to import
    from scheduler.policy.model import SCOPES  # noqa: PLC0415

    try:
        if not place.policy.exists():
            return "absent", "", False
        found, faults = check(place.policy)
    except (OSError, InputError) as error:
        return "unreadable", str(error), False
    if found is None:
        fault = faults[0]
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        return "bad", f"line {fault.line}: {fault.field or 'the file'}: {fault.message}{more}", False
    policy = found.policy
    rules = [policy.defaults, *(rule for scope in SCOPES for rule in getattr(policy, scope).values())]
    return "good", "", any(rule.on_demand for rule in rules)


def _folder(place: Place) -> tuple[bool, str, int | None]:
    folder = place.journal.parent
    try:
        if not folder.exists():
            return True, "", None
        known = os.statvfs(folder)
    except OSError as error:
        return False, str(error.strerror), None
    writable = os.access(folder, os.W_OK | os.X_OK)
    return False, "" if writable else "this user may not write to it", known.f_bavail * known.f_frsize


def _lock(place: Place) -> tuple[bool | None, bool | None, float, str]:
    try:
        found = holder(place.journal)
    except OSError:
        return None, None, 0.0, ""
    if found is None:
        return False, False, 0.0, ""
    pid = found.notes.get("pid")
    return True, found.running, max(0.0, time.time() - found.last_cycle), str(pid) if isinstance(pid, int) else ""
