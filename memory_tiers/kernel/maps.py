"""A process's mappings and what it holds: /proc/PID/maps and smaps_rollup, as proc(5) describes them."""

from __future__ import annotations

from pathlib import Path

from memory_tiers.kernel.madvise import is_alive
from memory_tiers.kernel.types import Footprint, Mapping, Process


def mappings(process: Process) -> tuple[Mapping, ...]:
    """List a process's mappings; none where it has ended.

    Raises
    ------
    PermissionError
        Where the kernel does not let this process look.
    """
    text = _read(process, "maps")
    return tuple(parse_mapping(line) for line in text.splitlines())


def parse_mapping(line: str) -> Mapping:
    """Read a line of /proc/PID/maps.

    Examples
    --------
    >>> parse_mapping("7f00-8000 rw-p 00000000 00:00 0                          [heap]")
    Mapping(start=32512, end=32768, permissions='rw-p', path='[heap]')
    """
    addresses, permissions, _offset, _device, _inode, *path = line.split(maxsplit=5)
    start, end = addresses.split("-")
    return Mapping(int(start, 16), int(end, 16), permissions, path[0] if path else "")


def footprint(process: Process) -> Footprint | None:
    """Sum up what a process holds; None where it has ended. Costs a walk over all its pages."""
    text = _read(process, "smaps_rollup")
    if not text:
        return None
    fields = {}
    for line in text.splitlines()[1:]:
        name, value, *_ = line.split()
        fields[name.rstrip(":")] = int(value) * 1024
    return Footprint(
        fields.get("Rss", 0),
        fields.get("Pss", 0),
        fields.get("Anonymous", 0),
        fields.get("Swap", 0),
        fields.get("Locked", 0),
    )


def _read(process: Process, name: str) -> str:
    try:
        text = (Path("/proc") / str(process.pid) / name).read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return ""
    return text if is_alive(process) else ""
