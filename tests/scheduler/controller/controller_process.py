"""The controller as a process of its own, with a cluster in memory that a test moves by files: see `process`."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

from scheduler.controller.running import Settings, run
from scheduler.slurm.fake import FakeSlurm
from scheduler.slurm.seam import Job, Node, Submission

HOSTILE = 'x"}\n{"event": "stopped"}\x1b[2J\u2028'


class MovedByFiles(FakeSlurm):
    """Lives in real time, and does what the files in a folder say at each request for the nodes."""

    def __init__(self, control: Path, disk: Path) -> None:
        super().__init__(now=time.time(), record=_record)
        self._control, self._filler = control, disk / "filler"
        self._handled: set[str] = set()

    def nodes(self) -> tuple[Node, ...]:
        self.advance(max(0.0, time.time() - self.now))
        if self._asked("hang"):
            time.sleep(60)
        if self._asked("defect"):
            raise ZeroDivisionError("a defect")
        self.faults.down = self._asked("down")
        self._fill()
        for path in sorted(self._control.glob("submit-*")):
            if path.name not in self._handled:
                self._handled.add(path.name)
                values = json.loads(path.read_text())
                self.submit(Submission("", HOSTILE, values["nodes"], 60, options=values.get("options", {})))
        return super().nodes()

    def jobs(self) -> tuple[Job, ...]:
        found = super().jobs()
        (self._control / "seen").write_text(json.dumps({job.id: [job.state, job.restarts] for job in found}))
        (self._control / "requests").write_text(json.dumps([request for request, _ in self.faults.requests]))
        return found

    def _asked(self, name: str) -> bool:
        return (self._control / name).exists()

    def _fill(self) -> None:
        if not self._asked("full"):
            self._filler.unlink(missing_ok=True)
        elif not self._filler.exists():
            with self._filler.open("wb", buffering=0) as file:
                try:
                    while file.write(bytes(512)):
                        pass
                except OSError:
                    (self._control / "filled").touch()


def _record(submission: Submission) -> str:
    values = {name.replace("-", "_"): float(value) for name, value in submission.options.items()}
    return json.dumps({"tierwise": 1, **values}) if values else ""


def main() -> None:
    control, disk = Path(sys.argv[1]), Path(sys.argv[2])
    metrics = int(os.environ["METRICS"]) if "METRICS" in os.environ else None
    settings = Settings(control / "policy.toml", disk / "journal.sqlite", 0.1, metrics=metrics, log_level="debug")
    run(settings, MovedByFiles(control, disk))


if __name__ == "__main__":
    main()
