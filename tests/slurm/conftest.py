"""A real cluster for the tests here, started once in each test process."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from scheduler.cluster import Cluster, Options, executables, up
from tests.availability import unavailable
from traces.errors import InputError


@pytest.fixture(scope="session")
def installed() -> None:
    """Skip where a program of Slurm's is missing, and name its package."""
    try:
        executables.find(accounting=True)
    except InputError as error:
        unavailable("slurm", str(error))


@pytest.fixture(scope="session")
def cluster(installed: None) -> Iterator[Cluster]:
    """Start four nodes with accounting, for tests that leave them as they found them."""
    folder = Path(tempfile.mkdtemp(prefix="tierwise-"))  # pytest's own are too long for sockets, and closed to others
    folder.chmod(0o755)
    try:
        with up(Options(directory=folder / "cluster", accounting=True)) as started:
            yield started
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def folder(installed: None) -> Iterator[Path]:
    """Return a short-named directory for clusters of the test's own."""
    made = Path(tempfile.mkdtemp(prefix="tw-"))
    yield made
    shutil.rmtree(made, ignore_errors=True)
