"""What `tierwise replay` does between its options and its output: read, build, play each policy, measure."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cosim.checkpoints import CheckpointRules
from cosim.engine import Replayed, Scenario, rehearse, replay
from cosim.machine import Rules
from cosim.metrics import Metrics, measure
from cosim.outages import Outage
from cosim.policies import PreemptionPolicy, policy
from cosim.runs import Runs, runs_of
from cosim.workload import OnDemandRule, Workload, build
from traces.durations import DAY, parse_duration
from traces.errors import InputError
from traces.reading import read
from traces.table import Trace

THETA_LIKE = "theta-like"
"""The name that stands for the built-in generator where a trace is asked for."""

NO_POLICY = "none"
"""The name for no preemption at all: on-demand jobs wait at the queue's head."""

DEFAULT_SHARE = 0.1
"""Share of jobs that are on-demand where neither the trace nor a flag says which."""

_YEAR_OF_DAYS = 365.0


@dataclass(frozen=True)
class Question:
    """A replay as it was asked for.

    Attributes
    ----------
    traces : tuple of str
        Files, or `theta-like`, `theta-like:30d`, `theta-like:5000`.
    nodes : int or None
        The machine's size.
    backfill, priority : str
        How the batch queue is run.
    on_demand : OnDemandRule or None
        Which jobs are on-demand; None: as marked, or a tenth.
    on_demand_file : str or None
        A second trace of on-demand jobs.
    max_delay : float
        How late an on-demand job may start [s].
    policies : tuple of str
        Their names, in the order of the table.
    checkpoints : CheckpointRules
        Where the trace does not say.
    delay_weight : float
        What a node-second of delay is worth in lost node-seconds.
    outages : tuple of Outage
        Nodes that fail and come back.
    slowdown_threshold : float
        Of the bounded slowdown [s].
    seed : int
        What is drawn is drawn from it.
    processors_per_node : int
        For traces that count processors.
    """

    traces: tuple[str, ...]
    nodes: int | None
    backfill: str
    priority: str
    on_demand: OnDemandRule | None
    on_demand_file: str | None
    max_delay: float
    policies: tuple[str, ...]
    checkpoints: CheckpointRules
    delay_weight: float
    outages: tuple[Outage, ...]
    slowdown_threshold: float
    seed: int
    processors_per_node: int = 1


@dataclass(frozen=True)
class Answer:
    """What replaying showed.

    Attributes
    ----------
    question : Question
        What was asked.
    trace : Trace
        What was read or generated.
    workload : Workload
        The jobs that were played.
    replays, runs, metrics : Mapping of str to Replayed, Runs, Metrics
        By policy, in the order asked.
    seconds : Mapping of str to float
        What reading, building, loading compiled code, replaying and measuring took [s].
    """

    question: Question
    trace: Trace
    workload: Workload
    replays: Mapping[str, Replayed]
    runs: Mapping[str, Runs]
    metrics: Mapping[str, Metrics]
    seconds: Mapping[str, float] = field(default_factory=dict)


Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


def answer(question: Question, progress: Progress | None = None) -> Answer:
    """Play the trace once for each policy.

    Parameters
    ----------
    question : Question
        What to play, and how.
    progress : Progress, optional
        Called now and then.

    Returns
    -------
    Answer
        The replays and their figures.

    Raises
    ------
    InputError
        Where a trace cannot be read, or the question does not fit it.
    """
    policies = _policies(question)
    began = time.perf_counter()
    trace = _trace(question, progress)
    extra = read([question.on_demand_file], nodes=question.nodes) if question.on_demand_file else None
    was_read = time.perf_counter()
    workload = build(
        trace,
        nodes=question.nodes,
        extra_on_demand=extra,
        on_demand=_rule(question, trace),
        checkpoints=question.checkpoints,
        priority=question.priority,
        seed=question.seed,
    )
    rules = Rules(workload.nodes, question.backfill, question.priority)
    scenarios = {
        name: Scenario(rules, decider, question.max_delay, question.delay_weight, question.outages, question.seed)
        for name, decider in policies.items()
    }
    was_built = time.perf_counter()
    on_demand_jobs = bool(workload.jobs["on_demand"].any())
    starting = sum(rehearse(scenario, on_demand=on_demand_jobs) for scenario in scenarios.values())
    started = time.perf_counter()
    replays = {name: replay(workload, scenario, _told(progress, name)) for name, scenario in scenarios.items()}
    was_played = time.perf_counter()
    runs = {name: runs_of(replayed) for name, replayed in replays.items()}
    metrics = {name: measure(replayed, runs[name], question.slowdown_threshold) for name, replayed in replays.items()}
    seconds = {
        "reading": was_read - began,
        "building": was_built - was_read,
        "loading_kernels": starting,
        "replaying": was_played - started,
        "measuring": time.perf_counter() - was_played,
    }
    return Answer(question, trace, workload, replays, runs, metrics, seconds)


def _policies(question: Question) -> dict[str, PreemptionPolicy | None]:
    return {name: None if name == NO_POLICY else policy(name, question.seed) for name in question.policies}


def _told(progress: Progress | None, name: str) -> Callable[[int, int], None] | None:
    return (lambda done, total: progress(f"replaying {name}", done, total)) if progress else None


def _trace(question: Question, progress: Progress | None) -> Trace:
    generated = [text for text in question.traces if text.split(":")[0] == THETA_LIKE and not Path(text).exists()]
    if generated:
        if len(question.traces) > 1:
            raise InputError(f"{generated[0]}: the generator is a trace of its own; name no other beside it")
        return _generated(generated[0], question)
    report = (lambda done, total: progress("reading", done, total)) if progress else None
    return read(
        question.traces, nodes=question.nodes, processors_per_node=question.processors_per_node, progress=report
    )


def _generated(text: str, question: Question) -> Trace:
    from traces.generator import theta_like  # noqa: PLC0415 - not needed for a trace from a file
    from traces.theta import NODES  # noqa: PLC0415

    _, _, length = text.partition(":")
    nodes = question.nodes or NODES
    if length.isdigit() and int(length) > 0:
        return theta_like(jobs=int(length), seed=question.seed, nodes=nodes)
    days = parse_duration(length) / DAY if length else _YEAR_OF_DAYS
    if not 0 < days < float("inf"):
        raise InputError(f"{text}: expected {THETA_LIKE}:DURATION (30d) or {THETA_LIKE}:JOBS (5000)")
    return theta_like(days=days, seed=question.seed, nodes=nodes)


def _rule(question: Question, trace: Trace) -> OnDemandRule:
    if question.on_demand is not None:
        return question.on_demand
    if question.on_demand_file is not None or bool(trace.column("on_demand").any()):
        return OnDemandRule()
    return OnDemandRule("share", DEFAULT_SHARE)
