"""The report's page: what is on it, that it is safe and the same each time, and that plotly accepts its figures."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from itertools import combinations

import numpy as np
import pytest
from replays import jobs_of, play_trace, trace_of
from report_samples import busy_trace, data_of, metrics_of, page_of, replays_of, text_of, unpacked, without_plotly

from cosim.report import palette, write_report
from cosim.report.comparison import headline, table
from cosim.runs import COMPLETED, runs_of
from traces.errors import InputError

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&<!--%{x}$title\u2028\ud800\u202e"


@pytest.fixture(scope="module")
def four():
    return replays_of(busy_trace(), "dp", "slurm", "youngest", "greedy")


class _Elements(HTMLParser):
    """All start tags of a page with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def _elements(page):
    parser = _Elements()
    parser.feed(without_plotly(page))
    return parser.found


_JOB = {"submit": 0, "run": 100, "nodes": 3}
_SPECIAL = _JOB | {"on_demand": True}
_AT_ONCE = {"run_time": [1] * 40, "on_demand": [True] * 5 + [False] * 35}

EDGES = {
    "one job": (jobs_of(4, _JOB), "dp"),
    "one on-demand job": (jobs_of(4, _SPECIAL), "dp", "slurm"),
    "no on-demand jobs": (jobs_of(4, _JOB, _JOB | {"submit": 7}), "dp", "slurm"),
    "no batch jobs": (jobs_of(4, _SPECIAL, _SPECIAL), "dp"),
    "nobody decides": (jobs_of(4, _JOB, _SPECIAL), "none"),
    "no preemptions": (jobs_of(8, _JOB, _SPECIAL), "dp", "slurm"),
    "no makespan": (jobs_of(4, _JOB | {"run": 0}, _SPECIAL | {"run": 0}), "dp", "none"),
    "all at one second": (trace_of(9, submit=[5] * 40, nodes=[9] * 40, **_AT_ONCE), "dp"),
    "all at one second of now": (trace_of(9, submit=[1.7e9] * 40, nodes=[2] * 40, **_AT_ONCE), "dp"),
    "one node": (jobs_of(1, _JOB | {"nodes": 1}, _SPECIAL | {"nodes": 1, "submit": 9}), "slurm"),
    "before 1970": (jobs_of(4, _JOB | {"submit": -5e8}, _SPECIAL | {"submit": -5e8}), "dp"),
    "many policies": (busy_trace(40), "dp", "slurm", "youngest", "smallest", "greedy", "random", "none"),
}


@cache
def edge(name):
    trace, *policies = EDGES[name]
    return replays_of(trace, *policies)


def _check_with_plotly(figure):
    from plotly import graph_objects

    checked = graph_objects.Figure({"data": figure["data"], "layout": figure["layout"]}, skip_invalid=False)
    assert len(checked.data) == len(figure["data"]) > 0


def test_the_page_shows_the_comparison_the_facts_and_the_command(four):
    page = page_of(four, title="theta 2022", facts=[("Machine", "4,392 nodes")], command="tierwise replay 'a b.swf'")
    text = text_of(without_plotly(page))
    for shown in ("theta 2022", "4,392 nodes", "tierwise replay 'a b.swf'", "The baseline is", "Slurm's own order"):
        assert shown in text
    for name in four:
        assert name in text
    assert "without replaying again" in text
    assert "drawing aid" in text
    assert "No run of it is left out" in text


def test_every_place_for_a_figure_has_one(four):
    page = page_of(four)
    places = {attributes["data-figure"] for _, attributes in _elements(page) if "data-figure" in attributes}
    assert places == {"trade-off", "usage", "gantt", "wait-batch", "wait-on-demand"}
    figures = data_of(page)["figures"]
    per_policy = {f"{kind}/{place}" for kind in ("usage", "gantt") for place in range(len(four))}
    assert set(figures) == (places - {"usage", "gantt"}) | per_policy


@pytest.mark.parametrize("name", ["four", *EDGES])
def test_plotly_accepts_each_figure(name, four):
    figures = data_of(page_of(four if name == "four" else edge(name)))["figures"]
    for figure in figures.values():
        _check_with_plotly(figure)


@pytest.mark.parametrize("name", EDGES)
def test_a_page_is_made_of_any_replay(name):
    page = page_of(edge(name))
    text = text_of(re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL))
    assert "Comparison" in text
    assert "Drawn: " in text
    assert not re.search(r"\b(nan|None|inf|-0)\b", text)


def test_a_replay_without_on_demand_jobs_says_so_instead_of_drawing_nothing():
    page = page_of(edge("no on-demand jobs"))
    assert "This replay has no on-demand jobs." in page
    assert {"trade-off", "wait-on-demand"}.isdisjoint(data_of(page)["figures"])


def test_the_table_marks_the_best_of_each_row_and_what_changed_against_slurm(four):
    metrics = metrics_of(four)
    rows = re.findall(r"<tr><th scope=\"row\">(.*?)</tr>", table(metrics))
    lost = next(row for row in rows if row.startswith("Lost node-hours"))
    cells = re.findall(r"<td.*?</td>", lost)
    assert len(cells) == 4
    best = min(metrics, key=lambda name: metrics[name].lost_node_hours)
    assert [" best" in cell for cell in cells] == [name == best for name in metrics]
    change = round(100 * (metrics["dp"].lost_node_hours / metrics["slurm"].lost_node_hours - 1))
    assert f"\N{MINUS SIGN}{-change} %" in cells[0]
    assert "%" not in cells[1]


def test_nothing_is_best_where_all_are_the_same():
    dp = metrics_of(edge("one job"))["dp"]
    assert " best" not in table({"dp": dp, "slurm": dp})


def test_a_value_that_does_not_exist_is_a_dash():
    dp = metrics_of(edge("one job"))["dp"]
    without = replace(dp, batch_mean_wait=None)
    assert "\N{EN DASH}" in table({"dp": dp, "slurm": without})


def test_a_rows_unit_shows_its_shortest_time_as_well_as_its_longest():
    dp = metrics_of(edge("one on-demand job"))["dp"]
    fast, slow = (replace(dp, on_demand_latency_mean=seconds) for seconds in (90.0, 36_000.0))
    row = next(line for line in table({"slurm": fast, "none": slow}).split("<tr>") if "Delay, mean" in line)
    assert text_of(row).split() == [
        "Delay,",
        "mean",
        "min",
        "\N{BLACK CIRCLE}",
        "best",
        "1.5",
        "600.0",
        "\N{MULTIPLICATION SIGN}",
        "400",
    ]


def test_the_headline_compares_dp_with_slurm():
    dp = metrics_of(edge("one on-demand job"))["dp"]
    ahead = replace(dp, lost_node_hours=40.0, on_demand_latency_mean=90.0)
    behind = replace(dp, lost_node_hours=100.0, on_demand_latency_mean=60.0)
    shown = " ".join(text_of(headline({"slurm": behind, "dp": ahead})).split())
    assert shown.startswith("dp lost 40 node-hours, 60 % less than slurm with 100, and its on-demand jobs started ")
    assert shown.endswith("started 1m 30s late on average instead of 1m.")
    assert "more than" in headline({"slurm": ahead, "dp": behind})
    assert "the same as" in headline({"slurm": dp, "dp": dp})


def test_a_policy_has_one_colour_throughout(four):
    figures = data_of(page_of(four))["figures"]
    for place, name in enumerate(four):
        colour = palette.style(place).colour
        for wait in ("wait-batch", "wait-on-demand"):
            assert [t["line"]["color"] for t in figures[wait]["data"] if t["name"] == name] == [colour]
        points = [trace for trace in figures["trade-off"]["data"] if trace.get("name") == name]
        assert [trace["marker"]["color"] for trace in points] == [colour]
        assert figures[f"usage/{place}"]["data"][0]["fillcolor"] == colour
        assert figures[f"gantt/{place}"]["data"][0]["marker"]["color"] == colour


def test_all_colours_have_a_dark_partner_and_stand_out_from_both_pages():
    def luminance(colour):
        parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    def contrast(one, other):
        dark, light = sorted((luminance(one), luminance(other)))
        return (light + 0.05) / (dark + 0.05)

    colours = {palette.style(place).colour for place in range(8)} | {palette.LOST, palette.ON_DEMAND, palette.MUTED}
    assert len(colours) == 11
    for colour in colours:
        assert contrast(colour, palette.PAGE) >= 3  # WCAG 2.1, 1.4.11: graphical objects
        assert contrast(palette.DARK[colour], palette.DARK[palette.PAGE]) >= 3


# Machado, Oliveira and Fernandes, IEEE TVCG 15(6), 2009, full severity: protanopia, deuteranopia, tritanopia.
_SIGHTS = (
    np.eye(3),
    np.array([[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]),
    np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]),
    np.array([[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]]),
)
_TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])


def _lab(colour, sight):
    """Return a colour in CIELAB, D65, as somebody sees it."""
    encoded = np.array([int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)])
    linear = np.where(encoded <= 0.04045, encoded / 12.92, ((encoded + 0.055) / 1.055) ** 2.4)
    x, y, z = _TO_XYZ @ np.clip(sight @ linear, 0, 1) / np.array([0.9505, 1.0, 1.089])
    x, y, z = (np.cbrt(part) if part > 0.008856 else 7.787 * part + 16 / 116 for part in (x, y, z))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize(("policies", "apart"), [(4, 25), (8, 15)])
@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("sight", range(4))
def test_colours_of_policies_can_be_told_apart_by_everybody(policies, apart, dark, sight):
    colours = [palette.style(place).colour for place in range(policies)]
    seen = [_lab(palette.DARK[colour] if dark else colour, _SIGHTS[sight]) for colour in colours]
    assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) > apart


def test_the_gantt_view_tells_of_each_run_what_became_of_it(four):
    replayed = four["slurm"]
    data = data_of(page_of({"slurm": replayed}))["figures"]["gantt/0"]["data"]
    runs = runs_of(replayed)
    bars = {trace["name"]: trace for trace in data}
    drawn = sum(len(set(bars[name]["hovertext"])) for name in ("batch run", "interrupted run", "on-demand run"))
    assert drawn == len(runs.job)
    stopped = int((runs.how != COMPLETED).sum())
    assert len(bars["stopped here"]["x"]) == stopped == len(set(bars["interrupted run"]["hovertext"]))
    assert all("preempted: killed" in text for text in bars["interrupted run"]["hovertext"])
    node_seconds = sum(
        float((unpacked(trace["x"]) / 1000 * unpacked(trace["width"])).sum())
        for trace in data
        if trace["type"] == "bar"
    )
    assert node_seconds == pytest.approx(((runs.end - runs.start) * runs.nodes).sum(), rel=1e-4)
    first = bars["batch run"]["hovertext"][0]
    for shown in ("job <b>", "node", " to<br>", "ended by itself"):
        assert shown in first


def test_names_from_a_trace_cannot_become_markup():
    count = 30
    trace = busy_trace(
        count,
        job_id=[f"{number}{HOSTILE}" for number in range(count)],
        user=[HOSTILE] * count,
        queue=[HOSTILE] * count,
    )
    page = page_of(replays_of(trace, "slurm"), title=HOSTILE, facts=[(HOSTILE, HOSTILE)], command=HOSTILE)
    page.encode("utf-8", "replace")
    tags = [tag for tag, _ in _elements(page)]
    assert tags.count("script") == 3
    assert "img" not in tags
    assert page.count("</script>") == 3
    assert "<script>alert" not in page
    assert "<img" not in page
    hover = data_of(page)["figures"]["gantt/0"]["data"][0]["hovertext"][0]
    assert "&lt;/script&gt;" in hover
    assert "<script" not in hover
    assert "%{" not in hover
    assert "$title" in text_of(without_plotly(page))


def test_the_page_may_run_its_own_scripts_only_and_reach_nothing(four):
    page = page_of(four)
    elements = _elements(page)
    for tag, attributes in elements:
        assert "src" not in attributes, tag
        assert not any(name.startswith("on") for name in attributes)
        assert attributes.get("href", "data:,").startswith("data:")
    policy = next(a["content"] for _, a in elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "http" not in policy
    assert "unsafe-eval" not in policy
    assert "unsafe-inline" not in policy.split(";")[1]
    for figure in data_of(page)["figures"].values():
        assert figure["config"]["plotlyServerURL"] == ""
        assert "modeBarButtons" in figure["config"]
    ours = without_plotly(page)
    assert not re.findall(r"https?:|url\(|@import|//\w", ours.replace('http-equiv="', ""))


def test_the_same_replays_make_the_same_bytes(tmp_path):
    for name in ("one", "two"):
        replays = replays_of(busy_trace(), "dp", "slurm")
        write_report(
            tmp_path / name, replays, metrics_of(replays), title="t", facts=[("a", "b")], command="tierwise replay"
        )
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_a_report_appears_whole_or_not_at_all(tmp_path, monkeypatch, four):
    target = tmp_path / "report.html"
    target.write_text("the old one")
    monkeypatch.setattr("cosim.report.page.embedded_json", lambda value: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_report(target, four, metrics_of(four), title="t", facts=[], command="c")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]
    assert target.read_text() == "the old one"
    with pytest.raises(InputError, match="there is no directory"):
        monkeypatch.undo()
        write_report(tmp_path / "no" / "report.html", four, metrics_of(four), title="t", facts=[], command="c")


def test_a_long_trace_does_not_make_a_large_page():
    small, large = (
        sum(len(str(value)) for value in data_of(page_of(replays_of(trace, "none")))["figures"].items())
        for trace in (busy_trace(2000), busy_trace(8000))
    )
    assert large < 1.5 * small + 200_000


def test_runs_at_hand_are_taken(four):
    one = {"dp": four["dp"]}
    assert page_of(one, runs={"dp": runs_of(four["dp"])}) == page_of(one)


def test_the_report_does_not_import_plotly():
    import subprocess
    import sys

    check = "import sys, cosim.report; sys.exit('plotly' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", check], check=False).returncode == 0


def test_a_policy_that_lets_on_demand_jobs_wait_for_hours_shares_the_figure_with_those_that_do_not():
    figure = data_of(page_of(edge("many policies")))["figures"]["trade-off"]
    low, high = figure["layout"]["xaxis"]["range"]
    for trace in figure["data"]:
        assert all(low <= x <= high for x in unpacked(trace["x"]))


def test_an_outage_is_told_from_a_preemption():
    from cosim.outages import Outage

    replayed = play_trace(
        jobs_of(4, {"submit": 0, "run": 100, "nodes": 4}), decided_by="dp", outages=(Outage(10.0, 20.0, 2),)
    )
    texts = [
        text
        for trace in data_of(page_of({"dp": replayed}))["figures"]["gantt/0"]["data"]
        for text in np.atleast_1d(trace["hovertext"])
    ]
    assert any("its nodes failed" in text for text in texts)
    assert "Runs stopped by outages" in page_of({"dp": replayed})
