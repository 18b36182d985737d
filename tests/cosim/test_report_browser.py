"""The report in a real browser: every figure is drawn, the buttons work, and nothing is complained about or fetched."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from replays import jobs_of
from report_samples import busy_trace, page_of, replays_of

pytestmark = pytest.mark.browser

_PROBE = """
<script>
(async () => {
  const seen = {};
  const count = (selector) => document.querySelectorAll(selector).length;
  const gantt = document.querySelector('.plot[data-figure="gantt"]');
  const title = () => gantt.data.map((trace) => trace.marker.color).join();
  seen.resources = performance.getEntriesByType("resource").map((entry) => entry.name);
  seen.before = title();
  document.querySelector('input[name="gantt"][value="1"]').click();
  await new Promise((resolve) => setTimeout(resolve, 500));
  seen.after = title();
  seen.notes = [...document.querySelectorAll("[data-note^=gantt]")].map((note) => note.hidden);
  seen.whole = gantt.layout.meta.window.slice();
  seen.stops = gantt.layout.meta.stops;
  const middle = async (step) => {
    document.querySelector(`[data-go="${step}"]`).click();
    await new Promise((resolve) => setTimeout(resolve, 300));
    const [low, high] = gantt._fullLayout.xaxis.range.map((at) => gantt._fullLayout.xaxis.r2c(at));
    return [(low + high) / 2, high - low];
  };
  seen.all = await middle(0);
  seen.back = await middle(-1);
  seen.further = await middle(-1);
  seen.next = await middle(1);
  const told = document.createElement("output");
  told.id = "probe";
  told.textContent = JSON.stringify(seen);
  document.body.append(told);
})();
</script>
"""


def _open(chromium: str, page: Path, home: Path, *more: str) -> tuple[str, list[str]]:
    """Return the document after its scripts have run, and what the console said."""
    quiet = ("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync")
    done = subprocess.run(
        [
            *(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", *quiet),
            *("--window-size=1280,900", "--virtual-time-budget=8000", "--enable-logging=stderr", *more),
            *(f"--user-data-dir={home}", "--dump-dom", page.as_uri()),
        ],
        capture_output=True,
        text=True,
        timeout=180,
        check=True,
    )
    return done.stdout, [line for line in done.stderr.splitlines() if ":CONSOLE" in line]


def _plots(document: str) -> dict[str, str]:
    """Return the markup of each figure's place."""
    parts = re.split(r'<div class="plot[^>]*data-figure="([^"]+)"', document)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.fixture(scope="module")
def replays():
    return replays_of(busy_trace(), "dp", "slurm", "greedy")


def _write(folder: Path, page: str) -> Path:
    file = folder / "report.html"
    file.write_bytes(page.encode("utf-8", "replace"))
    return file


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_figure_is_drawn_without_a_word_on_the_console(chromium, tmp_path, replays, scheme):
    dark = "--blink-settings=preferredColorScheme=" + ("0" if scheme == "dark" else "1")
    document, console = _open(chromium, _write(tmp_path, page_of(replays)), tmp_path / "home", dark)
    assert console == []
    plots = _plots(document)
    assert set(plots) == {"trade-off", "usage", "gantt", "wait-batch", "wait-on-demand"}
    least = {"trade-off": 3, "usage": 3, "gantt": 3, "wait-batch": 3, "wait-on-demand": 3}
    for name, markup in plots.items():
        assert 'class="main-svg"' in markup, name
        assert len(re.findall(r'<g class="trace (?:scatter|bars)', markup)) >= least[name], name
    assert len(re.findall(r'<g class="point">', plots["gantt"])) > 100
    buttons = {title.lower() for title in re.findall(r'class="modebar-btn[^>]*data-title="([^"]*)"', document)}
    assert buttons == {"download plot as a png", "zoom", "pan", "zoom in", "zoom out", "reset axes"}  # none to a cloud
    assert ("rgb(20, 23, 28)" in plots["usage"]) == (scheme == "dark")


def test_hostile_names_and_the_smallest_replay_are_drawn(chromium, tmp_path):
    hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&quot;%{x}"
    job = {"submit": 0, "run": 100, "nodes": 3, "job_id": hostile}
    replays = replays_of(jobs_of(4, job), "none")
    page = _write(tmp_path, page_of(replays, title=hostile, facts=[(hostile, hostile)], command=hostile))
    document, console = _open(chromium, page, tmp_path / "home")
    assert console == []
    assert set(_plots(document)) == {"usage", "gantt", "wait-batch"}
    assert all("main-svg" in markup for markup in _plots(document).values())


def test_a_foreign_script_is_refused(chromium, tmp_path, replays):
    page = page_of(replays).replace("</body>", "<script>document.title = 'taken over'</script></body>")
    document, console = _open(chromium, _write(tmp_path, page), tmp_path / "home")
    assert "<title>taken over" not in document
    assert any("Content Security Policy" in line for line in console)


def test_the_buttons_change_the_policy_and_go_from_one_interruption_to_the_next(chromium, tmp_path, replays):
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page_of(replays))
    page = page.replace("</body>", f"{_PROBE}</body>")
    document, console = _open(chromium, _write(tmp_path, page), tmp_path / "home")
    assert console == []
    found = re.search(r'<output id="probe">(.*?)</output>', document, re.DOTALL)
    assert found
    seen = json.loads(found[1].replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&"))
    assert [name for name in seen["resources"] if not name.startswith("data:")] == []
    assert seen["before"] != seen["after"]
    assert seen["notes"] == [True, False, True]
    low, high = seen["whole"]
    middle, width = seen["all"]
    assert middle == pytest.approx((low + high) / 2, rel=1e-9)
    assert width == pytest.approx(high - low, rel=1e-6)
    earlier = [stop for stop in seen["stops"] if stop < middle - (high - low) / 1e3]
    assert len(earlier) > 2
    assert seen["back"][0] == pytest.approx(earlier[-1], abs=2)
    assert seen["back"][1] < width
    assert seen["further"][0] == pytest.approx(earlier[-2], abs=2)
    assert seen["next"][0] == pytest.approx(earlier[-1], abs=2)
