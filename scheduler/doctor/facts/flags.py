"""What gives sbatch its flags: the SPANK plugin, its line in plugstack.conf, job_submit.lua and its limits."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from scheduler import __version__
from scheduler.doctor.facts.place import Place
from slurm_plugins import building, installing
from slurm_plugins.lua_table import FILE_NAME, LIMITS_FILE_NAME, MARK
from traces.errors import InputError


@dataclass(frozen=True)
class Flags:
    """What is installed; paths as texts.

    Attributes
    ----------
    plugstack : str
        The plugstack.conf that Slurm reads here, whether it exists or not.
    plugin : str or None
        The plugin that a line of it names; None for no line.
    built_for, running : str or None
        The releases of Slurm (22.05) that the plugin was built for and that sbatch here has.
    of, ours : str or None
        The Tierwise that the plugin is of, and this one.
    problem : str
        Why plugstack.conf or the plugin cannot be read.
    job_submit : str
        Where slurmctld looks for job_submit.lua.
    job_submit_state : str
        `ours`, `calls ours`, `foreign`, `absent` or `unreadable`.
    has_limits : bool
        Whether the limits lie beside it.
    """

    plugstack: str
    plugin: str | None = None
    built_for: str | None = None
    running: str | None = None
    of: str | None = None
    ours: str = __version__
    problem: str = ""
    job_submit: str = ""
    job_submit_state: str = "absent"
    has_limits: bool = False


def gather(_: Place) -> Flags:
    """Look at the files."""
    plugstack = installing.default_plugstack()
    job_submit = installing.slurm_conf().parent / FILE_NAME
    try:
        plugin = _named_plugin(plugstack)
        built = building.read_built(plugin) if plugin is not None and plugin.is_file() else None
        problem = ""
    except (InputError, OSError) as error:
        plugin, built, problem = None, None, str(error)
    running = installing.running_release()
    return Flags(
        plugstack=str(plugstack),
        plugin=None if plugin is None else str(plugin),
        built_for=None if built is None else built.slurm.release,
        running=None if running is None else running.release,
        of=None if built is None else built.tierwise,
        problem=problem,
        job_submit=str(job_submit),
        job_submit_state=_state(job_submit),
        has_limits=(job_submit.parent / LIMITS_FILE_NAME).is_file(),
    )


def _named_plugin(plugstack: Path) -> Path | None:
    stack = installing.plugstack_file(plugstack)
    if stack is None:
        return None
    text = (installing.read_file(stack) or b"").decode("utf-8", "surrogateescape")
    return Path(installing.plugin_lines(text)[0].split()[1])


def _state(job_submit: Path) -> str:
    try:
        content = installing.read_file(job_submit)
    except InputError:
        return "unreadable"
    if content is None:
        return "absent"
    if MARK in content:
        return "ours"
    return "calls ours" if installing.SIBLING_NAME.encode() in content else "foreign"
