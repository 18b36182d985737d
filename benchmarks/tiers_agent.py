"""Our agent, started for one environment of benchmarks/tiers.py, and asked what it cost."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.tiers_site import MIB, Registry, Task
from memory_tiers.agent.server import ask


class AgentRegistry(Registry):
    """Registers tasks with a running agent, as Slurm's prolog and epilog do.

    Parameters
    ----------
    socket : Path
        The agent's.
    """

    def __init__(self, socket: Path) -> None:
        self._socket = socket

    def ask(self, **fields: object) -> dict[str, Any]:
        """Make a request."""
        answer: dict[str, Any] = json.loads(ask(self._socket, json.dumps({"version": 1} | fields).encode(), 30.0))
        if not answer["ok"]:
            raise SystemExit(f"the agent refused {fields}: {answer['error']}")
        return answer

    def register(self, task: Task, group: Path) -> None:
        """Register a task's group with what its user would have asked for."""
        record = {"tier_class": task.tier_class, "tier_dram": task.promised * MIB}
        self.ask(op="register", job=task.job, uid=0, gid=0, user="root", record=record, cgroup=str(group))

    def deregister(self, task: Task) -> None:
        """Take a task off the agent's list."""
        self.ask(op="deregister", job=task.job)


@contextlib.contextmanager
def agent(group: Path, folder: Path, log: Path | None = None) -> Iterator[AgentRegistry]:
    """Run the agent for a node's group; print what it cost at the end."""
    socket = folder / "agent.sock"
    words = [str(Path(sys.executable).with_name("tierwise")), "agent", "--socket", str(socket), "--within", str(group)]
    with (log or folder / "agent.log").open("w") as stream:
        process = subprocess.Popen(words, stderr=stream)
        try:
            while not socket.exists():
                if process.poll() is not None:
                    raise SystemExit("the agent did not start: " + (log or folder / "agent.log").read_text())
                time.sleep(0.05)
            registry = AgentRegistry(socket)
            began = registry.ask(op="status")
            yield registry
            ended = registry.ask(op="status")
            cost = {name: ended[name] - began[name] for name in ("seconds", "processor", "moving", "looking")}
            # The kernel's own time of moving pages is the jobs' cost; the rest is ours.
            own = (cost["processor"] - cost["moving"]) / cost["seconds"]
            shown = {name: round(value, 3) for name, value in cost.items()} | {"own_share": round(own, 4)}
            shown |= _moved(log or folder / "agent.log")
            print(json.dumps({"agent": shown}), flush=True)
        finally:
            process.terminate()
            process.wait()


def _moved(log: Path) -> dict[str, float]:
    """Add up what was moved, from what the agent wrote of each job that ended [MiB]."""
    ended = [json.loads(line) for line in log.read_text().splitlines() if '"deregistered"' in line]
    return {name: sum(one[name] for one in ended) // MIB for name in ("moved_out", "moved_in")}
