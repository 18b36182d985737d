"""The JSON form of a preemption decision: a snapshot with its request in, the decision out.

A document is one object (docs/preemption.md shows it). Its keys are those of `RunningJob` and `Request`, checked
strictly: an unknown key, a wrong type or a number out of range is an error of one line that names the path. A document
with `nodes` instead of `free_nodes` lists nodes with resources, and becomes a `SharedSnapshot`.
"""

from __future__ import annotations

import difflib
import json
from typing import Any

import numpy as np
from pydantic import BaseModel, ValidationError

from cosim.decision_forms import SharedForm, WholeForm, field_at
from cosim.preemption import Decision, Point, starts_to_try
from cosim.shared import SharedSnapshot, whole_nodes_only
from cosim.snapshot import Request, Snapshot
from traces.errors import InputError


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
    if "nodes" in document and "free_nodes" in document:
        raise InputError(
            f"{where}: has nodes and free_nodes, expected one of them: free_nodes to count whole nodes, or nodes to "
            "list them with their resources (a job's nodes and the request's have places of their own)"
        )
    form = SharedForm if "nodes" in document else WholeForm
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
    model, description = field_at(form, problem["loc"])
    if problem["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(problem["loc"][-1]), model.model_fields, n=1)
        hint = f"did you mean {near[0]}?" if near else f"expected one of {', '.join(model.model_fields)}"
        return f"{path[:200]} is not a known key: {hint}"
    if problem["type"] == "missing":
        return f"{path} is missing, expected {description}"
    return f"{path[:200]} is {_shown(problem['input'])}, expected {description}"


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
