"""YAML with the line of each value: nodes as PyYAML composes them, every scalar as the text that was written."""

from __future__ import annotations

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from scheduler.workflow.model import at, quoted
from traces.errors import InputError

_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def compose(source: str, text: str) -> Node | None:
    """Parse one YAML document into nodes; nothing in it is ever constructed or run.

    Raises
    ------
    InputError
        Where it is not YAML, with the line.
    """
    try:
        return yaml.compose(text, Loader=_LOADER)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise InputError(f"{at(source, line)}: not YAML: {' '.join(str(error.problem).split())}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(f"{source}: not YAML: {' '.join(str(error).split())[:200]}") from None


def line_of(node: Node) -> int:
    """Return the line of a node, from 1."""
    return int(node.start_mark.line) + 1


def fields(source: str, what: str, node: Node, known: tuple[str, ...] | None = None) -> dict[str, Node]:
    """Return a mapping's values by key.

    Parameters
    ----------
    source, what : str
        The file, and what the mapping is, for messages.
    node : Node
        The mapping; nothing written counts as an empty one.
    known : tuple of str, optional
        The keys that are accepted; any, where it is None.

    Raises
    ------
    InputError
        Where it is no mapping, or has a key twice or one that is not known.
    """
    if isinstance(node, ScalarNode) and node.tag == "tag:yaml.org,2002:null":
        return {}
    if not isinstance(node, MappingNode):
        raise InputError(f"{at(source, line_of(node))}: {what}: expected `key: value` lines")
    found: dict[str, Node] = {}
    for key, value in node.value:
        name = scalar(source, f"{what}: a key", key)
        if name in found:
            raise InputError(f"{at(source, line_of(key))}: {what}: {quoted(name)} is there twice; keep one of them")
        if known is not None and name not in known:
            raise InputError(
                f"{at(source, line_of(key))}: {what}: there is no {quoted(name)}; take one of {', '.join(known)}"
            )
        found[name] = value
    return found


def scalar(source: str, what: str, node: Node) -> str:
    """Return a scalar as it was written.

    Raises
    ------
    InputError
        Where it is none.
    """
    if not isinstance(node, ScalarNode):
        raise InputError(f"{at(source, line_of(node))}: {what}: expected one value")
    return str(node.value)


def scalars(source: str, what: str, node: Node) -> list[str]:
    """Return a list of scalars; one alone is a list of one."""
    if isinstance(node, SequenceNode):
        return [scalar(source, what, item) for item in node.value]
    return [scalar(source, what, node)]
