"""Replay one trace with AccaSim; runs under a Python that AccaSim supports (3.5 to 3.9).

Started by `peers.py`, in a folder that AccaSim may write to:

    python3.8 peers_accasim.py RULE PROCESSORS TRACE

AccaSim has no command of its own: a run is a script like this one. Its dispatching plan goes to
`sched-TRACE` with the two columns that are needed, its statistics to `stats-TRACE`. The machine is
one node with all processors, the form in which AccaSim is quickest.
"""

import json
import sys
from pathlib import Path

from accasim.base.allocator_class import FirstFit
from accasim.base.scheduler_class import EASYBackfilling, FirstInFirstOut
from accasim.base.simulator_class import Simulator

DISPATCHERS = {"fcfs": FirstInFirstOut, "easy": EASYBackfilling}
PLAN = {"format": "{job} {start}", "attributes": {"job": ("id", "str"), "start": ("start_time", "int")}}


def main(rule: str, processors: int, trace: str) -> None:
    """Replay a trace.

    Parameters
    ----------
    rule : str
        ``fcfs`` or ``easy``.
    processors : int
        Size of the machine.
    trace : str
        Path of a Standard Workload Format file.
    """
    machine = Path("machine.json")
    machine.write_text(
        json.dumps(
            {
                "groups": {"all": {"core": processors}},
                "resources": {"all": 1},
                "equivalence": {"processor": {"core": 1}},
                "start_time": 0,
            }
        ),
        encoding="utf-8",
    )
    simulator = Simulator(
        trace,
        str(machine),
        DISPATCHERS[rule](FirstFit()),
        show_statistics=False,
        RESULTS_FOLDER_PATH=str(Path.cwd()),
        SCHEDULE_OUTPUT=PLAN,
    )
    simulator.start_simulation()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
