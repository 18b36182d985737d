"""What goes wrong with a cluster that is nobody's mistake in a flag."""

from __future__ import annotations


class ClusterError(Exception):
    """A daemon did not come up, or did not go away; the message is one line that names it and what to look at.

    Parameters
    ----------
    message : str
        The line.
    log : tuple of str
        The last lines of the log that the message names.
    """

    def __init__(self, message: str, log: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.log = log
