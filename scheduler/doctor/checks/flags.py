"""Judges what gives sbatch its flags."""

from __future__ import annotations

from scheduler.doctor.facts.flags import Flags
from scheduler.doctor.finding import CONTROLLER, FAIL, MISSING, WARN, Check, Finding, ok

_CONTROLLER = frozenset({CONTROLLER})
_WITHOUT = "sbatch, salloc and srun do not know the flags here; jobs run as ordinary ones"
_REBUILD = "tierwise plugin build, then tierwise plugin install --plugin spank_tierwise.so"


def _plugin(flags: Flags) -> Finding:
    if flags.problem:
        return Finding(FAIL, flags.problem, _WITHOUT, "tierwise plugin check")
    if flags.plugin is None:
        return Finding(MISSING, f"no line in {flags.plugstack} loads it", _WITHOUT, "tierwise plugin install")
    if flags.built_for is None:
        return Finding(FAIL, f"{flags.plugin} is missing, or not Tierwise's", _WITHOUT, _REBUILD)
    if flags.running is not None and flags.running != flags.built_for:
        found = f"{flags.plugin} is for Slurm {flags.built_for}, and Slurm is {flags.running}"
        return Finding(FAIL, found, f"Slurm leaves it out: {_WITHOUT}", _REBUILD)
    if flags.of != flags.ours:
        found = f"{flags.plugin} is of Tierwise {flags.of}, and this is {flags.ours}"
        return Finding(WARN, found, "newer flags are not known here", _REBUILD)
    return ok(f"{flags.plugin}, for Slurm {flags.built_for}")


def _job_submit(flags: Flags) -> Finding:
    mend = f"tierwise plugin install --job-submit {flags.job_submit}"
    costs = "what jobs ask for is not written down: none can be on-demand, and nobody's checkpoints are known"
    if flags.job_submit_state == "ours":
        return ok(flags.job_submit)
    if flags.job_submit_state == "calls ours":
        return ok(f"{flags.job_submit}, the site's own, which calls Tierwise's")
    if flags.job_submit_state == "foreign":
        return Finding(MISSING, f"{flags.job_submit} is the site's own, and does not call Tierwise's", costs, mend)
    if flags.job_submit_state == "unreadable":
        return Finding(
            WARN, f"{flags.job_submit} cannot be read by this user", "it is not known what it does", "run as root"
        )
    return Finding(MISSING, f"{flags.job_submit} does not exist", costs, mend)


def _limits(flags: Flags) -> Finding | None:
    if flags.job_submit_state not in ("ours", "calls ours"):
        return None
    path = flags.job_submit.rpartition("/")[0] + "/tierwise_limits.lua"
    if flags.has_limits:
        return ok(path)
    return Finding(
        MISSING,
        f"{path} does not exist",
        "nobody may use --on-demand; all other flags are everybody's",
        "tierwise policy apply",
    )


CHECKS: tuple[Check[Flags], ...] = (
    Check("spank plugin", _plugin),
    Check("job_submit.lua", _job_submit, _CONTROLLER),
    Check("limits", _limits, _CONTROLLER),
)
