"""Put the plugin and job_submit.lua where Slurm looks for them, and say what is there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from slurm_plugins.building import FILE_NAME, Version
from slurm_plugins.files import replace_file
from slurm_plugins.lua_table import MARK
from traces.errors import InputError

SIBLING_NAME = "tierwise_job_submit.lua"
"""Ours beside a site's own job_submit.lua."""

_CONF_FOLDERS = ("/etc/slurm", "/etc/slurm-llnl", "/opt/slurm/etc", "/usr/local/etc", "/usr/local/etc/slurm")
_PLUGSTACK = re.compile(r"^\s*PlugStackConfig\s*=\s*(\S+)", re.IGNORECASE | re.MULTILINE)
_RELEASE = re.compile(r"\b(\d{2})\.(\d{2})\.(\d{1,2})\b")
_DEEPEST_INCLUDE = 4
_COMMAND_SECONDS = 5
"""Without a configuration Slurm's commands look for one for a minute."""


@dataclass(frozen=True)
class Change:
    """A file to write, or to leave: `before` is None where it does not exist."""

    path: Path
    before: bytes | None
    after: bytes
    mode: int

    @property
    def is_needed(self) -> bool:
        """Whether the file does not hold it yet."""
        return self.before != self.after

    def apply(self) -> None:
        """Write it, as a whole or not at all."""
        if self.is_needed:
            replace_file(self.path, self.after, self.mode)


def read_file(path: Path) -> bytes | None:
    """Return a file's content, None where there is none."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def running_release() -> Version | None:
    """Return the release of the `sbatch` in the PATH, which is what loads the plugin; None where it does not tell."""
    command = shutil.which("sbatch")
    if command is None:
        return None
    try:
        done = subprocess.run(  # noqa: S603 - a list of arguments, no shell
            [command, "--version"], capture_output=True, text=True, timeout=_COMMAND_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _RELEASE.search(done.stdout)
    return Version(int(match[1]), int(match[2]), int(match[3])) if match and done.returncode == 0 else None


def slurm_conf() -> Path:
    """Return the slurm.conf that Slurm reads here, whether it exists or not."""
    named = os.environ.get("SLURM_CONF")
    confs = [Path(named)] if named else [Path(folder) / "slurm.conf" for folder in _CONF_FOLDERS]
    return next((path for path in confs if path.is_file()), confs[0])


def default_plugstack() -> Path:
    """Return the plugstack.conf that Slurm reads here, whether it exists or not."""
    conf = slurm_conf()
    text = (read_file(conf) or b"").decode("utf-8", "surrogateescape")
    named = _PLUGSTACK.search(text)
    return Path(named[1]) if named else conf.parent / "plugstack.conf"


def plugin_lines(text: str) -> list[str]:
    """Return the lines of a plugstack.conf that load Tierwise's plugin, wherever it lies."""
    return [line for line in text.splitlines() if _is_ours(line)]


def _is_ours(line: str) -> bool:
    words = line.split("#", 1)[0].split()
    return len(words) >= 2 and words[0] in {"optional", "required"} and Path(words[1]).name == FILE_NAME


def with_plugin(text: str, plugin: Path) -> str:
    """Add the plugin's line to a plugstack.conf.

    Parameters
    ----------
    text : str
        What the file holds now.
    plugin : Path
        The plugin.

    Returns
    -------
    str
        The same with exactly one line for the plugin: the first of its lines is replaced, further ones go, and
        where there is none it comes last. `optional`: where the plugin is missing or too old, jobs run without it.
    """
    line = f"optional {plugin}"
    lines: list[str] = []
    placed = False
    for old in text.splitlines(keepends=True):
        if not _is_ours(old):
            lines.append(old)
        elif not placed:
            lines.append(old if old.strip() == line else f"{line}\n")
            placed = True
    if not placed:
        if lines and not lines[-1].endswith("\n"):
            lines[-1] += "\n"
        lines.append(f"{line}\n")
    return "".join(lines)


def plugstack_file(plugstack: Path, depth: int = 0) -> Path | None:
    """Return the file, `plugstack` or one that it includes, that holds the plugin's line; None where none does."""
    text = (read_file(plugstack) or b"").decode("utf-8", "surrogateescape")
    if plugin_lines(text):
        return plugstack
    if depth < _DEEPEST_INCLUDE:
        for included in _included(text, plugstack.parent):
            found = plugstack_file(included, depth + 1)
            if found:
                return found
    return None


def _included(text: str, folder: Path) -> Iterator[Path]:
    for line in text.splitlines():
        words = line.split("#", 1)[0].split()
        if len(words) == 2 and words[0].lower() == "include":
            pattern = folder / words[1]
            # The pattern's folder is plain in practice; only its last part is matched.
            yield from (path for path in sorted(pattern.parent.glob(pattern.name)) if path.is_file())


def plugstack_change(plugstack: Path, plugin: Path) -> Change:
    """Work out what to write into plugstack.conf, or into the file that it includes and that has the line."""
    if not plugin.is_absolute() or any(letter.isspace() or letter == "#" for letter in str(plugin)):
        raise InputError(f"--prefix: '{plugin}': plugstack.conf takes an absolute path without blanks and '#'")
    target = plugstack_file(plugstack) or plugstack
    before = read_file(target)
    text = (before or b"").decode("utf-8", "surrogateescape")
    after = with_plugin(text, plugin).encode("utf-8", "surrogateescape")
    return Change(target, before, after, 0o644)


def job_submit_change(path: Path, text: str) -> tuple[Change, str | None]:
    """Work out where job_submit.lua goes.

    Parameters
    ----------
    path : Path
        slurmctld's job_submit.lua.
    text : str
        Ours.

    Returns
    -------
    tuple of Change and str or None
        What to write; and the line that the administrator has to add to a job_submit.lua of the site's own, which
        is never written to: then ours goes beside it.
    """
    before = read_file(path)
    if before is None or MARK in before:
        return Change(path, before, text.encode(), 0o644), None
    sibling = path.parent / SIBLING_NAME
    change = Change(sibling, read_file(sibling), text.encode(), 0o644)
    line = f"dofile({_lua_path(sibling)})"
    return change, None if SIBLING_NAME.encode() in before else line


def _lua_path(path: Path) -> str:
    text = os.path.abspath(path)  # noqa: PTH100 - not resolved: the site's links are the site's
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
