"""job_submit.lua with the table of options in its place, as it is installed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scheduler.options.table import Option

FILE_NAME = "job_submit.lua"
"""What slurmctld looks for beside slurm.conf."""

LIMITS_FILE_NAME = "tierwise_limits.lua"
SITE_FILE_NAME = "job_submit_site.lua"
"""What job_submit.lua looks for beside itself."""

MARK = b"Tierwise's job_submit.lua"
"""By which an installed file is known again."""

_PLACE = "local OPTIONS = {} --@OPTIONS@"


def job_submit(options: Sequence[Option], longest_value: int) -> str:
    """Write job_submit.lua.

    Parameters
    ----------
    options : sequence of Option
        The table.
    longest_value : int
        Bytes of the longest name.

    Returns
    -------
    str
        Lua, for 5.1 to 5.4, as Slurm may be built with any of them.
    """
    text = (Path(__file__).parent / FILE_NAME).read_text("utf-8")
    before, place, after = text.partition(_PLACE)
    if not place:
        raise ValueError(f"{FILE_NAME} has no place for the options")
    order = ", ".join(lua_string(option.variable) for option in options)
    rows = "".join(f"   {option.variable} = {_row(option, longest_value)},\n" for option in options)
    return f"{before}local OPTIONS = {{\n   {order},\n{rows}}}{after}"


def _row(option: Option, longest_value: int) -> str:
    # The plugin sends seconds, the table counts milliseconds.
    scale = 1000 if option.kind.value == "time" else 1
    words = ", ".join(f"[{lua_string(word)}] = true" for word in option.words)
    return (
        f"{{ key = {lua_string(option.key)}, flag = {lua_string(option.flag)}, kind = {lua_string(option.kind.value)}, "
        f"minimum = {option.minimum / scale:.17g}, maximum = {option.maximum / scale:.17g}, longest = {longest_value}, "
        f"restricted = {str(option.restricted).lower()}, words = {{{words}}} }}"
    )


def lua_string(text: str) -> str:
    r"""Quote a string for Lua: everything but plain ASCII as \ddd, which all releases read."""
    plain = b" !#$%&'()*+,-./:;<=>?@[]^_`{|}~"
    return (
        '"'
        + "".join(chr(b) if (b < 128 and chr(b).isalnum()) or b in plain else f"\\{b:03d}" for b in _bytes(text))
        + '"'
    )


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
