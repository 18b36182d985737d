"""One request beside another, for those that wait for a command most of their time."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread
from typing import Generic, TypeVar

Answer = TypeVar("Answer")


class Beside(Generic[Answer]):
    """A call that runs beside its caller.

    It does not outlive the program, and nobody waits for it who does not ask for its result: whoever is interrupted
    meanwhile leaves it behind.

    Parameters
    ----------
    call : callable
        What to do; it must share nothing with what the caller does meanwhile.
    """

    def __init__(self, call: Callable[[], Answer]) -> None:
        self._call = call
        self._answers: list[Answer] = []
        self._error: BaseException | None = None
        self._thread = Thread(target=self._run, name="beside", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self._answers.append(self._call())
        except BaseException as error:  # whatever it is belongs to who asks for the result
            self._error = error

    def result(self) -> Answer:
        """Wait for the call; return its answer, or raise its error."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        return self._answers[0]
