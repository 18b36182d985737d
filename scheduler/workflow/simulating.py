"""What `tierwise workflow simulate` is asked, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from scheduler.workflow.comparing import PLACEMENTS, Comparison, compare, document, gap, join
from scheduler.workflow.engine import Absence
from scheduler.workflow.model import Workflow, assemble, quoted
from scheduler.workflow.reading import read
from scheduler.workflow.showing import one_name
from scheduler.workflow.site import Site, uniform
from scheduler.workflow.sizes import positive_size, seconds, size
from traces.durations import format_duration
from traces.errors import InputError

__all__ = ["Question", "answer", "as_text", "document", "question"]


@dataclass(frozen=True)
class Question:
    """Workflows, nodes, and which placements to compare."""

    workflow: Workflow
    site: Site
    placements: tuple[str, ...]
    budget: float
    absences: tuple[Absence, ...]


def question(
    files: Sequence[Path],
    *,
    nodes: int,
    dram: str,
    far: str,
    cpus: int,
    placement: str,
    budget: str,
    on_demand: Path | None,
    memory: Sequence[str],
) -> Question:
    """Read what the options say.

    Raises
    ------
    InputError
        Where a file or an option is wrong.
    """
    names = tuple(word.strip() for word in placement.split(",") if word.strip())
    unknown = [name for name in names if name not in PLACEMENTS]
    if unknown or not names:
        raise InputError(f"--placement: {', '.join(unknown) or 'nothing'!r}: expected one of {', '.join(PLACEMENTS)}")
    site = uniform(nodes, positive_size("--dram", dram), size("--far", far), cpus)
    return Question(
        with_memory(join([read(path) for path in files]), memory),
        site,
        names,
        seconds("--budget", budget),
        _absences(on_demand, nodes),
    )


def with_memory(workflow: Workflow, given: Sequence[str]) -> Workflow:
    """Return a workflow in which kinds of tasks have the memory that `KIND=SIZE` says."""
    if not given:
        return workflow
    sizes: dict[str, int] = {}
    kinds = {task.kind for task in workflow.tasks}
    for text in given:
        kind, equals, written = text.rpartition("=")
        if not equals or kind not in kinds:
            known = ", ".join(sorted(one_name(one) for one in kinds)[:10])
            raise InputError(f"--memory {quoted(text)}: expected KIND=SIZE, with a kind of this workflow: {known}")
        sizes[kind] = size(f"--memory {quoted(text)}", written)
    tasks = [
        replace(task, memory=sizes[task.kind], estimated=tuple(one for one in task.estimated if one != "memory"))
        if task.kind in sizes
        else task
        for task in workflow.tasks
    ]
    return assemble(
        workflow.name,
        workflow.source,
        tasks,
        shares=workflow.shares,
        containers=workflow.containers,
        remarks=workflow.remarks,
    )


def _absences(path: Path | None, nodes: int) -> tuple[Absence, ...]:
    if path is None:
        return ()
    from cosim.outages import read as read_outages  # noqa: PLC0415 - the replayer's reader, and it loads NumPy

    return tuple(Absence(one.start, one.end) for one in read_outages(path) for _ in range(min(one.nodes, nodes)))


def answer(asked: Question, progress: Callable[[str, int, int], None] | None) -> Comparison:
    """Play the placements."""
    return compare(
        asked.workflow,
        asked.site,
        asked.placements,
        budget=asked.budget,
        absences=asked.absences,
        progress=progress,
    )


def as_text(found: Comparison) -> str:
    """Return what people are shown."""
    lines = [f"{one_name(found.workflow.name)}: {len(found.workflow.tasks)} tasks on {found.site.sizes()}"]
    lines += [f"  note: {remark}" for remark in found.workflow.remarks]
    lines += [
        "",
        f"{'PLACEMENT':<12} {'DONE AFTER':>16} {'DIED':>6} {'STOPPED':>8} {'ABOVE BOUND':>12} {'DECIDED IN':>11}",
    ]
    for name, one in found.placements.items():
        above = f"{100 * gap(one.played.makespan, found.lower_bound):.1f} %"
        lines.append(
            f"{name:<12} {format_duration(one.played.makespan):>16} {len(one.played.failures):>6} "
            f"{one.played.interrupted:>8} {above:>12} {format_duration(round(one.seconds, 2)):>11}"
        )
    lines.append(f"\nNo placement is done before {format_duration(found.lower_bound)}.")
    return "\n".join(lines)
