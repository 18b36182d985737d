"""What all tests share: how a test that needs the real thing says that it is missing."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2] / "shared"
"""Real traces, beside the checkout; the project ships none."""


def unavailable(marker: str, what: str) -> None:
    """Skip, saying what is missing; fail instead where $TIERWISE_REQUIRE lists the marker."""
    if marker in os.environ.get("TIERWISE_REQUIRE", "").split(","):
        pytest.fail(f"{what} (required by TIERWISE_REQUIRE)")
    pytest.skip(what)


@pytest.fixture(scope="session")
def shared_traces() -> Path:
    """Return the folder of real traces."""
    folder = SHARED / "traces"
    if not folder.is_dir():
        unavailable("shared", "no ../shared/traces beside the checkout: real traces are not part of the project")
    return folder


@pytest.fixture(scope="session")
def chromium() -> str:
    """Return the path of a headless browser."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if not found:
        unavailable("browser", "no Chromium: apt-get install chromium")
    return str(found)
