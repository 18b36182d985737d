"""Workflows made up for measuring: layers of tasks of a few kinds, each waiting for some of the layer before."""

from __future__ import annotations

import numpy as np

from scheduler.workflow.model import CLASSES, Task, Workflow, assemble

_LAYERS = 20
_PARENTS = 3
_CLASS_SHARES = (0.1, 0.05, 0.25, 0.6)
"""Of latency, bandwidth, capacity and short tasks, in the order of `CLASSES`."""
_MEDIAN_SECONDS, _SIGMA_SECONDS = 60.0, 1.0
_MEDIAN_MEMORY, _SIGMA_MEMORY = 1 << 30, 0.8


def layered(tasks: int, seed: int = 0) -> Workflow:
    """Return a workflow of so many tasks in twenty layers.

    Parameters
    ----------
    tasks : int
        How many.
    seed : int
        What is drawn is drawn from it.

    Returns
    -------
    Workflow
        Run times and memory are log-normal around a minute and a GiB; each task needs up to three of the layer before.
    """
    rng = np.random.default_rng(seed)
    layer = np.sort(rng.integers(0, _LAYERS, tasks))
    first = np.searchsorted(layer, np.arange(_LAYERS + 1))
    seconds = np.round(rng.lognormal(np.log(_MEDIAN_SECONDS), _SIGMA_SECONDS, tasks), 3)
    memory = rng.lognormal(np.log(_MEDIAN_MEMORY), _SIGMA_MEMORY, tasks)
    classes = rng.choice(len(CLASSES), tasks, p=_CLASS_SHARES)
    made = []
    for place in range(tasks):
        above = range(first[layer[place] - 1], first[layer[place]]) if layer[place] else range(0)
        parents = {int(one) for one in rng.integers(above.start, above.stop, _PARENTS)} if len(above) else set()
        made.append(
            Task(
                id=f"t{place}",
                kind=f"layer{layer[place]}",
                seconds=float(seconds[place]),
                memory=min(int(memory[place]), 16 << 30),
                tier_class=CLASSES[int(classes[place])],
                parents=tuple(f"t{one}" for one in sorted(parents)),
            )
        )
    return assemble("layered", "generated", made)
