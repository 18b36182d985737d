"""A second process that lifts the agent's limits where the agent cannot: when it was killed, or hangs.

A limit that nobody raises any more can hold a job back for ever; that must not depend on the agent's health.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
from pathlib import Path

from memory_tiers.kernel import cgroups

PATIENCE = 10.0
"""Without a beat for so long the agent counts as hanging [s]."""


class Watchdog:
    """The agent's side: starts the other process, and beats.

    Parameters
    ----------
    state : Path
        The file in which the agent notes its limits.
    """

    def __init__(self, state: Path) -> None:
        self._child = subprocess.Popen(  # noqa: S603 - a fixed list
            [sys.executable, "-m", "memory_tiers.agent.watchdog", str(state)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def beat(self) -> None:
        """Say that the loop goes round."""
        pipe = self._child.stdin
        if pipe is not None:
            try:
                os.write(pipe.fileno(), b".")
            except BrokenPipeError:
                self._child.stdin = None

    def end(self) -> None:
        """Say that the agent ends in order, its limits lifted by itself."""
        if self._child.stdin is not None:
            self._child.stdin.close()
        self._child.wait()


def lift(state: Path) -> int:
    """Lift all limits that a state file names; return how many."""
    try:
        jobs = json.loads(state.read_text())["jobs"]
    except (OSError, ValueError, KeyError):
        return 0
    lifted = 0
    for job in jobs:
        if job["limit"] is not None and job["group"] is not None:
            lifted += cgroups.set_limit(Path(job["group"]), None) == 0
    return lifted


def main() -> None:
    """Watch the agent through standard input until it ends; lift its limits then, and each time it hangs."""
    state = Path(sys.argv[1])
    while True:
        ready, _, _ = select.select([0], [], [], PATIENCE)
        if ready and not os.read(0, 65536):
            lift(state)
            return
        if not ready:
            lift(state)


if __name__ == "__main__":
    main()
