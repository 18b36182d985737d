"""Replays for the tests of the report, and readers of the page that comes out."""

from __future__ import annotations

import base64
import html
import json
import re
from typing import Any

import numpy as np
from replays import play_trace, rules_of, trace_of

from cosim.engine import Replayed
from cosim.metrics import Metrics, measure
from cosim.report import page as page_module
from cosim.report.document import plotly_js
from traces.table import Trace

TITLE, FACTS, COMMAND = "a trace", (("Jobs", "some"),), "tierwise replay a.swf --out results"


def busy_trace(jobs: int = 300, nodes: int = 64, seed: int = 1, since: float = 1.6e9, **columns: Any) -> Trace:
    """Return a random trace with more work than room, one job in five on-demand."""
    rng = np.random.default_rng(seed)
    run = np.round(rng.exponential(3000.0, jobs) + 1.0)
    return trace_of(
        nodes,
        submit=since + np.sort(np.round(rng.uniform(0, 150.0 * jobs, jobs))),
        run_time=run,
        requested_time=run * 2,
        nodes=rng.integers(1, nodes // 3, jobs),
        on_demand=rng.random(jobs) < 0.2,
        **columns,
    )


def replays_of(trace: Trace, *policies: str, **how: Any) -> dict[str, Replayed]:
    """Replay a trace under some policies; `none` lets nobody decide."""
    options = {"max_delay": 600.0, "checkpoints": rules_of(1200.0, 30.0, 60.0)} | how
    return {
        name: play_trace(trace, decided_by=None if name == "none" else name, **options) for name in policies or ("dp",)
    }


def metrics_of(replays: dict[str, Replayed]) -> dict[str, Metrics]:
    """Measure some replays."""
    return {name: measure(replayed) for name, replayed in replays.items()}


def page_of(replays: dict[str, Replayed], **more: Any) -> str:
    """Return the report of some replays."""
    given = {"title": TITLE, "facts": FACTS, "command": COMMAND} | more
    return page_module.page(replays, metrics_of(replays), **given)


def data_of(page: str) -> dict[str, Any]:
    """Return what a page's script is given to draw."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found
    return json.loads(found[1])


def without_plotly(page: str) -> str:
    """Return a page less the one script that is not ours."""
    return page.replace(plotly_js(), "")


def unpacked(values: Any) -> np.ndarray:
    """Return an array of a figure, however it is written."""
    if isinstance(values, dict):
        return np.frombuffer(base64.b64decode(values["bdata"]), f"<{values['dtype']}")
    return np.asarray(values)


def text_of(markup: str) -> str:
    """Return the text of some markup, roughly."""
    return html.unescape(re.sub(r"<[^>]*>", " ", markup))
