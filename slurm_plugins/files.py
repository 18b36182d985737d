"""Replace a file as a whole: whoever reads it sees the old one or the new one, never a part."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from traces.errors import InputError


def replace_file(path: Path, content: bytes, mode: int) -> None:
    """Write a file beside its place and move it there.

    A running slurmstepd keeps the plugin that it has mapped, which writing into the file would change under it.

    Parameters
    ----------
    path : Path
        The file; a symbolic link is followed, so that a site's links stay.
    content : bytes
        What it shall hold.
    mode : int
        Its permissions where it is new; an existing file keeps its own, and its owner.

    Raises
    ------
    InputError
        Where it cannot be written; nothing has changed then.
    """
    target = Path(os.path.realpath(path))
    temporary = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            _dress(file.fileno(), target, mode)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(target)
        temporary = None
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()


def _dress(handle: int, target: Path, mode: int) -> None:
    try:
        known = target.stat()
    except FileNotFoundError:
        os.fchmod(handle, mode)
        return
    if (known.st_uid, known.st_gid) != (os.geteuid(), os.getegid()):
        os.fchown(handle, known.st_uid, known.st_gid)
    os.fchmod(handle, known.st_mode & 0o7777)
