"""Writing traces: the format follows the name, and a file appears whole or not at all."""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Protocol

from traces.errors import InputError
from traces.table import Trace


class Writable(Protocol):
    """A binary file, as far as writers need one."""

    def write(self, data: bytes, /) -> int:
        """Write bytes."""
        ...


Writer = Callable[[Trace, Writable], None]


def write(trace: Trace, path: str | Path) -> list[str]:
    """Write a trace to a file, atomically.

    Parameters
    ----------
    trace : Trace
        The trace.
    path : str or Path
        Where to: `.swf` and `.swf.gz` for the Standard Workload Format, `.parquet`, `.csv` and `.csv.gz`.

    Returns
    -------
    list of str
        Columns with something in them that the format cannot hold.

    Raises
    ------
    InputError
        Where the name tells no format, or the file cannot be written.
    """
    target = Path(path)
    writer, lost = _writer(target)
    with atomic(target) as stream:
        if target.suffix.lower() == ".gz":
            # Neither name nor time in the archive, so that the same trace gives the same bytes.
            with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as packed:
                writer(trace, packed)
        else:
            writer(trace, stream)
    return lost(trace)


def check_name(path: Path) -> None:
    """Refuse a name that tells no format, before any long work.

    Parameters
    ----------
    path : Path
        The file to be written.

    Raises
    ------
    InputError
        Where the name tells none, or its directory does not exist.
    """
    _writer(path)
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no directory {path.parent}; make it first")


@contextmanager
def atomic(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing that takes its name only once it is complete.

    The bytes go to a hidden file beside it, which is removed on any error or interrupt.

    Parameters
    ----------
    path : Path
        The final name; what it named before stays until then.

    Yields
    ------
    binary file
        Where to write.

    Raises
    ------
    InputError
        Where the directory does not exist or cannot be written, or the disk is full.
    """
    try:
        if path.is_dir():
            raise InputError(f"{path}: is a directory; name a file in it")
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no directory {path.parent}; make it first") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path}: cannot be written: {reason}") from None
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        # mkstemp makes the file private; a result is as readable as any new file.
        mask = os.umask(0)
        os.umask(mask)
        Path(name).chmod(0o666 & ~mask)
        Path(name).replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}") from None
    finally:
        with suppress(FileNotFoundError):
            Path(name).unlink()


def _writer(path: Path) -> tuple[Writer, Callable[[Trace], list[str]]]:
    """Return what writes the format that a name tells, and what tells its losses."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    packed = suffixes[-1:] == [".gz"]
    kind = (suffixes[:-1] if packed else suffixes)[-1:]
    if kind == [".swf"]:
        from traces.swf_writer import lost_columns  # noqa: PLC0415

        return _write_swf, lost_columns
    if kind == [".csv"]:
        return _write_csv, lambda _: []
    if kind == [".parquet"] and not packed:
        from traces.frames import write_parquet  # noqa: PLC0415

        return write_parquet, lambda _: []
    raise InputError(
        f"{path}: the name tells no format to write; accepted are .swf, .swf.gz, .csv, .csv.gz and .parquet"
    )


def _write_swf(trace: Trace, stream: Writable) -> None:
    from traces.swf_writer import swf_chunks  # noqa: PLC0415

    for chunk in swf_chunks(trace):
        stream.write(chunk)


def _write_csv(trace: Trace, stream: Writable) -> None:
    # Python's shortest form of a float, so that reading gives the same one back.
    stream.write(trace.frame().to_csv(index=False, lineterminator="\n").encode())
