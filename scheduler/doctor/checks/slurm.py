"""Judges Slurm: whether it answers, and whether it is set up so that jobs can make room and come back."""

from __future__ import annotations

from collections.abc import Mapping

from scheduler.doctor.facts.slurm import SlurmFacts
from scheduler.doctor.finding import COMPUTE, CONTROLLER, FAIL, MISSING, WARN, Check, Finding, ok

OLDEST, NEWEST = (22, 5), (26, 5)
"""The releases that the commands' output is known of."""

_CONTROLLER = frozenset({CONTROLLER})


def _commands(slurm: SlurmFacts) -> Finding:
    if not slurm.absent:
        return ok("all in the PATH")
    return Finding(
        FAIL,
        f"not in the PATH: {', '.join(slurm.absent)}",
        "nothing of Tierwise's that touches the cluster works here; replays do",
        "apt-get install slurm-client (Debian), dnf or zypper install slurm; or add Slurm's bin folder to the PATH",
    )


def _answers(slurm: SlurmFacts) -> Finding | None:
    if "scontrol" in slurm.absent:
        return None
    if not slurm.problem:
        return ok(slurm.configuration.get("clustername", ""))
    return Finding(
        FAIL,
        slurm.problem,
        "no job can be seen or moved; what is checked by asking it is left out below",
        "scontrol ping; systemctl status slurmctld munge; is SLURM_CONF set as slurmctld has it?",
    )


def _version(slurm: SlurmFacts) -> Finding | None:
    if slurm.version is None:
        return None
    text = f"{slurm.version[0]}.{slurm.version[1]:02d}.{slurm.version[2]}"
    if OLDEST <= slurm.version[:2] <= NEWEST:
        return ok(text)
    return Finding(
        WARN,
        f"{text}, and Tierwise knows 22.05 to 26.05",
        "its output may be read wrongly, or not at all",
        "pip install --upgrade tierwise",
    )


def _listing(slurm: SlurmFacts) -> Finding | None:
    if slurm.problem:
        return None
    if not slurm.listing_problem:
        return ok(f"{slurm.nodes} nodes, {slurm.jobs} jobs")
    return Finding(
        FAIL,
        slurm.listing_problem,
        "the controller sees no job, and does nothing",
        "squeue --json; is Slurm built with its JSON serializer (slurm-wlm-basic-plugins on Debian)?",
    )


def _rights(slurm: SlurmFacts) -> Finding | None:
    if slurm.problem:
        return None
    if slurm.right != "none":
        return ok(f"{slurm.user or 'this user'}: {slurm.right}")
    mend = (
        f"sacctmgr add user {slurm.user or 'NAME'} account=root adminlevel=operator"
        if slurm.has_accounting
        else f"run the controller as {slurm.configuration.get('slurmuser', 'SlurmUser').partition('(')[0]}: "
        "tierwise service install controller --user NAME"
    )
    return Finding(
        FAIL,
        f"{slurm.user or 'this user'} is neither root, SlurmUser nor an operator",
        "it may not reserve nor requeue",
        mend,
    )


def _requeue(slurm: SlurmFacts) -> Finding | None:
    value = slurm.configuration.get("jobrequeue")
    if value is None:
        return None
    if value == "1":
        return ok("JobRequeue=1")
    return Finding(
        WARN,
        f"JobRequeue={value}",
        "only jobs that were submitted with --requeue can make room, since no other would come back",
        "JobRequeue=1 in slurm.conf, then scontrol reconfigure",
    )


def _preemption(slurm: SlurmFacts) -> Finding | None:
    value = slurm.configuration.get("preempttype")
    if value is None:
        return None
    if value == "preempt/none":
        return ok("Slurm's own is off")
    return Finding(
        WARN,
        f"Slurm preempts too: PreemptType={value}, PreemptMode={slurm.configuration.get('preemptmode', '')}",
        "jobs whose QOS or partition may preempt others do so without asking which lose least",
        "PreemptType=preempt/none in slurm.conf, unless both are wanted",
    )


def _accounting(slurm: SlurmFacts) -> Finding | None:
    if slurm.problem:
        return None
    if not slurm.has_accounting:
        return Finding(
            MISSING,
            "Slurm runs without slurmdbd",
            "no replay of this cluster's own history (tierwise trace import); only root and SlurmUser have rights",
            "AccountingStorageType=accounting_storage/slurmdbd in slurm.conf",
        )
    if slurm.accounting_problem:
        return Finding(
            WARN,
            slurm.accounting_problem,
            "tierwise trace import fails; rights cannot be looked up",
            "systemctl status slurmdbd; sacctmgr show cluster",
        )
    return ok("slurmdbd answers")


def _job_submit(slurm: SlurmFacts) -> Finding | None:
    if slurm.problem:
        return None
    plugins = slurm.configuration.get("jobsubmitplugins", "")
    if "lua" in plugins.split(","):
        return ok(f"JobSubmitPlugins={plugins}")
    return Finding(
        MISSING,
        f"JobSubmitPlugins={plugins or '(none)'}: lua is not in it",
        "slurmctld ignores the flags: no job can be on-demand, and nobody's checkpoints are known",
        "JobSubmitPlugins=lua in slurm.conf, and restart slurmctld",
    )


def _hooks(slurm: SlurmFacts) -> Finding | None:
    if slurm.problem:
        return None
    absent = [name for name in ("Prolog", "Epilog") if not _is_ours(slurm.configuration, name.lower())]
    if not absent:
        return ok("Prolog and Epilog of Tierwise's")
    return Finding(
        MISSING,
        f"no {' and no '.join(absent)} of slurm.conf has tierwise in its name",
        "unless a script of the site's calls it, the node agent does not learn of jobs: their memory stays where it is",
        "tierwise plugin hooks, and the lines of slurm.conf that it prints",
    )


def _is_ours(configuration: Mapping[str, str], name: str) -> bool:
    # Later releases number them: Prolog[0].
    values = [value for key, value in configuration.items() if key.partition("[")[0] == name]
    return any("tierwise" in value for value in values)


def _leftovers(slurm: SlurmFacts) -> Finding | None:
    if slurm.problem or slurm.listing_problem:
        return None
    if not slurm.leftovers:
        return ok("none is left behind")
    return Finding(
        WARN,
        f"left behind: {', '.join(slurm.leftovers)}",
        "their nodes stay idle until the reservation ends",
        "start the controller, which takes away its own; else scontrol delete ReservationName=NAME",
    )


CHECKS: tuple[Check[SlurmFacts], ...] = (
    Check("slurm commands", _commands),
    Check("slurmctld", _answers),
    Check("slurm release", _version),
    Check("nodes and jobs", _listing),
    Check("rights", _rights, _CONTROLLER),
    Check("requeue", _requeue, _CONTROLLER),
    Check("preemption", _preemption, _CONTROLLER),
    Check("accounting", _accounting, _CONTROLLER),
    Check("job_submit plugin", _job_submit, _CONTROLLER),
    Check("reservations", _leftovers, _CONTROLLER),
    Check("prolog and epilog", _hooks, frozenset({COMPUTE})),
)
