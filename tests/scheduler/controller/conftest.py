"""What the tests of the controller share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from controller_room import Process


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    found = Process(tmp_path)
    try:
        yield found
    finally:
        if found.child is not None and found.child.poll() is None:
            found.child.kill()
            found.child.wait()
