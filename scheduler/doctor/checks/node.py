"""Judges a compute node."""

from __future__ import annotations

from scheduler.doctor.facts.node import NodeFacts
from scheduler.doctor.finding import COMPUTE, MISSING, WARN, Check, Finding, ok

_MAKE_ZRAM = "tierwise tiers setup zram --size 16G"
_COMPUTE = frozenset({COMPUTE})


def _cgroup(node: NodeFacts) -> Finding:
    if node.cgroup is not None:
        return ok(f"version {node.cgroup} counts memory")
    return Finding(
        WARN,
        "no control group counts memory",
        "the memory that a job was promised cannot be told from what it takes",
        "TaskPlugin=task/cgroup in slurm.conf with ConstrainRAMSpace=yes in cgroup.conf; cgroup_enable=memory at boot",
    )


def _far(node: NodeFacts) -> Finding:
    sizes = {"compressed in memory (zram)": node.swap.get("zram", 0), "on disk": node.swap.get("swap", 0)}
    there = [f"{size / 2**30:.1f} GiB {kind}" for kind, size in sizes.items() if size]
    if not there:
        return Finding(
            MISSING,
            "no swap area",
            "cold pages have nowhere to go: --tier-far does nothing here, unless there is CXL or persistent memory",
            _MAKE_ZRAM,
        )
    if not node.swap.get("zram"):
        return Finding(
            WARN,
            there[0],
            "far pages come back at the disk's speed",
            _MAKE_ZRAM,
        )
    return ok(", ".join(there))


def _agent(node: NodeFacts) -> Finding:
    if node.has_agent:
        return ok("its socket is there")
    return Finding(
        MISSING,
        "its socket is not there",
        "memory classes are kept in the job's record, and nothing acts on them",
        "tierwise agent",
    )


def _container(node: NodeFacts) -> Finding:
    if node.container:
        return ok(node.container)
    return Finding(
        MISSING,
        "neither apptainer nor singularity in the PATH",
        "jobs cannot run in Tierwise's container wrapper; others run as ever",
        "install apptainer (dnf install apptainer with EPEL; Debian from sid or the project's packages)",
    )


def _gpu(node: NodeFacts) -> Finding | None:
    return ok(f"{node.gpus} device files") if node.gpus else None


CHECKS: tuple[Check[NodeFacts], ...] = (
    Check("memory cgroup", _cgroup, _COMPUTE),
    Check("far memory", _far, _COMPUTE),
    Check("node agent", _agent, _COMPUTE),
    Check("containers", _container, _COMPUTE),
    Check("gpu", _gpu, _COMPUTE),
)
