"""Reads a workflow from a file, in whichever of the three forms it is."""

from __future__ import annotations

from pathlib import Path

from scheduler.workflow.model import Workflow
from traces.errors import InputError

_LARGEST = 1 << 30  # bytes; a WfFormat instance of 100,000 tasks takes a tenth of it


def read(path: Path) -> Workflow:
    """Read a workflow.

    Parameters
    ----------
    path : Path
        WfFormat (JSON), the short form (YAML), or a shell script with lines of sbatch.

    Returns
    -------
    Workflow
        Checked.

    Raises
    ------
    InputError
        With file, line and task.
    """
    try:
        if path.stat().st_size > _LARGEST:
            raise InputError(f"{path}: larger than {_LARGEST >> 30} GiB; expected a workflow")
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not text in UTF-8; expected WfFormat JSON, YAML or a script") from None
    return read_text(str(path), text)


def read_text(source: str, text: str) -> Workflow:
    """Read a workflow from a text; see `read`."""
    # One form's reader is loaded at a time: a short command starts fast.
    if text.lstrip()[:1] == "{":
        from scheduler.workflow import wfformat  # noqa: PLC0415

        return wfformat.read(source, text)
    if text.startswith("#!") or source.endswith((".sh", ".sbatch", ".slurm")):
        from scheduler.workflow import slurm_script  # noqa: PLC0415

        return slurm_script.read(source, text)
    from scheduler.workflow import short_form  # noqa: PLC0415

    return short_form.read(source, text)
