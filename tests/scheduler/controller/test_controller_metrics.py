"""What Prometheus reads from a controller that runs."""

from __future__ import annotations

import signal
import socket
import urllib.request
from pathlib import Path

import pytest
from controller_room import Process
from prometheus_client.parser import text_string_to_metric_families

from scheduler import __version__
from scheduler.controller.metrics import Metrics
from traces.errors import InputError

Series = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scraped(process: Process) -> Series:
    address = process.events("metrics_served")[0]["address"]
    with urllib.request.urlopen(f"http://{address}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def value(series: Series, name: str, **labels: str) -> float:
    return series[f"tierwise_{name}", frozenset(labels.items())]


def test_a_preemption_shows_in_the_metrics(process: Process) -> None:
    process.start(METRICS="0")
    process.submit(4)
    process.until(lambda: [job[0] for job in process.jobs().values()] == ["running"])
    process.submit(2, on_demand="0")
    process.until(lambda: value(scraped(process), "open_plans", state="running") == 1)
    found = scraped(process)
    assert value(found, "decisions_total") == 1
    assert value(found, "preempted_jobs_total") == 1
    moved = [event for event in process.events("plan_moved") if "lost_node_seconds" in event]
    assert value(found, "lost_node_seconds_total") == pytest.approx(sum(event["lost_node_seconds"] for event in moved))
    assert value(found, "lost_node_seconds_total") > 0
    assert value(found, "on_demand_latency_seconds_count") == 1
    assert value(found, "cycles_total", result="good") > 1
    assert value(found, "cycle_seconds_count") == pytest.approx(value(found, "decision_seconds_count"))
    assert value(found, "cycles_total", result="failed") == 0
    assert value(found, "slurm_request_seconds_count", request="requeue") == 1
    assert abs(value(found, "last_cycle_timestamp_seconds") - process.events("cycle")[-1]["time"]) < 30
    builds = [labels for name, labels in found if name == "tierwise_build_info"]
    assert [dict(labels)["version"] for labels in builds] == [__version__]


def test_losses_and_reloads_show_in_the_metrics(process: Process) -> None:
    process.start(METRICS="0")
    assert value(scraped(process), "slurm_up") == 1
    process.ask("down")
    process.until(lambda: value(scraped(process), "cycles_total", result="slurm_lost") > 1)
    found = scraped(process)
    assert value(found, "slurm_up") == 0
    assert value(found, "slurm_errors_total", request="look", kind="unreachable") > 1
    process.take_back("down")
    process.until(lambda: value(scraped(process), "slurm_up") == 1)
    process.send(signal.SIGHUP)
    process.until(lambda: value(scraped(process), "policy_reloads_total", result="good") == 1)
    process.policy.write_text("[defaults\n")
    process.send(signal.SIGHUP)
    process.until(lambda: value(scraped(process), "policy_reloads_total", result="bad") == 1)
    assert value(scraped(process), "journal_writable") == 1


def test_they_are_served_on_this_machine_alone_and_by_default_not_at_all(process: Process) -> None:
    process.start(METRICS="0")
    host, _, port = process.events("metrics_served")[0]["address"].rpartition(":")
    assert host == "127.0.0.1"
    listening = {line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:] if " 0A " in line}
    assert f"0100007F:{int(port):04X}" in listening
    assert f"00000000:{int(port):04X}" not in listening
    process.send(signal.SIGTERM)
    assert process.wait() == 0
    process.log.unlink()
    process.start()
    assert "metrics_served" not in process.names()


def test_no_label_comes_from_a_job(process: Process) -> None:
    process.start(METRICS="0")
    process.submit(4)
    process.submit(2, on_demand="0")
    process.until(lambda: process.events("decided"))
    labels = {label for _, pairs in scraped(process) for label, _ in pairs}
    assert labels <= {"result", "request", "kind", "state", "le", "version", "python"}


def test_a_port_that_is_taken_is_one_line() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(InputError, match=f"--metrics {port}: .*in use"), Metrics("0").served(port):
            pass


def test_all_metrics_are_in_the_documentation() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "controller.md").read_text()
    names = {
        metric.name + ("_total" if metric.type == "counter" else "_info" if metric.type == "info" else "")
        for metric in Metrics("0").registry.collect()
        if metric.name.startswith("tierwise_")
    }
    assert len(names) > 10
    assert [name for name in sorted(names) if f"| `{name}" not in page] == []
