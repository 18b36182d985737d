"""The command `tierwise`: its sub-commands, and the one place where errors reach a person."""

from __future__ import annotations

import gc
import os
import sys
from importlib import import_module
from typing import Annotated, NamedTuple

import typer
from typer.exceptions import TyperException

from scheduler import __version__
from traces.errors import InputError

EXIT_OK, EXIT_USAGE, EXIT_INTERRUPTED = 0, 2, 130
"""Exit codes: all went well; the input or a flag is wrong; interrupted (128 + SIGINT, as shells have it)."""


class _Mount(NamedTuple):
    """A sub-command: its name, its module below `scheduler.cli`, and what of it is mounted."""

    name: str
    module: str
    what: str = "app"


_MOUNTS = (
    _Mount("replay", "replay", "replay"),
    _Mount("decide", "decide", "decide"),
    _Mount("workflow", "workflow"),
    _Mount("snapshot", "snapshot", "snapshot"),
    _Mount("trace", "trace"),
    _Mount("policy", "policy"),
    _Mount("plugin", "plugin"),
    _Mount("cluster", "cluster"),
    _Mount("controller", "controller", "controller"),
    _Mount("tiers", "tiers"),
    _Mount("agent", "agent", "agent"),
    _Mount("explain", "controller", "explain"),
    _Mount("serve", "serve"),
    _Mount("service", "service"),
    _Mount("demo", "demo", "demo"),
    _Mount("doctor", "doctor", "doctor"),
)
"""All sub-commands, in the order in which the help shows them."""


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"tierwise {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Tierwise, a Slurm add-on."""


def application(only: str | None = None) -> typer.Typer:
    """Return the command with its sub-commands.

    Parameters
    ----------
    only : str, optional
        The one sub-command that is wanted: the others' modules are not imported then, which is most of the time that
        a short command takes.

    Returns
    -------
    typer.Typer
        The command.
    """
    app = typer.Typer(
        name="tierwise",
        help="Decide which batch jobs make room for jobs that cannot wait; replay real traces to see what it costs.",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
    )
    app.callback()(_root)
    for mount in _MOUNTS:
        if only in (None, mount.name):
            module = import_module(f"scheduler.cli.{mount.module}")
            mounted = getattr(module, mount.what)
            if isinstance(mounted, typer.Typer):
                app.add_typer(mounted, name=mount.name)
            else:
                app.command(mount.name, epilog=getattr(module, "EPILOG", None))(mounted)
    return app


def _only(arguments: list[str]) -> str | None:
    """Return the sub-command that is called, None where all have to be known: for help, completion and mistakes."""
    first = arguments[0] if arguments else ""
    return first if "_TIERWISE_COMPLETE" not in os.environ and any(first == mount.name for mount in _MOUNTS) else None


def main(arguments: list[str] | None = None) -> int:
    """Run the command; a person's mistake becomes one line on standard error.

    Parameters
    ----------
    arguments : list of str, optional
        By default the process's own.

    Returns
    -------
    int
        The exit code: 0, what a sub-command documents, 2 for a usage or input error, 130 when interrupted.
    """
    # Most of a short command's objects live to its end: looking for garbage while importing is a tenth of its time.
    gc.set_threshold(200_000, 20, 20)
    try:
        given = sys.argv[1:] if arguments is None else arguments
        code = application(_only(given))(given, standalone_mode=False)
        if code == EXIT_INTERRUPTED:  # typer's answer to an interrupt inside a command
            raise KeyboardInterrupt
        sys.stdout.flush()
    except TyperException as error:
        return _complain(error.format_message()) if error.format_message() else EXIT_USAGE
    except InputError as error:
        return _complain(str(error))
    except (KeyboardInterrupt, typer.Abort):
        print("tierwise: interrupted; nothing half-written is left", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has gone; keep the interpreter from complaining when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    return code if isinstance(code, int) else EXIT_OK


def _complain(message: str) -> int:
    line = " ".join(message.split())
    print(f"tierwise: error: {line}", file=sys.stderr)
    return EXIT_USAGE
