"""The one table of the options that a job may carry; the C table, the pages and the Python parser come from it.

An option exists once, here. Its flag, its environment variable, its key in the record that job_submit.lua writes,
its bounds and its help follow from the row, so they cannot drift apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

KIB, MIB, GIB, TIB, PIB = (1 << power for power in (10, 20, 30, 40, 50))
SECOND, MINUTE, HOUR, DAY = 1000, 60_000, 3_600_000, 86_400_000
"""Milliseconds: times are whole milliseconds inside, so that C and Python compute alike, without floats."""

LONGEST_VALUE = 64
"""Bytes of a value; more is refused unread."""

LONGEST_NAME = 64
"""Bytes of a NAME; equal to `LONGEST_VALUE`, so that no name is refused for two reasons."""


class Kind(Enum):
    """What an option's value is."""

    CHOICE = "choice"
    NAME = "name"
    SIZE = "size"
    TIME = "time"


@dataclass(frozen=True)
class Option:
    """One option of a job.

    Attributes
    ----------
    flag : str
        The long flag without its dashes.
    kind : Kind
        What its value is.
    metavar : str
        What stands for the value in help.
    usage : str
        One line for `sbatch --help`, short enough for its column.
    help : str
        One or two sentences for the pages.
    minimum, maximum : int
        Bounds of a SIZE [bytes] or TIME [milliseconds]; both included.
    example : str
        Values of a SIZE or TIME that fit this option, as messages list them.
    words : tuple of str
        The choices, or the words accepted beside a SIZE or TIME.
    restricted : bool
        Whether only those may ask for it whom the site permits it; the others may be used by everybody unless the
        site forbids them.
    """

    flag: str
    kind: Kind
    metavar: str
    usage: str
    help: str
    minimum: int = 0
    maximum: int = 0
    example: str = ""
    words: tuple[str, ...] = ()
    restricted: bool = False

    @property
    def key(self) -> str:
        """The option's name in records and in Python: `on_demand`."""
        return self.flag.replace("-", "_")

    @property
    def variable(self) -> str:
        """The environment variable: `TIERWISE_ON_DEMAND`."""
        return f"TIERWISE_{self.key.upper()}"

    @property
    def accepted(self) -> str:
        """What is accepted, as error messages and pages say it."""
        if self.kind is Kind.CHOICE:
            return _listed(self.words)
        if self.kind is Kind.NAME:
            return f"a NAME of 1 to {LONGEST_NAME} letters, digits, '.', '_' or '-', the first a letter or digit"
        write = size_text if self.kind is Kind.SIZE else time_text
        bounds = f"from {write(self.minimum)} to {write(self.maximum)}"
        return _listed((f"a {self.metavar} {bounds} ({self.example})", *self.words))


def _listed(items: tuple[str, ...]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} or {items[-1]}"


def size_text(value: int) -> str:
    """Write bytes with the largest binary unit that divides them: 2147483648 is `2G`."""
    for unit, name in ((PIB, "P"), (TIB, "T"), (GIB, "G"), (MIB, "M"), (KIB, "K")):
        if value and value % unit == 0:
            return f"{value // unit}{name}"
    return str(value)


def time_text(value: int) -> str:
    """Write milliseconds with the largest unit that divides them: 5400000 is `90m`."""
    for unit, name in ((DAY, "d"), (HOUR, "h"), (MINUTE, "m"), (SECOND, "s")):
        if value and value % unit == 0:
            return f"{value // unit}{name}"
    return f"{value}ms" if value else "0"


OPTIONS: tuple[Option, ...] = (
    Option(
        flag="tier-class",
        kind=Kind.CHOICE,
        metavar="CLASS",
        usage="how the job uses memory: latency, bandwidth, capacity, short or auto",
        help="How the job uses memory: `latency` (pointer chasing, solvers with a hot core), `bandwidth` (streaming "
        "kernels), `capacity` (more than the node's DRAM), `short` (tasks of seconds or minutes); `auto` lets the "
        "node agent find out.",
        words=("latency", "bandwidth", "capacity", "short", "auto"),
    ),
    Option(
        flag="tier-dram",
        kind=Kind.SIZE,
        metavar="SIZE",
        usage="DRAM per node promised to the job",
        help="DRAM per node that the job is promised; what it uses beyond that may be moved to a far tier.",
        minimum=MIB,
        maximum=PIB,
        example="512M, 2G",
    ),
    Option(
        flag="tier-far",
        kind=Kind.SIZE,
        metavar="SIZE",
        usage="far memory per node that the job may use; 0 for none",
        help="Far memory (CXL, persistent memory, compressed or disk swap) per node that the job may use; 0 for none.",
        minimum=0,
        maximum=PIB,
        example="512M, 2G",
    ),
    Option(
        flag="tier-share",
        kind=Kind.NAME,
        metavar="NAME",
        usage="group of jobs that read the same data, held once",
        help="Name of a group of your jobs that read the same data, which is then held once per node.",
    ),
    Option(
        flag="colocate",
        kind=Kind.CHOICE,
        metavar="ROLE",
        usage="share a GPU in this role: train or infer",
        help="Share a GPU: `train` gives GPU memory away in the troughs of each step, `infer` uses it.",
        words=("train", "infer"),
    ),
    Option(
        flag="hbm",
        kind=Kind.SIZE,
        metavar="SIZE",
        usage="GPU memory that the job needs, per GPU",
        help="GPU memory that the job needs, per GPU.",
        minimum=MIB,
        maximum=PIB,
        example="512M, 40G",
    ),
    Option(
        flag="slo",
        kind=Kind.TIME,
        metavar="TIME",
        usage="time to the first token that inference promises",
        help="Time to the first token that an inference job promises its users.",
        minimum=1,
        maximum=HOUR,
        example="250ms, 2s",
    ),
    Option(
        flag="on-demand",
        kind=Kind.TIME,
        metavar="TIME",
        usage="cannot wait: start at most TIME late (0: now)",
        help="The job cannot wait: batch jobs that lose least make room for it, and it starts at most TIME after "
        "its submission; 0 is at once. Your site decides who may ask for it.",
        minimum=0,
        maximum=30 * DAY,
        example="90, 10m, 1h30m",
        restricted=True,
    ),
    Option(
        flag="checkpoint-every",
        kind=Kind.TIME,
        metavar="TIME",
        usage="how often the job writes a checkpoint, or none",
        help="How often the job writes a checkpoint by itself, counted from start to start; `none` if it never does.",
        minimum=SECOND,
        maximum=30 * DAY,
        example="90, 10m, 1h30m",
        words=("none",),
    ),
    Option(
        flag="checkpoint-cost",
        kind=Kind.TIME,
        metavar="TIME",
        usage="how long writing a checkpoint takes",
        help="How long writing a checkpoint takes.",
        minimum=0,
        maximum=DAY,
        example="30, 90s, 5m",
    ),
    Option(
        flag="restart-cost",
        kind=Kind.TIME,
        metavar="TIME",
        usage="how long a restart takes to get back to work",
        help="How long the job takes from a restart until it computes again.",
        minimum=0,
        maximum=DAY,
        example="30, 90s, 5m",
    ),
)
"""All options, in the order in which help and pages show them."""

BY_KEY: dict[str, Option] = {option.key: option for option in OPTIONS}
"""The options by their key."""
