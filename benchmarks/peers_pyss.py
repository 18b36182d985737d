"""Replay one trace with pyss and write each job's start time.

Runs under Python 2.7, inside pyss's `src` folder, started by `peers.py`:

    python2.7 -O peers_pyss.py SCHEDULER PROCESSORS TRACE OUT

pyss's own command prints averages alone; this asks the same simulator for the jobs it keeps. No
annotations and no f-strings, for Python 2's sake. The last line of OUT is the time that the
simulation took, reading and writing left out.
"""

import sys
import time

sys.path.insert(0, "")  # where it was started: pyss is no package

from base.prototype import _job_inputs_to_jobs
from base.workload_parser import parse_lines
from schedulers import easy_scheduler, fcfs_scheduler, simulator

SCHEDULERS = {"fcfs": fcfs_scheduler.FcfsScheduler, "easy": easy_scheduler.EasyBackfillScheduler}


def main(rule, processors, trace, out):
    """Replay a trace.

    Parameters
    ----------
    rule : str
        ``fcfs`` or ``easy``.
    processors : int
        Size of the machine.
    trace : str
        Path of a Standard Workload Format file.
    out : str
        Path to write to: one line of job number and start time per job.
    """
    with open(trace) as lines:  # noqa: PTH123 (Python 2.7 has no pathlib)
        jobs = list(_job_inputs_to_jobs(parse_lines(lines), processors))
    replay = simulator.Simulator(jobs, processors, SCHEDULERS[rule](processors))
    begun = time.time()
    replay.run()
    took = time.time() - begun
    simulator.print_simulator_stats(replay)
    with open(out, "w") as rows:  # noqa: PTH123
        for job in replay.terminated_jobs:
            rows.write(str(job.id) + " " + str(job.start_to_run_at_time) + "\n")
        rows.write("replay " + str(took) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4])
