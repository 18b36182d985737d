"""Random replays of every mixture of settings; `play` checks the rules that hold of each (see `invariants`)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from invariants import check
from replays import play_trace, rules_of, trace_of

from cosim.checkpoints import CheckpointRules
from cosim.draw import Draw
from cosim.outages import Outage
from cosim.workload import OnDemandRule
from traces.table import Trace

POLICIES = ["dp", "slurm", "youngest", "smallest", "greedy", "random", None]

CHECKPOINTS = [
    rules_of(),
    rules_of(restart=30.0),
    rules_of(every=60.0, cost=5.0, restart=10.0, share=0.5),
    rules_of(every=10.0, cost=20.0, restart=0.0, share=1.0),
    rules_of(every="daly", cost=3.0, restart=3.0, share=0.3),
    CheckpointRules(Draw("uniform", 20.0, 200.0), Draw("exponential", 10.0), Draw("lognormal", 15.0, 1.0), 0.5),
]


def random_trace(seed: int, count: int, nodes: int, burst: str) -> Trace:
    """Make jobs that keep a machine busy; some outlive their requests, some take no time, some fill the machine."""
    rng = np.random.default_rng(seed)
    gap = {"at once": 0.0, "seconds": 2.0, "steady": 150.0, "slow": 600.0}[burst]
    request = rng.integers(1, 1000, count)
    used = rng.choice([0.0, 0.3, 1.0, 1.0, 1.2, 3.0], count)
    width = np.where(rng.random(count) < 0.1, nodes, rng.integers(1, max(2, nodes // 2), count))
    return trace_of(
        nodes,
        submit=np.floor(np.cumsum(rng.exponential(gap, count))),
        run_time=np.floor(request * used),
        requested_time=request,
        nodes=width,
        preemptible=rng.random(count) < 0.9,
    )


def random_outages(seed: int, count: int, nodes: int) -> tuple[Outage, ...]:
    rng = np.random.default_rng(seed)
    starts = np.sort(rng.integers(0, 3000, count)).tolist()
    return tuple(
        Outage(s, s + float(rng.integers(1, 1500)), int(rng.integers(1, nodes + 2))) for s in map(float, starts)
    )


@st.composite
def scenarios(draw):
    """Draw the settings of one replay."""
    nodes = draw(st.sampled_from([1, 3, 8, 64]))
    seed = draw(st.integers(0, 2**31))
    shape = (draw(st.sampled_from([1, 5, 40])), nodes, draw(st.sampled_from(["at once", "seconds", "steady", "slow"])))
    return (seed, *shape), {
        "seed": seed,
        "backfill": draw(st.sampled_from(["none", "easy", "conservative"])),
        "priority": draw(st.sampled_from(["fcfs", "sjf", "wfp"])),
        "decided_by": draw(st.sampled_from(POLICIES)),
        "max_delay": draw(st.sampled_from([0.0, 15.0, 300.0, 3600.0])),
        "delay_weight": draw(st.sampled_from([0.0, 1.0, 50.0])),
        "checkpoints": draw(st.sampled_from(CHECKPOINTS)),
        "on_demand": OnDemandRule("share", draw(st.sampled_from([0.0, 0.2, 0.5, 1.0]))),
        "outages": random_outages(seed, draw(st.sampled_from([0, 0, 1, 6])), nodes),
    }


@settings(max_examples=200, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(scenarios())
def test_every_replay_keeps_the_rules(scenario):
    shape, options = scenario
    play_trace(random_trace(*shape), **options)


@pytest.mark.parametrize("decided_by", POLICIES)
@pytest.mark.parametrize("backfill", ["easy", "conservative"])
def test_a_busy_machine_with_outages_and_preemptions_keeps_the_rules(decided_by, backfill):
    nodes = 64
    replayed = play_trace(
        random_trace(5, 300, nodes, "steady"),
        backfill=backfill,
        priority="wfp",
        decided_by=decided_by,
        max_delay=120.0,
        checkpoints=rules_of(every=60.0, cost=5.0, restart=10.0, share=0.5),
        on_demand=OnDemandRule("share", 0.2),
        outages=random_outages(6, 20, nodes),
    )
    stopped = {run.how for run in replayed.interrupted}
    assert stopped == ({"outage"} if decided_by is None else stopped | {"outage", "kill"})


def test_the_rules_notice_a_job_that_starts_too_early():
    replayed = play_trace(random_trace(1, 20, 8, "at once"))
    replayed.jobs["submit"][3] = replayed.jobs["first_start"][3] + 1
    with pytest.raises(AssertionError, match="job 3 starts before"):
        check(replayed)


def test_the_rules_notice_nodes_that_are_used_twice():
    replayed = play_trace(random_trace(1, 20, 8, "at once"))
    replayed.jobs["nodes"] *= 2
    with pytest.raises(AssertionError, match="nodes in use"):
        check(replayed)


def test_the_rules_notice_progress_that_is_not_the_run_time():
    replayed = play_trace(random_trace(1, 20, 8, "at once"))
    replayed.jobs["run_time"][0] += 7
    with pytest.raises(AssertionError):
        check(replayed)
