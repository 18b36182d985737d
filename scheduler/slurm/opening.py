"""Open a way to Slurm by its name."""

from __future__ import annotations

from scheduler.slurm.seam import Slurm
from traces.errors import InputError

WAYS = ("commands", "pyslurm")
"""The ways that there are."""


def open_slurm(way: str = "commands") -> Slurm:
    """Open a way to Slurm.

    Parameters
    ----------
    way : str
        One of `WAYS`.

    Returns
    -------
    Slurm
        Nothing was asked of it yet.

    Raises
    ------
    InputError
        Where there is no such way.
    SlurmError
        Where pyslurm is asked for and cannot be used.
    """
    if way == "commands":
        from scheduler.slurm.commands import CommandSlurm  # noqa: PLC0415 - only where it is wanted

        return CommandSlurm()
    if way == "pyslurm":
        from scheduler.slurm.pyslurm_way import PyslurmSlurm  # noqa: PLC0415 - only where it is wanted

        return PyslurmSlurm()
    raise InputError(f"there is no way {way!r} to Slurm, expected {' or '.join(WAYS)}")
