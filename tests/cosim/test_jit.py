"""Where compiled kernels are kept: only where nobody else can put machine code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from cosim.jit import cache_folder

SMALL = "from cosim import jit; print(jit.cache_folder()); print(jit.kernel(lambda x: x + 1)(41))"


def test_the_folder_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = cache_folder()
    assert folder is not None
    assert folder.parent == tmp_path / "tierwise"
    assert folder.stat().st_mode & 0o077 == 0


def test_a_folder_that_others_may_write_to_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = cache_folder()
    assert folder is not None
    folder.chmod(0o777)
    assert cache_folder() is None


def test_without_any_folder_kernels_are_compiled_in_the_process() -> None:
    environment = {"XDG_CACHE_HOME": "/proc/nowhere", "PATH": "/usr/bin"}
    done = subprocess.run(
        [sys.executable, "-c", SMALL], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.split() == ["None", "42"], done.stderr
