"""The agent as a process: start, signals, end."""

from __future__ import annotations

import signal
from collections.abc import Callable
from pathlib import Path

from memory_tiers.agent.loop import Agent, Log, log_to_stderr
from memory_tiers.agent.registry import Registry
from memory_tiers.agent.server import Server
from memory_tiers.agent.watchdog import Watchdog
from memory_tiers.kernel import DryRunKernel, Kernel, RealKernel
from memory_tiers.policy import Settings
from traces.errors import InputError


def run(socket: Path, near: int | None, within: Path | None, dry_run: bool, log: Log = log_to_stderr) -> None:
    """Run the agent until SIGTERM or SIGINT.

    Parameters
    ----------
    socket : Path
        Where it listens; its state is kept beside it.
    near : int or None
        DRAM that the jobs may use together [bytes]; by default what the group or the machine has.
    within : Path or None
        The control group that all jobs are below; its limit is then the node's DRAM.
    dry_run : bool
        Say what would be done, and do nothing.
    log : callable
        Takes events.

    Raises
    ------
    InputError
        Where the socket cannot be made, or another agent listens there.
    """
    kernel: Kernel = DryRunKernel(lambda line: log("dry_run", would=line)) if dry_run else RealKernel()
    state = socket.with_suffix(".state.json")
    registry = Registry(kernel, state)
    agent = Agent(kernel, registry, _near(kernel, near, within), Settings(), log)
    try:
        server = Server(socket, agent.handle)
    except OSError as error:
        raise InputError(f"--socket {socket}: {error.strerror or error}") from None
    stopping: list[int] = []
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda got, _frame: stopping.append(got))
    watchdog = Watchdog(state)
    registry.load()
    log("started", socket=str(socket), jobs=len(registry.jobs), dry_run=dry_run)
    try:
        while not stopping:
            watchdog.beat()
            if server.serve(agent.step()):
                continue
    finally:
        agent.undo()
        server.close()
        watchdog.end()
        log("ended", signal=stopping[0] if stopping else None)


def _near(kernel: Kernel, near: int | None, within: Path | None) -> Callable[[], int]:
    def answer() -> int:
        if near is not None:
            return near
        found = None if within is None else kernel.group_memory(within)
        if found is not None and found.limit is not None:
            return found.limit
        return kernel.machine_memory()[0]

    return answer
