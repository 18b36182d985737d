"""The manual pages of all commands: `python -m scheduler.manual` writes them anew, in the checkout.

They are made from what `--help` is made of, so that the two cannot drift apart. click-man does the same for click's
own commands, and takes none of typer's, which since 0.26 are classes of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import typer

FOLDER = Path("docs/man")
_MARK = '.\\" Made from the commands by python -m scheduler.manual\n'
_CODE = re.compile(r"`([^`]*)`")
_NOT_OURS = frozenset({"--install-completion", "--show-completion"})
_VALUES = {"int": "N", "int range": "N", "float": "X", "float range": "X", "str": "TEXT", "path": "PATH"}
"""What stands for a value whose option does not name it."""

_SHARED = (("-h, --help", "", "Show the help and exit."),)


def pages() -> dict[str, str]:
    """Return all pages by the name of their file, in roff (man(7))."""
    from scheduler.cli.app import application  # noqa: PLC0415 - it mounts all commands, which may one day name this one

    whole = typer.main.get_command(application())
    return {f"{'-'.join(words)}.1": page(words, command) for words, command in _commands(whole)}


def page(words: tuple[str, ...], command: Any) -> str:
    """Return the page of a command.

    Parameters
    ----------
    words : tuple of str
        How it is called: `("tierwise", "trace", "info")`.
    command : click command
        As typer makes it.

    Returns
    -------
    str
        Roff.
    """
    name = "-".join(words)
    summary, *rest = _paragraphs(command.help or "")
    parts = [
        _MARK,
        f'.TH {name.upper()} 1 "" Tierwise "Tierwise"\n',
        f".SH NAME\n{_plain(name)} \\- {_plain(_lowered(summary))}\n",
        f".SH SYNOPSIS\n{_synopsis(words, command)}",
        f".SH DESCRIPTION\n{_text((summary, *rest))}",
        _section("ARGUMENTS", _arguments(command)),
        _section("OPTIONS", (*_options(command, completion=len(words) == 1), *_SHARED)),
        _section("COMMANDS", _subcommands(words, command)),
    ]
    if command.epilog:
        parts.append(f".SH NOTES\n{_text(_paragraphs(command.epilog))}")
    parts.append(f".SH SEE ALSO\n{_see_also(words, command)}")
    return "".join(parts)


def _commands(root: Any, words: tuple[str, ...] = ("tierwise",)) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield words, root
    for name, command in getattr(root, "commands", {}).items():
        if not command.hidden:
            yield from _commands(command, (*words, name))


def _synopsis(words: tuple[str, ...], command: Any) -> str:
    given = [parameter.metavar or parameter.name.upper() for parameter in command.params if _is_argument(parameter)]
    group = ["COMMAND", "..."] if hasattr(command, "commands") else []
    italics = " ".join(f"\\fI{_escaped(word)}\\fR" for word in [*given, *group])
    return f"\\fB{_escaped(' '.join(words))}\\fR [\\fIOPTION\\fR...] {italics}\n"


def _arguments(command: Any) -> list[tuple[str, str, str]]:
    found = [parameter for parameter in command.params if _is_argument(parameter)]
    return [("", parameter.metavar or parameter.name.upper(), _said(parameter)) for parameter in found]


def _options(command: Any, *, completion: bool) -> list[tuple[str, str, str]]:
    rows = []
    for parameter in command.params:
        own = completion or not _NOT_OURS & set(parameter.opts)
        if not _is_argument(parameter) and not parameter.hidden and own and "--help" not in parameter.opts:
            flags = ", ".join([*parameter.opts, *parameter.secondary_opts])
            value = "" if parameter.is_flag else parameter.metavar or _VALUES[parameter.type.name]
            rows.append((flags, value, _said(parameter)))
    return rows


def _subcommands(words: tuple[str, ...], command: Any) -> list[tuple[str, str, str]]:
    known = getattr(command, "commands", {}).items()
    return [
        ("-".join((*words, name)) + "(1)", "", _paragraphs(each.help or "")[0])
        for name, each in known
        if not each.hidden
    ]


def _said(parameter: Any) -> str:
    text = parameter.help or ""
    default = parameter.default
    shown = default is not None and default not in ("", (), []) and not getattr(parameter, "is_flag", False)
    return f"{text} Default: {default}." if shown and not callable(default) and parameter.show_default else text


def _is_argument(parameter: Any) -> bool:
    return not any(option.startswith("-") for option in parameter.opts)


def _section(title: str, rows: Any) -> str:
    entries = "".join(
        f".TP\n\\fB{_escaped(flags)}\\fR{' ' if flags and value else ''}\\fI{_escaped(value)}\\fR\n{_plain(text)}\n"
        for flags, value, text in rows
    )
    return f".SH {title}\n{entries}" if entries else ""


def _see_also(words: tuple[str, ...], command: Any) -> str:
    names = ["-".join(words[:-1])] if len(words) > 1 else ["-".join((*words, name)) for name in command.commands]
    lines = [f".BR {_escaped(name)} (1)" for name in names]
    return ",\n".join([*lines, ".BR tierwise\\-flags (7)"]) + "\n"


def _text(paragraphs: Iterable[str]) -> str:
    return ".PP\n".join(f"{_plain(text)}\n" for text in paragraphs)


def _paragraphs(text: str) -> list[str]:
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text.strip())]


def _lowered(text: str) -> str:
    return (text[0].lower() + text[1:]).rstrip(".")


def _escaped(text: str) -> str:
    return text.replace("\\", "\\e").replace("-", "\\-")


def _plain(text: str) -> str:
    bold = _CODE.sub("\0\\1\1", text)
    escaped = _escaped(bold).replace("\0", "\\fB").replace("\1", "\\fR")
    # A line that began with these would be a request.
    return "\\&" + escaped if escaped.startswith((".", "'")) else escaped


def main() -> None:
    """Write all pages, and take away those of commands that are gone."""
    found = pages()
    for old in FOLDER.glob("*.1"):
        if old.name not in found:
            old.unlink()
    for name, text in found.items():
        (FOLDER / name).write_text(text, "utf-8")


if __name__ == "__main__":
    main()
