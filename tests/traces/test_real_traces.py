"""Real traces of others, where they are at hand; what is asserted are counts known from other programs."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from traces import read, write

pytestmark = pytest.mark.shared


def test_theta_2022_is_read_whole(shared_traces: Path) -> None:
    trace = read([shared_traces / "theta_2022.swf"])
    assert len(trace) == 23_911
    assert (trace.column("nodes").min(), trace.column("nodes").max()) == (128, 4048)
    assert {problem.kind: problem.kept for problem in trace.summary.problems} == {"over_limit": 6264}
    assert trace.machine.nodes == 4360


def test_theta_2022_survives_a_round_trip_line_by_line(shared_traces: Path, tmp_path: Path) -> None:
    source = shared_traces / "theta_2022.swf"
    write(read([source]), tmp_path / "out.swf")
    jobs = [
        [line for line in path.read_text().splitlines() if not line.startswith(";")]
        for path in (source, tmp_path / "out.swf")
    ]
    assert jobs[0] == jobs[1]


def test_theta_2023_is_sorted_and_its_too_large_jobs_are_counted(shared_traces: Path) -> None:
    trace = read([shared_traces / "theta_2023.swf"])
    assert trace.summary.rows_read == 8401
    kinds = {problem.kind: problem for problem in trace.summary.problems}
    assert kinds["larger_than_machine"].dropped == 8  # the header says 4,360 nodes
    assert kinds["unsorted"].repaired == 2724
    assert np.all(np.diff(trace.column("submit")) >= 0)
    assert len(read([shared_traces / "theta_2023.swf"], nodes=4392)) == 8401


def test_the_sample_of_eagle_is_read_whole(shared_traces: Path) -> None:
    trace = read([shared_traces / "eagle_sample.csv"])
    assert len(trace) == 1000
    assert (trace.column("end") - trace.column("start") == trace.column("run_time")).all()
    states, counts = np.unique(trace.column("state"), return_counts=True)
    assert dict(zip(states.tolist(), counts.tolist(), strict=True)) == {"completed": 985, "timeout": 15}


def test_two_years_of_theta_become_one_trace(shared_traces: Path) -> None:
    trace = read([shared_traces / "theta_2023.swf", shared_traces / "theta_2022.swf"], nodes=4392)
    assert len(trace) == 23_911 + 8401
    assert len(set(trace.column("job_id"))) == len(trace)


def test_reading_does_not_take_seconds(shared_traces: Path) -> None:
    # 0.05 s on an idle machine; the bound only catches a fall from the quick path to the careful one.
    begun = time.perf_counter()
    read([shared_traces / "theta_2022.swf"])
    assert time.perf_counter() - begun < 2
