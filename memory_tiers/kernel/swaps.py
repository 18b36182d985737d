"""Swap areas: what there is, and setting up a zram device or a swap file of one's own.

Sources: proc(5), swapon(2), Documentation/admin-guide/blockdev/zram.rst of Linux.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import subprocess
from pathlib import Path

from memory_tiers.kernel import raw
from memory_tiers.kernel.types import SwapArea

_PREFER = 0x8000
"""SWAP_FLAG_PREFER: the flags' low bits are a priority."""

_libc = ctypes.CDLL(None, use_errno=True)


class SwapError(Exception):
    """A swap area could not be made or taken away; the message is one line that says why."""


def areas() -> tuple[SwapArea, ...]:
    """List the swap areas in use, as /proc/swaps has them."""
    found = []
    for line in Path("/proc/swaps").read_text().splitlines()[1:]:
        path, _kind, size, used, priority = line.rsplit(maxsplit=4)
        path = path.removesuffix("\\040(deleted)")
        device = Path("/sys/block") / Path(path).name
        is_zram = Path(path).name.startswith("zram") and (device / "mm_stat").exists()
        store = int((device / "mm_stat").read_text().split()[2]) if is_zram else 0
        kind = "zram" if is_zram else "swap"
        found.append(SwapArea(path, kind, int(size) * 1024, int(used) * 1024, int(priority), store))
    return tuple(found)


def has_zswap() -> bool:
    """Tell whether zswap is switched on."""
    switch = Path("/sys/module/zswap/parameters/enabled")
    return switch.exists() and switch.read_text().strip() == "Y"


def zswap_limit(total: int) -> int:
    """Return the DRAM that zswap may take, of so much [bytes]."""
    percent = Path("/sys/module/zswap/parameters/max_pool_percent")
    return total * int(percent.read_text()) // 100 if percent.exists() else 0


def zswap_held() -> int:
    """Return the DRAM that zswap takes now [bytes]."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("Zswap:"):
            return int(line.split()[1]) * 1024
    return 0


def has_zram() -> bool:
    """Tell whether this kernel can make zram devices, or has one (its module loaded, or built in)."""
    return Path("/sys/class/zram-control").exists()


def add_zram(size: int, algorithm: str | None, priority: int) -> str:
    """Make a zram device and swap to it.

    Parameters
    ----------
    size : int
        Bytes that it takes, uncompressed.
    algorithm : str or None
        Compression; None leaves the kernel's choice.
    priority : int
        The kernel fills areas of a higher priority first, 0 to 32767.

    Returns
    -------
    str
        The device's path.

    Raises
    ------
    SwapError
        Where a step fails; the device is then taken away again.
    """
    if not has_zram():
        _load_module("zram")
    if not has_zram():
        raise SwapError("this kernel has no zram (no module, and not built in); set up a swap file instead")
    try:
        number = int(Path("/sys/class/zram-control/hot_add").read_text())
    except OSError as error:
        raise SwapError(f"zram: hot_add: {raw.name(error.errno or 0)}") from None
    device = f"/dev/zram{number}"
    folder = Path("/sys/block") / f"zram{number}"
    try:
        if algorithm is not None:
            (folder / "comp_algorithm").write_text(algorithm)
        (folder / "disksize").write_text(str(size))
        _node(device, folder)
        _swap_on(device, priority)
    except (OSError, SwapError) as error:
        remove_zram(device)
        known = "" if algorithm is None else f" (algorithms: {(folder / 'comp_algorithm')})"
        raise SwapError(f"{device}: {error}{known if isinstance(error, OSError) else ''}") from None
    return device


def remove_zram(device: str) -> None:
    """Stop swapping to a zram device, and take it away; what is in it comes back to DRAM.

    Raises
    ------
    SwapError
        Where the pages do not fit into DRAM (ENOMEM), or the device is held by others.
    """
    swap_off(device)
    folder = Path("/sys/block") / Path(device).name
    number = Path(device).name.removeprefix("zram")
    try:
        (folder / "reset").write_text("1")
        Path("/sys/class/zram-control/hot_remove").write_text(number)
    except OSError as error:
        raise SwapError(f"{device}: {raw.name(error.errno or 0)}") from None


def add_file(path: Path, size: int, priority: int) -> None:
    """Make a swap file and swap to it.

    Raises
    ------
    SwapError
        Where the file exists, does not fit, or its file system does not carry swap.
    """
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise SwapError(f"{path}: {raw.name(error.errno or 0)}") from None
    try:
        os.posix_fallocate(descriptor, 0, size)
        os.fsync(descriptor)
        _swap_on(str(path), priority)
    except (OSError, SwapError) as error:
        path.unlink()
        raise SwapError(f"{path}: {error}") from None
    finally:
        os.close(descriptor)


def remove_file(path: Path) -> None:
    """Stop swapping to a file and delete it; what is in it comes back to DRAM."""
    swap_off(str(path))
    path.unlink(missing_ok=True)


def swap_off(path: str) -> None:
    """Stop swapping to an area; nothing happens where it is not one.

    Raises
    ------
    SwapError
        ENOMEM where its pages do not fit into DRAM, EPERM without the right.
    """
    if _libc.swapoff(os.fsencode(path)) and (code := ctypes.get_errno()) not in (errno.EINVAL, errno.ENOENT):
        raise SwapError(f"swapoff {path}: {raw.name(code)}")


def _swap_on(path: str, priority: int) -> None:
    program = shutil.which("mkswap", path=os.environ.get("PATH", "") + ":/sbin:/usr/sbin")
    if program is None:
        raise SwapError("mkswap is missing (Debian: util-linux)")
    made = subprocess.run([program, path], capture_output=True, text=True, check=False)  # noqa: S603 - a fixed list
    if made.returncode:
        raise SwapError(f"mkswap: {' '.join(made.stderr.split())}")
    if _libc.swapon(os.fsencode(path), ctypes.c_int(_PREFER | priority)):
        raise SwapError(f"swapon: {raw.name(ctypes.get_errno())}")


def _load_module(module: str) -> None:
    program = shutil.which("modprobe", path=os.environ.get("PATH", "") + ":/sbin:/usr/sbin")
    if program is not None:
        subprocess.run([program, module], capture_output=True, check=False)  # noqa: S603 - a fixed list


def _node(device: str, folder: Path) -> None:
    # Without udev (in containers and small guests) nobody makes the device's file.
    if not Path(device).exists():
        major, minor = (int(part) for part in (folder / "dev").read_text().split(":"))
        os.mknod(device, 0o660 | 0o060000, os.makedev(major, minor))
