"""Lua as Slurm embeds it: the shared library, with no interpreter's program needed."""

from __future__ import annotations

import ctypes
import ctypes.util
import json
from dataclasses import dataclass, field
from pathlib import Path

from scheduler.options.table import LONGEST_VALUE, OPTIONS
from slurm_plugins.lua_table import job_submit, lua_string

_PRELUDE = """
local lines = {}
local function keep(level)
   return function(format, ...) lines[#lines + 1] = level .. " " .. string.format(format, ...) end
end
slurm = { SUCCESS = 0, ERROR = -1, log_error = keep("error"), log_info = keep("info"), log_user = keep("user") }
function told() return table.concat(lines, "\\n") end
"""


def lua_libraries() -> dict[str, str]:
    """Return the Lua libraries of this machine by their release."""
    found = {release: ctypes.util.find_library(f"lua{release}") for release in ("5.1", "5.2", "5.3", "5.4")}
    return {release: name for release, name in found.items() if name}


class Lua:
    """One Lua state."""

    def __init__(self, release: str) -> None:
        self._release = release
        self._c = ctypes.CDLL(lua_libraries()[release])
        self._c.luaL_newstate.restype = ctypes.c_void_p
        self._c.lua_tolstring.restype = ctypes.c_void_p
        self._state = ctypes.c_void_p(self._c.luaL_newstate())
        self._c.luaL_openlibs(self._state)

    def run(self, code: str) -> list[bytes | None]:
        """Run a chunk and return what it returns, as strings."""
        text = code.encode("utf-8", "surrogateescape")
        status = self._c.luaL_loadstring(self._state, text) or self._call()
        results = [self._string(index) for index in range(1, self._c.lua_gettop(self._state) + 1)]
        self._c.lua_settop(self._state, 0)
        if status:
            raise RuntimeError((results[-1] or b"?").decode("utf-8", "replace"))
        return results

    def close(self) -> None:
        """End it."""
        self._c.lua_close(self._state)

    def _call(self) -> int:
        if self._release == "5.1":
            return int(self._c.lua_pcall(self._state, 0, -1, 0))
        return int(self._c.lua_pcallk(self._state, 0, -1, 0, None, None))

    def _string(self, index: int) -> bytes | None:
        length = ctypes.c_size_t()
        found = self._c.lua_tolstring(self._state, index, ctypes.byref(length))
        return ctypes.string_at(found, length.value) if found else None


@dataclass
class Answer:
    """What job_submit.lua made of a job."""

    code: int
    admin_comment: str
    comment: str
    told: list[str]

    @property
    def record(self) -> dict[str, object]:
        """The record, read as the controller reads it."""
        found = json.loads(self.admin_comment)
        assert isinstance(found, dict)
        return found


@dataclass
class Controller:
    """slurmctld, as far as job_submit.lua can tell."""

    lua: Lua
    folder: Path
    partitions: dict[str, bool] = field(default_factory=lambda: {"batch": True, "gpu": False})

    def load(self) -> None:
        """Load the installed file."""
        path = self.folder / "job_submit.lua"
        path.write_text(job_submit(OPTIONS, LONGEST_VALUE))
        self.lua.run(f"{_PRELUDE}\nslurm_job_submit, slurm_job_modify = nil, nil\ndofile({lua_string(str(path))})")

    def submit(self, *environment: str, uid: int = 1000, **fields: str | int) -> Answer:
        """Submit a job with a SPANK environment."""
        return self._asked(_job(environment, fields, uid), f"slurm_job_submit(job, partitions, {uid})")

    def modify(self, record: dict[str, str | int], uid: int = 1000, **fields: str | int) -> Answer:
        """Modify a job that slurmctld has."""
        call = f"slurm_job_modify(job, {_table(record)}, partitions, {uid})"
        return self._asked(_table(fields), call)

    def _asked(self, job: str, call: str) -> Answer:
        partitions = "".join(
            f"[{lua_string(name)}] = {{ name = {lua_string(name)}, flag_default = {default:d} }},"
            for name, default in self.partitions.items()
        )
        code, admin_comment, comment, told = self.lua.run(
            f"local job, partitions = {job}, {{ {partitions} }}\n"
            f"local code = {call}\nreturn code, job.admin_comment or '', job.comment or '', told()"
        )
        lines = (told or b"").decode("utf-8", "replace").splitlines()
        return Answer(int(code or b"-99"), _text(admin_comment), _text(comment), lines)


def _text(raw: bytes | None) -> str:
    return (raw or b"").decode("utf-8", "surrogateescape")


def _job(environment: tuple[str, ...], fields: dict[str, str | int], uid: int) -> str:
    entries = ", ".join(f"[{index}] = {lua_string(entry)}" for index, entry in enumerate(environment))
    known: dict[str, str | int] = {"user_id": uid, "user_name": f"user{uid}", **fields}
    return f"{{ spank_job_env = {{ {entries} }}, {_pairs(known)} }}"


def _table(fields: dict[str, str | int]) -> str:
    return f"{{ {_pairs(fields)} }}"


def _pairs(fields: dict[str, str | int]) -> str:
    return ", ".join(
        f"{name} = {lua_string(value) if isinstance(value, str) else value}" for name, value in fields.items()
    )
