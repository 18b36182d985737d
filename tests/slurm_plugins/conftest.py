"""What the tests of the plugin share: its C, compiled with the sanitizers, and Lua as Slurm embeds it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from lua_in_process import Lua, lua_libraries
from values_in_c import Values

from scheduler.options.table import LONGEST_VALUE, OPTIONS
from slurm_plugins import building
from tests.availability import unavailable

HERE = Path(__file__).parent
_SANITIZED = ("-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-D_GNU_SOURCE", "-fno-sanitize-recover=all")


def _sanitizers(folder: Path) -> list[str]:
    """Return the sanitizers that this compiler can link; some distributions package them apart."""
    (folder / "probe.c").write_text("int main(void) { return 0; }\n")
    flags = ["-fsanitize=address,undefined"]
    try:
        building.compile_c([*flags, "probe.c", "-o", "probe"], folder)
    except building.InputError:
        return []
    return flags


def _compiled(folder: Path, sources: list[str], name: str, *flags: str) -> Path:
    if shutil.which("cc") is None and shutil.which("gcc") is None:
        unavailable("slurm", "no C compiler: apt-get install gcc")
    building.write_sources(OPTIONS, LONGEST_VALUE, "0.0.0", "22.05.8", folder)
    building.compile_c([*_SANITIZED, *_sanitizers(folder), *flags, "-I.", *sources, "-o", name], folder)
    return folder / name


@pytest.fixture(scope="session")
def c_values(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Values]:
    """Return the C parser."""
    folder = tmp_path_factory.mktemp("values")
    sources = [str(HERE / "values_harness.c"), "values.c", "quantities.c", "options.c"]
    values = Values(_compiled(folder, sources, "values"))
    yield values
    assert values.close() == 0


@pytest.fixture(scope="session")
def spank(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a program that plays sbatch for the plugin; its name matters to the plugin."""
    folder = tmp_path_factory.mktemp("spank")
    sources = [str(HERE / "spank_harness.c"), "tierwise.c", "values.c", "quantities.c", "options.c"]
    return _compiled(folder, sources, "sbatch", f"-I{HERE / 'spank_stub'}")


@pytest.fixture(params=sorted(lua_libraries()) or [None])
def lua(request: pytest.FixtureRequest) -> Iterator[Lua]:
    """Return a fresh Lua, once for each release whose library is here."""
    if request.param is None:
        unavailable("slurm", "no Lua library: apt-get install liblua5.3-0")
    interpreter = Lua(request.param)
    yield interpreter
    interpreter.close()
