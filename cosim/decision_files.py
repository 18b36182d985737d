"""Files of decision documents: one JSON object, or JSON lines with one object each.

Every document is checked before the first is answered, so that an error in the last line does not follow answers to
the others. The file is read twice for that, a line at a time; what cannot be read twice (a pipe) is kept in a
temporary file meanwhile.
"""

from __future__ import annotations

import os
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, cast

from cosim.decision_json import NotJson, load, parse
from cosim.snapshot import Request, Snapshot
from traces.errors import InputError

LONGEST = 1 << 26
"""Bytes of one document at most: 64 MiB hold a quarter of a million jobs."""

_MOST_PIPED = 1 << 32
"""Bytes of a pipe that are kept at most: an endless one would fill the disk."""

_KEPT_IN_MEMORY = 1 << 24
_MARK = "\ufeff"


@dataclass(frozen=True)
class Documents:
    """The documents of one open file; each iteration reads it from the start.

    Attributes
    ----------
    name : str
        The file as a person named it.
    """

    name: str
    _file: BinaryIO

    def __iter__(self) -> Iterator[tuple[str, Snapshot, Request]]:
        """Read one document after the other: where it stands, the snapshot and the request.

        Raises
        ------
        InputError
            At the first document that is none.
        """
        for where, text in self._texts():
            yield where, *parse(text, where)

    def _texts(self) -> Iterator[tuple[str, str]]:
        self._file.seek(0)
        lines = self._lines()
        number, first = next(lines, (0, ""))
        if not number:
            raise InputError(f"{self.name}: is empty, expected a JSON object, or one a line")
        if not _complete(first):
            yield self.name, self._whole()
            return
        yield f"{self.name}, line {number}", first
        for number, line in lines:
            yield f"{self.name}, line {number}", line

    def _lines(self) -> Iterator[tuple[int, str]]:
        """Yield the lines that are not blank, with their numbers."""
        for number, line in enumerate(_bounded_lines(self._file, self.name), start=1):
            text = self._decoded(line, f"line {number}")
            if text.strip():
                yield number, text

    def _whole(self) -> str:
        self._file.seek(0)
        with _reading(self.name):
            data = self._file.read(LONGEST + 1)
        if len(data) > LONGEST:
            raise InputError(f"{self.name}: is longer than 64 MiB, expected one snapshot, or one a line")
        return self._decoded(data, "the file")

    def _decoded(self, data: bytes, part: str) -> str:
        try:
            return data.decode().removeprefix(_MARK)
        except UnicodeDecodeError as error:
            raise InputError(f"{self.name}: byte {error.start + 1} of {part} is not UTF-8, expected JSON") from None


def _complete(line: str) -> bool:
    try:
        load(line, "")
    except NotJson:
        return False
    except InputError:
        pass  # a number or a key that no following line can mend
    return True


def _bounded_lines(file: BinaryIO, name: str) -> Iterator[bytes]:
    number = 0
    while True:
        with _reading(name):
            line = file.readline(LONGEST + 1)
        if not line:
            return
        number += 1
        if len(line) > LONGEST:
            raise InputError(f"{name}: line {number} is longer than 64 MiB, expected one snapshot a line")
        yield line


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Say in one line what the operating system objects to."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{name}: {(error.strerror or str(error)).lower()}: expected a readable JSON file") from None


@contextmanager
def documents(path: str) -> Iterator[Documents]:
    """Open a file of documents.

    Parameters
    ----------
    path : str
        The file, or ``-`` for standard input.

    Yields
    ------
    Documents
        To be read as often as wanted.

    Raises
    ------
    InputError
        Where it cannot be opened or read.
    """
    with ExitStack() as stack:
        if path == "-" and sys.stdin is None:
            raise InputError("standard input: is closed, expected a JSON file")
        if path == "-":
            name, stream = "standard input", cast(BinaryIO, sys.stdin.buffer)
        else:
            name = path if path.isprintable() else ascii(path)
            if "\0" in path:
                raise InputError(f"{name}: is not the name of a file")
            with _reading(name):
                stream = stack.enter_context(Path(path).open("rb"))
        if path == "-" or not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            stream = stack.enter_context(_kept(stream, name))
        yield Documents(name, stream)


@contextmanager
def _kept(stream: BinaryIO, name: str) -> Iterator[BinaryIO]:
    with tempfile.SpooledTemporaryFile(max_size=_KEPT_IN_MEMORY) as copy:
        size = 0
        for line in _bounded_lines(stream, name):
            size += len(line)
            if size > _MOST_PIPED:
                raise InputError(f"{name}: is longer than 4 GiB, expected less through a pipe: write it to a file")
            with _reading("temporary file"):
                copy.write(line)
        yield cast(BinaryIO, copy)
