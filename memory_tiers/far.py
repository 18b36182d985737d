"""Making a far tier where a site has none, and taking away what was made, and nothing else."""

from __future__ import annotations

import json
from pathlib import Path

from memory_tiers.kernel import nodes, swaps
from traces.errors import InputError

RECORD = Path("/run/tierwise/far.json")
"""What we have set up; gone with the machine's start, as the areas themselves."""

ZRAM_PRIORITY, FILE_PRIORITY = 100, 1
"""zram is filled first; a file comes last."""


def setup_zram(size: int, algorithm: str | None = None, record: Path = RECORD) -> str:
    """Make a zram device and swap to it.

    Returns
    -------
    str
        Its path.

    Raises
    ------
    InputError
        Where it cannot be made; one line with the reason and what to do instead.
    """
    try:
        device = swaps.add_zram(size, algorithm, ZRAM_PRIORITY)
    except (swaps.SwapError, OSError) as error:
        raise InputError(f"tiers setup zram: {error}") from None
    _note(record, "zram", device)
    return device


def setup_file(path: Path, size: int, record: Path = RECORD) -> None:
    """Make a swap file and swap to it.

    Raises
    ------
    InputError
        Where it cannot be made.
    """
    try:
        swaps.add_file(path.absolute(), size, FILE_PRIORITY)
    except (swaps.SwapError, OSError) as error:
        raise InputError(f"tiers setup swapfile: {error}") from None
    _note(record, "swapfile", str(path.absolute()))


def teardown(record: Path = RECORD) -> tuple[str, ...]:
    """Take away what was set up, the newest first; return what was.

    What is in an area comes back to DRAM first. An area that cannot be emptied stays, and stays on the record.

    Raises
    ------
    InputError
        Where an area cannot be taken away.
    """
    left = _noted(record)
    gone = []
    while left:
        kind, path = left[-1]
        try:
            if kind == "zram":
                swaps.remove_zram(path)
            else:
                swaps.remove_file(Path(path))
        except (swaps.SwapError, OSError) as error:
            raise InputError(f"tiers teardown: {error}") from None
        left.pop()
        _write(record, left)
        gone.append(path)
    return tuple(gone)


def _noted(record: Path) -> list[tuple[str, str]]:
    try:
        document = json.loads(record.read_text())
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise InputError(f"{record}: {error}; remove it once `swapon --show` is as you want it") from None
    if document.get("boot") != nodes.boot_id():
        return []
    return [(kind, path) for kind, path in document["areas"]]


def _note(record: Path, kind: str, path: str) -> None:
    _write(record, [*_noted(record), (kind, path)])


def _write(record: Path, areas: list[tuple[str, str]]) -> None:
    record.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    new = record.with_suffix(".new")
    new.write_text(json.dumps({"boot": nodes.boot_id(), "areas": areas}))
    new.replace(record)
