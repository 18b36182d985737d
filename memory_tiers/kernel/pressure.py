"""Pressure stall information of memory, of the machine or of a control group (v2)."""

from __future__ import annotations

from pathlib import Path

from memory_tiers.kernel.types import Pressure

MACHINE = Path("/proc/pressure/memory")


def pressure(path: Path = MACHINE) -> Pressure | None:
    """Read a pressure file; None where this kernel keeps none."""
    try:
        return parse(path.read_text())
    except OSError:
        return None


def parse(text: str) -> Pressure:
    r"""Read the two lines of a pressure file.

    Examples
    --------
    >>> parse("some avg10=1.50 avg60=0 avg300=0 total=2000000\nfull avg10=0.50 avg60=0 avg300=0 total=1000000\n")
    Pressure(some=0.015, full=0.005, some_total=2.0, full_total=1.0)
    """
    lines = {}
    for line in text.splitlines():
        kind, *pairs = line.split()
        lines[kind] = {name: float(value) for name, value in (pair.split("=") for pair in pairs)}
    some, full = lines["some"], lines.get("full", {"avg10": 0.0, "total": 0.0})
    return Pressure(some["avg10"] / 100, full["avg10"] / 100, some["total"] / 1e6, full["total"] / 1e6)
