"""A picture of a workflow in SVG: its graph from left to right, and below it width and memory over time.

Every text comes from a file and is escaped; the picture holds no script and fetches nothing.
"""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from cosim.report.palette import GRID, MUTED, PAGE, TEXT, style
from scheduler.workflow.analysis import Analysis, Profile
from scheduler.workflow.model import CLASSES, Workflow
from scheduler.workflow.sizes import size_words
from traces.durations import format_duration

_MOST_DRAWN = 400
"""Tasks that are drawn one by one; in larger workflows a mark stands for all tasks of a kind."""
_WIDTH, _GRAPH, _CHART, _MARGIN = 960, 320, 200, 56
_MOST_STEPS = 2000  # more steps than pixels twice over show nothing


@dataclass(frozen=True)
class _Mark:
    label: str
    level: int
    row: float
    colour: str
    critical: bool
    count: int


def svg(workflow: Workflow, found: Analysis) -> str:
    """Draw a workflow.

    Parameters
    ----------
    workflow : Workflow
        The workflow.
    found : Analysis
        What `analysis.analyse` found of it.

    Returns
    -------
    str
        An SVG document.
    """
    height = _GRAPH + _CHART + 3 * _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" '
        f'font-family="system-ui, sans-serif" font-size="12" fill="{TEXT}" role="img">',
        f"<title>{_escaped(workflow.name)}</title>",
        f'<rect width="{_WIDTH}" height="{height}" fill="{PAGE}"/>',
        f'<text x="{_MARGIN}" y="24" font-weight="bold">{_escaped(_cut(workflow.name, 60))}: '
        f"{len(workflow.tasks)} tasks, "
        f"longest path {format_duration(found.critical_seconds)}, at most {found.profile.peak_width} at once, "
        f"peak memory {size_words(found.profile.peak_memory)}</text>",
        *_graph(workflow, found),
        *_chart(found.profile, _GRAPH + 2 * _MARGIN),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _escaped(text: str) -> str:
    # What XML 1.0 cannot hold even escaped is shown as a question mark.
    return html.escape("".join(letter if letter.isprintable() else "?" for letter in text))


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _colour(tier_class: str) -> str:
    return style(CLASSES.index(tier_class)).colour


def _levels(workflow: Workflow) -> list[int]:
    levels = [0] * len(workflow.tasks)
    for place in workflow.order():
        levels[place] = max((levels[one] + 1 for one in workflow.parents(place)), default=0)
    return levels


def _graph(workflow: Workflow, found: Analysis) -> list[str]:
    levels = _levels(workflow)
    alone = len(workflow.tasks) <= _MOST_DRAWN
    keys = [(levels[place], str(place) if alone else task.kind) for place, task in enumerate(workflow.tasks)]
    counts = Counter(keys)
    rows: dict[int, dict[tuple[int, str], None]] = {}
    for key in keys:
        rows.setdefault(key[0], {})[key] = None
    critical = {keys[place] for place in found.critical_path}
    first = {key: place for place, key in reversed(list(enumerate(keys)))}
    marks: dict[tuple[int, str], _Mark] = {}
    for level, members in rows.items():
        for row, key in enumerate(members):
            task = workflow.tasks[first[key]]
            label = task.id if alone else f"{counts[key]} x {task.kind}"
            share = (row + 0.5) / len(members)
            marks[key] = _Mark(label, level, share, _colour(task.tier_class), key in critical, counts[key])
    edges = {(keys[above], keys[below]) for above, below in workflow.graph.edges}
    deepest = max(levels, default=0)
    drawn = [_edge(marks[above], marks[below], deepest) for above, below in sorted(edges)]
    return drawn + [_dot(mark, deepest) for mark in marks.values()]


def _at(mark: _Mark, deepest: int) -> tuple[float, float]:
    across = _MARGIN + (_WIDTH - 2 * _MARGIN) * (mark.level / deepest if deepest else 0.5)
    return round(across, 1), round(_MARGIN + _GRAPH * mark.row, 1)


def _edge(above: _Mark, below: _Mark, deepest: int) -> str:
    (x1, y1), (x2, y2) = _at(above, deepest), _at(below, deepest)
    bold = above.critical and below.critical
    colour, width = (TEXT, 1.6) if bold else (GRID, 0.8)
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}" stroke-width="{width}"/>'


def _dot(mark: _Mark, deepest: int) -> str:
    x, y = _at(mark, deepest)
    radius = round(min(12.0, 3.5 + mark.count**0.5 / 2), 1)
    edge = f' stroke="{TEXT}" stroke-width="2"' if mark.critical else ""
    title = f"<title>{_escaped(_cut(mark.label, 200))}</title>"
    return f'<circle cx="{x}" cy="{y}" r="{radius}" fill="{mark.colour}"{edge}>{title}</circle>'


def _chart(profile: Profile, top: int) -> list[str]:
    if not profile.times:
        return [f'<text x="{_MARGIN}" y="{top}" fill="{MUTED}">no task takes any time</text>']
    picked = _picked(len(profile.times))
    end = profile.times[-1] or 1.0
    across = [round(_MARGIN + (_WIDTH - 2 * _MARGIN) * profile.times[place] / end, 1) for place in picked]
    most = profile.peak_memory or 1
    floor = [0.0] * len(picked)
    parts = []
    for place, (name, column) in enumerate(profile.memory.items()):
        ceiling = [below + column[one] for below, one in zip(floor, picked, strict=True)]
        shape = _steps(across, floor, top, most, reverse=True)
        outline = " ".join([*_steps(across, ceiling, top, most), *shape])
        parts.append(f'<polygon points="{outline}" fill="{_colour(name)}" opacity="0.75"/>')
        parts.append(f'<text x="{_MARGIN + 110 * place}" y="{top - 8}" fill="{_colour(name)}">memory, {name}</text>')
        floor = ceiling
    tasks = _steps(across, [float(profile.width[one]) for one in picked], top, profile.peak_width or 1)
    bottom = top + _CHART
    return [
        *parts,
        f'<polyline points="{" ".join(tasks)}" fill="none" stroke="{TEXT}" stroke-width="1.2"/>',
        f'<text x="{_WIDTH - _MARGIN}" y="{top - 8}" text-anchor="end">line: tasks at once, up to '
        f"{profile.peak_width}</text>",
        f'<line x1="{_MARGIN}" y1="{bottom}" x2="{_WIDTH - _MARGIN}" y2="{bottom}" stroke="{MUTED}"/>',
        f'<text x="{_MARGIN}" y="{bottom + 18}" fill="{MUTED}">0</text>',
        f'<text x="{_WIDTH - _MARGIN}" y="{bottom + 18}" text-anchor="end" fill="{MUTED}">'
        f"{format_duration(end)}</text>",
        f'<text x="{_MARGIN - 6}" y="{top + 10}" text-anchor="end" fill="{MUTED}">{size_words(most)}</text>',
    ]


def _picked(steps: int) -> list[int]:
    if steps <= _MOST_STEPS:
        return list(range(steps))
    return sorted({round(place * (steps - 1) / (_MOST_STEPS - 1)) for place in range(_MOST_STEPS)})


def _steps(
    across: Sequence[float], values: Sequence[float], top: int, most: float, *, reverse: bool = False
) -> list[str]:
    points: list[str] = []
    before = 0.0
    for x, value in zip(across, values, strict=True):
        points += [f"{x},{_down(before, top, most)}", f"{x},{_down(value, top, most)}"]
        before = value
    return points[::-1] if reverse else points


def _down(value: float, top: int, most: float) -> float:
    return round(top + _CHART * (1 - value / most), 1)
