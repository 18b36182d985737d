"""The command `tierwise`: its sub-commands, and the one place where errors reach a person."""

from __future__ import annotations

import gc
import os
import sys
from typing import Annotated

import typer
from typer.exceptions import TyperException

from scheduler import __version__
from scheduler.cli import (
    agent,
    cluster,
    controller,
    decide,
    demo,
    doctor,
    plugin,
    policy,
    replay,
    service,
    snapshot,
    tiers,
    trace,
)
from traces.errors import InputError

EXIT_OK, EXIT_USAGE, EXIT_INTERRUPTED = 0, 2, 130
"""Exit codes: all went well; the input or a flag is wrong; interrupted (128 + SIGINT, as shells have it)."""

app = typer.Typer(
    name="tierwise",
    help="Decide which batch jobs make room for jobs that cannot wait; replay real job traces to see what it costs.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
app.command("replay", epilog=replay.EPILOG)(replay.replay)
app.command("decide")(decide.decide)
app.command("snapshot", epilog=snapshot.EPILOG)(snapshot.snapshot)
trace.app.command("import", epilog=snapshot.IMPORT_EPILOG)(snapshot.trace_import)
app.add_typer(trace.app, name="trace")
app.add_typer(policy.app, name="policy")
app.add_typer(plugin.app, name="plugin")
app.add_typer(cluster.app, name="cluster")
app.command("controller")(controller.controller)
app.add_typer(tiers.app, name="tiers")
app.command("agent", epilog=agent.EPILOG)(agent.agent)
app.command("explain")(controller.explain)
app.add_typer(service.app, name="service")
app.command("demo", epilog=demo.EPILOG)(demo.demo)
app.command("doctor", epilog=doctor.EPILOG)(doctor.doctor)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"tierwise {__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Tierwise, a Slurm add-on."""


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
        code = app(arguments, standalone_mode=False)
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
