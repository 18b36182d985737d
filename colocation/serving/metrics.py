"""The figures that a study of admission needs, from what came of each request."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from colocation.serving.requests import Floats, Requests
from colocation.serving.simulator import Served


@dataclass(frozen=True)
class ServingMetrics:
    """Figures of one run.

    Attributes
    ----------
    throughput_tokens_per_s : float
        Tokens generated for requests that completed, per second from the first arrival to the last token.
    preemptions, recomputed_tokens : int
        Requests that lost their blocks, and tokens computed again for it.
    ttft_p50, ttft_p99 : float or None
        Time to first token: from arrival to the first token [s]; None where no request got one.
    tpot_p50 : float or None
        Time per token after the first one, of requests with more than one [s].
    completed, refused, failed : int
        Requests.
    """

    throughput_tokens_per_s: float
    preemptions: int
    recomputed_tokens: int
    ttft_p50: float | None
    ttft_p99: float | None
    tpot_p50: float | None
    completed: int
    refused: int
    failed: int

    def as_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return asdict(self)


def measure(requests: Requests, served: Served) -> ServingMetrics:
    """Work the figures out.

    Parameters
    ----------
    requests : Requests
        What was asked.
    served : Served
        What came of it.

    Returns
    -------
    ServingMetrics
        The figures.
    """
    done = ~np.isnan(served.finish)
    first = served.first - requests.arrival
    several = done & (requests.output > 1)
    each = (served.finish - served.first)[several] / (requests.output[several] - 1)
    span = float(served.finish[done].max()) if done.any() else 0.0
    return ServingMetrics(
        throughput_tokens_per_s=float(requests.output[done].sum()) / span if span > 0 else 0.0,
        preemptions=served.preemptions,
        recomputed_tokens=served.recomputed,
        ttft_p50=_percentile(first[~np.isnan(first)], 50),
        ttft_p99=_percentile(first[~np.isnan(first)], 99),
        tpot_p50=_percentile(each, 50),
        completed=int(done.sum()),
        refused=len(served.refused),
        failed=len(served.failed),
    )


def _percentile(values: Floats, share: float) -> float | None:
    return float(np.percentile(values, share)) if len(values) else None
