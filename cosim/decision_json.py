"""The JSON form of a preemption decision: a snapshot with its request in, the decision out.

A document is one object (docs/preemption.md shows it). Its keys are those of `RunningJob` and `Request`, checked
strictly: an unknown key, a wrong type or a number out of range is an error of one line that names the path. A document
with `nodes` instead of `free_nodes` lists nodes with resources, and becomes a `SharedSnapshot`.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from cosim.preemption import Decision, Point, starts_to_try
from cosim.shared import Node, SharedJob, SharedRequest, SharedSnapshot, whole_nodes_only
from cosim.snapshot import Request, RunningJob, Snapshot
from traces.errors import InputError

MOST_NODES = 1_000_000
"""Nodes of a machine at most: six times the largest of the TOP500 (Fugaku, 158,976 nodes)."""

_LATEST = 1e12
"""Seconds at most, 30,000 years: floating point still tells milliseconds apart there."""

_MOST_CELLS = 16_000_000_000
"""Jobs times nodes at most: the dynamic programme's table holds a bit for each, 2 GB."""

_MOST_AMOUNT = 2**50
"""Amount of a resource at most: a petabyte, in bytes. Sums over a node's jobs stay below the solver's 63 bits."""


_BY_RESOURCE, _BY_NODE = "an object of amounts by resource", "an object of amounts by node"


def _id_as_text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Seconds = Annotated[float, Field(ge=0, le=_LATEST, description="a number of seconds, at least 0")]
Time = Annotated[float, Field(ge=-_LATEST, le=_LATEST, description="a time in seconds")]
Nodes = Annotated[int, Field(ge=1, le=MOST_NODES, description=f"a whole number from 1 to {MOST_NODES}")]
Amounts = dict[str, Annotated[int, Field(ge=0, le=_MOST_AMOUNT, description="a whole number, at least 0")]]
Name = Annotated[
    str,
    BeforeValidator(_id_as_text),
    # No blanks and no control characters: a name is printed in a line, and a terminal obeys some characters.
    Field(pattern=r"^[^\s\x00-\x1f\x7f-\x9f]{1,256}$", description="a string or an integer, without blanks"),
]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class _RequestForm(_Strict):
    nodes: Nodes
    duration: Annotated[float, Field(gt=0, le=_LATEST, description="a number of seconds above 0")]
    max_delay: Seconds = 0.0
    delay_weight: Annotated[float, Field(ge=0, le=_LATEST, description="a number of at least 0")] = 1.0


class _SharedRequestForm(_RequestForm):
    per_node: Annotated[Amounts, Field(description=_BY_RESOURCE)]


class _JobForm(_Strict):
    id: Name
    start: Time
    expected_end: Annotated[
        float | None, Field(ge=-_LATEST, le=_LATEST, description="a time in seconds, or null where it is not known")
    ]
    checkpoint_interval: Annotated[
        float | None, Field(ge=1e-3, le=_LATEST, description="a number of seconds of at least 0.001, or null for none")
    ] = None
    checkpoint_cost: Seconds = 0.0
    restart_cost: Seconds = 0.0
    on_demand_checkpoint: Annotated[bool, Field(description="true or false")] = False
    preemptible: Annotated[bool, Field(description="true or false")] = True
    priority: Annotated[int, Field(ge=-(2**62), le=2**62, description="a whole number")] = 0

    def running(self, nodes: int) -> RunningJob:
        """Return the job on so many nodes."""
        known = {name: getattr(self, name) for name in _JobForm.model_fields}
        known["expected_end"] = math.inf if self.expected_end is None else self.expected_end
        return RunningJob(nodes=nodes, **known)


class _WholeJobForm(_JobForm):
    nodes: Nodes


class _SharedJobForm(_JobForm):
    allocation: Annotated[dict[str, Amounts], Field(min_length=1, description=_BY_NODE)]
    nodes: Annotated[
        int | None, Field(ge=1, le=MOST_NODES, description="the number of nodes in allocation, or absent")
    ] = None


class _NodeForm(_Strict):
    name: Name
    free: Annotated[Amounts, Field(description=_BY_RESOURCE)]


class _WholeForm(_Strict):
    now: Time
    free_nodes: Annotated[int, Field(ge=0, le=MOST_NODES, description=f"a whole number from 0 to {MOST_NODES}")]
    request: Annotated[_RequestForm, Field(description="an object")]
    jobs: Annotated[list[_WholeJobForm], Field(description="an array of objects, one a running job")]

    def question(self) -> tuple[Snapshot, Request]:
        """Return the snapshot and the request."""
        total = self.free_nodes + sum(job.nodes for job in self.jobs)
        if total > MOST_NODES:
            raise InputError(f"free_nodes and the jobs' nodes are {total} together, expected at most {MOST_NODES}")
        if total * len(self.jobs) > _MOST_CELLS:
            raise InputError(
                f"{len(self.jobs)} jobs on {total} nodes are too many to decide exactly, expected at most "
                f"{_MOST_CELLS} as their product"
            )
        jobs = [job.running(job.nodes) for job in self.jobs]
        return Snapshot.of(self.now, self.free_nodes, jobs), Request(**self.request.model_dump())


class _SharedForm(_Strict):
    now: Time
    nodes: Annotated[list[_NodeForm], Field(max_length=MOST_NODES, description="an array of objects, one a node")]
    request: Annotated[_SharedRequestForm, Field(description="an object")]
    jobs: Annotated[list[_SharedJobForm], Field(description="an array of objects, one a running job")]

    def question(self) -> tuple[Snapshot, Request]:
        """Return the snapshot and the request."""
        nodes = [Node(node.name, node.free) for node in self.nodes]
        jobs = [SharedJob(job.running(job.nodes or len(job.allocation)), job.allocation) for job in self.jobs]
        snapshot, request = SharedSnapshot.of_nodes(self.now, nodes, jobs), SharedRequest(**self.request.model_dump())
        snapshot.asked_for(request)
        return snapshot, request


def parse(text: str, where: str) -> tuple[Snapshot, Request]:
    """Read one document.

    Parameters
    ----------
    text : str
        The JSON text of one object.
    where : str
        Where it comes from, for error messages: a file, and a line where that is known.

    Returns
    -------
    snapshot : Snapshot
        The machine; a `SharedSnapshot` where the document lists nodes.
    request : Request
        What the on-demand job asks for.

    Raises
    ------
    InputError
        Where the text is not such a document; says where, what and what was expected.
    """
    document = load(text, where)
    if not isinstance(document, dict):
        raise InputError(f"{where}: is {_shown(document)}, expected a JSON object with now, free_nodes, request, jobs")
    form = _SharedForm if "nodes" in document else _WholeForm
    try:
        return form.model_validate(document).question()
    except ValidationError as error:
        raise InputError(f"{where}: {_explained(error, form)}") from None
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def load(text: str, where: str) -> object:
    """Read JSON as its standard has it: no NaN or Infinity, no key twice.

    Raises
    ------
    NotJson
        Where the text is not JSON.
    InputError
        Where it is, but with such a number or key.
    """
    try:
        return json.loads(text, object_pairs_hook=_once_each, parse_constant=_not_json)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}" if "\n" in text.strip() else f"column {error.colno}"
        raise NotJson(f"{where}: {place}: {error.msg[0].lower()}{error.msg[1:]}: expected JSON") from None
    except RecursionError:
        raise InputError(f"{where}: is nested too deeply, expected an object as docs/preemption.md shows it") from None
    except ValueError as error:
        # An integer of thousands of digits is refused by Python itself; the others are raised below.
        problem = str(error) if isinstance(error, _UnfitError) else "a number is too long"
        raise InputError(f"{where}: {problem}") from None


class NotJson(InputError):  # noqa: N818 - it is an InputError, which is what callers catch
    """The text breaks off or is no JSON at all: what a document that goes on in the next line looks like."""


class _UnfitError(ValueError):
    pass


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for place, key in enumerate(keys) if key in keys[:place])
        raise _UnfitError(f"key {_shown(twice)} occurs twice in one object, expected each key once")
    return found


def _not_json(constant: str) -> float:
    raise _UnfitError(f"{constant} is not a JSON number, expected a finite one (expected_end may be null for unknown)")


def _explained(error: ValidationError, form: type[BaseModel]) -> str:
    """Say in one line what is wrong first; an unknown key comes before the key it is a misspelling of."""
    problems = sorted(error.errors(include_url=False), key=lambda problem: problem["type"] != "extra_forbidden")
    problem = problems[0]
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in problem["loc"]).lstrip(".")
    path = path if path.isprintable() else ascii(path)
    model, description = _field(form, problem["loc"])
    if problem["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(problem["loc"][-1]), model.model_fields, n=1)
        hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(model.model_fields)}"
        return f"{path[:200]} is not a known key: {hint}"
    if problem["type"] == "missing":
        return f"{path} is missing, expected {description}"
    return f"{path[:200]} is {_shown(problem['input'])}, expected {description}"


def _field(form: type[BaseModel], steps: Sequence[int | str]) -> tuple[type[BaseModel], str]:
    """Return the form in which a path ends, and what its last known key is expected to hold."""
    description = "an object"
    for step in steps:
        if isinstance(step, int):
            description = "an object"
        elif step in form.model_fields:
            description = form.model_fields[step].description or "another value"
            form = _FORMS.get((form, step), form)
        else:
            description = _INSIDE.get(description, description)
    return form, description


_FORMS: dict[tuple[type[BaseModel], str], type[BaseModel]] = {
    (_WholeForm, "request"): _RequestForm,
    (_WholeForm, "jobs"): _WholeJobForm,
    (_SharedForm, "request"): _SharedRequestForm,
    (_SharedForm, "jobs"): _SharedJobForm,
    (_SharedForm, "nodes"): _NodeForm,
    # Below these, keys are names that people chose.
    (_SharedRequestForm, "per_node"): _Strict,
    (_SharedJobForm, "allocation"): _Strict,
    (_NodeForm, "free"): _Strict,
}

_INSIDE = {_BY_NODE: _BY_RESOURCE, _BY_RESOURCE: "a whole number, at least 0"}
"""What is expected below an object whose keys are names that people chose."""


def _shown(value: object) -> str:
    """Return a value as JSON in a few characters."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "an array"
    try:
        text = json.dumps(value)
    except ValueError:
        return "a number that is too long"
    return text if len(text) <= 60 else f"{text[:57]}..."


def check(policy: str, snapshot: Snapshot, request: Request, where: str) -> None:
    """Find out before the first answer whether a policy can decide a document.

    Parameters
    ----------
    policy : str
        The policy's name.
    snapshot, request : Snapshot, Request
        What `parse` returned.
    where : str
        Where the document stands.

    Raises
    ------
    InputError
        Where the policy does not know nodes with resources, or the window holds too many starts.
    """
    try:
        if policy != "exact":
            whole_nodes_only(snapshot)
        starts_to_try(snapshot, request)
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def answer(decision: Decision, snapshot: Snapshot, request: Request) -> dict[str, Any]:
    """Return a decision as what `tierwise decide` prints.

    Parameters
    ----------
    decision : Decision
        The decision.
    snapshot, request : Snapshot, Request
        What was asked.

    Returns
    -------
    dict
        Numbers, strings, lists and dicts alone, ready for `json.dumps`; `nodes`, the names of the N nodes that the
        request gets, is there where the snapshot names nodes.
    """
    chosen = decision.chosen
    if chosen is None:
        return {"feasible": False, "most_nodes": decision.most_nodes}
    found: dict[str, Any] = {
        "feasible": True,
        "start": chosen.start,
        "victims": _victims(chosen),
        "lost_node_seconds": chosen.lost_node_seconds,
        "frontier": [
            {"start": point.start, "lost_node_seconds": point.lost_node_seconds, "victims": _victims(point)}
            for point in decision.frontier
        ],
    }
    if isinstance(snapshot, SharedSnapshot):
        gone = np.union1d(np.flatnonzero(snapshot.expected_end <= chosen.start), np.array(chosen.places, np.int64))
        fits = (snapshot.offered(gone) >= snapshot.asked_for(request)).all(axis=1)
        found["nodes"] = [snapshot.node_names[place] for place in np.flatnonzero(fits)[: request.nodes].tolist()]
    return found


def _victims(point: Point) -> list[dict[str, Any]]:
    return [{"id": victim.id, "how": victim.how, "loss": victim.loss} for victim in point.victims]
