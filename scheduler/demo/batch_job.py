"""A job of the demo: work that is counted, and real checkpoints. It runs on a node, by itself.

    batch_job.py FOLDER NAME WORK EVERY RESTART

It works for WORK seconds, writes its progress to FOLDER/NAME.checkpoint every EVERY seconds (0: never), and after a
requeue reads it again, which takes RESTART seconds. At every step FOLDER/NAME.log gets a line with the time, the run
and the progress, so that what a run lost can be told from it whatever ended it.
"""

import contextlib
import json
import os
import sys
import time
from pathlib import Path

STEP = 0.2
"""Seconds of work between two lines."""


def main() -> None:
    """Work to the end."""
    folder, name = Path(sys.argv[1]), sys.argv[2]
    work, every, restart = (float(text) for text in sys.argv[3:6])
    checkpoint = folder / f"{name}.checkpoint"
    run = int(os.environ.get("SLURM_RESTART_COUNT", "0"))
    with (folder / f"{name}.log").open("a", buffering=1) as log:

        def say(done: float, saved: float) -> None:
            line = {"time": time.time(), "run": run, "done": round(done, 3), "saved": saved}
            print(json.dumps(line), file=log)

        saved = 0.0
        with contextlib.suppress(FileNotFoundError):
            saved = float(checkpoint.read_text())
        say(saved, saved)
        if run:
            time.sleep(restart)
        began = time.monotonic() - saved
        while (done := time.monotonic() - began) < work:
            if every and done >= saved + every:
                saved += every * ((done - saved) // every)
                whole = checkpoint.with_suffix(".new")
                whole.write_text(str(saved))
                whole.replace(checkpoint)
            say(done, saved)
            time.sleep(STEP)
        say(work, work)


if __name__ == "__main__":
    main()
