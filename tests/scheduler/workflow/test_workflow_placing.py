"""Placing and playing workflows: nothing beyond a node's memory, before its parents, or below the bound."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler.workflow import speed
from scheduler.workflow.analysis import analyse
from scheduler.workflow.bounds import lower_bound
from scheduler.workflow.comparing import PLACEMENTS, compare, document, join, listed
from scheduler.workflow.engine import Absence, Engine, Played
from scheduler.workflow.exact import improve
from scheduler.workflow.generated import layered
from scheduler.workflow.model import CLASSES, Task, Workflow, assemble
from scheduler.workflow.site import Node, Site, uniform
from scheduler.workflow.strategies import Choice, Dependency, Exclusive, Fixed, ListScheduler
from traces.errors import InputError

GIB = 1 << 30


def flow(*tasks: Task, **more: dict[str, int]) -> Workflow:
    return assemble("w", "w.yaml", tasks, **more)


def task(name: str, seconds: float, gib: float, *parents: str, **more: object) -> Task:
    return Task(id=name, kind=name, seconds=seconds, memory=int(gib * GIB), parents=parents, **more)


@st.composite
def workflows(draw) -> Workflow:
    count = draw(st.integers(1, 12))
    shares = {"d": 2 * GIB}
    tasks = []
    for place in range(count):
        above = draw(st.lists(st.integers(0, place - 1), max_size=2, unique=True)) if place else []
        tasks.append(
            Task(
                id=f"t{place}",
                kind="k",
                seconds=draw(st.integers(0, 50)) / 10,
                memory=draw(st.integers(0, 8)) * GIB // 2,
                tier_class=draw(st.sampled_from(CLASSES)),
                cpus=draw(st.integers(1, 2)),
                parents=tuple(f"t{one}" for one in above),
                share=draw(st.sampled_from(["", "", "d"])),
                container=draw(st.sampled_from(["", "", "i.sif"])),
            )
        )
    return assemble("w", "w.yaml", tasks, shares=shares, containers={"i.sif": 200_000_000})


SITES = st.builds(
    uniform, st.integers(1, 3), st.sampled_from([6 * GIB, 7 * GIB]), st.sampled_from([0, 4 * GIB]), st.integers(2, 4)
)


def check(workflow: Workflow, site: Site, played: Played, *, complete: bool = True) -> None:
    """Hold what was played against what must hold for any managed placement, counted anew."""
    runs = {run.task: run for run in played.runs}
    assert len(runs) == len(played.runs) == len(workflow.tasks)
    for above, below in workflow.graph.edges:
        assert runs[above].end <= runs[below].start
    for number, node in enumerate(site.nodes):
        here = [run for run in played.runs if run.node == number]
        for moment in {run.start for run in here}:
            now = [run for run in here if run.start <= moment < run.end]
            tasks = [workflow.tasks[run.task] for run in now]
            shared = sum(workflow.shares[name] for name in {one.share for one in tasks} if name)
            far = sum(run.far or 0 for run in now)
            assert sum(one.memory for one in tasks) - far + shared <= node.dram
            assert far <= node.far and sum(one.cpus for one in tasks) <= node.cpus
            assert sum(one.tier_class == "bandwidth" for one in tasks) <= site.bandwidth_tasks


@given(workflows(), SITES, st.sampled_from(["path", "area", "longest", "memory"]), st.sampled_from([1.0, 3.0, 9.0]))
@settings(max_examples=150, deadline=None)
def test_no_list_placement_gives_out_more_than_there_is(workflow, site, rule, limit):
    played = Engine(workflow, site).play(ListScheduler(workflow, Choice(rule, limit)))
    check(workflow, site, played)
    assert not played.failures
    assert played.makespan >= lower_bound(workflow, site) - 1e-9


@given(workflows(), SITES)
@settings(max_examples=100, deadline=None)
def test_the_others_end_too(workflow, site):
    bound = lower_bound(workflow, site)
    for strategy in (Dependency(), Exclusive()):
        played = Engine(workflow, site).play(strategy)
        assert len(played.runs) == len(workflow.tasks)
        # Whose memory grows while it works may fit beside others where its peak would not.
        assert isinstance(strategy, Dependency) or played.makespan >= bound - 1e-6
        runs = {run.task: run for run in played.runs}
        assert all(runs[above].end <= runs[below].start for above, below in workflow.graph.edges)


def brute_force(seconds: list[float], sizes: list[int], nodes: int, room: int) -> float:
    """Return the least makespan of independent tasks: the best over all orders, each started as soon as it fits."""
    best = float("inf")
    for order in itertools.permutations(range(len(seconds))):
        for nodes_of in itertools.product(range(nodes), repeat=len(seconds)):
            running: list[tuple[float, int, int]] = []
            moment = 0.0
            for one in order:
                while (
                    sum(size for end, node, size in running if node == nodes_of[one] and end > moment) + sizes[one]
                    > room
                ):
                    moment = min(end for end, node, _ in running if node == nodes_of[one] and end > moment)
                running.append((moment + seconds[one], nodes_of[one], sizes[one]))
            best = min(best, max(end for end, _, _ in running))
    return best


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(1, 4)), min_size=1, max_size=5), st.integers(1, 2))
@settings(max_examples=25, deadline=None)
def test_cp_sat_finds_the_optimum_and_the_bound_is_below_it(drawn, nodes):
    workflow = flow(*(task(f"t{k}", float(seconds), size) for k, (seconds, size) in enumerate(drawn)))
    site = uniform(nodes, 4 * GIB, 0, 8)
    best = brute_force([float(s) for s, _ in drawn], [m for _, m in drawn], nodes, 4)
    found = compare(workflow, site, ("list", "cpsat"), budget=10.0)
    assert found.placements["cpsat"].played.makespan == pytest.approx(best)
    assert found.lower_bound == pytest.approx(best, abs=0.01 * len(drawn)) and found.lower_bound <= best + 1e-6
    assert found.placements["list"].played.makespan >= best - 1e-9


@given(workflows(), SITES)
@settings(max_examples=15, deadline=None)
def test_a_plan_of_cp_sat_is_carried_out_and_never_worse(workflow, site):
    found = compare(workflow, site, ("list", "cpsat"), budget=1.0)
    check(workflow, site, found.placements["cpsat"].played)
    assert found.placements["cpsat"].played.makespan <= found.placements["list"].played.makespan + 1e-9
    assert found.lower_bound <= found.placements["cpsat"].played.makespan + 1e-6


def test_what_waits_for_memory_is_not_started_and_what_does_not_know_of_it_dies():
    tasks = [task(f"t{k}", 10, 4) for k in range(4)]
    site = uniform(1, 8 * GIB, 0, 8)
    unaware = Engine(flow(*tasks), site).play(Dependency())
    # All four start; half-way each asks for its other half: 16 GiB do not fit into 8.
    assert unaware.failures and {when for _, when in unaware.failures[:2]} == {5.0}
    aware, _ = listed(flow(*tasks), site)
    assert aware.makespan == 20.0 and not aware.failures and unaware.makespan > 20.0


def test_the_kernels_reclaim_slows_all_tasks_down_where_far_memory_is_enough():
    site = uniform(1, 4 * GIB, 8 * GIB, 8)
    played = Engine(flow(task("a", 10, 4), task("b", 10, 4)), site).play(Dependency())
    # The first half with half of the memory held, all near; the second half with half of it far.
    assert played.makespan == pytest.approx(5 + 5 * speed.unmanaged(0.5)) and not played.failures


def test_the_measured_slow_downs_are_met():
    assert speed.managed("short", 0.5) == pytest.approx(47.1 / 14.2)
    assert speed.unmanaged(0.5) == pytest.approx(116.3 / 14.2)
    assert all(speed.managed(name, 0.0) == 1.0 for name in CLASSES)


def test_a_task_of_more_than_the_dram_gets_far_memory_and_takes_longer():
    played, _ = listed(flow(task("a", 10, 6)), uniform(1, 4 * GIB, 4 * GIB, 1))
    assert played.runs[0].far == 2 * GIB
    assert played.makespan == pytest.approx(10 * speed.managed("short", 1 / 3))


def test_given_budgets_are_kept():
    both = task("a", 10, 6, dram=3 * GIB, far=3 * GIB)
    played, _ = listed(flow(both), uniform(1, 8 * GIB, 8 * GIB, 1))
    assert played.runs[0].far == 3 * GIB
    with pytest.raises(InputError, match="more than any node gives"):
        compare(flow(task("a", 10, 6, dram=3 * GIB, far=GIB)), uniform(1, 8 * GIB, 8 * GIB, 1), ("list",))


def test_shared_data_is_held_once_on_a_node():
    users = [task(f"t{k}", 10, 1, share="d") for k in range(4)]
    data = {"shares": {"d": 4 * GIB}}
    together, _ = listed(flow(*users, **data), uniform(1, 8 * GIB, 0, 8))
    assert together.makespan == 10.0
    apart, _ = listed(flow(*(task(f"t{k}", 10, 5) for k in range(4))), uniform(1, 8 * GIB, 0, 8))
    assert apart.makespan == 40.0
    two_nodes, _ = listed(flow(*users, **data), uniform(2, 8 * GIB, 0, 8))
    assert len({run.node for run in two_nodes.runs}) == 1


def test_a_fourth_bandwidth_bound_task_waits_or_slows_all_down():
    tasks = [task(f"t{k}", 9, 1, tier_class="bandwidth") for k in range(4)]
    site = uniform(1, 8 * GIB, 0, 8)
    assert listed(flow(*tasks), site)[0].makespan == 18.0
    assert Engine(flow(*tasks), site).play(Dependency()).makespan == pytest.approx(9 * 4 / 3)
    mixed = uniform(2, 8 * GIB, 0, 8)
    assert listed(flow(*tasks), mixed)[0].makespan == 9.0


def test_an_image_is_fetched_once_by_a_node():
    tasks = [task("a", 10, 1, container="i"), task("b", 10, 1, "a", container="i")]
    played, _ = listed(flow(*tasks, containers={"i": 400_000_000}), uniform(2, 8 * GIB, 0, 8))
    assert played.makespan == pytest.approx(22.0) and len({run.node for run in played.runs}) == 1


def test_a_latency_bound_task_is_not_made_far_only_to_start_sooner():
    site = uniform(1, 4 * GIB, 4 * GIB, 4)
    for name, expected in (("latency", 0), ("short", 1)):
        tasks = [task(f"t{k}", 100, 4, tier_class=name) for k in range(2)]
        played = Engine(flow(*tasks), site).play(ListScheduler(flow(*tasks), Choice("path", 9.0)))
        assert sum(bool(run.far) for run in played.runs) == expected


def test_a_task_larger_than_any_node_is_refused_with_the_sizes_that_exist():
    site = Site((Node("a", 4 * GIB, 0, 4), Node("b", 8 * GIB, GIB, 2), Node("c", 4 * GIB, 0, 4)))
    with pytest.raises(InputError) as error:
        compare(flow(task("big\none", 1, 10)), site)
    message = str(error.value)
    assert "w.yaml: task 'big\\\\none'" in message and "\n" not in message
    assert "2 x 4 GiB DRAM, 4 CPUs; 1 x 8 GiB DRAM and 1 GiB far, 2 CPUs" in message


@pytest.mark.parametrize("name", PLACEMENTS)
def test_an_empty_workflow_is_done_at_once(name):
    found = compare(flow(), uniform(1, GIB, 0, 1), (name,), budget=1.0)
    assert document(found)["placements"][name]["makespan"] == 0.0 and found.lower_bound == 0.0


@pytest.mark.parametrize("name", PLACEMENTS)
def test_a_node_taken_away_costs_its_runs_and_the_workflow_still_ends(name):
    workflow = flow(task("a", 10, 3), task("b", 10, 3), task("c", 10, 3, "a", "b"))
    site = uniform(2, 4 * GIB, 0, 4)
    absences = [Absence(5.0, 30.0)]
    found = compare(workflow, site, (name,), absences=absences, budget=2.0).placements[name].played
    assert found.interrupted == 1 and len(found.runs) == 3
    # One node is left: the interrupted task again after the other, then the last; later where both share the memory.
    assert found.makespan >= 30.0 if name == "dependency" else found.makespan == pytest.approx(30.0)
    every = compare(workflow, site, (name,), absences=[Absence(5.0, 40.0)] * 2, budget=2.0).placements[name].played
    assert every.interrupted == 2 and every.makespan == pytest.approx(60.0)
    assert found.failures == () or name == "dependency"


def test_several_workflows_keep_their_own_tasks_and_data():
    one = flow(task("a", 5, 1, share="d"), shares={"d": GIB})
    both = join([one, one])
    assert [t.id for t in both.tasks] == ["1:a", "2:a"] and set(both.shares) == {"1:d", "2:d"}
    assert listed(both, uniform(1, 4 * GIB, 0, 2))[0].makespan == 5.0


def test_a_plan_that_gives_out_too_much_is_a_defect_that_shows():
    class Greedy:
        def choose(self, engine: Engine, fresh: Iterable[int], changed: Iterable[int]) -> None:
            for place in fresh:
                engine.start(place, 0, 0)

    with pytest.raises(RuntimeError, match="gives out more"):
        Engine(flow(task("a", 1, 3), task("b", 1, 3)), uniform(1, 4 * GIB, 0, 4)).play(Greedy())


def test_a_plan_whose_order_waits_is_followed():
    workflow = flow(task("a", 1, 1), task("b", 2, 1))
    site = uniform(1, 4 * GIB, 0, 1)
    plan = listed(workflow, site)[1]
    assert Engine(workflow, site).play(Fixed(workflow, plan)).makespan == 3.0
    assert improve(workflow, site, plan, bound=3.0, budget=2.0).bound == pytest.approx(3.0, abs=0.01)


def test_the_bound_by_rounds_sees_what_areas_do_not():
    # Three tasks of two fifths of a node: two at once, so two rounds.
    workflow = flow(*(task(f"t{k}", 10, 2) for k in range(3)))
    assert lower_bound(workflow, uniform(1, 5 * GIB, 0, 8)) == 20.0


def test_a_large_generated_workflow_is_placed_within_its_nodes():
    workflow, site = layered(3500), uniform(8, 64 * GIB, 64 * GIB, 32)
    played, _ = listed(workflow, site)
    check(workflow, site, played)
    assert analyse(workflow).critical_seconds <= lower_bound(workflow, site) <= played.makespan + 1e-6
    assert json.dumps(document(compare(workflow, site, ("list",))))
