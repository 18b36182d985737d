"""The controller's journal: what it means to do, written before it does it (SQLite in WAL mode)."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path

RESERVE, SIGNAL, REQUEUE, HAND_OVER, RUNNING, CLOSED = (
    "reserve",
    "signal",
    "requeue",
    "hand_over",
    "running",
    "closed",
)
"""The states of a plan, in order: what is about to be done, or (`running`, `closed`) what was seen."""

STATES = (RESERVE, SIGNAL, REQUEUE, HAND_OVER, RUNNING, CLOSED)

_PROBE = 256 << 10  # a plan with all of 4,392 nodes and 1,000 explanations takes about that [bytes]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS plans (
    job INTEGER NOT NULL,
    made REAL NOT NULL,
    state TEXT NOT NULL,
    changed REAL NOT NULL,
    plan TEXT NOT NULL,
    PRIMARY KEY (job, made)
);
CREATE TABLE IF NOT EXISTS explanations (
    job INTEGER NOT NULL,
    made REAL NOT NULL,
    text TEXT NOT NULL,
    plan INTEGER
);
CREATE INDEX IF NOT EXISTS explanations_of_job ON explanations (job);
PRAGMA user_version = 2;
"""


@dataclass(frozen=True)
class Explanation:
    """Why a job was chosen or spared, and what came of it.

    Attributes
    ----------
    made : float
        When it was decided [s].
    text : str
        Why.
    plan : int or None
        The on-demand job whose plan it belongs to; None where the journal does not know.
    state : str or None
        The state that plan has come to, one of `STATES`.
    changed : float or None
        When it came to it [s].
    """

    made: float
    text: str
    plan: int | None
    state: str | None
    changed: float | None


@dataclass(frozen=True)
class PlannedVictim:
    """A run that is to be preempted.

    Attributes
    ----------
    job : int
        The job's id.
    started : float
        When the run started [s]: a later run of the same job is another run, and is left alone.
    how : str
        `kill` or `checkpoint`.
    signal_at : float
        When it is signalled, for `checkpoint` [s].
    loss : float
        What it loses [node-seconds].
    """

    job: int
    started: float
    how: str
    signal_at: float
    loss: float


@dataclass(frozen=True)
class Plan:
    """What is done for one on-demand job.

    Attributes
    ----------
    job : int
        The on-demand job.
    made : float
        When it was decided [s].
    start : float
        When the victims go [s].
    nodes : tuple of str
        The nodes that the on-demand job gets.
    victims : tuple of PlannedVictim
        Who makes room.
    reservation : str
        The reservation's name.
    until : float
        When the reservation ends at the latest [s].
    user : str
        Who may use the reservation.
    signal : str
        The signal for checkpoints.
    signalled : tuple of int
        The victims whose signal was sent, or was about to be.
    state : str
        One of `STATES`.
    """

    job: int
    made: float
    start: float
    nodes: tuple[str, ...]
    victims: tuple[PlannedVictim, ...]
    reservation: str
    until: float
    user: str
    signal: str
    signalled: tuple[int, ...] = ()
    state: str = RESERVE


class Journal:
    """The journal of one controller.

    Parameters
    ----------
    path : Path or str
        The database file; made if need be.

    Raises
    ------
    sqlite3.Error
        Where it cannot be opened or written: then nothing may be done.
    """

    def __init__(self, path: Path | str) -> None:
        self._database = sqlite3.connect(path, isolation_level=None, timeout=5.0)
        self._database.execute("PRAGMA journal_mode = WAL")
        # An intent has to be on the disk before it is acted on.
        self._database.execute("PRAGMA synchronous = FULL")
        self._database.executescript(_SCHEMA)
        # A journal of before plans were named with the explanations.
        if "plan" not in {row[1] for row in self._database.execute("PRAGMA table_info(explanations)")}:
            self._database.execute("ALTER TABLE explanations ADD COLUMN plan INTEGER")

    def close(self) -> None:
        """Close the database."""
        self._database.close()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield self._database
            self._database.execute("COMMIT")
        except BaseException:
            # After some errors SQLite has rolled back by itself; after others, a full disk at COMMIT among them, not.
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise

    def probe(self) -> None:
        """Write as much as a large plan takes, and take it away again.

        Raises
        ------
        sqlite3.Error
            Where the journal cannot be written now: the disk is full, say.
        """
        with self._transaction() as database:
            database.execute("CREATE TABLE IF NOT EXISTS probe (filler BLOB)")
            database.execute("INSERT INTO probe VALUES (zeroblob(?))", (_PROBE,))
        with self._transaction() as database:
            database.execute("DELETE FROM probe")

    def begin(self, plan: Plan, explanations: dict[int, str]) -> None:
        """Write a new plan, and why each job it touches was chosen or spared, in one transaction."""
        with self._transaction() as database:
            database.execute(
                "INSERT INTO plans (job, made, state, changed, plan) VALUES (?, ?, ?, ?, ?)",
                (plan.job, plan.made, plan.state, time.time(), json.dumps(asdict(plan))),
            )
            database.executemany(
                "INSERT INTO explanations (job, made, text, plan) VALUES (?, ?, ?, ?)",
                [(job, plan.made, text, plan.job) for job, text in explanations.items()],
            )

    def move(self, plan: Plan, state: str) -> Plan:
        """Write that a plan has come to a state; return it so."""
        return self._write(replace(plan, state=state))

    def signalling(self, plan: Plan, victim: int) -> Plan:
        """Write that a victim is about to be signalled: it is not signalled twice, whatever happens."""
        return self._write(replace(plan, signalled=(*plan.signalled, victim)))

    def _write(self, plan: Plan) -> Plan:
        with self._transaction() as database:
            database.execute(
                "UPDATE plans SET state = ?, changed = ?, plan = ? WHERE job = ? AND made = ?",
                (plan.state, time.time(), json.dumps(asdict(plan)), plan.job, plan.made),
            )
        return plan

    def open_plans(self) -> tuple[Plan, ...]:
        """Return the plans that are not closed, the oldest first."""
        rows = self._database.execute("SELECT plan FROM plans WHERE state != ? ORDER BY made, job", (CLOSED,))
        return tuple(_plan(row[0]) for row in rows)

    def explanations(self, job: int) -> tuple[tuple[float, str], ...]:
        """Return why a job was chosen or spared: when [s], and the lines."""
        rows = self._database.execute("SELECT made, text FROM explanations WHERE job = ? ORDER BY made", (job,))
        return tuple((float(made), str(text)) for made, text in rows)


_OUTCOMES = """
SELECT e.made, e.text, e.plan, p.state, p.changed FROM explanations e
LEFT JOIN plans p ON p.job = e.plan AND p.made = e.made WHERE e.job = ? ORDER BY e.made
"""


def read_explanations(path: Path, job: int) -> tuple[Explanation, ...]:
    """Read why a job was chosen or spared, and what came of it, from a journal that may not be written.

    Parameters
    ----------
    path : Path
        The journal.
    job : int
        The job.

    Returns
    -------
    tuple of Explanation
        The oldest first.

    Raises
    ------
    sqlite3.Error
        Where it cannot be read.
    """
    # A journal at rest (no controller has it open) has no `-wal` file, and who may only read could not make one.
    at_rest = not path.with_name(f"{path.name}-wal").exists()
    address = f"{path.resolve().as_uri()}?mode=ro{'&immutable=1' if at_rest else ''}"
    with closing(sqlite3.connect(address, uri=True, timeout=5.0)) as database:
        return tuple(Explanation(*row) for row in database.execute(_OUTCOMES, (job,)))


def _plan(text: str) -> Plan:
    values = json.loads(text)
    victims = tuple(PlannedVictim(**victim) for victim in values.pop("victims"))
    lists = {name: tuple(values[name]) for name in ("nodes", "signalled")}
    return Plan(**{**values, **lists, "victims": victims})
