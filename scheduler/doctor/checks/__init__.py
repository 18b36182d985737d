"""Judges what was found, one family a file: pure functions from facts to findings."""
