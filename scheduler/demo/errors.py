"""What goes wrong in a demo that is nobody's mistake in a flag."""

from __future__ import annotations


class DemoError(Exception):
    """The cluster or a job did not do what it was to; the message is one line that says what, and where to look."""
