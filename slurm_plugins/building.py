"""Build the SPANK plugin against the Slurm whose headers are found, and read from a built one what it was built for."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from slurm_plugins import c_table
from slurm_plugins.files import replace_file
from traces.errors import InputError

if TYPE_CHECKING:
    from scheduler.options.table import Option

FILE_NAME = "spank_tierwise.so"
"""What the plugin's file is called, by which its line in plugstack.conf is known again."""

SOURCES = ("tierwise.c", "values.c", "quantities.c")
_HEADERS = ("values.h", "quantities.h")
FLAGS = (
    *("-std=gnu11", "-O2", "-fPIC", "-fvisibility=hidden"),
    *("-Wall", "-Wextra", "-Wshadow", "-Wconversion", "-Wformat=2", "-Werror"),
    *("-fstack-protector-strong", "-D_GNU_SOURCE", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"),
)
_LINK = ("-shared", "-s", "-Wl,-z,relro,-z,now")
_PREFIXES = ("/usr", "/usr/local", "/opt/slurm", "/usr/slurm")
"""Where distributions, `make install` and the usual site images put Slurm."""

_NUMBER = re.compile(r"^#define\s+SLURM_VERSION_NUMBER\s+0x([0-9a-fA-F]{6})\b", re.MULTILINE)
_BUILT = re.compile(rb"tierwise-spank-build;slurm=(\d{1,3})\.(\d{2})\.(\d{1,3});version=([\w.+-]{1,40});")
_COMPILER_SECONDS = 120


@dataclass(frozen=True)
class Version:
    """A release of Slurm: 22.05.8 is (22, 5, 8)."""

    major: int
    minor: int
    micro: int

    def __str__(self) -> str:
        return f"{self.release}.{self.micro}"

    @property
    def release(self) -> str:
        """The part that a plugin must match: `22.05`."""
        return f"{self.major}.{self.minor:02d}"

    @classmethod
    def from_number(cls, number: int) -> Version:
        """Read SLURM_VERSION_NUMBER: one byte for each part."""
        return cls(number >> 16 & 0xFF, number >> 8 & 0xFF, number & 0xFF)


@dataclass(frozen=True)
class Headers:
    """Slurm's headers: the folder that holds `slurm/spank.h`, and their release."""

    folder: Path
    version: Version


@dataclass(frozen=True)
class Built:
    """What a built plugin says of itself: the Slurm and the Tierwise it was built for."""

    slurm: Version
    tierwise: str


def find_headers(prefix: Path | None = None) -> Headers:
    """Find Slurm's headers.

    Parameters
    ----------
    prefix : Path, optional
        Where Slurm is installed; by default beside the `sbatch` of the PATH, then the usual places.

    Returns
    -------
    Headers
        The first that are complete.

    Raises
    ------
    InputError
        Where there are none; it names the package of each distribution.
    """
    command = shutil.which("sbatch")
    prefixes = [Path(command).resolve().parents[1]] if command else []
    prefixes = [prefix] if prefix is not None else [*prefixes, *map(Path, _PREFIXES)]
    for candidate in prefixes:
        folder = candidate / "include"
        if (folder / "slurm" / "spank.h").is_file() and (version := _header_version(folder)):
            return Headers(folder, version)
    raise InputError(
        f"no Slurm headers (slurm/spank.h) under {', '.join(dict.fromkeys(map(str, prefixes)))}; install libslurm-dev "
        "(Debian, Ubuntu) or slurm-devel (Red Hat, SUSE), or name Slurm's folder with --slurm-prefix"
    )


def _header_version(folder: Path) -> Version | None:
    try:
        match = _NUMBER.search((folder / "slurm" / "slurm_version.h").read_text("utf-8", "replace"))
    except OSError:
        return None
    return Version.from_number(int(match[1], 16)) if match else None


def build(options: Sequence[Option], longest_value: int, version: str, headers: Headers, out: Path) -> None:
    """Compile the plugin.

    Parameters
    ----------
    options : sequence of Option
        The table of options.
    longest_value : int
        Bytes of a value beyond which it is refused unread.
    version : str
        Tierwise's own version.
    headers : Headers
        Of the Slurm to build for.
    out : Path
        The plugin's file; replaced as a whole, or not at all.

    Raises
    ------
    InputError
        Where there is no compiler or where it fails.
    """
    with tempfile.TemporaryDirectory(prefix="tierwise-plugin-") as scratch:
        folder = Path(scratch)
        sources = write_sources(options, longest_value, version, str(headers.version), folder)
        built = folder / FILE_NAME
        # Relative names keep this machine's paths out of the plugin, so that equal sources give an equal file.
        names = [source.name for source in sources]
        compile_c([*FLAGS, *_LINK, f"-I{headers.folder}", "-o", built.name, *names], folder)
        replace_file(out, built.read_bytes(), 0o755)


def write_sources(
    options: Sequence[Option], longest_value: int, version: str, slurm_version: str, folder: Path
) -> list[Path]:
    """Write the plugin's C sources, the generated ones among them, into a folder; return those to compile."""
    package = Path(__file__).parent / "spank"
    for name in (*SOURCES, *_HEADERS):
        (folder / name).write_text((package / name).read_text("utf-8"), "utf-8")
    (folder / "options.h").write_text(c_table.header(options, longest_value, version, slurm_version), "utf-8")
    (folder / "options.c").write_text(c_table.source(options), "utf-8")
    return [folder / name for name in (*SOURCES, "options.c")]


def compile_c(arguments: Sequence[str], folder: Path) -> None:
    """Run the C compiler (`$CC`, cc or gcc) in a folder; its first complaint becomes the error's line."""
    compiler = os.environ.get("CC") or shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        raise InputError("no C compiler; install gcc (Debian, Ubuntu, Red Hat and SUSE call the package gcc)")
    try:
        done = subprocess.run(  # noqa: S603 - a list of arguments, no shell
            [compiler, *arguments], cwd=folder, capture_output=True, text=True, timeout=_COMPILER_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"the C compiler {compiler} cannot be run: {error}") from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or [f"status {done.returncode}"]
        raise InputError(f"the C compiler {compiler} failed: {lines[0]}")


def read_built(plugin: Path) -> Built | None:
    """Read what a plugin was built for.

    Parameters
    ----------
    plugin : Path
        A file.

    Returns
    -------
    Built or None
        None where the file is none of Tierwise's plugins.

    Raises
    ------
    InputError
        Where it cannot be read.
    """
    try:
        match = _BUILT.search(plugin.read_bytes())
    except OSError as error:
        raise InputError(f"{plugin}: cannot be read: {error.strerror}") from error
    if match is None:
        return None
    return Built(Version(int(match[1]), int(match[2]), int(match[3])), match[4].decode())
