"""What Prometheus may scrape: the controller's events, counted. Served on this machine alone.

No label's value comes from a job or a user, so that nobody can make the series many, or learn who runs what.
"""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Info, ProcessCollector, start_http_server

from scheduler.controller.events import Event
from scheduler.controller.journal import CLOSED, STATES
from scheduler.slurm.seam import SlurmError, SlurmUnreachableError
from traces.errors import InputError

ADDRESS = "127.0.0.1"
"""Metrics say how busy a site is: who wants them elsewhere puts a proxy of the site's own before them."""

_OPEN_STATES = tuple(state for state in STATES if state != CLOSED)
_CYCLE = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_DECISION = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
_LATENCY = (1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)


class Metrics:
    """Counts events and requests; `served` lets Prometheus read them.

    Parameters
    ----------
    version : str
        Tierwise's.
    """

    def __init__(self, version: str) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        Info("tierwise_build", "What runs here.", registry=registry).info(
            {"version": version, "python": platform.python_version()}
        )
        self._cycles = Counter("tierwise_cycles", "Cycles by how they ended.", ["result"], registry=registry)
        self._cycle_seconds = Histogram(
            "tierwise_cycle_seconds", "Time of a cycle that went well.", buckets=_CYCLE, registry=registry
        )
        self._last_cycle = Gauge(
            "tierwise_last_cycle_timestamp_seconds", "When a cycle last went well.", registry=registry
        )
        self._decisions = Counter("tierwise_decisions", "On-demand jobs for which room was planned.", registry=registry)
        self._decision_seconds = Histogram(
            "tierwise_decision_seconds", "Time of the policy in a cycle.", buckets=_DECISION, registry=registry
        )
        self._lost = Counter(
            "tierwise_lost_node_seconds", "Node-seconds that victims lost, as the decisions had it.", registry=registry
        )
        self._preempted = Counter("tierwise_preempted_jobs", "Jobs requeued to make room.", registry=registry)
        self._latency = Histogram(
            "tierwise_on_demand_latency_seconds",
            "From the submission of an on-demand job to its start.",
            buckets=_LATENCY,
            registry=registry,
        )
        self._plans = Gauge("tierwise_open_plans", "Plans that are being carried out.", ["state"], registry=registry)
        self._requests = Histogram(
            "tierwise_slurm_request_seconds",
            "Time of requests to Slurm.",
            ["request"],
            buckets=_CYCLE,
            registry=registry,
        )
        self._errors = Counter("tierwise_slurm_errors", "Requests that failed.", ["request", "kind"], registry=registry)
        self._reloads = Counter(
            "tierwise_policy_reloads", "Policy files read at SIGHUP.", ["result"], registry=registry
        )
        self._slurm_up = Gauge("tierwise_slurm_up", "Whether Slurm answers.", registry=registry)
        self._journal_up = Gauge("tierwise_journal_writable", "Whether the journal can be written.", registry=registry)
        self._journal_up.set(1)
        for result in ("good", "bad"):
            self._reloads.labels(result)
        for result in ("good", "slurm_lost", "slurm_refused", "journal_lost", "failed"):
            self._cycles.labels(result)
        self._show_plans({})

    def __call__(self, event: Event) -> None:
        """Count an event."""
        fields = event.fields
        if event.name == "cycle":
            self._good_cycle(fields)
        elif event.name == "decided":
            self._decisions.inc()
        elif event.name == "plan_moved":
            self._lost.inc(_number(fields, "lost_node_seconds"))
            if "latency_seconds" in fields:
                self._latency.observe(_number(fields, "latency_seconds"))
        elif event.name in ("policy_read", "policy_kept"):
            self._reloads.labels("good" if event.name == "policy_read" else "bad").inc()
        elif event.name in ("slurm_lost", "slurm_back"):
            self._slurm_up.set(event.name == "slurm_back")
        elif event.name in ("journal_lost", "journal_back"):
            self._journal_up.set(event.name == "journal_back")

    def cycle_ended(self, result: str) -> None:
        """Count a cycle by how it ended."""
        self._cycles.labels(result).inc()

    @contextmanager
    def request(self, name: str) -> Iterator[None]:
        """Time a request to Slurm, and count it where it fails."""
        began = time.perf_counter()
        try:
            yield
        except SlurmError as error:
            kind = "unreachable" if isinstance(error, SlurmUnreachableError) else "refused"
            self._errors.labels(name, kind).inc()
            raise
        finally:
            self._requests.labels(name).observe(time.perf_counter() - began)
        if name == "requeue":
            self._preempted.inc()

    def _good_cycle(self, fields: Mapping[str, object]) -> None:
        self._cycle_seconds.observe(_number(fields, "seconds"))
        self._decision_seconds.observe(_number(fields, "decision_seconds"))
        self._last_cycle.set_to_current_time()
        self._slurm_up.set(1)
        plans = fields.get("open_plans")
        self._show_plans(plans if isinstance(plans, Mapping) else {})

    def _show_plans(self, plans: Mapping[str, int]) -> None:
        for state in _OPEN_STATES:
            self._plans.labels(state).set(plans.get(state, 0))

    @contextmanager
    def served(self, port: int) -> Iterator[str]:
        """Let Prometheus read, for as long as the block lasts.

        Parameters
        ----------
        port : int
            The port; 0 for one that is free.

        Yields
        ------
        str
            Where: `127.0.0.1:9813`.

        Raises
        ------
        InputError
            Where the port is taken.
        """
        try:
            server, thread = start_http_server(port, addr=ADDRESS, registry=self.registry)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise InputError(f"--metrics {port}: {ADDRESS}:{port} cannot be listened on: {reason}") from None
        try:
            yield f"{ADDRESS}:{server.server_port}"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


def _number(fields: Mapping[str, object], name: str) -> float:
    value = fields.get(name, 0.0)
    return float(value) if isinstance(value, int | float) else 0.0
