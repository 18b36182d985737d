"""What all tests share: the real things beside the project."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.availability import unavailable

SHARED = Path(__file__).resolve().parents[2] / "shared"
"""Real traces, beside the checkout; the project ships none."""


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
