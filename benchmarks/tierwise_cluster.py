"""A cluster on this machine with Tierwise's plugin and job_submit.lua, on which everybody may be on-demand."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scheduler.cluster import Cluster, Options, up
from scheduler.options.table import LONGEST_VALUE, OPTIONS
from slurm_plugins import building
from slurm_plugins.limits import Limits, Rule, limits_file
from slurm_plugins.lua_table import FILE_NAME, LIMITS_FILE_NAME, job_submit


@contextmanager
def tierwise_cluster(folder: Path, **options: Any) -> Iterator[Cluster]:
    """Start a cluster in a folder, and stop it in the end.

    Parameters
    ----------
    folder : Path
        An existing folder with a short name.
    **options
        Further fields of `scheduler.cluster.Options`.
    """
    plugin, script = folder / building.FILE_NAME, folder / FILE_NAME
    building.build(OPTIONS, LONGEST_VALUE, "0.0.0", building.find_headers(), plugin)
    script.write_text(job_submit(OPTIONS, LONGEST_VALUE))
    with up(Options(directory=folder / "c", spank_plugin=plugin, job_submit=script, **options)) as cluster:
        (cluster.directory / LIMITS_FILE_NAME).write_text(limits_file(Limits({"on_demand": (Rule(allow=True),)})))
        # slurmctld loads its script, and the limits with it, when the script's time in whole seconds has changed.
        os.utime(cluster.directory / FILE_NAME, (time.time() + 5,) * 2)
        yield cluster
