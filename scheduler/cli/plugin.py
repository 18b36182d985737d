"""`tierwise plugin`: build the SPANK plugin, install it, and say whether it still fits the Slurm that is there."""

from __future__ import annotations

import json
import tempfile
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from slurm_plugins.building import Version
    from slurm_plugins.installing import Change

EXIT_REBUILD = 1
"""`tierwise plugin check`: something is to be done."""

_DEFAULT_OUT = Path("spank_tierwise.so")
_DEFAULT_PREFIX = Path("/usr/local/lib/tierwise")

app = typer.Typer(
    name="plugin",
    help="Build and install what gives sbatch, salloc and srun Tierwise's flags.",
    no_args_is_help=True,
)

_SlurmPrefix = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Where Slurm is installed, if not beside sbatch or in /usr.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print JSON, and nothing else.")]
_Plugstack = Annotated[
    Path | None, typer.Option(metavar="FILE", help="plugstack.conf; by default the one that Slurm reads here.")
]
_Prefix = Annotated[Path, typer.Option(metavar="DIR", help="Folder of the installed plugin, the same on all nodes.")]


_PrologDir = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Folder of prologs; by default prolog.d beside slurm.conf.")
]
_EpilogDir = Annotated[
    Path | None, typer.Option(metavar="DIR", help="Folder of epilogs; by default epilog.d beside slurm.conf.")
]


def _say(as_json: bool, facts: dict[str, object], lines: list[str]) -> None:
    typer.echo(json.dumps(facts, indent=2) if as_json else "\n".join(lines))


def _build(out: Path, slurm_prefix: Path | None) -> Version:
    from scheduler import __version__  # noqa: PLC0415 - the command line starts without what only this needs
    from scheduler.options.table import LONGEST_VALUE, OPTIONS  # noqa: PLC0415
    from slurm_plugins import building  # noqa: PLC0415

    headers = building.find_headers(slurm_prefix)
    building.build(OPTIONS, LONGEST_VALUE, __version__, headers, out)
    return headers.version


@app.command("build")
def build(
    out: Annotated[Path, typer.Option(metavar="FILE", help="The plugin's file.")] = _DEFAULT_OUT,
    slurm_prefix: _SlurmPrefix = None,
    as_json: _Json = False,
) -> None:
    """Compile the SPANK plugin for the Slurm whose headers are found.

    Needs a C compiler and Slurm's headers (Debian: gcc libslurm-dev; Red Hat, SUSE: gcc slurm-devel), on one machine
    only: the file works on all nodes with the same architecture and the same release of Slurm (22.05, 24.11, ...).
    """
    version = _build(out, slurm_prefix)
    _say(as_json, {"plugin": str(out), "slurm": str(version)}, [f"{out}: built for Slurm {version.release}"])


@app.command("install")
def install(
    plugin: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A plugin built before; by default it is built now.")
    ] = None,
    prefix: _Prefix = _DEFAULT_PREFIX,
    plugstack: _Plugstack = None,
    job_submit: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="On the controller: slurmctld's job_submit.lua, to be written too."),
    ] = None,
    slurm_prefix: _SlurmPrefix = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be written, and write nothing.")] = False,
    as_json: _Json = False,
) -> None:
    """Install the plugin and its line in plugstack.conf; on the controller job_submit.lua too.

    Run it on each login, compute and controller node. Repeating it changes nothing. Files are replaced as a whole;
    other lines of plugstack.conf and a job_submit.lua of the site's own are left alone.
    """
    from slurm_plugins import installing  # noqa: PLC0415

    with tempfile.TemporaryDirectory(prefix="tierwise-plugin-") as scratch:
        if plugin is None:
            plugin = Path(scratch) / "spank_tierwise.so"
            _build(plugin, slurm_prefix)
        _check_release(plugin)
        changes, todo = _changes(plugin, prefix, plugstack or installing.default_plugstack(), job_submit)
    if not dry_run:
        for change in changes:
            change.apply()
    lines = [_line(change, dry_run) for change in changes]
    files = [{"path": str(change.path), "changed": change.is_needed} for change in changes]
    _say(as_json, {"dry_run": dry_run, "files": files, "to_do": todo}, [*lines, *(f"to do: {item}" for item in todo)])


def _check_release(plugin: Path) -> None:
    """Refuse a plugin that Slurm would refuse: each sbatch would say so, without the flags."""
    from slurm_plugins import building, installing  # noqa: PLC0415
    from traces.errors import InputError  # noqa: PLC0415

    built = building.read_built(plugin)
    if built is None:
        raise InputError(f"--plugin: {plugin} is no plugin that `tierwise plugin build` made")
    running = installing.running_release()
    if running is not None and running.release != built.slurm.release:
        raise InputError(
            f"--plugin: {plugin} is built for Slurm {built.slurm.release}, and sbatch here is {running.release}; "
            "build it with the headers of that release"
        )


def _changes(plugin: Path, prefix: Path, plugstack: Path, job_submit: Path | None) -> tuple[list[Change], list[str]]:
    """Work out what to write, the plugin before the line that names it; and what the administrator has to do."""
    from scheduler.options.table import LONGEST_VALUE, OPTIONS  # noqa: PLC0415
    from slurm_plugins import building, installing, lua_table  # noqa: PLC0415

    installed = prefix / building.FILE_NAME
    content = installing.read_file(plugin) or b""
    changes = [
        installing.Change(installed, installing.read_file(installed), content, 0o755),
        installing.plugstack_change(plugstack, installed),
    ]
    todo = []
    if job_submit is not None:
        change, line = installing.job_submit_change(job_submit, lua_table.job_submit(OPTIONS, LONGEST_VALUE))
        changes.append(change)
        if line is not None:
            todo.append(f"add as the last line of {job_submit}: {line}")
        elif change.before is None:
            todo.append("have JobSubmitPlugins=lua in slurm.conf, and restart slurmctld")
    return changes, todo


@app.command("hooks")
def hooks(
    prolog_dir: _PrologDir = None,
    epilog_dir: _EpilogDir = None,
    python: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Python 3.6 or later, on every compute node; by default the system's."),
    ] = None,
    socket: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The node agent's; by default where the agent makes it.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be written, and write nothing.")] = False,
    as_json: _Json = False,
) -> None:
    """Install the prolog and the epilog that tell the node agent of jobs, and print slurm.conf's lines for them.

    Run it on each compute node, or copy the two files. They need nothing else of Tierwise's there. They end with status
    0 whatever happens, within 2 s: without an agent, or with one that hangs, jobs run as before. Repeating it
    changes nothing; a site's own files are left alone. Have the files on all nodes before the lines, and take the lines
    out before the files: slurmd drains a node where it finds nothing to call.
    """
    from memory_tiers.agent.protocol import DEFAULT_SOCKET  # noqa: PLC0415
    from scheduler.options.table import OPTIONS  # noqa: PLC0415
    from slurm_plugins import hooks as files  # noqa: PLC0415

    conf, folders = _hook_folders(prolog_dir, epilog_dir)
    python, socket = python or files.default_python(), socket or DEFAULT_SOCKET
    changes = [
        files.change(hook, folder, files.script(hook, OPTIONS, python, socket)) for hook, folder in folders.items()
    ]
    if not dry_run:
        for change in changes:
            change.apply()
    missing = [
        files.conf_line(hook, folder)
        for hook, folder in folders.items()
        if not files.is_configured(hook, folder / files.file_name(hook), conf)
    ]
    todo = [
        f"once the files are on all compute nodes, have in slurm.conf, and scontrol reconfigure: {line}"
        for line in missing
    ]
    lines = [_line(change, dry_run) for change in changes]
    written = [{"path": str(change.path), "changed": change.is_needed} for change in changes]
    _say(as_json, {"dry_run": dry_run, "files": written, "to_do": todo}, [*lines, *(f"to do: {item}" for item in todo)])


def _hook_folders(prolog_dir: Path | None, epilog_dir: Path | None) -> tuple[str, dict[str, Path]]:
    """Return slurm.conf's text, and where the hooks go."""
    from slurm_plugins import hooks as files  # noqa: PLC0415
    from slurm_plugins import installing  # noqa: PLC0415

    conf = installing.slurm_conf()
    text = (installing.read_file(conf) or b"").decode("utf-8", "surrogateescape")
    named = zip(files.HOOKS, (prolog_dir, epilog_dir), strict=True)
    return text, {hook: (folder or conf.parent / f"{hook}.d").absolute() for hook, folder in named}


def _hook_problems(prolog_dir: Path | None, epilog_dir: Path | None) -> list[str]:
    """Look at the hooks, where they are asked after or one is there: only compute nodes need them."""
    from scheduler.options.table import OPTIONS  # noqa: PLC0415
    from slurm_plugins import hooks as files  # noqa: PLC0415

    conf, folders = _hook_folders(prolog_dir, epilog_dir)
    present = any((folder / files.file_name(hook)).exists() for hook, folder in folders.items())
    if not present and prolog_dir is None and epilog_dir is None:
        return []
    return [problem for hook, folder in folders.items() for problem in files.problems(hook, folder, OPTIONS, conf)]


def _line(change: Change, dry_run: bool) -> str:
    if not change.is_needed:
        return f"{change.path}: unchanged"
    what = "created" if change.before is None else "replaced"
    return f"{change.path}: would be {what}" if dry_run else f"{change.path}: {what}"


@dataclass(frozen=True)
class Report:
    """What `tierwise plugin check` found; None: not known."""

    plugin: str
    built_for: str | None
    tierwise: str | None
    slurm: str | None
    plugstack: str | None
    problems: tuple[str, ...]


@app.command("check")
def check(
    plugin: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The plugin; by default the one of the plugstack's line.")
    ] = None,
    plugstack: _Plugstack = None,
    slurm_version: Annotated[
        str | None, typer.Option(metavar="X.Y.Z", help="The Slurm to check against; by default that of sbatch here.")
    ] = None,
    prolog_dir: _PrologDir = None,
    epilog_dir: _EpilogDir = None,
    as_json: _Json = False,
) -> int:
    """Say whether the installed plugin fits the Slurm that is there. Exit codes: 0 it does, 1 something is to be done.

    Where prolog or epilog are installed, or a folder of theirs is named, it looks at them too. A plugin fits one
    release of Slurm (22.05, 24.11, ...): rebuild it with each upgrade. Until then Slurm leaves it out, says so at
    each submission, and jobs run without the flags.
    """
    report = _report(plugin, plugstack, slurm_version)
    report = replace(report, problems=(*report.problems, *_hook_problems(prolog_dir, epilog_dir)))
    known = [f"{name.replace('_', ' ')}: {value}" for name, value in asdict(report).items() if isinstance(value, str)]
    _say(as_json, asdict(report), [*known, *(f"to do: {problem}" for problem in report.problems)])
    return EXIT_REBUILD if report.problems else 0


def _report(plugin: Path | None, plugstack: Path | None, slurm_version: str | None) -> Report:
    from scheduler import __version__  # noqa: PLC0415
    from slurm_plugins import building, installing  # noqa: PLC0415

    problems = []
    stack = installing.plugstack_file(plugstack or installing.default_plugstack())
    if stack is None:
        problems.append("no line in plugstack.conf loads the plugin: tierwise plugin install")
    elif plugin is None:
        text = (installing.read_file(stack) or b"").decode("utf-8", "surrogateescape")
        plugin = Path(installing.plugin_lines(text)[0].split()[1])
    plugin = plugin or _DEFAULT_PREFIX / building.FILE_NAME
    built = building.read_built(plugin) if plugin.is_file() else None
    running = _release(slurm_version) if slurm_version is not None else installing.running_release()
    if built is None:
        problems.append(f"{plugin} is missing or no plugin of Tierwise's: tierwise plugin build and install")
    elif running is None:
        problems.append("sbatch does not tell its release (is it in the PATH, SLURM_CONF set?): name --slurm-version")
    elif running.release != built.slurm.release:
        problems.append(f"rebuild: the plugin is for Slurm {built.slurm.release}, Slurm is {running.release}")
    if built is not None and built.tierwise != __version__:
        problems.append(f"rebuild: the plugin is of Tierwise {built.tierwise}, this is {__version__}")
    return Report(
        plugin=str(plugin),
        built_for=str(built.slurm) if built else None,
        tierwise=built.tierwise if built else None,
        slurm=str(running) if running else None,
        plugstack=str(stack) if stack else None,
        problems=tuple(problems),
    )


def _release(text: str) -> Version:
    from slurm_plugins.building import Version  # noqa: PLC0415
    from traces.errors import InputError  # noqa: PLC0415

    parts = text.split(".")
    if len(parts) not in {2, 3} or not all(part.isascii() and part.isdigit() and len(part) <= 3 for part in parts):
        raise InputError(f"--slurm-version: {text!r} is no release such as 24.11 or 24.11.5")
    return Version(int(parts[0]), int(parts[1]), int(parts[2]) if len(parts) == 3 else 0)
