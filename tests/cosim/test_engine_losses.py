"""At every decision of a replay, no other policy loses less than the exact one at the same start."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from unittest.mock import patch

import pytest
from invariants import WatchedMachine, check
from replays import rules_of

from cosim.engine import Scenario, replay
from cosim.machine import Rules
from cosim.policies import policy
from cosim.workload import OnDemandRule, build
from traces.generator import theta_like
from traces.reading import read

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "replay_losses.py"


@pytest.fixture(scope="module")
def losses():
    """Return the benchmark that compares losses, as a module."""
    spec = importlib.util.spec_from_file_location("replay_losses", BENCHMARK)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def assert_nobody_loses_less(losses, workload, at_least: int) -> None:
    comparing = losses.Comparing([policy(name) for name in losses.OTHERS])
    losses.compare(comparing, workload, Rules(workload.nodes, "easy", "wfp"))
    assert comparing.with_victims >= at_least
    assert set(comparing.tallies) == {"slurm", "youngest", "greedy", "smallest", "random"}
    for name, tally in comparing.tallies.items():
        assert (name, tally.less, tally.impossible) == (name, 0, 0)
        assert tally.more + tally.equal == comparing.points
    assert comparing.tallies["random"].more > 0


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_nobody_loses_less_than_the_exact_policy_on_a_made_up_trace(losses, share):
    checkpoints = rules_of(every=3600.0, cost=60.0, restart=60.0, share=share)
    workload = build(theta_like(days=40.0, seed=2), checkpoints=checkpoints, priority="wfp")
    assert_nobody_loses_less(losses, workload, at_least=40)


@pytest.mark.shared
def test_nobody_loses_less_than_the_exact_policy_on_theta_2022(losses, shared_traces):
    trace = read([shared_traces / "theta_2022.swf"], nodes=4392)
    workload = build(trace, nodes=4392, on_demand=OnDemandRule("share", 0.1), priority="wfp")
    assert_nobody_loses_less(losses, workload, at_least=400)


@pytest.mark.shared
def test_a_year_of_theta_keeps_the_rules(shared_traces):
    trace = read([shared_traces / "theta_2022.swf"], nodes=4392)
    workload = build(trace, nodes=4392, on_demand=OnDemandRule("share", 0.1), priority="wfp")
    with patch("cosim.engine.Machine", WatchedMachine):
        replayed = replay(workload, Scenario(Rules(4392, "easy", "wfp"), policy("dp")))
    check(replayed)
