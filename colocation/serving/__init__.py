"""Cache-aware admission: which waiting requests an inference engine lets in, so that its KV cache does not overflow.

`requests` reads what was asked, `lengths` learns how long answers get, `futures` says how full the cache will be,
`admission` has the policies behind one interface, and `simulator` is a continuously batching engine that asks them.
"""

from colocation.serving.admission import POLICIES, policy
from colocation.serving.costs import Costs
from colocation.serving.metrics import ServingMetrics, measure
from colocation.serving.requests import Requests, read_requests
from colocation.serving.simulator import Served, Settings, simulate

__all__ = [
    "POLICIES",
    "Costs",
    "Requests",
    "Served",
    "ServingMetrics",
    "Settings",
    "measure",
    "policy",
    "read_requests",
    "simulate",
]
