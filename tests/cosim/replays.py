"""Small traces by hand or at random, and `play`: a replay that is watched while it runs and checked at its end."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import numpy as np
from invariants import WatchedMachine, check

from cosim.checkpoints import CheckpointRules
from cosim.draw import Draw
from cosim.engine import Replayed, Scenario, replay
from cosim.machine import Rules
from cosim.outages import Outage
from cosim.policies import PreemptionPolicy, policy
from cosim.workload import OnDemandRule, Workload, build
from traces.table import COLUMNS, SCHEMA, Machine, Trace


def trace_of(machine_size: int | None = None, /, **columns: Any) -> Trace:
    """Return a trace of the given columns, sorted by submission; ids count from 1."""
    length = max(len(values) for values in columns.values())
    table = {column.name: column.filled(length) for column in SCHEMA}
    table["job_id"] = np.array([str(number) for number in range(1, length + 1)])
    table |= {
        name: np.asarray(values, np.str_ if COLUMNS[name].dtype == "str" else COLUMNS[name].dtype)
        for name, values in columns.items()
    }
    order = np.argsort(table["submit"], kind="stable")
    return Trace({name: values[order] for name, values in table.items()}, Machine(nodes=machine_size))


def jobs_of(machine_size: int, /, *rows: dict[str, Any]) -> Trace:
    """Return a trace of jobs given one by one: `submit`, `run`, `nodes`, and what else the table has."""
    names = {name for row in rows for name in row} - {"run", "request"}
    columns = {name: [row.get(name, COLUMNS[name].unknown) for row in rows] for name in names}
    columns["run_time"] = [row["run"] for row in rows]
    columns["requested_time"] = [row.get("request", row["run"]) for row in rows]
    return trace_of(machine_size, **columns)


def rules_of(every: float | str | None = None, cost: float = 0.0, restart: float = 0.0, share: float = 0.0):
    """Return checkpoint rules of constant durations; by default no checkpoints, and restarts that take no time."""
    draw = Draw("constant", every) if isinstance(every, int | float) else every
    return CheckpointRules(draw, Draw("constant", cost), Draw("constant", restart), share)


def play(workload: Workload, scenario: Scenario) -> Replayed:
    """Replay, looking at the machine's books at each decision, and check the result."""
    with patch("cosim.engine.Machine", WatchedMachine):
        replayed = replay(workload, scenario)
    check(replayed)
    return replayed


def play_trace(
    trace: Trace,
    *,
    backfill: str = "easy",
    priority: str = "fcfs",
    decided_by: str | PreemptionPolicy | None = None,
    max_delay: float = 0.0,
    delay_weight: float = 1.0,
    outages: tuple[Outage, ...] = (),
    checkpoints: CheckpointRules | None = None,
    on_demand: OnDemandRule | None = None,
    seed: int = 0,
) -> Replayed:
    """Build the workload of a trace and play it."""
    workload = build(
        trace,
        checkpoints=checkpoints or rules_of(),
        on_demand=on_demand or OnDemandRule(),
        priority=priority,
        seed=seed,
    )
    asked = policy(decided_by, seed) if isinstance(decided_by, str) else decided_by
    rules = Rules(workload.nodes, backfill, priority)
    return play(workload, Scenario(rules, asked, max_delay, delay_weight, outages, seed))
