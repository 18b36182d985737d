"""Where compiled kernels are kept, so that the second start is quick and no start runs stale or foreign code.

Numba recompiles a cached function when *its* file changes, not when a function that it calls does. All kernels
therefore share one cache folder that is named by a digest of all sources with kernels: new sources, new folder.
Cached kernels are machine code that gets loaded, so the folder has to belong to this user, and nobody else may
write to it; where there is no such folder, kernels are compiled anew in each process.
"""

from __future__ import annotations

import functools
import hashlib
import os
import stat
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar, cast

F = TypeVar("F", bound=Callable[..., Any])

_OTHERS_MAY_WRITE = stat.S_IWGRP | stat.S_IWOTH


def _numba_releases() -> list[str]:
    """Name Numba and LLVM's binding with their releases, without importing either, or `importlib.metadata`."""
    found = find_spec("numba")
    site = Path(str(found.origin if found else "")).parent.parent
    return sorted(path.name for name in ("numba", "llvmlite") for path in site.glob(f"{name}-*.dist-info"))


def _sources_digest() -> str:
    digest = hashlib.sha256(" ".join(_numba_releases()).encode())
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


FOLDER = cache_folder()
"""Where this process keeps compiled kernels, None for nowhere."""


class Kernel:
    """A function that is compiled on its first call; Numba, half a second to import, is not imported before.

    Parameters
    ----------
    function : callable
        Plain Python over numbers and NumPy arrays.

    Attributes
    ----------
    py_func : callable
        The function, the plain twin of the compiled one.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function."""
        return self.dispatcher(*arguments)

    @functools.cached_property
    def dispatcher(self) -> Any:
        """The function as Numba has it; it compiles for the types of the arguments that it meets."""
        numba = _numba()
        # A kept kernel remembers its module's name; one kept by a file that was run as a script would break all others.
        keep = FOLDER is not None and self.py_func.__module__.startswith(f"{__package__}.")
        # NumPy's model of errors: a division by zero gives infinity, so that no kernel can raise.
        return numba.njit(cache=keep, nogil=True, error_model="numpy")(self.py_func)

    @property
    def _numba_type_(self) -> Any:
        # What Numba looks for where one kernel calls another.
        return _numba().typeof(self.dispatcher)


@functools.cache
def _numba() -> Any:
    import numba  # noqa: PLC0415 - see Kernel
    import numba.core.config  # noqa: PLC0415

    if FOLDER is not None:
        setattr(numba.core.config, "CACHE_DIR", str(FOLDER))  # noqa: B010 - numba defines its settings at run time
    return numba


def kernel(function: F) -> F:
    """Compile a function to machine code on its first call, and keep the result between processes.

    Parameters
    ----------
    function : callable
        Plain Python over numbers and NumPy arrays. Its `py_func` attribute stays the plain Python twin.

    Returns
    -------
    Kernel
        The compiled function.
    """
    return cast(F, Kernel(function))
