"""System calls that Python does not wrap, called through ctypes with every argument as a C long."""

from __future__ import annotations

import ctypes
import errno
import os
from typing import Final

_libc = ctypes.CDLL(None, use_errno=True)

PROCESS_MADVISE: Final = 440
"""Number of process_madvise(2); the generic table of system calls has it on every architecture."""

IOVEC_LIMIT: Final = 1024
"""UIO_MAXIOV: the most ranges that one call takes."""


def call(number: int, *arguments: int) -> int:
    """Make a system call.

    Parameters
    ----------
    number : int
        Its number.
    *arguments : int
        Numbers and addresses.

    Returns
    -------
    int
        What the kernel returned; a negative errno where it refused.
    """
    result = _libc.syscall(ctypes.c_long(number), *(ctypes.c_long(argument) for argument in arguments))
    return -ctypes.get_errno() if result < 0 else int(result)


def ioctl(descriptor: int, request: int, argument: ctypes.Structure) -> int:
    """Call ioctl(2) with a structure; a negative errno where the kernel refused."""
    result = _libc.ioctl(ctypes.c_int(descriptor), ctypes.c_ulong(request), ctypes.byref(argument))
    return -ctypes.get_errno() if result < 0 else int(result)


def prctl(option: int, *arguments: int) -> int:
    """Call prctl(2) on this process; a negative errno where the kernel refused."""
    padded = [ctypes.c_ulong(value) for value in (*arguments, 0, 0, 0, 0)[:4]]
    result = _libc.prctl(ctypes.c_int(option), *padded)
    return -ctypes.get_errno() if result < 0 else int(result)


def process_vm_readv(pid: int, local: int, locals_: int, remote: int, remotes: int) -> int:
    """Call process_vm_readv(2) on two arrays of iovec; bytes read, or a negative errno."""
    result = _libc.process_vm_readv(
        ctypes.c_int(pid),
        ctypes.c_void_p(local),
        ctypes.c_ulong(locals_),
        ctypes.c_void_p(remote),
        ctypes.c_ulong(remotes),
        ctypes.c_ulong(0),
    )
    return -ctypes.get_errno() if result < 0 else int(result)


_libc.process_vm_readv.restype = ctypes.c_ssize_t
_libc.syscall.restype = ctypes.c_long


def name(code: int) -> str:
    """Write an errno as a person reads it: `EPERM (Operation not permitted)`."""
    return f"{errno.errorcode.get(code, code)} ({os.strerror(code)})"
