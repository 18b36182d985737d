"""How often jobs write checkpoints, and what these cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cosim.draw import Draw
from cosim.snapshot import Floats, Integers

NODE_MTBF = 5 * 365.25 * 86400.0
"""Mean time between failures of one node that the Young/Daly interval assumes where none is given: five years [s].

An assumption of this project; a site puts in its own.
"""


_HOUR = Draw("constant", 3600.0)
_MINUTE = Draw("constant", 60.0)


@dataclass(frozen=True)
class CheckpointRules:
    """How the jobs of a replay write checkpoints, where the trace does not say so itself.

    Attributes
    ----------
    every : Draw, "daly" or None
        From the start of one checkpoint to the start of the next; None: jobs write none.
    cost : Draw
        What writing one takes.
    restart_cost : Draw
        What a restart takes before work goes on.
    on_demand_share : float
        Share of the jobs that write a checkpoint when they are signalled, 0 to 1.
    node_mtbf : float
        Mean time between failures of one node, for "daly" [s].
    """

    every: Draw | str | None = _HOUR
    cost: Draw = _MINUTE
    restart_cost: Draw = _MINUTE
    on_demand_share: float = 0.0
    node_mtbf: float = NODE_MTBF

    def described(self) -> str:
        """Return the rules in words."""
        return (
            f"{_every(self.every)}, each takes {self.cost.described()}; a restart takes {self.restart_cost.described()}"
            + (f"; {self.on_demand_share:.0%} of the jobs write one when signalled" if self.on_demand_share else "")
        )


def _every(every: Draw | str | None) -> str:
    if every is None:
        return "none written"
    return "at Daly's interval" if isinstance(every, str) else f"every {every.described()}"


def daly_interval(cost: Floats, nodes: Integers, node_mtbf: float) -> Floats:
    r"""Return the checkpoint interval that wastes least on a machine that fails.

    With d the cost of a checkpoint and M the mean time between failures of the job's nodes together
    (``node_mtbf / nodes``), work between two checkpoints takes

        sqrt(2 d M) * (1 + sqrt(d / 2M) / 3 + (d / 2M) / 9) - d     where d < 2M, and M otherwise.

    Source: Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", Future Generation
    Computer Systems 22(3), 2006, equation 37; its first term is Young's (CACM 17(9), 1974).

    Parameters
    ----------
    cost : float64 array, shape (jobs,)
        Cost of a checkpoint, above 0 [s].
    nodes : int64 array, shape (jobs,)
        Nodes of each job.
    node_mtbf : float
        Mean time between failures of one node [s].

    Returns
    -------
    float64 array, shape (jobs,)
        From the start of one checkpoint to the start of the next: the work and the checkpoint [s].
    """
    mtbf = node_mtbf / nodes
    ratio = cost / (2 * mtbf)
    work = np.sqrt(2 * cost * mtbf) * (1 + np.sqrt(ratio) / 3 + ratio / 9) - cost
    return np.where(cost < 2 * mtbf, work, mtbf) + cost
