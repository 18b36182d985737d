"""`tierwise decide`: whom to preempt for one request, and when it starts; from a file, to people or programs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cosim.preemption import Decision, Point
    from cosim.snapshot import Request, Snapshot

EXIT_INFEASIBLE = 3
"""The exit code where the only request cannot be met."""

Row = tuple[str, ...]


def decide(
    file: Annotated[
        str,
        typer.Argument(
            metavar="SNAPSHOT.json", help="A JSON object, or JSON lines with one each; - reads from a pipe."
        ),
    ],
    policy: Annotated[
        str, typer.Option(help="dp, slurm, youngest, smallest, greedy, random, or exact (also nodes with resources).")
    ] = "dp",
    seed: Annotated[int, typer.Option(min=0, help="For the policy random.")] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print JSON on a terminal too, where a table is the default.")
    ] = False,
) -> None:
    """Decide which jobs make room for a request, and when it starts; nothing is preempted.

    SNAPSHOT.json says what runs, what is free and what is asked for, for example

    {"now": 1000, "free_nodes": 10, "request": {"nodes": 64, "duration": 3600, "max_delay": 600, "delay_weight": 1},
    "jobs": [{"id": "17", "nodes": 64, "start": 0, "expected_end": 5000, "checkpoint_interval": 300,
    "checkpoint_cost": 20, "restart_cost": 30, "on_demand_checkpoint": false, "preemptible": true}]}

    Times and costs are seconds, on any one clock. Without checkpoint_interval a job writes no checkpoints. The answer
    names the start, the victims with what each loses in node-seconds, and the frontier: the starts that lose less than
    every earlier one. All lines of a file are checked before the first is answered.

    Exit codes: 0 decided; 2 an option or a line of the file is wrong; 3 the only request cannot be met.
    """
    import json  # noqa: PLC0415 - with the imports below, which numba makes slow

    from cosim.decision_files import documents  # noqa: PLC0415
    from cosim.decision_json import answer, check  # noqa: PLC0415
    from cosim.policies import policy as policy_of  # noqa: PLC0415

    chosen = policy_of(policy, seed)
    with documents(file) as asked:
        count = 0
        for where, snapshot, request in asked:
            check(chosen.name, snapshot, request, where)
            count += 1
        for where, snapshot, request in asked:
            decision = chosen.decide(snapshot, request)
            if as_json or not sys.stdout.isatty():
                typer.echo(json.dumps(answer(decision, snapshot, request), allow_nan=False))
            else:
                heading = f"{where}\n" if count > 1 else ""
                typer.echo(heading + described(decision, snapshot, request))
    if count == 1 and decision.chosen is None:
        raise typer.Exit(EXIT_INFEASIBLE)


def described(decision: Decision, snapshot: Snapshot, request: Request) -> str:
    """Tell a person what was decided and why.

    Parameters
    ----------
    decision : Decision
        The decision.
    snapshot, request : Snapshot, Request
        What was asked.

    Returns
    -------
    str
        Lines of plain ASCII.
    """
    wanted = f"{request.nodes} nodes for {_span(request.duration)}, at most {_span(request.max_delay)} late"
    chosen = decision.chosen
    if chosen is None:
        return f"{wanted}: cannot be met, at most {decision.most_nodes} nodes can be had in that time"
    blocks = [
        f"{wanted}: start {_delay(chosen, snapshot)} (t = {chosen.start:.15g}), "
        f"lost: {_amount(chosen.lost_node_seconds)} node-seconds",
        _victims(chosen, snapshot),
        _frontier(decision, chosen, snapshot, request),
        _why(decision, chosen, snapshot, request),
    ]
    return "\n\n".join(block for block in blocks if block)


def _victims(chosen: Point, snapshot: Snapshot) -> str:
    if not chosen.victims:
        return "Nobody is preempted: free nodes and jobs that end are enough."
    rows: list[Row] = [("victim", "nodes", "how", "loss [node-s]")]
    for victim in chosen.victims:
        name = victim.id.encode("ascii", "backslashreplace").decode()
        rows.append((name, str(snapshot.nodes[victim.place]), victim.how, _amount(victim.loss)))
    return _aligned(rows, left=(0, 2))


def _frontier(decision: Decision, chosen: Point, snapshot: Snapshot, request: Request) -> str:
    rows: list[Row] = [("", "start", "victims", "loss [node-s]", "loss + delay [node-s]")]
    for point in decision.frontier:
        mark = ">" if point.start == chosen.start else ""
        together = point.lost_node_seconds + _waiting(point, snapshot, request)
        rows.append(
            (
                mark,
                _delay(point, snapshot),
                str(len(point.places)),
                _amount(point.lost_node_seconds),
                _amount(together),
            )
        )
    return _aligned(rows, left=(0, 1))


def _why(decision: Decision, chosen: Point, snapshot: Snapshot, request: Request) -> str:
    first, last = decision.frontier[0], decision.frontier[-1]
    parts = []
    if chosen.start > first.start:
        spared = _amount(first.lost_node_seconds - chosen.lost_node_seconds)
        counted = _amount(_waiting(chosen, snapshot, request) - _waiting(first, snapshot, request))
        parts.append(f"starting {_delay(first, snapshot)} would lose {spared} more, and the wait counts as {counted}")
    if chosen.start < last.start:
        spared = _amount(chosen.lost_node_seconds - last.lost_node_seconds)
        counted = _amount(_waiting(last, snapshot, request) - _waiting(chosen, snapshot, request))
        parts.append(
            f"a wait of {_span(last.start - snapshot.now)} would lose {spared} less, but counts as {counted} of delay"
        )
    weight = f"(delay weight {request.delay_weight:g} for each of {request.nodes} nodes and second)"
    return f"Why: {'; '.join(parts)} {weight}." if parts else "Why: no other start loses less."


def _waiting(point: Point, snapshot: Snapshot, request: Request) -> float:
    return request.delay_weight * request.nodes * (point.start - snapshot.now)


def _delay(point: Point, snapshot: Snapshot) -> str:
    return "now" if point.start == snapshot.now else f"in {_span(point.start - snapshot.now)}"


def _span(seconds: float) -> str:
    if seconds < 60 or seconds != int(seconds):
        return f"{seconds:.10g} s"
    units = [(int(seconds) // 3600, "h"), (int(seconds) % 3600 // 60, "min"), (int(seconds) % 60, "s")]
    return " ".join(f"{amount} {unit}" for amount, unit in units if amount)


def _amount(value: float) -> str:
    return f"{value:,.3f}".rstrip("0").rstrip(".")


def _aligned(rows: list[Row], left: tuple[int, ...]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if place in left else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
