"""A controller that runs as a process, and what a test does to it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PATIENCE = 60.0
SCRIPT = Path(__file__).with_name("controller_process.py")
POLICY = '[defaults]\non_demand = true\non_demand_max_delay = "10m"\n'


class Process:
    """A controller with a cluster of four nodes in memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.control, self.disk = folder / "control", folder / "disk"
        for made in (self.control, self.disk):
            made.mkdir()
        self.policy = self.control / "policy.toml"
        self.policy.write_text(POLICY)
        self.log = folder / "log"
        self.child: subprocess.Popen[bytes] | None = None
        self._submitted = 0

    def start(self, *before: str, **environment: str) -> None:
        command = [*before, sys.executable, str(SCRIPT), str(self.control), str(self.disk)]
        with self.log.open("ab") as log:
            self.child = subprocess.Popen(command, stderr=log, env={**os.environ, **environment})
        self.until(lambda: "cycle" in self.names())

    def send(self, number: int) -> None:
        assert self.child is not None
        self.child.send_signal(number)

    def wait(self) -> int:
        assert self.child is not None
        return self.child.wait(timeout=PATIENCE)

    def ask(self, name: str) -> None:
        (self.control / name).touch()

    def take_back(self, name: str) -> None:
        (self.control / name).unlink()

    def submit(self, nodes: int, **options: str) -> None:
        self._submitted += 1
        values = {"nodes": nodes, "options": {name.replace("_", "-"): text for name, text in options.items()}}
        partial = self.control / "partial"
        partial.write_text(json.dumps(values))
        partial.rename(self.control / f"submit-{self._submitted}")

    def lines(self) -> list[dict[str, Any]]:
        complete = self.log.read_bytes().rpartition(b"\n")[0]
        return [json.loads(line) for line in complete.split(b"\n") if line]

    def events(self, name: str) -> list[dict[str, Any]]:
        return [line for line in self.lines() if line["event"] == name]

    def names(self) -> list[str]:
        return [line["event"] for line in self.lines()]

    def jobs(self) -> dict[str, list[Any]]:
        found: dict[str, list[Any]] = json.loads((self.control / "seen").read_text() or "{}")
        return found

    def requests(self) -> list[str]:
        return list(json.loads((self.control / "requests").read_text()))

    def until(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, self.log.read_text()[-3000:]
            assert self.child is None or self.child.poll() is None, self.log.read_text()[-3000:]
            time.sleep(0.05)
