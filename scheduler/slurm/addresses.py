"""How a job is addressed in a command.

A job's own id does not always mean that job: the id of an array's last waiting tasks is the array's, and `scancel 12`
then ends all tasks of array 12, running ones included. Such a task is called `12_7`, and tasks that wait together
`12_[3-5,9]` (scancel(1), "job array"). So which array a job belongs to must be known before anything is done to it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from scheduler.slurm.seam import Job

_STEPPED = re.compile(r"(\d{1,9})-(\d{1,9}):([1-9]\d{0,8})", re.ASCII)


class Addresses:
    """Addresses of jobs that were seen.

    Parameters
    ----------
    look : callable
        Looks at all jobs, and calls `learn`.
    """

    def __init__(self, look: Callable[[], object]) -> None:
        self._look = look
        self._known: dict[int, str] = {}

    def learn(self, jobs: Iterable[Job]) -> None:
        """Take in all jobs that there are; others are forgotten."""
        self._known = {job.id: address(job) for job in jobs}

    def plain(self, job: int) -> None:
        """Take in a job that belongs to no array."""
        self._known[job] = str(job)

    def of(self, job: int) -> str | None:
        """Return a job's address; None where Slurm knows no such job."""
        if job not in self._known:
            self._look()
        return self._known.get(job)


def address(job: Job) -> str:
    """Return a job's address.

    Parameters
    ----------
    job : Job
        A job as Slurm shows it.

    Returns
    -------
    str
        Its id, or array and tasks. For the leader of a heterogeneous job it means all components, as Slurm has it.
    """
    if job.array_job_id is None or not job.array_task:
        return str(job.id)
    if job.array_task.isdecimal():
        return f"{job.array_job_id}_{job.array_task}"
    return f"{job.array_job_id}_[{_STEPPED.sub(_one_by_one, job.array_task)}]"


def _one_by_one(match: re.Match[str]) -> str:
    """Return a stepped range as its numbers: Slurm shows such ranges, and scancel of 22.05 refuses them."""
    first, last, step = map(int, match.groups())
    return ",".join(map(str, range(first, last + 1, step)))
