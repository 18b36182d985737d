"""The event loop as machine code that is kept on the disk and runs without Numba.

Numba takes half a second to import and as long again before it runs what it has kept: together more than replaying a
year of jobs. So the loop, in which every replay spends its time, is compiled once as a C function; its object code is
kept beside the other kernels, and LLVM alone loads it. All other kernels are Numba's, and wait until they are called.

The object code is for the processor that it was compiled on, and its file is named by that. Where there is no folder
of this user's own (see `cosim.jit`), each process compiles it anew.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cosim import jit
from cosim.kernel import loop
from cosim.kernel.state import CLOCK, EVENT, JOB, RELEASE, Places, Records, Scratch

_NAME = "tierwise_advance"
_DIGEST = 32  # bytes of a SHA-256


def advance(
    jobs: Records,
    queue: Places,
    running: Places,
    events: Records,
    releases: Records,
    clock: Records,
    asked: Places,
    scratch: Scratch,
    order: int,
    backfill: int,
    ask: bool,
    until: float,
    budget: int,
) -> int:
    """Let time pass until Python has to look: `cosim.kernel.loop.advance`, with its parameters and its result."""
    arrays = (jobs, queue, running, events, releases, clock, asked, *scratch)
    places = [value for array in arrays for value in (array.ctypes.data, len(array))]
    return int(_function()(*places, order, backfill, ask, until, budget))


def is_kept() -> bool:
    """Say whether an earlier process has left the machine code, so that no compilation is to be waited for."""
    path = _path()
    return path is not None and path.exists()


@dataclass(frozen=True)
class _Code:
    """Object code, and the names in it that nothing defines: Numba's for errors and for freeing arrays."""

    never_called: tuple[str, ...]
    code: bytes

    def packed(self) -> bytes:
        """Return it as it is kept: a digest, a line of names, the code."""
        body = " ".join(self.never_called).encode() + b"\n" + self.code
        return hashlib.sha256(body).digest() + body


def _unpacked(kept: bytes) -> _Code | None:
    """Return what was kept, None where it is damaged."""
    digest, body = kept[:_DIGEST], kept[_DIGEST:]
    if hashlib.sha256(body).digest() != digest:
        return None
    names, _, code = body.partition(b"\n")
    return _Code(tuple(names.decode().split()), code)


@functools.cache
def _function() -> Callable[..., int]:
    path = _path()
    code = _read(path)
    if code is None:
        code = _compiled()
        _keep(path, code)
    return _loaded(code)


def _processor() -> tuple[str, str]:
    import llvmlite.binding as llvm  # noqa: PLC0415 - a tenth of a second, only for replays

    return llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()


def _path() -> Path | None:
    if jit.FOLDER is None:
        return None
    digest = hashlib.sha256(" ".join(_processor()).encode()).hexdigest()[:16]
    return jit.FOLDER / f"advance-{digest}.o"


def _read(path: Path | None) -> _Code | None:
    if path is None:
        return None
    with suppress(OSError):
        return _unpacked(path.read_bytes())
    return None


def _keep(path: Path | None, code: _Code) -> None:
    """Write the code for later processes, whole or not at all; a full disk costs them a compilation."""
    if path is None:
        return
    with suppress(OSError):
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(code.packed())
            Path(temporary).replace(path)
        except OSError:
            Path(temporary).unlink(missing_ok=True)


def _target() -> Any:
    import llvmlite.binding as llvm  # noqa: PLC0415

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    cpu, features = _processor()
    return llvm.Target.from_default_triple().create_target_machine(cpu=cpu, features=features, opt=3)


def _compiled() -> _Code:
    """Compile the loop with Numba; what comes out needs Numba no more."""
    import llvmlite.binding as llvm  # noqa: PLC0415
    import numba  # noqa: PLC0415

    types: Any = numba.types
    whole, number, truth = types.int64, types.float64, types.boolean
    cells = [numba.from_dtype(dtype) for dtype in (JOB, EVENT, RELEASE, CLOCK)]
    job, event, release, clock, place, time = (types.CPointer(cell) for cell in (*cells, whole, number))
    arrays = (job, place, place, event, release, clock, place, place, place, time, place)
    signature = whole(*(kind for array in arrays for kind in (array, whole)), whole, whole, truth, number, whole)
    function = numba.cfunc(signature)(_entry(numba.carray))  # type: ignore[attr-defined]
    module = llvm.parse_assembly(function.inspect_llvm())
    module.get_function(function.native_name).name = _NAME
    declared = [found for found in module.functions if found.is_declaration and not found.name.startswith("llvm.")]
    foreign = [found for found in declared if not hasattr(ctypes.pythonapi, found.name)]
    for found in foreign:
        # Under its own name Numba, where it is in the process, would get our substitute.
        found.name = f"tierwise_never_{found.name}"
    return _Code(tuple(found.name for found in foreign), _target().emit_object(module))


def _entry(carray: Callable[[Any, tuple[int]], Any]) -> Callable[..., Any]:
    """Return the C function's body: it makes arrays of addresses and lengths."""
    loop_advance, room = loop.advance, Scratch

    def entry(  # type: ignore[no-untyped-def]
        jobs, n_jobs, queue, n_queue, running, n_running, events, n_events, releases, n_releases, clock, n_clock,
        asked, n_asked, line, n_line, spare, n_spare, times, n_times, free, n_free,
        order, backfill, ask, until, budget,
    ):  # fmt: skip
        return loop_advance(
            carray(jobs, (n_jobs,)),
            carray(queue, (n_queue,)),
            carray(running, (n_running,)),
            carray(events, (n_events,)),
            carray(releases, (n_releases,)),
            carray(clock, (n_clock,)),
            carray(asked, (n_asked,)),
            room(
                carray(line, (n_line,)), carray(spare, (n_spare,)), carray(times, (n_times,)), carray(free, (n_free,))
            ),
            order,
            backfill,
            ask,
            until,
            budget,
        )

    return entry


_ENGINES: list[Any] = []
"""Machine code lives as long as its engine."""


def _loaded(code: _Code) -> Callable[..., int]:
    import llvmlite.binding as llvm  # noqa: PLC0415

    target = _target()
    # No kernel of the loop can raise or allocates, so what would handle that is never reached.
    abort = ctypes.cast(ctypes.pythonapi.abort, ctypes.c_void_p).value
    for name in code.never_called:
        llvm.add_symbol(name, abort)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), target)
    engine.add_object_file(llvm.ObjectFileRef.from_data(code.code))
    engine.finalize_object()
    _ENGINES.append(engine)
    function: Callable[..., int] = _prototype()(engine.get_function_address(_NAME))
    return function


def _prototype() -> Any:
    array: Sequence[Any] = (ctypes.c_void_p, ctypes.c_int64)
    options = (ctypes.c_int64, ctypes.c_int64, ctypes.c_bool, ctypes.c_double, ctypes.c_int64)
    arrays = 7 + len(Scratch._fields)
    return ctypes.CFUNCTYPE(ctypes.c_int64, *(tuple(array) * arrays), *options)
