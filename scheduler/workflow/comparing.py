"""Compares ways of placing workflows: plays each in the event engine and measures it against the lower bound."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from scheduler.workflow.bounds import lower_bound
from scheduler.workflow.engine import Absence, Engine, Played
from scheduler.workflow.model import Task, Workflow, assemble
from scheduler.workflow.site import Site, refuse_too_large
from scheduler.workflow.strategies import Assigned, Dependency, Exclusive, Fixed, ListScheduler, choices

PLACEMENTS = ("dependency", "exclusive", "list", "cpsat")
"""The ways there are: by dependencies alone, one node each, list scheduler, CP-SAT."""

BUDGET = 20.0
"""Seconds that CP-SAT may take, where nobody says."""


@dataclass(frozen=True)
class Compared:
    """One way of placing, and what came of it.

    Attributes
    ----------
    played : Played
        What happened.
    seconds : float
        What deciding took [s].
    """

    played: Played
    seconds: float


@dataclass(frozen=True)
class Comparison:
    """All of them.

    Attributes
    ----------
    workflow : Workflow
        What was placed.
    site : Site
        Where.
    placements : dict of str to Compared
        By name.
    lower_bound : float
        No placement finishes sooner [s].
    """

    workflow: Workflow
    site: Site
    placements: dict[str, Compared]
    lower_bound: float


def join(workflows: Sequence[Workflow]) -> Workflow:
    """Return several workflows as one; each keeps its shared data to itself, and images are common."""
    if len(workflows) == 1:
        return workflows[0]
    tasks: list[Task] = []
    shares: dict[str, int] = {}
    images: dict[str, int] = {}
    for number, workflow in enumerate(workflows, start=1):
        tasks += [_renamed(task, f"{number}:") for task in workflow.tasks]
        shares |= {f"{number}:{name}": size for name, size in workflow.shares.items()}
        images |= workflow.containers
    name = " + ".join(workflow.name for workflow in workflows)
    remarks = [f"{one.name}: {remark}" for one in workflows for remark in one.remarks]
    return assemble(name, "workflows", tasks, shares=shares, containers=images, remarks=remarks)


def _renamed(task: Task, prefix: str) -> Task:
    return replace(
        task,
        id=prefix + task.id,
        parents=tuple(prefix + parent for parent in task.parents),
        share=prefix + task.share if task.share else "",
        line=0,
    )


def compare(
    workflow: Workflow,
    site: Site,
    names: Iterable[str] = PLACEMENTS,
    *,
    budget: float = BUDGET,
    absences: Sequence[Absence] = (),
    progress: Callable[[str, int, int], None] | None = None,
) -> Comparison:
    """Play several placements.

    Parameters
    ----------
    workflow : Workflow
        What is to be placed.
    site : Site
        The nodes.
    names : iterable of str
        Of `PLACEMENTS`.
    budget : float
        Seconds that CP-SAT may take.
    absences : sequence of Absence
        Nodes that are taken for jobs that cannot wait; no placement knows of them before.
    progress : callable, optional
        Called with a step's name, how many placements are done, and how many there are.

    Returns
    -------
    Comparison
        What came of each.

    Raises
    ------
    InputError
        Where a task fits on no node.
    """
    refuse_too_large(workflow, site)
    wanted = list(dict.fromkeys(names))
    bound = lower_bound(workflow, site)
    found: dict[str, Compared] = {}
    best: tuple[Assigned, ...] | None = None
    for number, name in enumerate(wanted):
        if progress:
            progress("placements", number, len(wanted))
        began = time.perf_counter()
        if name == "dependency":
            played = Engine(workflow, site, absences).play(Dependency())
        elif name == "exclusive":
            played = Engine(workflow, site, absences).play(Exclusive())
        elif name == "list":
            played, best = listed(workflow, site, absences)
        else:
            best = best or listed(workflow, site)[1]
            played, proven = _exact(workflow, site, best, bound, budget, absences)
            bound = max(bound, proven)
        found[name] = Compared(played, time.perf_counter() - began)
    return Comparison(workflow, site, found, bound)


def listed(workflow: Workflow, site: Site, absences: Sequence[Absence] = ()) -> tuple[Played, tuple[Assigned, ...]]:
    """Return the best of the list scheduler's placements, as it plays with and as it was planned without absences."""
    tried = [
        (Engine(workflow, site).play(ListScheduler(workflow, choice)), choice) for choice in choices(workflow, site)
    ]
    planned, choice = min(tried, key=lambda one: one[0].makespan)
    plan = tuple(Assigned(run.task, run.node, run.start, run.far or 0) for run in planned.runs)
    if not absences:
        return planned, plan
    return Engine(workflow, site, absences).play(ListScheduler(workflow, choice)), plan


def _exact(
    workflow: Workflow,
    site: Site,
    known: tuple[Assigned, ...],
    bound: float,
    budget: float,
    absences: Sequence[Absence],
) -> tuple[Played, float]:
    from scheduler.workflow.exact import improve  # noqa: PLC0415 - OR-Tools takes a second to load

    solved = improve(workflow, site, known, bound=bound, budget=budget)
    plans = [known, solved.plan] if solved.plan else [known]
    tried = [(Engine(workflow, site).play(Fixed(workflow, plan)), plan) for plan in plans]
    played, plan = min(tried, key=lambda one: one[0].makespan)
    if absences:
        return Engine(workflow, site, absences).play(Fixed(workflow, plan)), solved.bound
    # Images are fetched by whoever comes first, and a plan does not say who that is among equals.
    return min(played, listed(workflow, site)[0], key=lambda one: one.makespan), solved.bound


def document(found: Comparison) -> dict[str, Any]:
    """Return what `tierwise workflow simulate --json` prints."""
    placements: dict[str, dict[str, Any]] = {}
    for name, one in found.placements.items():
        placements[name] = {
            "makespan": one.played.makespan,
            "memory_failures": len(one.played.failures),
            "interrupted": one.played.interrupted,
            "seconds": round(one.seconds, 3),
        }
        if name in ("list", "cpsat"):
            placements[name]["gap"] = gap(one.played.makespan, found.lower_bound)
    return {
        "workflow": found.workflow.name,
        "tasks": len(found.workflow.tasks),
        "nodes": [
            {"name": node.name, "dram": node.dram, "far": node.far, "cpus": node.cpus} for node in found.site.nodes
        ],
        "placements": placements,
        "lower_bound": found.lower_bound,
        "remarks": list(found.workflow.remarks),
    }


def gap(makespan: float, bound: float) -> float:
    """Return by what share a makespan is above a bound: 0.05 is 5 per cent, and at most that far from the optimum."""
    return max(0.0, makespan / bound - 1.0) if bound > 0 else 0.0
