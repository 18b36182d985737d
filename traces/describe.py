"""What a trace looks like, in a few numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from traces.table import Array, Trace

_QUANTILES = (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
_ABSOLUTE = 10 * 365.25 * 86400


@dataclass(frozen=True)
class Spread:
    """How a column is spread.

    Attributes
    ----------
    least, quarter, median, three_quarters, nine_tenths, most : float
        Quantiles 0, 0.25, 0.5, 0.75, 0.9 and 1.
    mean : float
        The mean.
    known : int
        How many values are known.
    """

    least: float
    quarter: float
    median: float
    three_quarters: float
    nine_tenths: float
    most: float
    mean: float
    known: int


@dataclass(frozen=True)
class Description:
    """A trace in a few numbers.

    Attributes
    ----------
    jobs : int
        Jobs in the table.
    nodes : int or None
        Nodes of the machine.
    first_submit, last_submit : float
        On the clock of the trace [s].
    absolute : bool
        Whether that clock counts from 1970 (UTC).
    work : float
        Sum of nodes times run time [node-seconds].
    load : float or None
        Work over the capacity from the first submission to the last; None where the machine's size is not known or
        all jobs come at once.
    sizes, run_times, requested_times, waits : Spread or None
        Nodes per job, and times [s]; None where nothing is known.
    states, queues : tuple of (str, int)
        The commonest, with how many jobs each.
    users : int
        Different users.
    on_demand : int
        On-demand jobs.
    """

    jobs: int
    nodes: int | None
    first_submit: float
    last_submit: float
    absolute: bool
    work: float
    load: float | None
    sizes: Spread | None
    run_times: Spread | None
    requested_times: Spread | None
    waits: Spread | None
    states: tuple[tuple[str, int], ...]
    queues: tuple[tuple[str, int], ...]
    users: int
    on_demand: int


def describe(trace: Trace) -> Description:
    """Describe a trace.

    Parameters
    ----------
    trace : Trace
        The trace.

    Returns
    -------
    Description
        The numbers.
    """
    submit = trace.column("submit")
    work = float((trace.column("nodes") * trace.column("run_time")).sum())
    span = float(submit[-1] - submit[0])
    nodes = trace.machine.nodes
    users = np.unique(trace.column("user"))
    return Description(
        jobs=len(trace),
        nodes=nodes,
        first_submit=float(submit[0]),
        last_submit=float(submit[-1]),
        absolute=bool(submit[-1] > _ABSOLUTE),
        work=work,
        load=work / (nodes * span) if nodes and span > 0 else None,
        sizes=_spread(trace.column("nodes")),
        run_times=_spread(trace.column("run_time")),
        requested_times=_spread(trace.column("requested_time")),
        waits=_spread(trace.column("start") - submit),
        states=_commonest(trace.column("state")),
        queues=_commonest(trace.column("queue")),
        users=int(np.count_nonzero(users != "")),
        on_demand=int(trace.column("on_demand").sum()),
    )


def _spread(values: Array) -> Spread | None:
    known = values[np.isfinite(values)]
    if not len(known):
        return None
    least, quarter, median, three_quarters, nine_tenths, most = map(float, np.quantile(known, _QUANTILES))
    return Spread(least, quarter, median, three_quarters, nine_tenths, most, float(known.mean()), len(known))


def _commonest(texts: Array, most: int = 5) -> tuple[tuple[str, int], ...]:
    """Return the commonest texts and their counts; equals in the order of the alphabet."""
    values, counts = np.unique(texts, return_counts=True)
    order = np.lexsort((values, -counts))[:most]
    return tuple((str(values[row]), int(counts[row])) for row in order if values[row])
