"""The seam to Slurm with something around each request: the controller times, counts and interrupts there."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from typing import Any, cast

from scheduler.slurm.seam import Slurm

Around = Callable[[str], AbstractContextManager[None]]
"""Takes a request's name, such as `requeue`, and returns what surrounds it."""


def watched(slurm: Slurm, around: Around) -> Slurm:
    """Surround each request to a cluster.

    Parameters
    ----------
    slurm : Slurm
        The cluster.
    around : Around
        What surrounds a request; it sees the errors that the request raises, and lets them through.

    Returns
    -------
    Slurm
        The same cluster.
    """
    return cast(Slurm, _Watched(slurm, around))


class _Watched:
    def __init__(self, slurm: Slurm, around: Around) -> None:
        self._slurm, self._around = slurm, around

    def __getattr__(self, name: str) -> Any:
        request = getattr(self._slurm, name)

        @wraps(request)
        def asked(*arguments: Any, **named: Any) -> Any:
            with self._around(name):
                return request(*arguments, **named)

        return asked
