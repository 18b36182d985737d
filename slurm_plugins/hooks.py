"""The prolog and the epilog as they are installed: one file each, a shell wrapper and Python in one."""

from __future__ import annotations

import fnmatch
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from slurm_plugins.installing import Change, read_file
from traces.errors import InputError

if TYPE_CHECKING:
    from scheduler.options.table import Option

HOOKS = ("prolog", "epilog")
"""What slurmd calls before a job's first process and after its last one."""

LIMIT_SECONDS = 2
"""After which a hook is killed, whatever it does; its status is 0 all the same."""

_MARK = "Tierwise's {hook} for slurmd"
_PLACES = ("OPTIONS = ()", 'SOCKET = ""')
_PLAIN_PATH = re.compile(r"/[A-Za-z0-9._/+-]+")
_LONGEST_SOCKET = 107
"""Bytes of a Unix socket's path, see unix(7)."""


def file_name(hook: str) -> str:
    """Return a hook's file name; `tierwise` in it is what `tierwise doctor` looks for."""
    return f"tierwise_{hook}"


def default_python() -> Path:
    """Return the system's interpreter, which every node has at the same place; else the one that runs this."""
    system = Path("/usr/bin/python3")
    return system if system.exists() else Path(sys.executable)


def script(hook: str, options: Sequence[Option], python: Path, socket: Path) -> str:
    """Write a hook.

    Parameters
    ----------
    hook : str
        One of `HOOKS`.
    options : sequence of Option
        The table.
    python : Path
        The interpreter, 3.6 or later; slurmd gives a prolog no PATH to find one in.
    socket : Path
        The node agent's socket; slurmd gives a prolog no variable to name it in.

    Returns
    -------
    str
        An executable file's text: for sh a wrapper that ends with status 0, for Python a string and then the program.

    Raises
    ------
    InputError
        For a path that would have to be quoted, in sh or in Python, or a socket's that is too long.
    """
    for flag, path in (("--python", python), ("--socket", socket)):
        if not _PLAIN_PATH.fullmatch(str(path)):
            raise InputError(f"{flag}: {str(path)!r}: expected an absolute path of letters, digits and . _ / + -")
    if len(str(socket)) > _LONGEST_SOCKET:
        raise InputError(
            f"--socket: {str(socket)!r}: longer than {_LONGEST_SOCKET} bytes, which no socket's path can be"
        )
    text = (Path(__file__).parent / "hook.py").read_text("utf-8")
    rows = "".join(f"    {row(option)!r},\n" for option in options)
    for place, filled in zip(_PLACES, (f"OPTIONS = (\n{rows})", f'SOCKET = "{socket}"'), strict=True):
        if text.count(place) != 1:
            raise ValueError(f"hook.py has no place for {place}")
        text = text.replace(place, filled)
    return f"""\
#!/bin/sh
''':' # {_MARK.format(hook=hook)}, written by `tierwise plugin hooks`: do not edit.
PATH=/usr/bin:/bin
limit=
command -v timeout >/dev/null && limit='timeout -s KILL {LIMIT_SECONDS}'
$limit {python} -I -S "$0" {hook} </dev/null >/dev/null
exit 0
'''
{text}"""


def row(option: Option) -> tuple[str, str, str, int, int, tuple[str, ...]]:
    """Return an option's row in a hook's table."""
    return option.variable, option.key, option.kind.value, option.minimum, option.maximum, option.words


def change(hook: str, folder: Path, text: str) -> Change:
    """Work out what to write into a folder of prologs or epilogs.

    Raises
    ------
    InputError
        Where a file of that name is not Tierwise's.
    """
    path = folder / file_name(hook)
    before = read_file(path)
    if before is not None and _MARK.format(hook=hook).encode() not in before:
        raise InputError(f"{path}: exists and is not Tierwise's; it is left alone: move it, or name another folder")
    return Change(path, before, text.encode(), 0o755)


def conf_line(hook: str, folder: Path) -> str:
    """Return the line for slurm.conf: a pattern, so that a site's own files in the folder run too."""
    return f"{hook.capitalize()}={folder}/*"


def is_configured(hook: str, path: Path, conf: str) -> bool:
    """Tell whether a slurm.conf has slurmd call a file."""
    lines = re.findall(rf"^\s*{hook}\s*=\s*(\S+)", conf, re.IGNORECASE | re.MULTILINE)
    return any(fnmatch.fnmatchcase(str(path), part) for line in lines for part in line.split(","))


def problems(hook: str, folder: Path, options: Sequence[Option], conf: str) -> list[str]:
    """Say what is wrong with an installed hook; nothing where it is in place, current and called."""
    path = folder / file_name(hook)
    before = read_file(path)
    again = "tierwise plugin hooks"
    if before is None:
        called = is_configured(hook, path, conf)
        danger = "; slurm.conf calls it, and slurmd drains a node where it finds no file to call" if called else ""
        return [f"{path} is missing: {again}{danger}"]
    found = []
    python, socket = _settings(before.decode("utf-8", "replace"), hook)
    if python is None or socket is None or script(hook, options, python, socket).encode() != before:
        found.append(f"{path} is not that of this Tierwise: {again}")
    elif not python.exists():
        found.append(f"{path}: its interpreter {python} is missing: {again} --python FILE")
    if not path.stat().st_mode & 0o111:
        found.append(f"{path} is not executable: chmod 755 {path}")
    if not is_configured(hook, path, conf):
        found.append(f"slurm.conf does not call {path}: add {conf_line(hook, folder)}, then scontrol reconfigure")
    return found


def _settings(text: str, hook: str) -> tuple[Path | None, Path | None]:
    python = re.search(rf'^\$limit (/\S+) -I -S "\$0" {hook} ', text, re.MULTILINE)
    socket = re.search(r'^SOCKET = "(/[^"]+)"', text, re.MULTILINE)
    paths = [Path(match[1]) if match and _PLAIN_PATH.fullmatch(match[1]) else None for match in (python, socket)]
    return paths[0], paths[1]
