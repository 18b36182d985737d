"""What holds for a job that Slurm knows: what the policy says, and before that what the job says of itself."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from scheduler.options import JobOptions, from_record
from scheduler.options.table import BY_KEY
from scheduler.policy.effective import Who, effective
from scheduler.policy.load import PolicyFile
from scheduler.slurm.addresses import address
from scheduler.slurm.seam import Job
from traces.errors import InputError

OWN = ("checkpoint_every", "checkpoint_cost", "restart_cost", "tier_class")
"""What a job may say of itself, so that the policy's value is only for jobs that do not."""


@dataclass(frozen=True)
class JobPolicy:
    """What holds for a job.

    Attributes
    ----------
    who : Who
        Whose job it is, as Slurm says.
    asked : dict
        What the job asked for at its submission, by the option's key.
    values : dict
        Each field of the policy, with the value that holds.
    origin : dict of str to str
        Where it comes from: `built in`, `FILE:LINE [table]`, or the job's own flag.
    """

    who: Who
    asked: dict[str, Any]
    values: dict[str, Any]
    origin: dict[str, str]


def of_job(policy: PolicyFile | None, cluster: str, job: Job) -> JobPolicy:
    """Work out what holds for a job.

    Parameters
    ----------
    policy : PolicyFile or None
        The policy; None: only what is built in.
    cluster : str
        The cluster's name.
    job : Job
        The job.

    Returns
    -------
    JobPolicy
        As the controller has it too.
    """
    who = Who(cluster, job.partition, job.account, job.qos, job.user)
    found = effective(policy, who)
    asked = (from_record(job.admin_comment) or JobOptions()).given()
    values, origin = dict(found.rule), dict(found.origin)
    for key in OWN:
        if key in asked:
            values[key], origin[key] = asked[key], f"the job's own --{BY_KEY[key].flag}"
    return JobPolicy(who, dict(asked), values, origin)


def named(jobs: Iterable[Job], name: str) -> Job:
    """Find a job by what people call it: `17`, or `12_7` for an array's task.

    Raises
    ------
    InputError
        Where Slurm knows no such job.
    """
    known = list(jobs)
    for job in known:
        if name in (str(job.id), address(job)):
            return job
    raise InputError(f"--job {name[:40]!r}: Slurm knows no such job now ({len(known)} jobs known); see squeue")
