"""Equal pages held once: prctl(2) PR_SET_MEMORY_MERGE (Linux 6.4), and whether KSM runs at all."""

from __future__ import annotations

from pathlib import Path

from memory_tiers.kernel import raw

_SET, _GET = 67, 68


def merge_this_process(on: bool = True) -> int:
    """Offer all anonymous memory of this process, and of what it starts, to KSM; 0 or an errno."""
    return -min(raw.prctl(_SET, int(on)), 0)


def is_merging() -> bool:
    """Tell whether this process is offered to KSM."""
    return raw.prctl(_GET) == 1


def is_running() -> bool:
    """Tell whether the kernel's KSM daemon merges pages; a site switches it on in /sys/kernel/mm/ksm/run."""
    switch = Path("/sys/kernel/mm/ksm/run")
    return switch.exists() and switch.read_text().strip() == "1"
