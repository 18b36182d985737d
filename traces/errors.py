"""The one error that a person may cause, and that the command line prints as one line."""

from __future__ import annotations


class InputError(Exception):
    """A person's mistake in a file, a flag or a value: never a defect of the program.

    The message is one line that says what was wrong, where, what was expected and what to do. It is raised
    where the fact is known and printed once, at the edge (`scheduler.cli`), with exit status 2.
    """
