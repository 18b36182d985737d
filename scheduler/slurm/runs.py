"""Each run of each job in the accounting, those that ended with a requeue included."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scheduler.slurm.hostlists import expand
from scheduler.slurm.running import Runner, one_line
from scheduler.slurm.seam import SlurmError

_FIELDS = ("JobIDRaw", "NNodes", "Submit", "Start", "End", "State", "NodeList")
_REQUEST = "read the runs of jobs"


@dataclass(frozen=True)
class Run:
    """One run of a job.

    Attributes
    ----------
    job : int
        The job's id.
    nodes : int
        Nodes that it held.
    submit, start, end : float
        POSIX times [s], in whole seconds.
    state : str
        How it ended, in lower case and without who did it: `completed`, `requeued`, `preempted`, `cancelled`, ...
    node_names : tuple of str
        The nodes' names.
    """

    job: int
    nodes: int
    submit: float
    start: float
    end: float
    state: str
    node_names: tuple[str, ...] = ()

    @property
    def node_seconds(self) -> float:
        """Return what it held."""
        return self.nodes * (self.end - self.start)


def runs(start: str = "00:00", environment: Mapping[str, str] | None = None, timeout: float = 60.0) -> tuple[Run, ...]:
    """Ask the accounting for all runs that have ended.

    Parameters
    ----------
    start : str
        Since when, as for sacct's `--starttime`; by default since midnight.
    environment : Mapping of str to str, optional
        Variables on top of this process's, such as `SLURM_CONF`.
    timeout : float
        Seconds that sacct may take.

    Returns
    -------
    tuple of Run
        In order of their starts; a job that was requeued has several.

    Raises
    ------
    SlurmError
        Where sacct fails, or prints something else.
    """
    arguments = [
        *("sacct", "--allusers", "--allocations", "--duplicates", "--noheader", "--parsable2"),
        *(f"--format={','.join(_FIELDS)}", f"--starttime={start}"),
    ]
    output = Runner(environment or {}, timeout).run(_REQUEST, arguments)
    found = [_run(line) for line in output.decode(errors="replace").splitlines()]
    return tuple(sorted((run for run in found if run is not None), key=lambda run: (run.start, run.job)))


def _run(line: str) -> Run | None:
    fields = line.split("|")
    if len(fields) != len(_FIELDS) or not fields[0].isdecimal():
        raise SlurmError(f"{_REQUEST}: expected {' | '.join(_FIELDS)}, sacct printed {one_line(line)!r}")
    # "Unknown" or "None": it has not started, or has not ended.
    if not all(moment.isdecimal() for moment in fields[2:5]):
        return None
    submit, start, end = map(float, fields[2:5])
    state = fields[5].partition(" ")[0].lower()
    try:
        names = expand(fields[6])
    except ValueError as error:
        raise SlurmError(f"{_REQUEST}: {error}") from None
    return Run(int(fields[0]), int(fields[1]), submit, start, end, state, names)
