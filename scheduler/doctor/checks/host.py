"""Judges the machine itself."""

from __future__ import annotations

from scheduler.doctor.facts.host import Host
from scheduler.doctor.finding import EVERYWHERE, FAIL, LOGIN, WARN, Check, Finding, ok

OLDEST_PYTHON = (3, 11)


def _python(host: Host) -> Finding:
    text = ".".join(map(str, host.python))
    if host.python >= OLDEST_PYTHON:
        return ok(text)
    return Finding(
        FAIL, text, "Tierwise needs 3.11: commands fail", "make the virtual environment with a newer python3"
    )


def _cache(host: Host) -> Finding:
    if host.cache is not None:
        return ok(host.cache)
    return Finding(
        WARN,
        f"none: {host.wanted_cache} is not writable, or not this user's alone",
        "each start of a replay or a controller compiles its kernels anew, which takes up to a minute",
        "export XDG_CACHE_HOME=DIR, a folder that only this user can write to",
    )


def _clock(host: Host) -> Finding | None:
    if host.clock is None:
        return None
    if host.clock:
        return ok("kept right by a time service")
    return Finding(
        WARN,
        "the kernel is not told of any time service",
        "munge refuses requests from clocks that are minutes apart, and starts are planned by the wrong time",
        "systemctl enable --now chronyd (or systemd-timesyncd)",
    )


CHECKS: tuple[Check[Host], ...] = (
    Check("python", _python),
    Check("kernel cache", _cache),
    Check("clock", _clock, EVERYWHERE - {LOGIN}),
)
