"""Reading traces: the format is found by the content of each file, and several files become one trace."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from traces.cleaning import clean
from traces.detection import Form, detect
from traces.errors import InputError
from traces.problems import Treatments
from traces.raw import RawJobs
from traces.swf import read_swf
from traces.table import Trace


def read(
    paths: Sequence[str | Path],
    *,
    nodes: int | None = None,
    treatments: Treatments | None = None,
    processors_per_node: int = 1,
    time_zone: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Trace:
    """Read one or more trace files.

    Parameters
    ----------
    paths : sequence of str or Path
        The files, in any of the formats of docs/traces.md, each plain or packed (.gz, .xz, .bz2, .zip).
    nodes : int, optional
        Nodes of the machine; without it, what the files say. Larger jobs are treated as `larger_than_machine`.
    treatments : Treatments, optional
        What to do about each kind of problem; without it, the documented defaults.
    processors_per_node : int
        For the Standard Workload Format, which counts processors: how many make a node.
    time_zone : str, optional
        Time zone of the local times in a file (`America/Chicago`). Without it, ALCF files are in US Central time,
        and sacct and Eagle files in UTC.
    progress : callable, optional
        Called with the bytes read so far and the bytes of all files.

    Returns
    -------
    Trace
        At least one job, with the summary of what reading did.

    Raises
    ------
    InputError
        Where a file cannot be read, has none of the formats, or leaves no job; the message is one line.
    """
    if not paths:
        raise InputError("no trace file named; expected at least one")
    if nodes is not None and nodes < 1:
        raise InputError(f"nodes={nodes}: a machine has at least 1 node")
    if processors_per_node < 1:
        raise InputError(f"processors_per_node={processors_per_node}: a node has at least 1 processor")
    files = [path if isinstance(path, Path) else Path(path) for path in paths]
    chosen = treatments or Treatments()
    sizes = [_size(path) for path in files]
    raws: list[RawJobs] = []
    for index, path in enumerate(files):
        report = _shifted(progress, sum(sizes[:index]), sum(sizes))
        form = detect(path, chosen)
        if form is Form.SWF:
            raws.append(read_swf(path, chosen, processors_per_node, report))
        else:
            raws.append(_read_other(form, path, chosen, time_zone, report))
    return clean(raws, nodes=nodes, treatments=chosen)


def _read_other(
    form: Form,
    path: Path,
    treatments: Treatments,
    time_zone: str | None,
    progress: Callable[[int, int], None] | None,
) -> RawJobs:
    """Read a file in one of the formats whose readers need more than NumPy, or more time to import."""
    if form is Form.PARQUET:
        from traces.frames import read_parquet  # noqa: PLC0415 - see above

        return read_parquet(path)
    if form is Form.SACCT_JSON:
        from traces.sacct_json import read_sacct_json  # noqa: PLC0415 - see above

        return read_sacct_json(path, treatments, progress)
    from traces.delimited import read_delimited  # noqa: PLC0415 - see above

    return read_delimited(form, path, treatments, time_zone, progress)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except (OSError, ValueError):
        return 0  # opening it will say what is wrong


def _shifted(progress: Callable[[int, int], None] | None, before: int, total: int) -> Callable[[int, int], None] | None:
    """Turn the progress of one file into that of all."""
    if progress is None:
        return None
    report = progress
    return lambda done, _: report(before + done, total)
