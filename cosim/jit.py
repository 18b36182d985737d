"""Where compiled kernels are kept, so that the second start is quick and no start runs stale or foreign code.

Numba recompiles a cached function when *its* file changes, not when a function that it calls does. All kernels
therefore share one cache folder that is named by a digest of all sources with kernels: new sources, new folder.
Cached kernels are machine code that gets loaded, so the folder has to belong to this user, and nobody else may
write to it; where there is no such folder, kernels are compiled anew in each process.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
import numba.core.config

F = TypeVar("F", bound=Callable[..., Any])

_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def _sources_digest() -> str:
    digest = hashlib.sha256(numba.__version__.encode())
    for source in sorted(Path(__file__).parent.rglob("*.py")):
        text = source.read_bytes()
        if b"cosim.jit" in text:  # this file, and each that has a kernel
            digest.update(text)
    return digest.hexdigest()[:16]


def cache_folder() -> Path | None:
    """Name the folder for compiled kernels, made if need be.

    Returns
    -------
    Path or None
        A folder that is this user's own and that nobody else can write to, or None where that cannot be had.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path(os.path.expanduser("~")) / ".cache")  # noqa: PTH111 - Path.home() raises without a home
    folder = base / "tierwise" / f"kernels-{_sources_digest()}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except OSError:
        return None
    own = found.st_uid == os.geteuid() and not found.st_mode & _OTHERS_MAY_WRITE
    return folder if own and os.access(folder, os.W_OK) else None


_FOLDER = cache_folder()
if _FOLDER is not None:
    setattr(numba.core.config, "CACHE_DIR", str(_FOLDER))  # noqa: B010 - numba defines its settings at run time


def kernel(function: F) -> F:
    """Compile a function to machine code on its first call, and keep the result between processes.

    Parameters
    ----------
    function : callable
        Plain Python over numbers and NumPy arrays. Its `py_func` attribute stays the plain Python twin.

    Returns
    -------
    callable
        The compiled function.
    """
    # A cached kernel remembers its module's name; one kept by a file that was run as a script would break all others.
    keep = _FOLDER is not None and function.__module__.startswith(f"{__package__}.")
    return cast(F, numba.njit(cache=keep, nogil=True)(function))


def compiled_before() -> bool:
    """Say whether an earlier process has left compiled kernels, so that no compilation is to be waited for."""
    return _FOLDER is not None and any(_FOLDER.rglob("*.nbc"))
