"""What a node is, by what runs on it."""

from __future__ import annotations

from pathlib import Path

from scheduler.doctor.finding import COMPUTE, CONTROLLER, LOGIN

_DAEMONS = {"slurmctld": CONTROLLER, "slurmd": COMPUTE}


def detected(processes: Path = Path("/proc")) -> frozenset[str]:
    """Return what this node is.

    Parameters
    ----------
    processes : Path
        Where the kernel lists them.

    Returns
    -------
    frozenset of str
        `controller` where slurmctld runs, `compute` where slurmd does, `login` where neither does.
    """
    found = {role for name in _running(processes) if (role := _DAEMONS.get(name))}
    return frozenset(found or {LOGIN})


def _running(processes: Path) -> set[str]:
    names = set()
    for file in processes.glob("[0-9]*/comm"):
        try:
            names.add(file.read_text("utf-8", "replace").strip())
        except OSError:
            continue  # it has ended
    return names
