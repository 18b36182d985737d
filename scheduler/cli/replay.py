"""`tierwise replay`: play a trace against preemption policies and compare what they cost."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from scheduler.replaying import Question

EPILOG = """Examples: `tierwise replay theta-like --out results` plays a generated year and writes results/report.html;
`tierwise replay theta.swf --priority wfp --policy dp,slurm --on-demand 10%` compares two policies on a trace;
`sacct -a -P -o ALL >jobs.txt; tierwise replay jobs.txt --nodes 64` plays a site's own history.
Exit codes: 0 done, 2 an option or a file is wrong (one line says which), 130 interrupted."""

_ON_DEMAND = (
    "Which jobs are on-demand: a SHARE of the jobs (0.1 or 10%), users:SHARE, queue:NAME, or a FILE with a second "
    "trace. Without it: those that the trace marks, else 10% of the jobs."
)
_EVERY = "Seconds between starts of checkpoints: TIME, a distribution (uniform:10m:2h), daly, or none."


def replay(
    trace: Annotated[
        list[str],
        typer.Argument(
            help="Trace files (SWF, ALCF, sacct, Eagle, Parquet; packed or not), or theta-like[:DURATION|:JOBS].",
            metavar="TRACE...",
        ),
    ],
    nodes: Annotated[int | None, typer.Option(min=1, help="Nodes of the machine; by default the trace's.")] = None,
    backfill: Annotated[str, typer.Option(help="easy, conservative or none.")] = "easy",
    priority: Annotated[str, typer.Option(help="Order of the queue: fcfs, sjf (shortest first) or wfp.")] = "fcfs",
    on_demand: Annotated[str | None, typer.Option(metavar="SHARE|FILE|queue:NAME", help=_ON_DEMAND)] = None,
    max_delay: Annotated[str, typer.Option(metavar="TIME", help="How late on-demand jobs may start.")] = "10m",
    policy: Annotated[
        str,
        typer.Option(help="Policies to compare: dp, slurm, youngest, smallest, greedy, random, exact, none."),
    ] = "dp,slurm,youngest,greedy",
    checkpoint_every: Annotated[str, typer.Option(metavar="TIME|daly|none", help=_EVERY)] = "1h",
    checkpoint_cost: Annotated[
        str, typer.Option(metavar="TIME", help="What writing a checkpoint takes (or a distribution).")
    ] = "1m",
    restart_cost: Annotated[str, typer.Option(metavar="TIME", help="What a restart takes (or a distribution).")] = "1m",
    on_demand_checkpoint: Annotated[
        str, typer.Option(metavar="SHARE", help="Share of the jobs that write a checkpoint when signalled.")
    ] = "0",
    node_mtbf: Annotated[
        str, typer.Option(metavar="TIME", help="Mean time between failures of one node, for --checkpoint-every daly.")
    ] = "1826d",
    delay_weight: Annotated[float, typer.Option(help="Lost node-seconds that a node-second of delay is worth.")] = 1.0,
    outages: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Node outages: CSV with the columns start,end,nodes.")
    ] = None,
    slowdown_threshold: Annotated[str, typer.Option(metavar="TIME", help="Threshold of the bounded slowdown.")] = "10s",
    processors_per_node: Annotated[
        int, typer.Option(min=1, help="For SWF traces that count processors, not nodes.")
    ] = 1,
    seed: Annotated[int, typer.Option(min=0, help="What is drawn is drawn from it.")] = 0,
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Write summary.json, report.html and per-job results here."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON, and nothing else.")] = False,
    timings: Annotated[
        bool, typer.Option("--timings", help="Add what each step took to the summary (which then differs each time).")
    ] = False,
) -> None:
    """Replay job traces and show what each preemption policy would have cost.

    Times are seconds (600) or have a unit (10m, 1h30m, 2d) or Slurm's forms (30:00, 2-12). The scheduler never sees
    a job's run time, only what it asked for.
    """
    from scheduler import replay_options as options  # noqa: PLC0415 - numba and numpy take a second to import
    from scheduler.replaying import Question  # noqa: PLC0415

    rule, file = options.on_demand(on_demand)
    question = Question(
        traces=tuple(trace),
        nodes=nodes,
        backfill=options.one_of("--backfill", backfill, ("easy", "conservative", "none")),
        priority=options.one_of("--priority", priority, ("fcfs", "sjf", "wfp")),
        on_demand=rule,
        on_demand_file=file,
        max_delay=options.duration("--max-delay", max_delay),
        policies=options.policies(policy),
        checkpoints=options.checkpoint_rules(
            checkpoint_every, checkpoint_cost, restart_cost, on_demand_checkpoint, node_mtbf
        ),
        delay_weight=options.weight("--delay-weight", delay_weight),
        outages=options.outages(outages),
        slowdown_threshold=options.duration("--slowdown-threshold", slowdown_threshold),
        seed=seed,
        processors_per_node=processors_per_node,
    )
    _run(question, out, as_json, timings)


def _run(question: Question, out: Path | None, as_json: bool, timings: bool) -> None:
    from cosim.ahead import is_kept  # noqa: PLC0415
    from scheduler import replay_output as output  # noqa: PLC0415
    from scheduler.progress import shown  # noqa: PLC0415
    from scheduler.replaying import answer  # noqa: PLC0415

    if out is not None:
        output.check_directory(out)
    if not is_kept():
        typer.echo("tierwise: compiling the replayer, once after an installation (a minute or less)", err=True)
    with shown(quiet=as_json) as progress:
        found = answer(question, progress)
        seconds = output.write_all(found, out) if out is not None else {}
    summary = output.summary(found, {**found.seconds, **seconds} if timings else None)
    if as_json:
        typer.echo(output.as_json(summary))
    else:
        output.print_table(found, out, summary)
