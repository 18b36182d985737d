"""The pages made from the table of options: `python -m scheduler.options.pages` writes them anew, in the checkout."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from scheduler.options.table import OPTIONS, Option

FLAGS_PAGE = Path("docs/flags.md")
MANUAL_PAGE = Path("docs/man/tierwise-flags.7")

_BEGIN, _END = "<!-- made from scheduler/options/table.py -->", "<!-- end of what is made -->"
_CODE = re.compile(r"`([^`]*)`")


def markdown_table(options: Iterable[Option] = OPTIONS) -> str:
    """Return the options as a Markdown table."""
    rows = [f"| `--{o.flag}={o.metavar}` | `{o.variable}` | {_cell(o.help)} | {_cell(o.accepted)} |" for o in options]
    return "\n".join(["| flag | variable | what it says | accepted |", "|---|---|---|---|", *rows])


def flags_page(text: str) -> str:
    """Return docs/flags.md with the table in its place."""
    before, begin, rest = text.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    if not begin or not end:
        raise ValueError(f"{FLAGS_PAGE} has no place for the table")
    return f"{before}{_BEGIN}\n{markdown_table()}\n{_END}{after}"


def manual_page(options: Iterable[Option] = OPTIONS) -> str:
    """Return the manual page tierwise-flags(7) in roff."""
    entries = "".join(_entry(option) for option in options)
    return f"""\
.\\" Made from scheduler/options/table.py by python -m scheduler.options.pages
.TH TIERWISE-FLAGS 7 "" Tierwise "Tierwise"
.SH NAME
tierwise-flags \\- what a Slurm job can ask of Tierwise
.SH SYNOPSIS
.B sbatch
.RI [ flags ]
.I script
.br
.B salloc
.RI [ flags ]
.br
.B srun
.RI [ flags ]
.I command
.SH DESCRIPTION
Each flag may stand on the command line, in an
.B #SBATCH
line, or in its environment variable.
A flag goes before a variable; an empty variable counts as not set.
A wrong value is refused at submission, in one line and with exit status 1.
In the job the variables hold the values in one form: seconds, bytes, words in lower case.
.B srun
inside a job takes the job's values; a job submitted from inside a job starts without them.
.SH OPTIONS
{entries}.SH VALUES
.TP
.I TIME
Seconds (90, 0.5), numbers with units (500ms, 90s, 10m, 1.5h, 1h30m, 2d, 1w), or Slurm's forms: minutes:seconds (30:00),
hours:minutes:seconds, days\\-hours (2\\-12), days\\-hours:minutes:seconds.
A bare number counts seconds, not minutes as in
.BR "sbatch \\-\\-time" .
.TP
.I SIZE
A number with a binary unit: 512M, 2G, 1.5T; G, GB and GiB are all 2^30 bytes.
A bare number counts bytes, not megabytes as in
.BR "sbatch \\-\\-mem" .
.TP
.I NAME
Letters, digits, dots, underscores and hyphens, the first a letter or digit.
.SH SEE ALSO
.BR sbatch (1),
.BR salloc (1),
.BR srun (1)
"""


def _entry(option: Option) -> str:
    lines = (
        ".TP",
        f".BI \\-\\-{_roff(option.flag)}= {option.metavar}",
        _roff(option.help),
        f"Accepted: {_roff(option.accepted)}.",
        "Variable:",
        f".BR {option.variable} .",
    )
    return "".join(f"{line}\n" for line in lines)


def _roff(text: str) -> str:
    plain = _CODE.sub(r"\1", text).replace("\\", "\\e").replace("-", "\\-")
    # A line that began with these would be a request.
    return "\\&" + plain if plain.startswith((".", "'")) else plain


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def main() -> None:
    """Write both pages."""
    FLAGS_PAGE.write_text(flags_page(FLAGS_PAGE.read_text("utf-8")), "utf-8")
    MANUAL_PAGE.parent.mkdir(parents=True, exist_ok=True)
    MANUAL_PAGE.write_text(manual_page(), "utf-8")


if __name__ == "__main__":
    main()
