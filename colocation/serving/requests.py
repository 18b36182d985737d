"""Requests to an inference engine: when each arrived, how long its prompt is, how many tokens it generates."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from traces.errors import InputError

if TYPE_CHECKING:
    import pandas as pd

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

ARRIVAL = ("TIMESTAMP", "arrival", "timestamp", "arrived_at")
PROMPT = ("ContextTokens", "prompt_tokens", "input_tokens", "num_prefill_tokens")
OUTPUT = ("GeneratedTokens", "output_tokens", "completion_tokens", "num_decode_tokens")
APPLICATION = ("application", "app", "model", "Model")
"""Names that the columns go by; the first ones are those of the Azure LLM inference traces of 2023."""


@dataclass(frozen=True)
class Requests:
    """Requests in order of arrival.

    Attributes
    ----------
    arrival : float64, shape (requests,)
        Since the first one [s].
    prompt : int64, shape (requests,)
        Tokens of the prompt.
    output : int64, shape (requests,)
        Tokens that are generated in the end; at least one. Hidden from all policies but the clairvoyant one.
    application : int64, shape (requests,)
        Who asks, as a place in `applications`.
    applications : tuple of str
        Their names.
    """

    arrival: Floats
    prompt: Integers
    output: Integers
    application: Integers
    applications: tuple[str, ...]

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.arrival)

    def at_rate(self, scale: float) -> Requests:
        """Return the same requests arriving `scale` times as fast."""
        return replace(self, arrival=self.arrival / scale)

    def head(self, count: int) -> Requests:
        """Return the first so many requests."""
        names = ("arrival", "prompt", "output", "application")
        return replace(self, **{name: getattr(self, name)[:count] for name in names})


def read_requests(paths: list[Path]) -> Requests:
    """Read requests from CSV files; each file without a column of applications is an application of its own.

    Parameters
    ----------
    paths : list of Path
        The files.

    Returns
    -------
    Requests
        All of them; each file's first request arrives at 0.

    Raises
    ------
    InputError
        Where a file cannot be read, lacks a column, or holds a value that cannot be: with file, line and column.
    """
    import pandas as pd  # noqa: PLC0415 - a second to import

    parts = [_read(path) for path in paths]
    table = pd.concat(parts, ignore_index=True).sort_values("arrival", kind="stable", ignore_index=True)
    codes, names = pd.factorize(table["application"])
    return Requests(
        table["arrival"].to_numpy(np.float64),
        table["prompt"].to_numpy(np.int64),
        table["output"].to_numpy(np.int64),
        codes.astype(np.int64),
        tuple(map(str, names)),
    )


def _read(path: Path) -> pd.DataFrame:
    import pandas as pd  # noqa: PLC0415

    try:
        raw = pd.read_csv(path, dtype=str, keep_default_na=False)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, UnicodeError, pd.errors.ParserError) as error:
        raise InputError(f"{path}: not a CSV file of requests: {str(error).splitlines()[0]}") from None
    if raw.empty:
        raise InputError(f"{path}: no requests in it; expected a header and a line for each request")
    output = _counts(path, raw, _column(path, raw, OUTPUT))
    named = next((name for name in APPLICATION if name in raw.columns), None)
    return pd.DataFrame(
        {
            "arrival": _seconds(path, raw, _column(path, raw, ARRIVAL)),
            "prompt": _counts(path, raw, _column(path, raw, PROMPT)),
            "output": output,
            "application": raw[named] if named else path.stem,
        }
    )


def _column(path: Path, raw: pd.DataFrame, names: tuple[str, ...]) -> str:
    for name in names:
        if name in raw.columns:
            return name
    raise InputError(f"{path}: line 1: no column {names[0]!r} (or {', '.join(names[1:])})")


def _counts(path: Path, raw: pd.DataFrame, name: str) -> Any:
    import pandas as pd  # noqa: PLC0415

    found = pd.to_numeric(raw[name], errors="coerce")
    bad = np.flatnonzero(~(found >= 1) | (found != np.floor(found)) | (found > 1e9))
    if len(bad):
        line, text = int(bad[0]) + 2, raw[name].iloc[bad[0]]
        raise InputError(f"{path}: line {line}: {name}: {text[:40]!r}: expected a whole number of tokens, at least 1")
    return found.astype(np.int64)


def _seconds(path: Path, raw: pd.DataFrame, name: str) -> Any:
    import pandas as pd  # noqa: PLC0415

    found = pd.to_numeric(raw[name], errors="coerce")
    if found.isna().all():
        moments = pd.to_datetime(raw[name], errors="coerce", utc=True, format="ISO8601")
        found = (moments - moments.min()).dt.total_seconds()
    bad = np.flatnonzero(~np.isfinite(found.to_numpy(np.float64)))
    if len(bad):
        line, text = int(bad[0]) + 2, raw[name].iloc[bad[0]]
        raise InputError(f"{path}: line {line}: {name}: {text[:40]!r}: expected seconds, or YYYY-MM-DD HH:MM:SS")
    return found - found.min()
