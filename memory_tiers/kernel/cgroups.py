"""The memory side of control groups, version 1 and 2, behind the same few questions.

Sources: Documentation/admin-guide/cgroup-v1/memory.rst and cgroup-v2.rst of Linux.
"""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

from memory_tiers.kernel.types import GroupMemory

ROOT = Path("/sys/fs/cgroup")

_NO_LIMIT = 1 << 60
"""Version 1 writes "no limit" as the largest multiple of the page that fits; nothing real comes near this."""


def memory_root(root: Path = ROOT) -> tuple[int, Path] | None:
    """Find where memory is controlled: (version, folder); None where it is not."""
    if (root / "memory" / "memory.limit_in_bytes").is_file():
        return 1, root / "memory"
    for folder in (root, root / "unified"):
        controllers = folder / "cgroup.controllers"
        if controllers.is_file() and "memory" in controllers.read_text().split():
            return 2, folder
    return None


def version(group: Path) -> int:
    """Tell whose files a group's folder holds: 1 or 2."""
    return 1 if (group / "memory.limit_in_bytes").exists() else 2


def processes(group: Path) -> tuple[int, ...]:
    """List the processes of a group and of those below it; none where it has vanished."""
    found: list[int] = []
    for folder, _, _ in os.walk(group):
        with contextlib.suppress(OSError):
            found.extend(int(line) for line in (Path(folder) / "cgroup.procs").read_text().split())
    return tuple(found)


def memory(group: Path) -> GroupMemory | None:
    """Read a group's memory; None where it has vanished or does not control memory."""
    try:
        return _version_1(group) if version(group) == 1 else _version_2(group)
    except OSError:
        return None


def set_limit(group: Path, limit: int | None) -> int:
    """Set the amount beyond which the kernel reclaims from a group.

    On version 2 that is `memory.high`, which slows the group down and never kills. Version 1 has only the hard limit,
    under which the kernel kills where its reclaim finds nothing, which happens with swap to spare while somebody else
    moves the group's pages. So its killer is switched off with the limit: a process that finds no page then waits until
    there is one, or the limit is lifted; whoever sets a limit must see to that.

    Parameters
    ----------
    group : Path
        The group's folder.
    limit : int or None
        Bytes; None lifts it.

    Returns
    -------
    int
        0, or the errno of the refusal: EBUSY where version 1 could not get below it.
    """
    if version(group) == 1:
        if limit is None:
            return _write(group / "memory.limit_in_bytes", "-1") or _write(group / "memory.oom_control", "0")
        return _write(group / "memory.oom_control", "1") or _write(group / "memory.limit_in_bytes", str(limit))
    return _write(group / "memory.high", "max" if limit is None else str(limit))


def protect(group: Path, amount: int) -> int:
    """Ask the kernel to reclaim elsewhere while a group holds no more than this [bytes]; 0 or an errno.

    Version 2's `memory.low`. Version 1 has nothing that protects, and answers ENOSYS.
    """
    return errno.ENOSYS if version(group) == 1 else _write(group / "memory.low", str(amount))


def reclaim(group: Path, amount: int) -> int:
    """Have the kernel reclaim bytes from a group (`memory.reclaim`, version 2); 0, EAGAIN for fewer, or an errno."""
    if not (group / "memory.reclaim").exists():
        return errno.ENOSYS
    return _write(group / "memory.reclaim", str(amount))


def can_reclaim(root: Path) -> bool:
    """Tell whether groups below have `memory.reclaim`; the root itself never has."""
    return any((folder / "memory.reclaim").exists() for folder in root.glob("*/"))


def _write(path: Path, text: str) -> int:
    try:
        path.write_text(text)
    except OSError as error:
        return error.errno or errno.EIO
    return 0


def _fields(path: Path) -> dict[str, int]:
    pairs = (line.split() for line in path.read_text().splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2}


def _version_1(group: Path) -> GroupMemory:
    stat = _fields(group / "memory.stat")
    limit = stat.get("hierarchical_memory_limit", _NO_LIMIT)
    return GroupMemory(
        1,
        int((group / "memory.usage_in_bytes").read_text()),
        stat.get("total_swap", -1),
        limit if limit < _NO_LIMIT else None,
        stat.get("total_pgmajfault", 0),
        stat.get("total_workingset_refault_anon", -1),
    )


def _version_2(group: Path) -> GroupMemory:
    stat = _fields(group / "memory.stat")
    limits = []
    folder = group
    while (folder / "memory.max").exists():
        text = (folder / "memory.max").read_text().strip()
        limits += [] if text == "max" else [int(text)]
        folder = folder.parent
    swapped = group / "memory.swap.current"
    return GroupMemory(
        2,
        int((group / "memory.current").read_text()),
        int(swapped.read_text()) if swapped.exists() else -1,
        min(limits, default=None),
        stat.get("pgmajfault", 0),
        stat.get("workingset_refault_anon", -1),
    )
