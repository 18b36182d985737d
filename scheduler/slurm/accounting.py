"""The accounting's administration: a cluster's name and a QOS that may preempt others.

`sacctmgr` has no JSON before 23.11, and nothing that it prints is read: its exit status tells whether it was done.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from scheduler.slurm.running import Runner, one_line
from scheduler.slurm.seam import SlurmError

TIMEOUT = 30.0
"""Seconds that a change may take: slurmdbd answers once its database has written it."""

_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", re.ASCII)


class Accounting:
    """Changes what slurmdbd knows; each call raises `SlurmError` where it is refused.

    Parameters
    ----------
    environment : Mapping of str to str, optional
        Variables on top of this process's, such as `SLURM_CONF`.
    timeout : float
        Seconds that a change may take.
    """

    def __init__(self, environment: Mapping[str, str] | None = None, timeout: float = TIMEOUT) -> None:
        self._runner = Runner(dict(environment or {}), timeout)

    def add_cluster(self, name: str) -> None:
        """Make a cluster known, which its slurmctld needs before it starts.

        Parameters
        ----------
        name : str
            The cluster's name.
        """
        self._do(f"add cluster {name!r} to the accounting", ["add", "cluster", name], [name])

    def add_qos(self, name: str, *, preempts: Sequence[str] = (), priority: int = 0) -> None:
        """Add a QOS.

        Parameters
        ----------
        name : str
            Its name.
        preempts : sequence of str
            The QOS whose jobs its own may preempt, with `PreemptType=preempt/qos` (slurm.conf(5)).
        priority : int
            Its priority.
        """
        values = [f"Priority={priority}", *([f"Preempt={','.join(preempts)}"] if preempts else [])]
        self._do(f"add QOS {name!r}", ["add", "qos", name, *values], [name, *preempts])

    def permit_qos(self, account: str, names: Sequence[str], default: str) -> None:
        """Say which QOS an account and all below it may use.

        Parameters
        ----------
        account : str
            The account; `root` stands for all.
        names : sequence of str
            The QOS, `default` among them.
        default : str
            The QOS of jobs that ask for none.
        """
        change = ["modify", "account", account, "set", f"QOS={','.join(names)}", f"DefaultQOS={default}"]
        self._do(f"permit QOS {', '.join(names)} to account {account!r}", change, [account, default, *names])

    def _do(self, request: str, change: Sequence[str], names: Sequence[str]) -> None:
        for name in names:
            if not _NAME.fullmatch(name):
                shown = one_line(name)[:80]
                raise SlurmError(f"change the accounting: {shown!r} is no name of letters, digits, '_', '.' and '-'")
        self._runner.run(request, ["sacctmgr", "--immediate", "--quiet", *change])
