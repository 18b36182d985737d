"""What the tests of traces share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def write_file(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a file and gives its path."""

    def write(content: str | bytes, name: str = "trace.swf") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write
