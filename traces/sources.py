"""Opening a trace file: compression by its first bytes, text in blocks of whole lines, every line of bounded length.

A file is never read as a whole: a block is a megabyte, and a line that outgrows `LONGEST_LINE` ends the reading.
So neither a file of two gigabytes without a line break nor a small archive that unpacks to one takes the memory.
"""

from __future__ import annotations

import codecs
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from traces.errors import InputError
from traces.packed import unpacked
from traces.problems import DROP
from traces.raw import Tally

BLOCK = 1 << 20
"""Bytes read at a time: small enough that the arrays made of a block stay in the cache."""
LONGEST_LINE = 1 << 20
"""Bytes in a line at most; a job record takes a few hundred, a submit line in sacct output some thousands."""

Progress = Callable[[int, int], None]
"""Called with the bytes of the file read so far, and its size."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


@dataclass(frozen=True)
class Block:
    """Some whole lines of a file.

    Attributes
    ----------
    first_line : int
        Number of the first line, from 1.
    data : bytes
        The lines, UTF-8 unless the file has stray bytes, without a byte-order mark.
    complete : bool
        False where the last line has no end of line, so that it may have been cut off.
    """

    first_line: int
    data: bytes
    complete: bool = True


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading bytes; a person's mistake becomes an `InputError`.

    Raises
    ------
    InputError
        Where the file does not exist, is a directory or may not be read.
    """
    try:
        kind = path.stat().st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):
            # A file is looked into before it is read, which a pipe allows only once; and one may wait for ever.
            raise InputError(f"{path}: is a pipe or a device; save what it gives to a file and name that")
        stream = path.open("rb")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; check the name") from None
    except IsADirectoryError:
        raise InputError(f"{path}: is a directory; name the trace files in it") from None
    except PermissionError:
        raise InputError(f"{path}: may not be read; ask its owner for read permission") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"{path}: cannot be opened: {reason}") from None
    with stream:
        yield stream


def first_bytes(path: Path, count: int = 8) -> bytes:
    """Return the first bytes of a file, as they are on the disk."""
    with opened(path) as stream:
        return stream.read(count)


def blocks(path: Path, tally: Tally, progress: Progress | None = None, size: int = BLOCK) -> Iterator[Block]:
    """Read a text file, compressed or not, in blocks of whole lines.

    Parameters
    ----------
    path : Path
        The file.
    tally : Tally
        Where byte-order marks and truncated archives are counted.
    progress : Progress, optional
        Called after each block.
    size : int
        Bytes read at a time.

    Yields
    ------
    Block
        About `size` bytes of whole lines at most.

    Raises
    ------
    InputError
        Where `pieces` says so, or a line is longer than `LONGEST_LINE`.
    """
    rest, line = b"", 1
    for chunk in pieces(path, tally, progress, size):
        end = chunk.rfind(b"\n") + 1
        _check_line_lengths(path, rest, chunk, end, line)
        if end:
            data = rest + chunk[:end]
            rest = chunk[end:]
            yield Block(line, data)
            line += data.count(b"\n")
        else:
            rest += chunk
    if rest:
        yield Block(line, rest, complete=False)


def pieces(path: Path, tally: Tally, progress: Progress | None = None, size: int = BLOCK) -> Iterator[bytes]:
    """Read a text file, compressed or not, as it comes.

    Parameters
    ----------
    path : Path
        The file.
    tally : Tally
        Where byte-order marks and truncated archives are counted.
    progress : Progress, optional
        Called after each piece.
    size : int
        Bytes read at a time.

    Yields
    ------
    bytes
        Text in UTF-8 (or stray bytes), cut anywhere.

    Raises
    ------
    InputError
        Where the file cannot be opened, is empty, binary or damaged.
    """
    with opened(path) as stream:
        total = path.stat().st_size
        seen = False
        for chunk in _text(path, unpacked(path, stream, size), tally):
            if not chunk:
                continue
            seen = True
            yield chunk
            if progress is not None:
                progress(min(stream.tell(), total), total)
        if not seen:
            raise InputError(f"{path}: is empty; a trace has at least one job")


def _check_line_lengths(path: Path, rest: bytes, chunk: bytes, end: int, line: int) -> None:
    """Refuse where the line that is still open, or the one that this chunk closes, is too long."""
    first = chunk.find(b"\n")
    closed = len(rest) + (first if first >= 0 else len(chunk))
    if max(closed, len(chunk) - end) > LONGEST_LINE:
        number = line if closed > LONGEST_LINE else line + chunk.count(b"\n")
        raise InputError(
            f"{path}:{number}: the line is longer than {LONGEST_LINE >> 20} MiB; expected one job per line, "
            "so this is no job trace, or its line breaks were lost"
        )


def _text(path: Path, chunks: Iterator[bytes], tally: Tally) -> Iterator[bytes]:
    """Yield the chunks as UTF-8 (or stray bytes), old Macintosh line ends made ours, counting marks and early ends."""
    decoder: codecs.IncrementalDecoder | None = None
    old_mac, first = False, True
    try:
        for raw in chunks:
            chunk = raw
            if first:
                chunk, decoder = _without_mark(path, chunk, tally)
                old_mac = b"\r" in chunk and b"\n" not in chunk and decoder is None
                first = False
            if decoder is not None:
                chunk = decoder.decode(chunk).encode()
            yield chunk.replace(b"\r", b"\n") if old_mac else chunk
    except EOFError:
        broken = f"{path}: the packed data end before their end mark"
        if tally.meet("truncated_archive", 1, [broken]) != DROP:
            raise InputError(f"{broken}; fetch the file again") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: starts like UTF-16 but is not ({error.reason}); convert it to UTF-8") from None


def _without_mark(path: Path, chunk: bytes, tally: Tally) -> tuple[bytes, codecs.IncrementalDecoder | None]:
    """Strip a byte-order mark, and refuse what is no text."""
    for mark, encoding in _MARKS:
        if chunk.startswith(mark):
            tally.meet("byte_order_mark", 1, [f"{path}:1: byte-order mark of {encoding}"])
            decoder = None if encoding == "utf-8" else codecs.getincrementaldecoder(encoding)()
            return chunk[len(mark) :], decoder
    if b"\0" in chunk:
        raise InputError(
            f"{path}: is a binary file; expected a job trace: Standard Workload Format, ALCF or Eagle CSV, "
            "output of sacct -P or sacct --json, or Parquet"
        )
    return chunk, None


def decoded_lines(block: Block, source: str, tally: Tally) -> list[str]:
    """Split a block into lines of text; a line that is not UTF-8 is read as Latin-1 and counted.

    Parameters
    ----------
    block : Block
        The lines.
    source : str
        The file, as messages name it.
    tally : Tally
        Where stray lines are counted.

    Returns
    -------
    list of str
        The lines, without their ends.
    """
    try:
        return _split(block.data.decode())
    except UnicodeDecodeError:
        pass
    lines, stray = [], []
    for offset, line in enumerate(block.data.removesuffix(b"\n").split(b"\n")):
        try:
            text = line.decode()
        except UnicodeDecodeError:
            text = line.decode("latin-1")
            stray.append(f"{source}:{block.first_line + offset}: not UTF-8")
        lines.append(text.removesuffix("\r"))
    tally.meet("stray_encoding", len(stray), stray)
    return lines


def _split(text: str) -> list[str]:
    # Not `splitlines`, which also splits at form feeds and Unicode separators inside a name.
    lines = text.removesuffix("\n").split("\n")
    return [line.removesuffix("\r") for line in lines] if "\r" in text else lines
