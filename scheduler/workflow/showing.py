"""Tells people of a workflow: as text, as a picture, as a page."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scheduler.slurm.running import one_line
from scheduler.workflow import picture
from scheduler.workflow.analysis import Analysis, analyse
from scheduler.workflow.analysis import document as document_of
from scheduler.workflow.model import Workflow
from scheduler.workflow.reading import read
from scheduler.workflow.sizes import size_words
from traces.durations import format_duration
from traces.errors import InputError
from traces.writing import atomic

_PATH_SHOWN, _SHARED_SHOWN, _KINDS_SHOWN = 12, 5, 20


@dataclass(frozen=True)
class Shown:
    """A workflow with all that is to be told of it."""

    workflow: Workflow
    analysis: Analysis
    document: dict[str, Any]


def look(path: Path) -> Shown:
    """Read and analyse a workflow."""
    workflow = read(path)
    found = analyse(workflow)
    return Shown(workflow, found, document_of(workflow, found))


def as_text(found: Shown) -> str:
    """Return what `tierwise workflow show` prints."""
    workflow, analysis = found.workflow, found.analysis
    lines = [
        f"{one_name(workflow.name)}: {len(workflow.tasks)} tasks, {workflow.graph.number_of_edges()} dependencies",
        *(f"  note: {remark}" for remark in workflow.remarks),
        f"longest path   {format_duration(analysis.critical_seconds)} of {format_duration(analysis.work)} of work",
        f"at once        up to {analysis.profile.peak_width} tasks with {size_words(analysis.profile.peak_memory)}",
    ]
    for name, column in analysis.profile.memory.items():
        lines.append(f"  {name:<12} up to {size_words(max(column))}")
    path = [one_name(workflow.tasks[place].id) for place in analysis.critical_path]
    if path:
        lines += ["", "The longest path:", *_some(path, _PATH_SHOWN)]
    kinds = found.document["kinds"].items()
    if kinds:
        lines += ["", "Kinds of tasks:"]
        lines += _some(
            [
                f"{one_name(kind):<32} {one['tasks']:>6} tasks, {format_duration(one['seconds'])} each, up to "
                f"{size_words(one['memory'])}{' (estimated)' if 'memory' in one['estimated'] else ''}"
                for kind, one in kinds
            ],
            _KINDS_SHOWN,
        )
    if analysis.shared:
        lines += ["", "Data used by several tasks:"]
        lines += _some(
            [f"{one_name(one.name):<32} {size_words(one.bytes)}, {one.users} tasks" for one in analysis.shared],
            _SHARED_SHOWN,
        )
    return "\n".join(lines)


def one_name(name: str) -> str:
    """Return a name from outside as one line that is safe to print."""
    return one_line(name.replace("\n", "\\n"))


def _some(lines: Sequence[str], most: int) -> list[str]:
    rest = [f"  ... and {len(lines) - most} more"] if len(lines) > most else []
    return [f"  {line}" for line in lines[:most]] + rest


def write_picture(found: Shown, path: Path) -> None:
    """Write the SVG, all of it or nothing."""
    _write(path, picture.svg(found.workflow, found.analysis))


def write_report(found: Shown, path: Path) -> None:
    """Write the page, all of it or nothing; it holds no script and fetches nothing."""
    drawn = picture.svg(found.workflow, found.analysis)
    kinds = [
        (one_name(kind), str(one["tasks"]), format_duration(one["seconds"]), size_words(one["memory"]))
        for kind, one in found.document["kinds"].items()
    ]
    shared = [(one_name(one.name), size_words(one.bytes), str(one.users)) for one in found.analysis.shared[:100]]
    title = html.escape(one_name(found.workflow.name))
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>body{{font-family:system-ui,sans-serif;margin:2rem;max-width:62rem}}"
        "td,th{text-align:left;padding:.2rem 1rem .2rem 0}svg{max-width:100%;height:auto}</style></head>"
        f"<body><h1>{title}</h1>{drawn}"
        f"{''.join(f'<p>{html.escape(remark)}</p>' for remark in found.workflow.remarks)}"
        f"<h2>Kinds of tasks</h2>{_table(('kind', 'tasks', 'time of each', 'memory, at most'), kinds)}"
        f"<h2>Data used by several tasks</h2>{_table(('data', 'size', 'tasks'), shared)}</body></html>\n"
    )
    _write(path, page)


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    first = "".join(f"<th>{html.escape(one)}</th>" for one in head)
    body = "".join(f"<tr>{''.join(f'<td>{html.escape(one)}</td>' for one in row)}</tr>" for row in rows)
    return f"<table><tr>{first}</tr>{body}</table>"


def _write(path: Path, text: str) -> None:
    try:
        with atomic(path) as partial:
            partial.write(text.encode())
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from None
