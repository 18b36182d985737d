"""What doctor makes of what it found: each check with facts that are well, and with facts that are not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from scheduler.doctor.checks import flags as flags_checks
from scheduler.doctor.checks import host as host_checks
from scheduler.doctor.checks import node as node_checks
from scheduler.doctor.checks import service as service_checks
from scheduler.doctor.checks import slurm as slurm_checks
from scheduler.doctor.examining import FAMILIES
from scheduler.doctor.facts.flags import Flags
from scheduler.doctor.facts.host import Host
from scheduler.doctor.facts.node import NodeFacts
from scheduler.doctor.facts.service import Service
from scheduler.doctor.facts.slurm import SlurmFacts, with_files
from scheduler.doctor.finding import FAIL, MISSING, OK, WARN, Check

HOST = Host((3, 11, 2), "/var/cache/x", "/var/cache", True)
SLURM = SlurmFacts(
    configuration={
        "clustername": "c1",
        "jobrequeue": "1",
        "preempttype": "preempt/none",
        "accountingstoragetype": "accounting_storage/slurmdbd",
        "jobsubmitplugins": "lua",
        "slurmuser": "slurm(64030)",
        "prolog[0]": "/etc/slurm/tierwise_prolog",
        "epilog": "/etc/slurm/tierwise_epilog",
    },
    version=(24, 11, 5),
    nodes=4,
    jobs=2,
    user="tierwise",
    right="operator",
)
FLAGS = Flags(
    "/etc/slurm/plugstack.conf", "/x/spank_tierwise.so", "24.11", "24.11", "1.0", "1.0", "", "/e/j.lua", "ours", True
)
SERVICE = Service("/e/p.toml", "good", "", True, "/u", True, "/j", "", False, 1 << 30, True, True, 1.0, "7")
NODE = NodeFacts(2, {"zram": 1 << 30, "swap": 1 << 30}, "apptainer", 1, True)


def _changed(**values: str) -> SlurmFacts:
    return replace(SLURM, configuration={**SLURM.configuration, **values})


CASES: list[tuple[tuple[Check[Any], ...], str, Any, Any, str, str]] = [
    # Checks, name, what is well, what is not, the level then, words that must be said
    (host_checks.CHECKS, "python", HOST, replace(HOST, python=(3, 10, 9)), FAIL, "3.10.9"),
    (host_checks.CHECKS, "kernel cache", HOST, replace(HOST, cache=None), WARN, "XDG_CACHE_HOME"),
    (host_checks.CHECKS, "clock", HOST, replace(HOST, clock=False), WARN, "munge"),
    (slurm_checks.CHECKS, "slurm commands", SLURM, replace(SLURM, absent=("sbatch",)), FAIL, "slurm-client"),
    (slurm_checks.CHECKS, "slurmctld", SLURM, SlurmFacts(problem="no route"), FAIL, "no route"),
    (slurm_checks.CHECKS, "slurm release", SLURM, replace(SLURM, version=(21, 8, 1)), WARN, "21.08.1"),
    (slurm_checks.CHECKS, "slurm release", SLURM, replace(SLURM, version=(26, 11, 0)), WARN, "26.11.0"),
    (slurm_checks.CHECKS, "nodes and jobs", SLURM, replace(SLURM, listing_problem="odd JSON"), FAIL, "odd JSON"),
    (slurm_checks.CHECKS, "rights", SLURM, replace(SLURM, right="none"), FAIL, "adminlevel=operator"),
    (slurm_checks.CHECKS, "requeue", SLURM, _changed(jobrequeue="0"), WARN, "--requeue"),
    (slurm_checks.CHECKS, "preemption", SLURM, _changed(preempttype="preempt/qos"), WARN, "preempt/qos"),
    (slurm_checks.CHECKS, "accounting", SLURM, _changed(accountingstoragetype="x/none"), MISSING, "slurmdbd"),
    (slurm_checks.CHECKS, "accounting", SLURM, replace(SLURM, accounting_problem="refused"), WARN, "refused"),
    (
        slurm_checks.CHECKS,
        "job_submit plugin",
        SLURM,
        _changed(jobsubmitplugins="lualike"),
        MISSING,
        "restart slurmctld",
    ),
    (slurm_checks.CHECKS, "reservations", SLURM, replace(SLURM, leftovers=("tierwise-9",)), WARN, "tierwise-9"),
    (slurm_checks.CHECKS, "prolog and epilog", SLURM, _changed(epilog=""), MISSING, "no Epilog of"),
    (flags_checks.CHECKS, "spank plugin", FLAGS, replace(FLAGS, plugin=None), MISSING, "tierwise plugin install"),
    (flags_checks.CHECKS, "spank plugin", FLAGS, replace(FLAGS, built_for=None), FAIL, "missing"),
    (flags_checks.CHECKS, "spank plugin", FLAGS, replace(FLAGS, running="25.05"), FAIL, "tierwise plugin build"),
    (flags_checks.CHECKS, "spank plugin", FLAGS, replace(FLAGS, of="0.9"), WARN, "0.9"),
    (flags_checks.CHECKS, "spank plugin", FLAGS, replace(FLAGS, problem="cannot be read"), FAIL, "cannot be read"),
    (flags_checks.CHECKS, "job_submit.lua", FLAGS, replace(FLAGS, job_submit_state="absent"), MISSING, "--job-submit"),
    (
        flags_checks.CHECKS,
        "job_submit.lua",
        FLAGS,
        replace(FLAGS, job_submit_state="foreign"),
        MISSING,
        "does not call",
    ),
    (flags_checks.CHECKS, "job_submit.lua", FLAGS, replace(FLAGS, job_submit_state="unreadable"), WARN, "root"),
    (flags_checks.CHECKS, "limits", FLAGS, replace(FLAGS, has_limits=False), MISSING, "--on-demand"),
    (service_checks.CHECKS, "policy", SERVICE, replace(SERVICE, policy_state="absent"), MISSING, "/e/p.toml"),
    (service_checks.CHECKS, "policy", SERVICE, replace(SERVICE, policy_state="bad"), FAIL, "policy check"),
    (service_checks.CHECKS, "policy", SERVICE, replace(SERVICE, policy_state="unreadable"), FAIL, "chmod"),
    (service_checks.CHECKS, "policy", SERVICE, replace(SERVICE, grants=False), WARN, "nobody"),
    (service_checks.CHECKS, "systemd unit", SERVICE, replace(SERVICE, has_unit=False), MISSING, "service install"),
    (service_checks.CHECKS, "journal", SERVICE, replace(SERVICE, free=1 << 20), FAIL, "1024 KiB"),
    (service_checks.CHECKS, "journal", SERVICE, replace(SERVICE, free=32 << 20), WARN, "32 MiB"),
    (service_checks.CHECKS, "journal", SERVICE, replace(SERVICE, journal_problem="not writable"), WARN, "not writable"),
    (
        service_checks.CHECKS,
        "journal",
        SERVICE,
        replace(SERVICE, journal_absent=True, has_unit=False),
        MISSING,
        "does not exist",
    ),
    (service_checks.CHECKS, "controller", SERVICE, replace(SERVICE, age=61.0), FAIL, "61 s"),
    (service_checks.CHECKS, "controller", SERVICE, replace(SERVICE, runs=False), FAIL, "none runs"),
    (service_checks.CHECKS, "controller", SERVICE, replace(SERVICE, runs=False, ran=False), MISSING, "enable --now"),
    (service_checks.CHECKS, "controller", SERVICE, replace(SERVICE, runs=None, ran=None), WARN, "not known"),
    (node_checks.CHECKS, "memory cgroup", NODE, replace(NODE, cgroup=None), WARN, "task/cgroup"),
    (node_checks.CHECKS, "far memory", NODE, replace(NODE, swap={}), MISSING, "--tier-far"),
    (node_checks.CHECKS, "far memory", NODE, replace(NODE, swap={"swap": 1 << 30}), WARN, "1.0 GiB on disk"),
    (node_checks.CHECKS, "node agent", NODE, replace(NODE, has_agent=False), MISSING, "socket"),
    (node_checks.CHECKS, "containers", NODE, replace(NODE, container=""), MISSING, "apptainer"),
]


@pytest.mark.parametrize(
    ("checks", "name", "well", "bad", "level", "words"),
    CASES,
    ids=[f"{case[1]}-{case[4]}-{k}" for k, case in enumerate(CASES)],
)
def test_a_check_is_content_with_what_is_well_and_says_what_is_not(
    checks: tuple[Check[Any], ...], name: str, well: Any, bad: Any, level: str, words: str
) -> None:
    check = next(check for check in checks if check.name == name)
    content, found = check.look(well), check.look(bad)
    assert content is not None
    assert (content.level, content.costs, content.mend) == (OK, "", "")
    assert found is not None
    assert found.level == level
    assert found.costs
    assert words in f"{found.found} {found.costs} {found.mend}"


def test_every_check_is_tried_with_facts_that_are_not_well() -> None:
    tried = {case[1] for case in CASES}
    only_tells = {"gpu"}
    assert {check.name for family in FAMILIES for check in family.checks} == tried | only_tells


def test_where_slurm_does_not_answer_what_depends_on_it_is_left_out() -> None:
    silent = SlurmFacts(problem="no answer")
    said = [check.name for check in slurm_checks.CHECKS if check.look(silent) is not None]
    assert said == ["slurm commands", "slurmctld"]


def test_without_accounting_only_root_and_slurm_user_have_rights() -> None:
    facts = replace(_changed(accountingstoragetype="accounting_storage/none"), right="none")
    check = next(check for check in slurm_checks.CHECKS if check.name == "rights")
    found = check.look(facts)
    assert found is not None
    assert "run the controller as slurm" in found.mend


def test_a_node_without_a_gpu_hears_nothing_of_gpus() -> None:
    check = next(check for check in node_checks.CHECKS if check.name == "gpu")
    assert check.look(replace(NODE, gpus=0)) is None


def test_a_prolog_that_a_pattern_finds_is_seen(tmp_path: Path) -> None:
    pattern = f"{tmp_path}/*"
    check = next(check for check in slurm_checks.CHECKS if check.name == "prolog and epilog")

    def level() -> str:
        found = check.look(_changed(**{"prolog[0]": with_files("prolog[0]", pattern)}))
        assert found is not None
        return found.level

    assert level() == MISSING
    (tmp_path / "site").touch()
    assert level() == MISSING
    (tmp_path / "tierwise_prolog").touch()
    assert level() == OK
    assert with_files("plugindir", pattern) == pattern
