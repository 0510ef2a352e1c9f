"""Values of cases: strings, numbers, booleans, sets, lists, mappings and graphs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from countwise.errors import TableError
from countwise.working.numbers import counted, number

__all__ = ["LabeledGraph", "Where", "checked", "copied", "is_number", "key_of", "shown", "type_of"]

_DEEPEST = 8  # largest nesting of records, because the nesting of files is limited too
_LARGEST = 1e300  # largest number, so that the difference of two numbers is finite
_LONGEST = 60  # characters of a value in an explanation
_MANY = 8  # elements of a set in an explanation
_PLAIN = "use a string, number, boolean, None, set, list, mapping or LabeledGraph."


class Where(NamedTuple):
    """Location of a value for messages, such as ``'hotel.stars' of the query``."""

    owner: str  # a case, a query or a solution
    path: str = ""  # the attribute; attributes of nested records are written with dots

    def inside(self, name: object) -> Where:
        """Return the location of an attribute."""
        return Where(self.owner, f"{self.path}.{name}" if self.path else str(name))

    def __str__(self) -> str:
        return f"{self.path!r} of {self.owner}" if self.path else self.owner[:1].upper() + self.owner[1:]


@dataclass(frozen=True, eq=False)
class LabeledGraph:
    """Graph with labeled nodes and optionally labeled edges.

    Parameters
    ----------
    nodes : mapping of node to label
        The nodes, which are strings or integers, with their labels.
    edges : iterable of (node, node) or (node, node, label), default=()
        The edges, at most one from a node to another. An edge without a label has the label None.
    directed : bool, default=False
        Whether edges have a direction. If False, an edge from a to b is also one from b to a.

    Examples
    --------
    >>> from countwise.cases import LabeledGraph
    >>> LabeledGraph({1: "pump", 2: "valve"}, [(1, 2, "pipe")])
    graph of 2 nodes, 1 edge
    """

    nodes: Mapping[str | int, Any]
    edges: Iterable[tuple[Any, ...]] = ()
    directed: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.nodes, Mapping):
            raise TableError(
                f"nodes must be a mapping of node to label, not {type(self.nodes).__name__}.",
                hint="pass {1: 'pump'}.",
            )
        nodes = {
            _node(node): _scalar(label, Where(f"the label of node {node!r}")) for node, label in self.nodes.items()
        }
        object.__setattr__(self, "nodes", MappingProxyType(nodes))
        object.__setattr__(self, "edges", _edges(nodes, self.edges, bool(self.directed)))
        object.__setattr__(self, "directed", bool(self.directed))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LabeledGraph) and key_of(self) == key_of(other)

    def __hash__(self) -> int:
        return hash(key_of(self))

    def __reduce__(self) -> tuple[type[LabeledGraph], tuple[Any, ...]]:
        return LabeledGraph, (dict(self.nodes), self.edges, self.directed)

    def as_setting(self) -> dict[str, Any]:
        """Return the graph as plain data for the file of a case base.

        Returns
        -------
        dict
            Keys ``@``, ``nodes``, ``edges`` and ``directed``.

        Examples
        --------
        >>> from countwise.cases import LabeledGraph
        >>> LabeledGraph({1: "pump", 2: "valve"}, [(1, 2)]).as_setting()["edges"]
        [[1, 2, None]]
        """
        edges = [list(edge) for edge in self.edges]
        return {"@": "graph", "nodes": list(self.nodes.items()), "edges": edges, "directed": self.directed}

    def __repr__(self) -> str:
        return f"graph of {counted(len(self.nodes), 'node')}, {counted(len(tuple(self.edges)), 'edge')}"


def _node(node: Any) -> str | int:
    if isinstance(node, np.integer):
        return int(node)
    if isinstance(node, bool) or not isinstance(node, str | int):
        raise TableError(f"{node!r} cannot be a node; a node must be a string or an integer.")
    return node


def _edges(nodes: Mapping[str | int, Any], edges: Iterable[Any], directed: bool) -> tuple[tuple[Any, ...], ...]:
    """Return all edges as (from, to, label); raise TableError for unknown nodes and duplicate edges."""
    seen: dict[tuple[Any, Any], tuple[Any, ...]] = {}
    for edge in edges:
        if not isinstance(edge, tuple | list) or len(edge) not in (2, 3):
            raise TableError(f"{edge!r} is not an edge.", hint="pass (node, node) or (node, node, label).")
        a, b = _node(edge[0]), _node(edge[1])
        unknown = [node for node in (a, b) if node not in nodes]
        if unknown:
            raise TableError(f"The edge {a!r} - {b!r} refers to node {unknown[0]!r}, which the graph does not have.")
        if (a, b) in seen or (not directed and (b, a) in seen):
            raise TableError(f"There are two edges from {a!r} to {b!r}.", hint="use one edge with a label for both.")
        seen[a, b] = (a, b, _scalar(edge[2] if len(edge) == 3 else None, Where(f"the label of edge {a!r} - {b!r}")))
    return tuple(seen.values())


def _scalar(value: Any, where: Where) -> Any:
    """Return a string, number, boolean or None; NaN becomes None."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float):
        if isinstance(value, float) and math.isnan(value):
            return None
        if not -_LARGEST <= value <= _LARGEST:
            what = "infinite" if isinstance(value, float) and math.isinf(value) else "too large"
            raise TableError(f"{where} contains a number that is {what}.", hint="use None for a missing value.")
        return value
    raise TableError(f"{where} contains a value of unsupported type {type(value).__name__}.", hint=_PLAIN)


def checked(value: Any, where: Where, whole: bool = False, depth: int = 0) -> Any:
    """Return a normalized copy of a value of a case; raise TableError if its type is not supported.

    Tuples and one-dimensional arrays become lists, NumPy numbers become Python numbers, and NaN becomes None. Unless
    `whole` is True, missing values are removed: attributes and list elements that are None, and empty records.
    """
    if depth > _DEEPEST:
        raise TableError(f"{where} is nested more than {_DEEPEST} levels deep.", hint="use fewer levels, or strings.")
    if isinstance(value, LabeledGraph):
        return value
    if isinstance(value, Mapping):
        record = {_name(k, where): checked(v, where.inside(k), whole, depth + 1) for k, v in value.items()}
        kept = record if whole else {name: v for name, v in record.items() if v is not None}
        return kept if kept or whole or not depth else None
    if isinstance(value, AbstractSet):
        return _checked_set(value, where)
    if isinstance(value, np.ndarray) and value.ndim == 1:
        value = value.tolist()
    if isinstance(value, list | tuple):
        elements = [checked(element, where, whole, depth + 1) for element in value]
        return elements if whole else [element for element in elements if element is not None]
    return _scalar(value, where)


def _checked_set(value: AbstractSet[Any], where: Where) -> frozenset[Any]:
    if any(isinstance(element, tuple | frozenset | LabeledGraph) for element in value):
        raise TableError(
            f"{where} is a set with elements that are not strings, numbers or booleans.", hint="use a list."
        )
    elements = frozenset(_scalar(element, where) for element in value)
    if None in elements:
        raise TableError(f"{where} is a set that contains None.", hint="remove None from the set.")
    return elements


def _name(name: Any, where: Where) -> str:
    if not isinstance(name, str):
        raise TableError(f"{where} has an attribute {name!r}; the names of attributes must be strings.")
    return name


def copied(value: Any) -> Any:
    """Return a copy that can be changed without changing the case base."""
    if isinstance(value, Mapping):
        return {name: copied(v) for name, v in value.items()}
    if isinstance(value, AbstractSet):
        return set(value)
    return [copied(v) for v in value] if isinstance(value, list) else value


def is_number(value: Any) -> bool:
    """Return whether a value is a number; booleans are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def type_of(value: Any) -> str:
    """Return the type of a checked value: name (a string), number, flag (a boolean), set, list, record or graph."""
    if isinstance(value, str):
        return "name"
    if isinstance(value, bool):
        return "flag"
    if is_number(value):
        return "number"
    if isinstance(value, AbstractSet):
        return "set"
    if isinstance(value, list):
        return "list"
    return "graph" if isinstance(value, LabeledGraph) else "record"


def key_of(value: Any) -> Hashable:
    """Return a hashable key that is the same for equal values; 1 and 1.0 are equal, 1 and True are not."""
    if isinstance(value, bool):
        return ("flag", value)
    if isinstance(value, AbstractSet):
        return ("set", frozenset(key_of(element) for element in value))
    if isinstance(value, list | tuple):
        return ("list", tuple(key_of(element) for element in value))
    if isinstance(value, Mapping):
        return ("record", frozenset((name, key_of(v)) for name, v in value.items()))
    if isinstance(value, LabeledGraph):
        nodes = frozenset((node, key_of(label)) for node, label in value.nodes.items())
        ends = tuple if value.directed else frozenset
        edges = frozenset((ends((a, b)), key_of(label)) for a, b, label in value.edges)
        return ("graph", value.directed, nodes, edges)
    return value


def shown(value: Any, longest: int = _LONGEST) -> str:
    """Format a value on one line."""
    text = " ".join(_shown(value).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, AbstractSet):
        first = [shown(v) for v in sorted(value, key=lambda v: (type_of(v), v))[:_MANY]]
        rest = [f"{len(value) - _MANY} more"] if len(value) > _MANY else []
        return "{" + ", ".join([*first, *rest]) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(shown(v) for v in value[: _MANY + 1]) + "]"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {shown(v)}" for name, v in value.items())
    return number(value) if isinstance(value, float) else str(value)
