"""What is said over the agent's socket: one JSON object a line, one in, one out; what comes in is hostile."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

DEFAULT_SOCKET = Path("/run/tierwise/agent.sock")
SOCKET_VARIABLE = "TIERWISE_AGENT_SOCKET"

LONGEST_LINE = 16 * 1024
"""Bytes of a request; a longer one is refused unread."""

_JobId = Annotated[int, Field(ge=1, le=2**53)]
_Size = Annotated[int, Field(ge=0, le=2**53)]
_Name = Annotated[str, Field(max_length=256)]


class Record(BaseModel):
    """What a job's user said with the `--tier-...` flags, as the job's record has it; sizes in bytes.

    Options of other parts of Tierwise are in the same record and are passed over.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    tier_class: Literal["latency", "bandwidth", "capacity", "short", "auto"] | None = None
    tier_dram: _Size | None = None
    tier_far: _Size | None = None
    tier_share: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")] | None = None

    @property
    def is_empty(self) -> bool:
        """Whether the user said nothing about memory."""
        return self == Record()


class _Request(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    version: Literal[1]


class Register(_Request):
    """A job's processes are to be looked after.

    Attributes
    ----------
    job : int
        Its id.
    uid, gid : int or None
        Its user and group.
    record : Record
        What its user asked for.
    cgroup : str or None
        Its control group, where the caller knows it.
    pid : int or None
        The root of its process tree; a job's own process may name none but itself.
    user, name_hint, node : str or None
        For people who read the status.
    step : int or str or None
        The step that this is.
    """

    op: Literal["register"]
    job: _JobId
    uid: Annotated[int, Field(ge=0, le=2**32)] | None = None
    gid: Annotated[int, Field(ge=0, le=2**32)] | None = None
    user: _Name | None = None
    name_hint: _Name | None = None
    step: int | _Name | None = None
    record: Record = Record()
    node: _Name | None = None
    cgroup: Annotated[str, Field(max_length=4096)] | None = None
    pid: Annotated[int, Field(ge=1, le=2**22)] | None = None


class Deregister(_Request):
    """A job has ended, or is no longer to be looked after."""

    op: Literal["deregister"]
    job: _JobId


class Status(_Request):
    """What the agent sees and does."""

    op: Literal["status"]


Request = Register | Deregister | Status
_requests: TypeAdapter[Request] = TypeAdapter(Annotated[Request, Field(discriminator="op")])


class RefusedError(Exception):
    """A request that is not granted; the message is one line for the caller."""


def parse(line: bytes) -> Request:
    """Read a request.

    Raises
    ------
    RefusedError
        With one line that names the field and what is accepted.
    """
    try:
        return _requests.validate_python(json.loads(line))
    except (ValueError, RecursionError) as error:
        if isinstance(error, ValidationError):
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"] if part not in ("register", "deregister", "status"))
            raise RefusedError(f"{where or 'request'}: {first['msg']}") from None
        raise RefusedError("expected one JSON object on one line") from None


def answer(document: dict[str, Any]) -> bytes:
    """Write an answer as a line."""
    return json.dumps(document, separators=(",", ":")).encode() + b"\n"
