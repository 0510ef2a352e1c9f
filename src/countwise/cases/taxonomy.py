"""Similarity of concepts in a taxonomy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any, ClassVar

from countwise.cases.similarities import Similarity
from countwise.cases.values import Where
from countwise.errors import OptionError, TableError, did_you_mean, listed

__all__ = ["TaxonomySimilarity"]


@dataclass(frozen=True)
class TaxonomySimilarity(Similarity):
    """Similarity of concepts in a taxonomy (Wu and Palmer).

    .. math:: s(q, c) = 2 depth(common ancestor) / (depth(q) + depth(c))

    The common ancestor is the deepest concept that is equal to or above both concepts. The depth of a concept is its
    number of steps from the root. Equal concepts have similarity 1. Concepts with only the root in common have
    similarity 0 if `root_depth` is 0. If the taxonomy has several roots, an unnamed root is added above them.

    Parameters
    ----------
    tree : nested mapping, mapping of child to parent, or iterable of pairs (child, parent)
        The taxonomy of concepts, which are strings. In a nested mapping, leaves are elements of a list, or keys with
        the value {} or None.
    root_depth : {0, 1}, default=0
        Depth of the root. With 1, concepts with only the root in common have a similarity above 0.
    below : bool, default=False
        Whether every concept below the concept in the query has similarity 1.

    References
    ----------
    Wu, Z. and Palmer, M. (1994). Verb semantics and lexical selection. Proceedings of the 32nd Annual Meeting of the
    Association for Computational Linguistics, 133-138.

    Examples
    --------
    >>> from countwise.cases import TaxonomySimilarity
    >>> trips = TaxonomySimilarity({"trip": {"sea": ["bathing", "diving"], "hills": ["hiking"]}})
    >>> trips.between("bathing", "diving"), trips.between("bathing", "hiking")
    (0.5, 0.0)
    """

    tree: Any
    root_depth: int = 0
    below: bool = False
    parents: dict[str, str | None] = field(init=False, repr=False, compare=False, default_factory=dict)
    _paths: dict[str, tuple[str, ...]] = field(init=False, repr=False, compare=False, default_factory=dict)
    word: ClassVar[str] = "taxonomy"
    cheap: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("name",)
    needed: ClassVar[str] = "a concept of the taxonomy"

    def __post_init__(self) -> None:
        if self.root_depth not in (0, 1):
            raise OptionError(f"root_depth must be 0 or 1, not {self.root_depth!r}.")
        for child, parent in _pairs(self.tree):
            if not (isinstance(child, str) and child) or not isinstance(parent, str | None) or parent == "":
                raise OptionError(
                    f"The concept {child!r} with parent {parent!r} is invalid; concepts must be non-empty strings."
                )
            known = self.parents.setdefault(child, parent)
            if known != parent:
                raise OptionError(
                    f"The concept {child!r} has two parents: {listed([known, parent])}.", hint="keep one of them."
                )
        for parent in [p for p in self.parents.values() if p is not None]:
            self.parents.setdefault(parent, None)
        if not self.parents:
            raise OptionError("The taxonomy is empty; at least one concept is needed.")
        object.__setattr__(self, "tree", dict(self.parents))
        self._paths.update(_paths(self.parents))

    def as_setting(self) -> dict[str, Any]:
        """Return the similarity as plain data, with the tree as pairs (child, parent)."""
        return {**super().as_setting(), "tree": list(self.parents.items())}

    def check(self, value: Any, where: Where) -> None:
        """Raise TableError if the value is not a concept of the taxonomy."""
        super().check(value, where)
        if value not in self.parents:
            near = did_you_mean(value, self.parents)
            raise TableError(f"{where} is {value!r}, but the taxonomy has no such concept.", hint=near)

    def between(self, asked: Any, found: Any) -> float:
        """Return the Wu-Palmer similarity of two concepts."""
        if asked == found:
            return 1.0
        if self.below and asked in self._paths[found]:
            return 1.0
        _, common, a, b = self._common(asked, found)
        return 2 * common / (a + b) if a + b else 0.0

    def _common(self, asked: str, found: str) -> tuple[str, int, int, int]:
        """Return the deepest common ancestor, its depth, and the depths of both concepts."""
        one, other = self._paths[asked], self._paths[found]
        shared = sum(1 for _ in takewhile(lambda step: step[0] == step[1], zip(one, other, strict=False)))
        lift = self.root_depth - 1
        return one[shared - 1], (shared + lift if shared else 0), len(one) + lift, len(other) + lift

    def explain(self, asked: Any, found: Any) -> str:
        """Return the common ancestor, and the formula with its numbers."""
        if asked == found:
            return "equal"
        if self.below and asked in self._paths[found]:
            return f"below {asked}"
        above, common, a, b = self._common(asked, found)
        return f"common ancestor {above or '(root)'}: 2 × {common} / ({a} + {b})"


def _pairs(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield pairs (child, parent) from any form of a taxonomy."""
    if isinstance(tree, Mapping):
        if tree and all(isinstance(parent, str) or parent is None for parent in tree.values()) and any(tree.values()):
            yield from tree.items()
        else:
            yield from _nested(tree)
    elif isinstance(tree, Iterable) and not isinstance(tree, str):
        for pair in tree:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise OptionError(f"The taxonomy contains {pair!r}, which is not a pair (child, parent).")
            yield pair[0], pair[1]
    else:
        raise OptionError(
            f"tree must be a mapping or pairs (child, parent), not {tree!r}.",
            hint="pass {'trip': {'sea': ['bathing', 'diving']}}.",
        )


def _nested(tree: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    seen: set[Any] = set()
    waiting: list[tuple[Any, Any]] = [(tree, None)]
    while waiting:
        branch, parent = waiting.pop()
        if branch is None:
            continue
        if isinstance(branch, str) or not isinstance(branch, Mapping | list | tuple | set | frozenset):
            raise OptionError(
                f"The children of {parent!r} must be a mapping or a list, not {branch!r}.",
                hint="pass a mapping or a list.",
            )
        for child in branch:
            if child in seen:
                raise OptionError(f"The concept {child!r} is in the taxonomy twice.", hint="keep one of them.")
            seen.add(child)
            yield child, parent
            if isinstance(branch, Mapping):
                waiting.append((branch[child], child))


def _paths(parents: Mapping[str, str | None]) -> dict[str, tuple[str, ...]]:
    """Return the path from the root to each concept; the root is unnamed if there are several roots."""
    roots = [concept for concept, parent in parents.items() if parent is None]
    paths: dict[str, tuple[str, ...]] = {root: (root,) if len(roots) == 1 else ("", root) for root in roots}
    for concept in parents:
        path: list[str] = []
        here: str | None = concept
        while here is not None and here not in paths:
            if here in path:
                raise OptionError(f"The taxonomy has a cycle: {' < '.join([*path[path.index(here) :], here])}.")
            path.append(here)
            here = parents[here]
        for step in reversed(path):
            above = parents[step]
            paths[step] = (*(paths[above] if above is not None else ()), step)
    return paths
