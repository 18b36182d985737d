"""The figures of a report in plotly's JSON schema, written as plain dictionaries.

Building them with `plotly.graph_objects` would check them, but its import alone takes longer than all of the report;
the tests check them with it instead.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cosim.engine import Replayed
from cosim.metrics import Metrics
from cosim.report.curves import TradeOff, distribution, trade_off
from cosim.report.palette import GRID, LOST, MUTED, PAGE, TEXT, Style, style
from cosim.report.units import Clock, duration, plain, squeeze, squeezed_axis
from cosim.report.usage import Usage
from cosim.snapshot import Floats

Figure = dict[str, Any]
"""What plotly.js draws: `data`, `layout` and `config`."""

_MARKED_CAPS = (0.0, 60.0, 300.0, 600.0, 1800.0, 3600.0)
_FAR_APART = 8.0
"""Delays whose ratio is greater than this share no linear axis."""


def packed(values: npt.NDArray[Any], dtype: str) -> dict[str, str]:
    """Return an array in plotly's binary form: `f8`, `f4` or `i4`, little-endian."""
    raw = np.ascontiguousarray(values, np.dtype(dtype).newbyteorder("<")).tobytes()
    return {"dtype": dtype, "bdata": base64.b64encode(raw).decode("ascii")}


def layout(**more: Any) -> dict[str, Any]:
    """Return a layout in the page's style, with axes and other parts merged in."""
    common = {
        "autosize": True,
        "paper_bgcolor": PAGE,
        "plot_bgcolor": PAGE,
        "font": {"family": "system-ui, sans-serif", "size": 13, "color": TEXT},
        "margin": {"l": 64, "r": 16, "t": 36, "b": 52},
        "hoverlabel": {"align": "left", "bgcolor": PAGE, "bordercolor": MUTED, "font": {"color": TEXT}},
        "legend": {
            "orientation": "h",
            "x": 0,
            "xanchor": "left",
            "y": 1.02,
            "yanchor": "bottom",
            "traceorder": "normal",
        },
        "dragmode": "zoom",
    }
    return common | more


def axis(title: str = "", **more: Any) -> dict[str, Any]:
    """Return an axis in the page's style."""
    named = {"title": {"text": title, "standoff": 10}} if title else {}
    return {"gridcolor": GRID, "zerolinecolor": GRID, "linecolor": MUTED, "automargin": True} | named | more


def figure(data: list[dict[str, Any]], shape: dict[str, Any], *, moved: bool = False) -> Figure:
    """Return a figure; one that is there to be moved about in has buttons and takes the wheel."""
    return {
        "data": data,
        "layout": shape,
        "config": {
            "responsive": True,
            "displaylogo": False,
            "displayModeBar": moved,
            "scrollZoom": moved,
            # Named one by one: what plotly.js offers of itself can send the data to its maker's cloud.
            "modeBarButtons": [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"]],
            "plotlyServerURL": "",
        },
    }


def trade_off_figure(replays: Mapping[str, Replayed], metrics: Mapping[str, Metrics]) -> Figure | None:
    """Draw on-demand delay against lost node-hours: a point a policy, a curve where its decisions had a choice.

    None where there are no on-demand jobs.
    """
    if not any(found.on_demand_jobs for found in metrics.values()):
        return None
    curves = {name: trade_off(replayed) for name, replayed in replays.items()}
    delays = [float(metrics[name].on_demand_latency_mean or 0.0) for name in replays]
    delays += [float(curve.delay[end]) for curve in curves.values() if curve for end in (0, -1)]
    longest = max([1.0, *delays])
    squeezed = longest > _FAR_APART * max(1.0, float(np.median([delay for delay in delays if delay > 0] or [1.0])))

    def scaled(values: Floats) -> list[float]:
        at = squeeze(values) if squeezed else np.round(values, 1)
        return [float(x) for x in at]

    data: list[dict[str, Any]] = []
    for place, (name, curve) in enumerate(curves.items()):
        if curve:
            data += _curve(plain(name), curve, style(place), scaled, labelled=not data)
    for place, name in enumerate(replays):
        # A curve passes to the upper right of its policy's point, which waits where waiting pays most.
        label = "bottom right" if curves[name] else "top right"
        data.append(_point(plain(name), metrics[name], style(place), scaled, label))
    across = {"range": [-0.02 * longest, 1.12 * longest], "ticksuffix": " s"}
    if squeezed:
        shortest = min(delays)
        across = squeezed_axis(longest * 1.5, shortest * 0.6 if shortest > 1.0 else 0.0)
    return figure(
        data,
        layout(
            xaxis=axis("mean delay of on-demand jobs", **across),
            yaxis=axis("lost node-hours", rangemode="tozero", tickformat=",~r"),
            hovermode="closest",
        ),
    )


def _point(
    name: str, found: Metrics, drawn: Style, scaled: Callable[[Floats], list[float]], label: str
) -> dict[str, Any]:
    late = found.on_demand_latency_mean or 0.0
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": name,
        "showlegend": False,
        "x": scaled(np.array([late])),
        "y": [round(found.lost_node_hours, 1)],
        "text": [f"<b>{name}</b>"],
        "textposition": label,
        "textfont": {"color": drawn.colour},
        "marker": {"color": drawn.colour, "symbol": drawn.symbol, "size": 13, "line": {"color": PAGE, "width": 1.5}},
        "hovertemplate": f"<b>{name}</b>, replayed<br>mean delay {duration(late)}<br>"
        "%{y:,.0f} node-hours lost<extra></extra>",
        "cliponaxis": False,
    }


def _curve(
    name: str, curve: TradeOff, drawn: Style, scaled: Callable[[Floats], list[float]], *, labelled: bool
) -> list[dict[str, Any]]:
    line = {
        "type": "scatter",
        "mode": "lines",
        "name": f"{name}: computed from its decisions",
        "x": scaled(curve.delay),
        "y": np.round(curve.lost_node_hours, 1).tolist(),
        "text": [duration(cap) for cap in curve.cap.tolist()],
        "line": {"color": drawn.colour, "dash": drawn.dash, "width": 2},
        "hovertemplate": f"{name}, computed from its decisions<br>at most %{{text}} late each<br>"
        "%{y:,.0f} node-hours lost<extra></extra>",
    }
    caps = np.array([cap for cap in _MARKED_CAPS if cap <= curve.cap[-1] * 1.01])
    at = np.maximum(np.searchsorted(curve.cap, caps, "right") - 1, 0)
    marks = {
        "type": "scatter",
        "mode": "markers+text" if labelled else "markers",
        "x": scaled(curve.delay[at]),
        "y": np.round(curve.lost_node_hours[at], 1).tolist(),
        "text": [f"\N{LESS-THAN OR EQUAL TO} {duration(cap)}" if cap else "at once" for cap in caps.tolist()],
        "textposition": ["bottom left"] * (len(caps) - 1) + ["middle right"],  # the policy's own mark is below the end
        "textfont": {"color": MUTED, "size": 11},
        "marker": {"color": PAGE, "size": 7, "line": {"color": drawn.colour, "width": 2}},
        "showlegend": False,
        "hoverinfo": "skip",
        "cliponaxis": False,
    }
    return [line, marks]


def usage_figure(usage: Usage, clock: Clock, drawn: Style) -> Figure:
    """Draw utilisation over time: useful and wasted stacked, and wasted once more on a scale of its own."""
    start = float(clock.at(np.array([usage.start]))[0])
    step = usage.span * clock.per_second
    useful, wasted = (np.append(share, share[-1]) * 100.0 for share in (usage.useful, usage.wasted))

    def band(name: str, values: Floats, colour: str, **more: Any) -> dict[str, Any]:
        return {
            "type": "scatter",
            "mode": "lines",
            "name": name,
            "x0": start,
            "dx": step,
            "y": packed(values, "f4"),
            "line": {"shape": "hv", "width": 0, "color": colour},
            "fillcolor": colour,
            "hovertemplate": f"{name}: %{{y:.2f}} %<extra></extra>",
        } | more

    data = [
        band("useful", useful, drawn.colour, stackgroup="all"),
        band("wasted", wasted, LOST, stackgroup="all"),
        band("wasted, own scale", wasted, LOST, fill="tozeroy", xaxis="x", yaxis="y2", showlegend=False),
    ]
    top = max(float((useful + wasted).max()), 1.0)
    return figure(
        data,
        layout(
            xaxis=axis(clock.title, type=clock.axis_type, anchor="y2"),
            yaxis=axis("of all nodes", domain=[0.36, 1], range=[0, max(100.0, top)], ticksuffix=" %"),
            yaxis2=axis("wasted", domain=[0, 0.26], rangemode="tozero", ticksuffix=" %", nticks=4),
            hovermode="x unified",
        ),
    )


def wait_figure(replays: Mapping[str, Replayed], *, on_demand: bool) -> Figure | None:
    """Draw what share of the jobs waited how long, for each policy; None where there are no such jobs."""
    data, longest = [], 1.0
    for place, (name, replayed) in enumerate(replays.items()):
        jobs = replayed.jobs
        wait = (jobs["first_start"] - jobs["submit"])[(jobs["on_demand"] != 0) == on_demand]
        if len(wait):
            longest = max(longest, float(wait.max()))
            data.append(_distribution(plain(name), wait, style(place)))
    if not data:
        return None
    tolerated = {replayed.scenario.max_delay for replayed in replays.values()} if on_demand else set()
    return figure(
        data,
        layout(
            xaxis=axis("wait until the first start", **squeezed_axis(longest)),
            yaxis=axis("share of the jobs", range=[0, 1.02], tickformat=".0%"),
            hovermode="closest",
            **_tolerated(sorted(tolerated)),
        ),
    )


def _distribution(name: str, wait: Floats, drawn: Style) -> dict[str, Any]:
    x, share = distribution(np.maximum(wait, 0.0))
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "x": [0.0, *squeeze(x).tolist()],
        "y": [0.0, *np.round(share, 5).tolist()],
        "text": [duration(0.0), *(duration(at) for at in x.tolist())],
        "line": {"color": drawn.colour, "dash": drawn.dash, "width": 2, "shape": "hv"},
        "hovertemplate": f"<b>{name}</b>: %{{y:.1%}} waited at most %{{text}}<extra></extra>",
    }


def _tolerated(delays: Sequence[float]) -> dict[str, Any]:
    """Return the lines that show how late an on-demand job may start."""
    shown = [(round(float(squeeze(np.array([delay]))[0]), 5), delay) for delay in delays if np.isfinite(delay)]
    line = {"color": MUTED, "width": 1, "dash": "dot"}
    return {
        "shapes": [{"type": "line", "x0": at, "x1": at, "y0": 0, "y1": 1.02, "line": line} for at, _ in shown],
        "annotations": [
            {
                "x": at,
                "y": 0.03,
                "text": f"tolerated: {duration(delay)}",
                "showarrow": False,
                "xanchor": "right",
                "yanchor": "bottom",
                "font": {"color": MUTED, "size": 11},
            }
            for at, delay in shown
        ],
    }
