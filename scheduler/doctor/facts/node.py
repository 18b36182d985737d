"""A compute node: where far memory could be, how jobs' memory is counted, containers, GPUs, the node agent."""

from __future__ import annotations

import re
import shutil
import stat
from dataclasses import dataclass, field
from pathlib import Path

from scheduler.doctor.facts.place import Place

AGENT_SOCKET = Path("/run/tierwise/agent.sock")
"""Where the node agent listens."""

_GPU = re.compile(r"nvidia\d+|kfd")


@dataclass(frozen=True)
class NodeFacts:
    """What a compute node has.

    Attributes
    ----------
    cgroup : int or None
        The version of the control groups that count memory; None for none.
    swap : Mapping of str to int
        Bytes of swap by its kind, `zram` or `swap`.
    container : str
        `apptainer` or `singularity`, empty for neither.
    gpus : int
        Device files of GPUs.
    has_agent : bool
        Whether the node agent's socket is there.
    """

    cgroup: int | None = None
    swap: dict[str, int] = field(default_factory=dict)
    container: str = ""
    gpus: int = 0
    has_agent: bool = False


def gather(_: Place) -> NodeFacts:
    """Look at the node, through the kernel's seam."""
    from memory_tiers.kernel import cgroups, swaps  # noqa: PLC0415 - only compute nodes ask

    swap: dict[str, int] = {}
    for area in swaps.areas():
        swap[area.kind] = swap.get(area.kind, 0) + area.size
    root = cgroups.memory_root()
    return NodeFacts(
        cgroup=None if root is None else root[0],
        swap=swap,
        container=next((name for name in ("apptainer", "singularity") if shutil.which(name)), ""),
        gpus=sum(1 for path in Path("/dev").iterdir() if _GPU.fullmatch(path.name)),
        has_agent=_is_socket(AGENT_SOCKET),
    )


def _is_socket(path: Path) -> bool:
    try:
        return stat.S_ISSOCK(path.stat().st_mode)
    except OSError:
        return False
