"""DAMON's sysfs: what of it this kernel has, and whether it is free. Nothing here takes over another's kdamond.

Source: Documentation/admin-guide/mm/damon/usage.rst of Linux.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

_ADMIN = Path("/sys/kernel/mm/damon/admin/kdamonds")


@dataclass(frozen=True)
class Damon:
    """What DAMON can do here.

    Attributes
    ----------
    exists : bool
        Whether the kernel has its sysfs.
    operations : tuple of str
        Sets of operations: `vaddr`, `fvaddr`, `paddr`. Known where a kdamond was configured by somebody; empty else.
    held : bool
        Whether somebody has kdamonds configured: they are theirs.
    """

    exists: bool
    operations: tuple[str, ...]
    held: bool


def look(folder: Path = _ADMIN) -> Damon:
    """Look at DAMON without changing anything."""
    try:
        count = int((folder / "nr_kdamonds").read_text())
    except OSError:
        return Damon(exists=False, operations=(), held=False)
    operations: set[str] = set()
    for file in folder.glob("[0-9]*/contexts/[0-9]*/avail_operations"):
        operations.update(file.read_text().split())
    return Damon(exists=True, operations=tuple(sorted(operations)), held=count > 0)
