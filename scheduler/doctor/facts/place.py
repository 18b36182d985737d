"""Where to look: the files and folders of a site."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Place:
    """Where to look.

    Attributes
    ----------
    roles : frozenset of str
        What the node is.
    policy, journal, unit : Path
        The policy file, the controller's journal, its systemd unit.
    seconds : float
        How long one request to Slurm may take [s].
    """

    roles: frozenset[str]
    policy: Path = Path("/etc/tierwise/policy.toml")
    journal: Path = Path("/var/lib/tierwise/journal.sqlite")
    unit: Path = Path("/etc/systemd/system/tierwise-controller.service")
    seconds: float = 10.0
