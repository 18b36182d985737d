"""Judges the controller and its policy."""

from __future__ import annotations

from scheduler.doctor.facts.service import Service
from scheduler.doctor.finding import CONTROLLER, FAIL, MISSING, WARN, Check, Finding, ok

STALE = 60.0
"""A controller looks each second by default: one that did not for this long does not watch the queue [s]."""

LITTLE, TOO_LITTLE = 64 << 20, 4 << 20
"""Bytes free for the journal. The largest decision (4,392 nodes, 1,000 jobs explained) writes about 256 KiB."""

_CONTROLLER = frozenset({CONTROLLER})


def _policy(service: Service) -> Finding:
    path = service.policy
    if service.policy_state == "absent":
        costs = "nobody may preempt anybody, and the unit does not start"
        return Finding(MISSING, f"{path} does not exist", costs, f"write {path}: docs/controller.md, The policy file")
    if service.policy_state == "unreadable":
        return Finding(FAIL, service.policy_problem, "the controller does not start", f"chmod a+r {path}")
    if service.policy_state == "bad":
        costs = "a controller that runs keeps the last good one; one that is started refuses to"
        return Finding(FAIL, f"{path}: {service.policy_problem}", costs, f"tierwise policy check {path}")
    if not service.grants:
        costs = "on-demand jobs wait like all others"
        return Finding(WARN, f"{path} lets nobody be on-demand", costs, "on_demand = true under [qos.NAME], say")
    return ok(path)


def _unit(service: Service) -> Finding:
    if service.has_unit:
        return ok(service.unit)
    costs = "nothing starts the controller with the machine, nor again after a crash"
    return Finding(MISSING, f"{service.unit} does not exist", costs, "tierwise service install controller")


def _journal(service: Service) -> Finding | None:
    if service.journal_absent:
        # The unit's StateDirectory makes it.
        return (
            None
            if service.has_unit
            else Finding(
                MISSING,
                f"the folder of {service.journal} does not exist",
                "a controller makes it, if it may",
                "tierwise service install controller",
            )
        )
    if service.free is not None and service.free < TOO_LITTLE:
        found = f"{service.free >> 10} KiB free for {service.journal}"
        return Finding(FAIL, found, "the controller does nothing while it cannot write", "make space on that disk")
    if service.journal_problem:
        found = f"{service.journal}: {service.journal_problem}"
        return Finding(
            WARN, found, "not known whether the controller may", "run this as root or as the controller's user"
        )
    if service.free is not None and service.free < LITTLE:
        found = f"{service.free >> 20} MiB free for {service.journal}"
        return Finding(WARN, found, "the controller does nothing while it cannot write", "make space on that disk")
    return ok(service.journal)


def _running(service: Service) -> Finding:
    mend = "systemctl enable --now tierwise-controller"
    if service.runs is None:
        found = f"the lock of {service.journal} cannot be read by this user"
        return Finding(WARN, found, "not known whether a controller runs", "run this as root")
    if service.runs and service.age <= STALE:
        return ok(f"process {service.pid}, its last good cycle {service.age:.0f} s ago")
    if service.runs:
        found = f"process {service.pid} runs, and no cycle went well for {service.age:.0f} s"
        return Finding(FAIL, found, "on-demand jobs wait, and plans stand still", "journalctl -u tierwise-controller")
    if service.ran:
        costs = "on-demand jobs wait like all others; plans that were begun stand still"
        return Finding(FAIL, f"none runs; the last good cycle was {service.age:.0f} s ago", costs, mend)
    return Finding(MISSING, "none has used this journal", "on-demand jobs wait like all others", mend)


CHECKS: tuple[Check[Service], ...] = (
    Check("policy", _policy, _CONTROLLER),
    Check("systemd unit", _unit, _CONTROLLER),
    Check("journal", _journal, _CONTROLLER),
    Check("controller", _running, _CONTROLLER),
)
