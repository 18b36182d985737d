"""A root file system that cannot be had says so, with a status of its own, and leaves nothing half made."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).parent.parent / "dev.d" / "rootfs.sh"


def rootfs(cache: Path, *arguments: str, path: str = "") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "PATH": f"{path}{os.environ['PATH']}"}
    return subprocess.run(
        ["sh", str(SCRIPT), *arguments], env=environment, capture_output=True, text=True, check=False, timeout=60
    )


def test_one_that_cannot_be_built_is_told_from_a_command_that_fails(tmp_path: Path) -> None:
    broken = tmp_path / "bin" / "debootstrap"
    broken.parent.mkdir()
    broken.write_text('#!/bin/sh\nmkdir -p "$3/half"\necho "E: no answer from the mirror"\nexit 1\n')
    broken.chmod(0o755)
    done = rootfs(tmp_path / "cache", "run", "trixie", "true", path=f"{broken.parent}:")
    assert done.returncode == 69
    # Without root, or without a namespace, it is for that reason.
    assert "rootfs: trixie cannot be built or entered here: " in done.stderr
    if "see /" in done.stderr:
        assert "E: no answer from the mirror" in done.stderr
    again = rootfs(tmp_path / "cache", "build", "trixie", path=f"{broken.parent}:")
    assert again.returncode == 69
    assert not [entry for entry in (tmp_path / "cache").glob("tierwise/rootfs/*trixie*") if entry.is_dir()]


def test_a_name_that_is_no_release_is_refused(tmp_path: Path) -> None:
    done = rootfs(tmp_path, "run", "../etc", "true")
    assert (done.returncode, done.stderr) == (2, "rootfs: '../etc' is no release of Debian such as trixie\n")


def test_clear_removes_what_was_built_and_nothing_else(tmp_path: Path) -> None:
    kept = tmp_path / "tierwise" / "kernels"
    for folder in (
        kept,
        *(tmp_path / "tierwise/rootfs" / name for name in ("sid-1", "sid-1.venv-2", ".sid.x", "trixie-1")),
    ):
        folder.mkdir(parents=True)
    assert rootfs(tmp_path, "clear", "sid").returncode == 0
    assert [entry.name for entry in (tmp_path / "tierwise/rootfs").iterdir()] == ["trixie-1"]
    assert rootfs(tmp_path, "clear").returncode == 0
    assert list((tmp_path / "tierwise/rootfs").iterdir()) == []
    assert kept.is_dir()
