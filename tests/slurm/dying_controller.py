"""A controller that is killed at its first write to the journal: before it (`before`), or once it is on the disk."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scheduler.controller.journal import Journal
from scheduler.controller.running import Settings, run


def dying(write: Callable[..., Any], *, before: bool) -> Callable[..., Any]:
    """Wrap a write."""

    def dies(*arguments: Any) -> None:
        if not before:
            write(*arguments)
        os.kill(os.getpid(), signal.SIGKILL)

    return dies


def main() -> None:
    policy, journal, when = sys.argv[1:]
    for name in ("begin", "_write"):
        setattr(Journal, name, dying(getattr(Journal, name), before=when == "before"))
    run(Settings(Path(policy), Path(journal), 0.2))


if __name__ == "__main__":
    main()
