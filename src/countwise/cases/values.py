"""What a case may hold: strings, numbers, flags, sets, lists, records and graphs, checked once and copied."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from countwise.errors import TableError
from countwise.working.numbers import number

__all__ = ["LabeledGraph", "Where", "checked", "copied", "counted", "is_number", "key_of", "kind_of", "shown"]

_DEEPEST = 8  # records in records; a file's nesting is limited too
_LARGEST = 1e300  # so that the difference of two numbers is one too
_LONGEST = 60  # letters of a value in an explanation
_MANY = 8  # elements of a set in an explanation
_PLAIN = "strings, numbers, True or False, None, sets, lists, mappings and LabeledGraph are known."


class Where(NamedTuple):
    """Where a value stands, for messages: ``'hotel.stars' of the query``."""

    owner: str  # a case, a query or a solution
    path: str = ""  # the attribute, with dots in records

    def inside(self, name: object) -> Where:
        """One attribute of it."""
        return Where(self.owner, f"{self.path}.{name}" if self.path else str(name))

    def __str__(self) -> str:
        return f"{self.path!r} of {self.owner}" if self.path else self.owner[:1].upper() + self.owner[1:]


@dataclass(frozen=True, eq=False)
class LabeledGraph:
    """Nodes with labels, and edges that may have labels too.

    Parameters
    ----------
    nodes : mapping of node to label
        A node is a name or a whole number.
    edges : iterable of (node, node) or (node, node, label), optional
        At most one edge from a node to another; an edge without a label has the label None.
    directed : bool, default=False
        Whether an edge from a to b is another than one from b to a.

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
            raise TableError("The nodes of a graph are a mapping of node to label.", hint="give {1: 'pump'}.")
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
        """Plain data, for the file of a case base."""
        edges = [list(edge) for edge in self.edges]
        return {"@": "graph", "nodes": list(self.nodes.items()), "edges": edges, "directed": self.directed}

    def __repr__(self) -> str:
        return f"graph of {counted(len(self.nodes), 'node')}, {counted(len(tuple(self.edges)), 'edge')}"


def _node(node: Any) -> str | int:
    if isinstance(node, np.integer):
        return int(node)
    if isinstance(node, bool) or not isinstance(node, str | int):
        raise TableError(f"{node!r} cannot be a node: a node is a name or a whole number.")
    return node


def _edges(nodes: Mapping[str | int, Any], edges: Iterable[Any], directed: bool) -> tuple[tuple[Any, ...], ...]:
    """All edges as (from, to, label), refusing those that lead nowhere and those given twice."""
    seen: dict[tuple[Any, Any], tuple[Any, ...]] = {}
    for edge in edges:
        if not isinstance(edge, tuple | list) or len(edge) not in (2, 3):
            raise TableError(f"{edge!r} is not an edge.", hint="give (node, node) or (node, node, label).")
        a, b = _node(edge[0]), _node(edge[1])
        lost = [node for node in (a, b) if node not in nodes]
        if lost:
            raise TableError(f"An edge leads to node {lost[0]!r}, which the graph does not have.")
        if (a, b) in seen or (not directed and (b, a) in seen):
            raise TableError(f"There are two edges from {a!r} to {b!r}.", hint="put both into one label.")
        seen[a, b] = (a, b, _scalar(edge[2] if len(edge) == 3 else None, Where(f"the label of edge {a!r} - {b!r}")))
    return tuple(seen.values())


def _scalar(value: Any, where: Where) -> Any:
    """A name, a number, a flag or None; NaN is None."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float):
        if isinstance(value, float) and math.isnan(value):
            return None
        if not -_LARGEST <= value <= _LARGEST:
            what = "infinite" if isinstance(value, float) and math.isinf(value) else "too large"
            raise TableError(f"{where} holds a number that is {what}.", hint="use None for what is not known.")
        return value
    raise TableError(f"{where} holds a {type(value).__name__}.", hint=_PLAIN)


def checked(value: Any, where: Where, whole: bool = False, depth: int = 0) -> Any:
    """A copy of a value of a case, refused if it is of no known kind.

    Tuples and one-dimensional arrays become lists, NumPy's numbers Python's, and NaN None. Unless the `whole` is to
    be kept, attributes and elements of lists that are None, and records without attributes, are left out as missing.
    """
    if depth > _DEEPEST:
        raise TableError(f"{where} is nested more than {_DEEPEST} deep.", hint="keep it flat, or as strings.")
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
        raise TableError(f"{where} is a set of other things than strings and numbers.", hint="give a list.")
    elements = frozenset(_scalar(element, where) for element in value)
    if None in elements:
        raise TableError(f"{where} is a set with None in it.", hint="leave it out.")
    return elements


def _name(name: Any, where: Where) -> str:
    if not isinstance(name, str):
        raise TableError(f"{where} has an attribute {name!r}; attributes have names that are strings.")
    return name


def copied(value: Any) -> Any:
    """A copy that may be changed without changing the base."""
    if isinstance(value, Mapping):
        return {name: copied(v) for name, v in value.items()}
    if isinstance(value, AbstractSet):
        return set(value)
    return [copied(v) for v in value] if isinstance(value, list) else value


def is_number(value: Any) -> bool:
    """Whether a value is a number; True and False are not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def kind_of(value: Any) -> str:
    """What a checked value is: name, number, flag, set, list, record or graph."""
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
    """What equal values have in common, and others do not: 1 and 1.0 are equal, 1 and True are not."""
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


def counted(n: int, what: str) -> str:
    """A number of things: ``1 edge``, ``2 edges``."""
    return f"{n} {what}{'s' * (n != 1)}"


def shown(value: Any, longest: int = _LONGEST) -> str:
    """A value as a person would write it, on one line."""
    text = " ".join(_shown(value).split())
    return text if len(text) <= longest else text[: longest - 1] + "…"


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, AbstractSet):
        first = [shown(v) for v in sorted(value, key=lambda v: (kind_of(v), v))[:_MANY]]
        rest = [f"{len(value) - _MANY} more"] if len(value) > _MANY else []
        return "{" + ", ".join([*first, *rest]) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(shown(v) for v in value[: _MANY + 1]) + "]"
    if isinstance(value, Mapping):
        return ", ".join(f"{name}: {shown(v)}" for name, v in value.items())
    return number(value) if isinstance(value, float) else str(value)
