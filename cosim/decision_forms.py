"""What a decision document may hold: its keys, their types and ranges, as pydantic forms.

The keys are those of `RunningJob`, `Request` and, for nodes with resources, of `cosim.shared`. A field's description is
what an error message says was expected there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from cosim.shared import Node, SharedJob, SharedRequest, SharedSnapshot
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


class WholeForm(_Strict):
    """A document that counts whole nodes."""

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


class SharedForm(_Strict):
    """A document that lists nodes with resources."""

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


def field_at(form: type[BaseModel], steps: Sequence[int | str]) -> tuple[type[BaseModel], str]:
    """Follow a path of keys and places into a form.

    Parameters
    ----------
    form : type
        `WholeForm` or `SharedForm`.
    steps : sequence of int or str
        The path.

    Returns
    -------
    form : type
        The form in which the path ends.
    expected : str
        What is expected there.
    """
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
    (WholeForm, "request"): _RequestForm,
    (WholeForm, "jobs"): _WholeJobForm,
    (SharedForm, "request"): _SharedRequestForm,
    (SharedForm, "jobs"): _SharedJobForm,
    (SharedForm, "nodes"): _NodeForm,
    # Below these, keys are names that people chose.
    (_SharedRequestForm, "per_node"): _Strict,
    (_SharedJobForm, "allocation"): _Strict,
    (_NodeForm, "free"): _Strict,
}

_INSIDE = {_BY_NODE: _BY_RESOURCE, _BY_RESOURCE: "a whole number, at least 0"}
"""What is expected below an object whose keys are names that people chose."""
