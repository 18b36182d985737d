"""Reads a shell script that submits jobs with dependencies: `b=$(sbatch --parsable --dependency=afterok:$a b.sh)`.

Only sbatch's lines are looked at, and nothing is run. What a job asks for comes from its line and from the `#SBATCH`
lines of its job script, where that lies beside the file.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

from scheduler.workflow.model import CLASSES, Task, Workflow, assemble, at, quoted
from scheduler.workflow.short_form import DEFAULT_MEMORY
from scheduler.workflow.sizes import count, seconds, size
from scheduler.workflow.wfformat import UNKNOWN_SECONDS
from traces.errors import InputError

_SUBMISSION = re.compile(r"^\s*(?:(?P<to>[A-Za-z_]\w*)=[\"']?(?:\$\(|`))?\s*sbatch\s+(?P<rest>.*)$", re.ASCII)
_CLOSING = re.compile(r"[)`][\"']?\s*;?\s*$")
_REFERENCE = re.compile(r"\$\{?([A-Za-z_]\w*)(?:##[^}]*)?\}?", re.ASCII)
_KIND = re.compile(r"(after|afterok|afterany|afternotok|aftercorr)(?=:)")
_SHORT = {
    "-J": "job-name",
    "-t": "time",
    "-c": "cpus-per-task",
    "-d": "dependency",
    "-N": "nodes",
    "-n": "ntasks",
    "-p": "partition",
    "-o": "output",
    "-A": "account",
    "-q": "qos",
}
_FLAGS = {"--parsable", "--hold", "-H", "--exclusive", "--requeue", "--no-requeue", "-Q", "--quiet"}
_MINUTES = re.compile(r"\d+")
_MEGABYTES = re.compile(r"\d+")
_LARGEST_SCRIPT = 1 << 20


def read(source: str, text: str, beside: Callable[[str], str | None] | None = None) -> Workflow:
    """Read the submissions of a script.

    Parameters
    ----------
    source : str
        The file, for messages.
    text : str
        Its text.
    beside : callable, optional
        Returns the text of a job script that the file names, None where there is none; by default files beside it.

    Returns
    -------
    Workflow
        A task for each sbatch.

    Raises
    ------
    InputError
        Where a line cannot be understood or refers to a job that was not submitted before.
    """
    look = beside or _beside(Path(source).parent)
    variables: dict[str, str] = {}
    tasks: list[Task] = []
    for line, written in _logical_lines(text):
        match = _SUBMISSION.match(written)
        if match is None:
            continue
        rest = _CLOSING.sub("", match["rest"]) if match["to"] else match["rest"]
        task = _task(source, line, rest, variables, look, len(tasks) + 1)
        if any(other.id == task.id for other in tasks):
            raise InputError(
                f"{at(source, line)}: task {quoted(task.id)}: there is another job with this name; "
                "give each its own with --job-name"
            )
        tasks.append(task)
        if match["to"]:
            variables[match["to"]] = task.id
    return assemble(Path(source).stem, source, tasks)


def is_one(text: str) -> bool:
    """Tell whether a text submits jobs."""
    return any(_SUBMISSION.match(line) for _, line in _logical_lines(text))


def _logical_lines(text: str) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    held, began = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        began = began or number
        if line.endswith("\\"):
            held += line[:-1] + " "
            continue
        found.append((began, held + line))
        held, began = "", 0
    return found


def _task(
    source: str,
    line: int,
    rest: str,
    variables: Mapping[str, str],
    look: Callable[[str], str | None],
    number: int,
) -> Task:
    try:
        words = shlex.split(rest, comments=True)
    except ValueError as error:
        raise InputError(f"{at(source, line)}: the line cannot be split into words: {error}") from None
    options, script = _options(words)
    inside = (look(script) if script else None) or ""
    given = {**_directives(inside), **options}
    name = given.get("job-name") or (Path(script).stem if script else f"job{number}")
    where = f"{at(source, line)}: task {quoted(name)}"
    chosen = given.get("tier-class", "short")
    if chosen not in CLASSES:
        chosen = "short"
    return Task(
        id=name,
        kind=name,
        seconds=_limit(f"{where}: --time", given["time"]) if "time" in given else UNKNOWN_SECONDS,
        memory=_memory(f"{where}: --mem", given["mem"]) if "mem" in given else DEFAULT_MEMORY,
        tier_class=chosen,
        parents=_parents(where, given.get("dependency", ""), variables),
        cpus=count(f"{where}: --cpus-per-task", given["cpus-per-task"]) if "cpus-per-task" in given else 1,
        dram=size(f"{where}: --tier-dram", given["tier-dram"]) if "tier-dram" in given else None,
        far=size(f"{where}: --tier-far", given["tier-far"]) if "tier-far" in given else None,
        command=given.get("wrap", "") or (f"sh {shlex.quote(script)}" if script else ""),
        line=line,
        estimated=tuple(what for what, key in (("seconds", "time"), ("memory", "mem")) if key not in given),
    )


def _options(words: list[str]) -> tuple[dict[str, str], str]:
    found: dict[str, str] = {}
    place = 0
    while place < len(words):
        word = words[place]
        if not word.startswith("-") or word == "-":
            return found, word
        place += 1
        if word in _FLAGS:
            continue
        name, given, value = word.partition("=")
        if name.startswith("--"):
            name = name[2:]
        elif len(name) > 2:
            name, given, value = _SHORT.get(name[:2], name[1:2]), "=", word[2:]
        else:
            name = _SHORT.get(name, name[1:])
        if not given and place < len(words):
            value = words[place]
            place += 1
        found[name] = value
    return found, ""


def _directives(script: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in script.splitlines():
        if line.startswith("#SBATCH"):
            try:
                found.update(_options(shlex.split(line[len("#SBATCH") :], comments=True))[0])
            except ValueError:
                continue  # sbatch itself will say so
    return found


def _parents(where: str, dependency: str, variables: Mapping[str, str]) -> tuple[str, ...]:
    if not dependency or dependency == "singleton":
        return ()
    if _KIND.match(dependency) is None:
        raise InputError(f"{where}: --dependency={dependency[:80]}: expected afterok:$NAME or another of its kind")
    found: dict[str, None] = {}
    for name in _REFERENCE.findall(dependency):
        if name not in variables:
            raise InputError(
                f"{where}: --dependency names ${name}, and no line before it says {name}=$(sbatch --parsable ...)"
            )
        found[variables[name]] = None
    if not found:
        raise InputError(
            f"{where}: --dependency={dependency[:80]}: names no job of this script; expected afterok:$NAME"
        )
    return tuple(found)


def _limit(where: str, text: str) -> float:
    # sbatch counts a bare number in minutes.
    return seconds(where, f"{text}m" if _MINUTES.fullmatch(text) else text)


def _memory(where: str, text: str) -> int:
    # sbatch counts a bare number in megabytes.
    return size(where, f"{text}M" if _MEGABYTES.fullmatch(text) else text)


def _beside(folder: Path) -> Callable[[str], str | None]:
    def look(name: str) -> str | None:
        path = folder / name
        try:
            if path.stat().st_size > _LARGEST_SCRIPT:
                return None
            return path.read_text(errors="surrogateescape")
        except OSError:
            return None

    return look
