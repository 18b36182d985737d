"""The elements of one array in a JSON document, one after the other, whatever the size of the document.

A year of `sacct --json` is gigabytes, and Python's parser takes several times that. Here a document is read in
pieces, and only one element at a time is held.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from traces.errors import InputError
from traces.raw import Tally
from traces.sources import Progress, pieces

_LARGEST = 1 << 24
"""Characters of one element at most; a job with hundreds of steps takes some hundred thousand."""
_BLANK = " \t\r\n"


class _Text:
    """The part of a document that has been read and not yet used."""

    def __init__(self, path: Path, tally: Tally, progress: Progress | None) -> None:
        self.path = path
        self._pieces = pieces(path, tally, progress)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._tally = tally
        self._json = json.JSONDecoder()
        self.text, self.at, self._used, self._ended = "", 0, 0, False

    def fill(self) -> bool:
        """Read one more piece; False at the end of the document."""
        piece = next(self._pieces, None)
        if piece is None:
            self._ended = True
            return False
        more = self._decoder.decode(piece)
        if "\ufffd" in more and b"\xef\xbf\xbd" not in piece:
            self._tally.meet("stray_encoding", 1, [f"{self.path}: bytes that are not UTF-8"])
        self._used += self.at
        self.text, self.at = self.text[self.at :] + more, 0
        return True

    def peek(self) -> str:
        """Return the next character that is not blank, or nothing at the end."""
        while True:
            while self.at < len(self.text) and self.text[self.at] in _BLANK:
                self.at += 1
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.fill():
                return ""

    def take(self, expected: str) -> None:
        """Step over a character that must come next."""
        found = self.peek()
        if found != expected:
            raise self.error(f"expected {expected!r}, found {found!r}" if found else "the document ends early")
        self.at += 1

    def value(self) -> Any:
        """Parse the next value, reading on for as long as it is not complete."""
        self.peek()
        wanted = 0
        while True:
            # A value that was cut off is parsed again only once twice as much of it is there.
            if len(self.text) - self.at >= wanted or self._ended:
                try:
                    value, end = self._json.raw_decode(self.text, self.at)
                except RecursionError:
                    raise self.error("values are nested too deeply") from None
                except ValueError as error:
                    wanted = 2 * (len(self.text) - self.at)
                    if self._ended or len(self.text) - self.at > _LARGEST:
                        raise self.error(str(error).split(":")[0].lower()) from None
                else:
                    # A number may go on in the next piece.
                    if end < len(self.text) or self._ended:
                        self.at = end
                        return value
            self.fill()

    def error(self, what: str) -> InputError:
        """Return an error that says where."""
        place = self._used + self.at
        return InputError(
            f"{self.path}: is no complete JSON document: {what}, at character {place}; run sacct --json again"
        )


def elements(path: Path, name: str, tally: Tally, progress: Progress | None = None) -> Iterator[Any]:
    """Yield the elements of one array at the top of a JSON document.

    Parameters
    ----------
    path : Path
        The file.
    name : str
        Name of the array.
    tally : Tally
        Where stray bytes are counted.
    progress : Progress, optional
        Called with bytes read and size.

    Yields
    ------
    object
        The elements, as Python values.

    Raises
    ------
    InputError
        Where the file is no JSON object, is cut off, or has no such array.
    """
    text = _Text(path, tally, progress)
    if text.peek() != "{":
        raise text.error(f"expected an object with {name!r}")
    text.take("{")
    found = False
    while text.peek() not in ("}", ""):
        key = text.value()
        text.take(":")
        if key == name and text.peek() == "[":
            found = True
            yield from _array(text)
        else:
            text.value()
        if text.peek() == ",":
            text.take(",")
    text.take("}")
    if not found:
        raise InputError(f"{path}: has no array {name!r}; expected the output of sacct --json")


def _array(text: _Text) -> Iterator[Any]:
    text.take("[")
    while text.peek() != "]":
        yield text.value()
        if text.peek() == ",":
            text.take(",")
        elif text.peek() != "]":
            raise text.error("expected ',' or ']'")
    text.take("]")
