"""The C side of the table of options, generated when the plugin is built, so that it cannot drift from the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scheduler.options.table import Option


def header(options: Sequence[Option], longest_value: int, version: str, slurm_version: str) -> str:
    """Write `options.h`.

    Parameters
    ----------
    options : sequence of Option
        The table.
    longest_value : int
        Bytes of a value beyond which it is refused unread.
    version, slurm_version : str
        Of Tierwise, and of the Slurm whose headers the plugin is built with; both end up in the plugin.

    Returns
    -------
    str
        C.
    """
    return f"""\
/* Generated from scheduler/options/table.py. */
#ifndef TIERWISE_OPTIONS_H
#define TIERWISE_OPTIONS_H
#include "values.h"
#define TIERWISE_VERSION {_string(version)}
#define TIERWISE_SLURM_VERSION {_string(slurm_version)}
#define TW_LONGEST_VALUE {longest_value}u
#define TW_OPTIONS {len(options)}
extern const struct tw_option tw_options[TW_OPTIONS];
#endif
"""


def source(options: Sequence[Option]) -> str:
    """Write `options.c`, which defines what `options.h` declares."""
    words = "".join(
        f"static const char *const words_{option.key}[] = {{{', '.join([*map(_string, option.words), 'NULL'])}}};\n"
        for option in options
    )
    rows = "".join(_row(option) for option in options)
    return f"""\
/* Generated from scheduler/options/table.py. */
#include "options.h"
{words}const struct tw_option tw_options[TW_OPTIONS] = {{
{rows}}};
"""


def _row(option: Option) -> str:
    texts = (option.flag, option.metavar, option.usage, option.variable, option.accepted)
    bounds = f"UINT64_C({option.minimum}), UINT64_C({option.maximum})"
    return f"\t{{{', '.join(map(_string, texts))}, TW_{option.kind.name}, {bounds}, words_{option.key}}},\n"


def _string(text: str) -> str:
    """Quote a C string; the table is ASCII without trigraphs, and anything else is a defect of the table."""
    if not (text.isascii() and text.isprintable()) or "??" in text:
        raise ValueError(f"no plain ASCII: {text!r}")
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
