"""Unpacking a file by its first bytes, whatever its name says."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from traces.errors import InputError

_GZIP, _ZIP, _XZ, _BZIP2 = b"\x1f\x8b", b"PK\x03\x04", b"\xfd7zXZ\x00", b"BZh"
_FOREIGN = {
    b"\x28\xb5\x2f\xfd": "Zstandard (unpack it with `unzstd` first)",
    b"7z\xbc\xaf\x27\x1c": "7-Zip (unpack it with `7z x` first)",
    b"PK\x05\x06": "an empty zip archive",
}
_DAMAGE = (gzip.BadGzipFile, zlib.error, lzma.LZMAError, zipfile.BadZipFile, ValueError)


class _Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...

    def read1(self, size: int = -1, /) -> bytes: ...


def unpacked(path: Path, stream: BinaryIO, size: int) -> Iterator[bytes]:
    """Unpack a file as it is read.

    Parameters
    ----------
    path : Path
        The file, as messages name it.
    stream : binary file
        The file, at its start.
    size : int
        Bytes to yield at a time.

    Yields
    ------
    bytes
        What is in the archive; a file that is none is yielded as it is.

    Raises
    ------
    InputError
        Where the archive is damaged, of a foreign kind or of several files.
    EOFError
        Where it ends early, which is the caller's to treat.
    """
    head = stream.read(8)
    for magic, name in _FOREIGN.items():
        if head.startswith(magic):
            raise InputError(f"{path}: is packed as {name}; .gz, .xz, .bz2 and .zip are read as they are")
    stream.seek(0)
    try:
        if head.startswith((_GZIP, _ZIP, _XZ, _BZIP2)):
            yield from _unpacked(path, stream, head, size)
        else:
            while chunk := stream.read(size):
                yield chunk
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None


def _unpacked(path: Path, stream: BinaryIO, head: bytes, size: int) -> Iterator[bytes]:
    """Unpack a file that is known to be packed."""
    try:
        with _unpacker(path, stream, head) as source:
            yield from _gathered(source, size)
    except _DAMAGE as error:
        raise InputError(f"{path}: the archive is damaged ({error}); fetch the file again") from None


def _gathered(source: _Readable, size: int) -> Iterator[bytes]:
    """Yield unpacked bytes in good portions; those before a break are yielded before the error is raised."""
    parts: list[bytes] = []
    gathered = 0
    try:
        while part := source.read1(size):
            parts.append(part)
            gathered += len(part)
            if gathered >= size:
                yield b"".join(parts)
                parts, gathered = [], 0
    except EOFError:
        yield b"".join(parts)
        raise
    yield b"".join(parts)


@contextmanager
def _unpacker(path: Path, stream: BinaryIO, head: bytes) -> Iterator[_Readable]:
    """Open the right unpacker for a file whose first bytes are known."""
    if head.startswith(_GZIP):
        with gzip.GzipFile(fileobj=stream) as gzipped:
            yield gzipped
    elif head.startswith(_XZ):
        with lzma.LZMAFile(stream) as xzipped:
            yield xzipped
    elif head.startswith(_BZIP2):
        with bz2.BZ2File(stream) as bzipped:
            yield bzipped
    else:
        with zipfile.ZipFile(stream) as archive:
            names = [name for name in archive.namelist() if not name.endswith("/") and "__MACOSX" not in name]
            if len(names) != 1:
                raise InputError(
                    f"{path}: the archive holds {len(names)} files ({', '.join(names[:3])}); expected one, so "
                    "unpack it and name the trace files"
                )
            try:
                source = archive.open(names[0])
            except (RuntimeError, NotImplementedError) as error:
                raise InputError(f"{path}: cannot be unpacked ({error}); unpack it first") from None
            with source:
                yield cast(_Readable, source)  # a ZipExtFile, whose declared type hides its read1
