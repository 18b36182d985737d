"""The files that Slurm's daemons read: text rendered from the options and the layout, and nothing else.

Only parameters that slurm.conf(5) has from 22.05 to 26.05 are used; what differs is chosen by release.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from scheduler.cluster.layout import LOOPBACK, SLURMCTLD, SLURMDBD, Layout, node_names
from scheduler.cluster.options import REQUEUE_DELAYS, Options

CLUSTER, PARTITION = "tierwise", "batch"
"""Names of the cluster and of its one partition, whose nodes are given to one job at a time."""

DATABASE = "slurm_acct_db"
"""Where slurmdbd keeps the accounting."""

SCHEDULER_PARAMETERS = "bf_interval=1,bf_resolution=1,bf_continue,sched_interval=1,batch_sched_delay=0"
"""Every second, to the second, and at once on submission: who waits for a test waits for these."""

_CGROUPS_CAN_BE_DISABLED = (24, 5, 0)  # cgroup.conf(5) documents CgroupPlugin=disabled from here on
_LAUNCHES_PER_SECOND = 4  # nodes that one core launches a step on, with room: srun -N400 takes half a minute on two


def slurm_conf(options: Options, layout: Layout) -> str:
    """Return slurm.conf.

    Parameters
    ----------
    options : Options
        What the cluster is to be like.
    layout : Layout
        Where it lies.

    Returns
    -------
    str
        The file's text.
    """
    parameters = _parameters(options, layout) | (_accounting(layout) if options.accounting else {})
    written = {name.lower(): name for name in parameters}
    for name, value in options.settings.items():
        parameters[written.get(name.lower(), name)] = value
    lines = ["# Written by `tierwise cluster up`, and written anew by the next one."]
    lines += [f"{name}={value}" for name, value in parameters.items()]
    lines += [_node(options, layout, name) for name in node_names(options.nodes)]
    lines.append(f"PartitionName={PARTITION} Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=EXCLUSIVE")
    return "\n".join([*lines, *options.lines, ""])


def _parameters(options: Options, layout: Layout) -> dict[str, str]:
    host = layout.host
    found = {
        "ClusterName": CLUSTER,
        "SlurmctldHost": f"{host.name}({LOOPBACK})",
        "SlurmctldPort": str(layout.ports[SLURMCTLD]),
        "SlurmUser": layout.user,
        "SlurmdUser": layout.user,
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={layout.munge_socket},cred_expire={requeue_delay(options)}",
        "StateSaveLocation": str(layout.state),
        "SlurmdSpoolDir": str(layout.spool / "%n"),
        "SlurmctldPidFile": str(layout.run / "slurmctld.pid"),
        "SlurmdPidFile": str(layout.run / "%n.pid"),
        "SlurmctldLogFile": str(layout.logs / "slurmctld.log"),
        "SlurmdLogFile": str(layout.logs / "%n.log"),
        "PlugStackConfig": str(layout.directory / "plugstack.conf"),
        "SlurmdParameters": "config_overrides",  # the nodes claim what this machine need not have
        "ProctrackType": "proctrack/linuxproc",
        "TaskPlugin": "task/none",
        "MpiDefault": "none",
        "SelectType": "select/cons_tres",
        "SelectTypeParameters": "CR_Core",
        "SchedulerType": "sched/backfill",
        "SchedulerParameters": SCHEDULER_PARAMETERS,
        "JobRequeue": "1",
        "ReturnToService": "2",
        "KillWait": "2",
        "SlurmdTimeout": "30",
        "MailProg": shutil.which("true") or "/bin/true",  # slurmctld complains where the default is not installed
    }
    if host.named_by_loopback:
        found["CommunicationParameters"] = "NoCtldInAddrAny,NoInAddrAny"
    if options.gpus_per_node:
        found["GresTypes"] = "gpu"
    if options.job_submit is not None:
        found["JobSubmitPlugins"] = "lua"
    return found


def _accounting(layout: Layout) -> dict[str, str]:
    return {
        "AccountingStorageType": "accounting_storage/slurmdbd",
        "AccountingStorageHost": LOOPBACK,
        "AccountingStoragePort": str(layout.ports[SLURMDBD]),
        # Clients that talk to slurmdbd take munged's socket from here, and from nowhere else (slurm.conf(5)).
        "AccountingStoragePass": str(layout.munge_socket),
        "JobAcctGatherType": "jobacct_gather/linux",
    }


def requeue_delay(options: Options) -> int:
    """Return how long a requeued job waits, and a credential lives [s]; Slurm's own default is two minutes."""
    if options.requeue_delay is not None:
        return options.requeue_delay
    return max(REQUEUE_DELAYS[0], options.nodes // _LAUNCHES_PER_SECOND)


def _node(options: Options, layout: Layout, name: str) -> str:
    cpus = options.cpus_per_node or max(1, (os.cpu_count() or 1) // options.nodes)
    memory = options.memory_per_node or max(1 << 20, _memory_of_host() // options.nodes)
    gres = f" Gres=gpu:{options.gpus_per_node}" if options.gpus_per_node else ""
    return (
        f"NodeName={name} NodeHostname={layout.host.name} NodeAddr={LOOPBACK} Port={layout.ports[name]} "
        f"CPUs={cpus} RealMemory={memory >> 20}{gres} State=UNKNOWN"
    )


def _memory_of_host() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def slurmdbd_conf(layout: Layout) -> str:
    """Return slurmdbd.conf; it holds no password, since MariaDB knows the user by the socket.

    Parameters
    ----------
    layout : Layout
        Where the cluster lies.

    Returns
    -------
    str
        The file's text; slurmdbd wants the file to be its user's alone.
    """
    parameters = {
        "AuthType": "auth/munge",
        "AuthInfo": f"socket={layout.munge_socket}",
        "DbdHost": layout.host.name,
        "DbdAddr": LOOPBACK,
        "DbdPort": str(layout.ports[SLURMDBD]),
        "SlurmUser": layout.user,
        "StorageType": "accounting_storage/mysql",
        "StorageHost": "localhost",
        "StorageUser": layout.user,
        "StorageLoc": DATABASE,
        "LogFile": str(layout.logs / "slurmdbd.log"),
        "PidFile": str(layout.run / "slurmdbd.pid"),
    }
    if layout.host.named_by_loopback:
        parameters["CommunicationParameters"] = "NoInAddrAny"
    return "".join(f"{name}={value}\n" for name, value in parameters.items())


def other_files(options: Options, layout: Layout) -> Mapping[str, str]:
    """Return the smaller files that Slurm looks for beside slurm.conf, so that it looks nowhere else.

    Parameters
    ----------
    options : Options
        What the cluster is to be like.
    layout : Layout
        Where it lies.

    Returns
    -------
    Mapping of str to str
        The text by file name.
    """
    # `optional`: a plugin that cannot be loaded must not keep a job from running.
    plugin = f"optional {options.spank_plugin.resolve()}\n" if options.spank_plugin is not None else ""
    files = {"gres.conf": _gres_conf(options, layout), "plugstack.conf": plugin}
    if layout.version >= _CGROUPS_CAN_BE_DISABLED:
        files["cgroup.conf"] = "CgroupPlugin=disabled\n"
    if options.job_submit is not None:
        files["job_submit.lua"] = options.job_submit.read_text("utf-8")
    if options.accounting:
        files["slurmdbd.conf"] = slurmdbd_conf(layout)
        # slurmdbd would make it, but go on with a connection that was refused before: from 11.8.9 on, MariaDB's client
        # library takes no answer with columns on such a one ("maximum allowed number of columns (=0)").
        files[layout.database_script.name] = f"CREATE DATABASE IF NOT EXISTS {DATABASE};\n"
    return files


def _gres_conf(options: Options, layout: Layout) -> str:
    if not options.gpus_per_node:
        return ""
    # Without AutoDetect=off a slurmd would look for the machine's own GPUs.
    return (
        "AutoDetect=off\n"
        f"NodeName=n[1-{options.nodes}] Name=gpu File={layout.gpus}/gpu[0-{options.gpus_per_node - 1}]\n"
    )


def _make_gpus(options: Options, layout: Layout) -> None:
    """Make what stands for the GPUs: Slurm wants a device file for each, which nobody opens, and names only differ."""
    layout.gpus.mkdir()
    for k in range(options.gpus_per_node):
        (layout.gpus / f"gpu{k}").symlink_to("/dev/null")


def write_files(options: Options, layout: Layout) -> None:
    """Write all files into the cluster's directory.

    Parameters
    ----------
    options : Options
        What the cluster is to be like.
    layout : Layout
        Where it lies; the directory exists.
    """
    if options.gpus_per_node:
        _make_gpus(options, layout)
    for name, text in {"slurm.conf": slurm_conf(options, layout), **other_files(options, layout)}.items():
        _write(layout.directory / name, text, private=name == "slurmdbd.conf")


def _write(path: Path, text: str, *, private: bool) -> None:
    path.write_text(text, "utf-8")
    path.chmod(0o600 if private else 0o644)
