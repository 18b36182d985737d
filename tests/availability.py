"""How a test that needs the real thing says that it is missing."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def unavailable(marker: str, what: str) -> NoReturn:
    """Skip, saying what is missing and how to get it; fail instead where $TESTS_REQUIRE lists the marker."""
    if marker in os.environ.get("TESTS_REQUIRE", "").split(","):
        pytest.fail(f"{what} (required by TESTS_REQUIRE)")
    pytest.skip(what)
