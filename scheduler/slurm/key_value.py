"""What 22.05 has no JSON for: reservations, and the configuration, which has none before 26.05.

`scontrol --oneliner show reservation` prints one line a reservation, KEY=VALUE in a fixed order; with
`SLURM_TIME_FORMAT=%s` (scontrol(1)) its times are POSIX seconds. `scontrol show config` prints KEY = VALUE, one a line,
in every release. Nothing else is read as text.
"""

from __future__ import annotations

import re

from scheduler.slurm.hostlists import expand
from scheduler.slurm.running import one_line
from scheduler.slurm.seam import Reservation, SlurmError

# The name comes first and is the one value that an operator chooses freely, so all after it is matched strictly.
_RESERVATION = re.compile(
    r"ReservationName=(.*?) StartTime=(\d+) EndTime=(\d+) Duration=\S+ Nodes=(\S+) NodeCnt=\d+ "
    r".*? Users=(\S+) Groups=.*"
)
_PARAMETER = re.compile(r"(\w+(?:\[\d+\])?)\s*= (.*)")  # later releases number some: Prolog[0]
_NOTHING = "(null)"


def reservations(request: str, output: bytes) -> tuple[Reservation, ...]:
    """Read what `scontrol --oneliner show reservation` printed.

    Parameters
    ----------
    request : str
        What was asked, for error messages.
    output : bytes
        The lines.

    Returns
    -------
    tuple of Reservation
        The reservations.

    Raises
    ------
    SlurmError
        Where a line of a reservation has another form.
    """
    found = []
    for line in output.decode(errors="replace").splitlines():
        if not line.startswith("ReservationName="):
            continue  # "No reservations in the system"
        match = _RESERVATION.fullmatch(line)
        if match is None:
            raise SlurmError(f"{request}: a reservation is not as expected: {one_line(line)[:120]}")
        name, start, end, nodes, users = match.groups()
        try:
            names = expand(nodes)
        except ValueError as error:
            raise SlurmError(f"{request}: reservation {one_line(name)}: {error}") from None
        people = () if users == _NOTHING else tuple(users.split(","))
        found.append(Reservation(name, names, float(start), float(end), people))
    return tuple(found)


def configuration(output: bytes) -> dict[str, str]:
    """Read what `scontrol show config` printed.

    Parameters
    ----------
    output : bytes
        The lines.

    Returns
    -------
    dict of str to str
        Values by parameter in lower case; nothing for `(null)`. The first of a name counts: what follows the
        parameters (of the cgroup plugin, of MPI) repeats some.
    """
    found: dict[str, str] = {}
    for line in output.decode(errors="replace").splitlines():
        match = _PARAMETER.fullmatch(line.rstrip())
        if match is not None:
            found.setdefault(match[1].lower(), "" if match[2] == _NOTHING else match[2])
    return found
