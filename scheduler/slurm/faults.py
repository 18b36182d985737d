"""Failures to order of a fake: which request fails, how often, and whether it was carried out all the same."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from scheduler.slurm.seam import SlurmError, SlurmUnreachableError


@dataclass(frozen=True)
class _Ordered:
    error: SlurmError
    times: int
    carried_out: bool


class Faults:
    """Ordered failures, and an account of all requests.

    Attributes
    ----------
    requests : list of tuple
        Each request with what it was about, in order, failed ones included.
    down : bool
        While true, the controller does not answer at all.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, object]] = []
        self.down = False
        self._ordered: dict[str, _Ordered] = {}

    def order(
        self, request: str, error: SlurmError | None = None, *, times: int = 1, carried_out: bool = False
    ) -> None:
        """Let a request fail.

        Parameters
        ----------
        request : str
            The method's name.
        error : SlurmError, optional
            What it raises; by default, that the controller does not answer.
        times : int
            How often.
        carried_out : bool
            Whether the request takes effect, and only its answer is lost.
        """
        default = SlurmUnreachableError(f"{request}: Unable to contact slurm controller")
        self._ordered[request] = _Ordered(error or default, times, carried_out)

    @contextmanager
    def around(self, request: str, about: object = None) -> Iterator[None]:
        """Surround a request, and raise what was ordered for it."""
        self.requests.append((request, about))
        if self.down:
            raise SlurmUnreachableError(f"{request}: Unable to contact slurm controller")
        ordered = self._ordered.get(request)
        if ordered is None or ordered.times <= 0:
            yield
            return
        self._ordered[request] = _Ordered(ordered.error, ordered.times - 1, ordered.carried_out)
        if ordered.carried_out:
            yield
        raise ordered.error
