"""`tierwise serve`: which requests an inference engine admits, so that its KV cache does not overflow; off line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from traces.errors import InputError

if TYPE_CHECKING:
    from colocation.serving import Requests, ServingMetrics

EPILOG = """Example: `tierwise serve simulate requests.csv --cache-tokens 60000 --rate-scale 4` shows what each policy
would have made of four times the load."""

ALL = "greedy,full-input,watermark,reserve,predictive,clairvoyant"

app = typer.Typer(help="Admission of requests to a language model's KV cache.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Admission of requests to a language model's KV cache."""


@app.command("simulate", epilog=EPILOG)
def simulate(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="REQUESTS.csv...", help="Arrival, prompt tokens and output tokens of each request, with a header."
        ),
    ],
    cache_tokens: Annotated[int, typer.Option(min=1, help="Tokens that the KV cache holds.")],
    block_size: Annotated[int, typer.Option(min=1, help="Tokens of a block of the cache.")] = 16,
    rate_scale: Annotated[float, typer.Option(help="Let requests arrive so many times as fast.")] = 1.0,
    policy: Annotated[str, typer.Option(help="Which policies to compare, with commas between.")] = ALL,
    limit: Annotated[
        int | None,
        typer.Option("--max-output", min=1, help="Tokens that a request may generate; by default the most of any."),
    ] = None,
    chunk: Annotated[int, typer.Option(min=1, help="Tokens computed in a step at most (chunked prefill).")] = 2048,
    running: Annotated[int, typer.Option("--max-running", min=1, help="Requests that run together at most.")] = 256,
    first: Annotated[int | None, typer.Option("--first", min=1, help="Only the first so many requests.")] = None,
    seed: Annotated[  # noqa: ARG001 - the form that programs rely on has it
        int, typer.Option(min=0, help="Nothing is drawn by chance yet: each seed gives the same figures.")
    ] = 0,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON alone.")] = False,
) -> None:
    """Replay requests against a continuously batching engine under several admission policies, and compare them.

    The engine's steps cost what a model of Llama-2-13B's size costs on an A100 with 40 GB, by their published figures.
    All policies admit in order of arrival. `clairvoyant` knows each answer's length in advance: it is the bound.

    Exit codes: 0 simulated; 2 a file or an option is wrong.
    """
    from colocation.serving import POLICIES, Settings, measure, read_requests  # noqa: PLC0415
    from colocation.serving import simulate as serve  # noqa: PLC0415
    from scheduler.progress import shown  # noqa: PLC0415

    names = [name.strip() for name in policy.split(",")]
    for name in names:
        if name not in POLICIES:
            raise InputError(f"--policy: {name[:40]!r} is no policy; expected some of {', '.join(POLICIES)}")
    if not 0 < rate_scale < float("inf"):
        raise InputError(f"--rate-scale {rate_scale}: expected a number above 0")
    if cache_tokens < block_size:
        raise InputError(f"--cache-tokens {cache_tokens}: less than one block of {block_size} tokens")
    requests = _first(read_requests(files), first).at_rate(rate_scale)
    most = int(requests.output.max())
    if limit is not None and limit < most:
        raise InputError(f"--max-output {limit}: a request in the files generates {most} tokens")
    settings = Settings(cache_tokens, limit or most, block_size, chunk, running)
    found: dict[str, ServingMetrics] = {}
    with shown(quiet=as_json) as progress:
        for name in names:
            if progress:
                progress(f"serving {name}", len(found), len(names))
            found[name] = measure(requests, serve(requests, settings, name))
    if as_json:
        typer.echo(json.dumps({"policies": {name: metrics.as_dict() for name, metrics in found.items()}}, indent=2))
    else:
        _print(found, len(requests))


def _first(requests: Requests, count: int | None) -> Requests:
    return requests if count is None else requests.head(count)


def _print(found: dict[str, ServingMetrics], count: int) -> None:
    from rich.console import Console  # noqa: PLC0415
    from rich.table import Table  # noqa: PLC0415

    table = Table(title=f"{count} requests", box=None, title_justify="left")
    table.add_column("policy")
    columns = ("tokens/s", "preemptions", "recomputed", "first token p50", "p99", "per token p50", "completed")
    for column in columns:
        table.add_column(column, justify="right")
    for name, m in found.items():
        table.add_row(
            name,
            f"{m.throughput_tokens_per_s:,.1f}",
            f"{m.preemptions:,}",
            f"{m.recomputed_tokens:,}",
            _seconds(m.ttft_p50),
            _seconds(m.ttft_p99),
            "" if m.tpot_p50 is None else f"{m.tpot_p50 * 1000:,.1f} ms",
            f"{m.completed:,}",
        )
    Console(width=None if Console().is_terminal else 120).print(table)


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:,.2f} s"
