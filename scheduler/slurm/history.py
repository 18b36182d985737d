"""A cluster's own history for a replay: the jobs that its accounting remembers, as `traces` reads them."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

from scheduler.slurm.running import Runner
from traces import Trace, read
from traces.errors import InputError
from traces.problems import Treatments
from traces.sacct import FORMAT

TIMEOUT = 1800.0
"""Seconds: slurmdbd takes minutes for a year of a busy cluster."""

# What sacct(1) takes as a time: dates, times, "now", and forms such as now-7days. An option cannot be made of it.
_TIME = re.compile(r"[0-9A-Za-z][0-9A-Za-z:./+-]{0,40}", re.ASCII)


def history(
    start: str,
    end: str = "now",
    *,
    nodes: int | None = None,
    treatments: Treatments | None = None,
    environment: Mapping[str, str] | None = None,
) -> Trace:
    """Ask the accounting for all jobs of all users in a window.

    Parameters
    ----------
    start, end : str
        The window, in any of sacct's forms for `--starttime` (`2024-01-01`, `now-7days`): jobs that were in the
        queue or ran in it.
    nodes : int, optional
        Nodes of the machine.
    treatments : Treatments, optional
        What to do about each kind of problem.
    environment : Mapping of str to str, optional
        Variables on top of this process's, such as `SLURM_CONF`.

    Returns
    -------
    Trace
        The jobs; one that was requeued counts once, as its last run.

    Raises
    ------
    SlurmError
        Where sacct fails.
    InputError
        Where a time has no such form, or there are no jobs in the window.
    """
    for option, value in (("start", start), ("end", end)):
        if not _TIME.fullmatch(value):
            raise InputError(f"--{option} {value!r} is no time; accepted are sacct's forms, as 2024-01-01 or now-7days")
    arguments = [
        *("sacct", "--allusers", "--allocations", "--parsable2", f"--format={FORMAT}"),
        *(f"--starttime={start}", f"--endtime={end}"),
    ]
    output = Runner(environment or {}, TIMEOUT).run("read the accounting", arguments)
    if output.count(b"\n") < 2:
        raise InputError(f"the accounting has no jobs from {start} to {end}: choose another --start")
    with tempfile.TemporaryDirectory(prefix="tierwise-") as folder:
        file = Path(folder) / "sacct.txt"
        file.write_bytes(output)
        # Runner has sacct print POSIX seconds, so that no time zone and no change of clocks comes in between.
        return read([file], nodes=nodes, treatments=treatments)
