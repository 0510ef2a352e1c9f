"""Concepts in a tree, and how alike two of them are."""

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
    """2 depth(common) / (depth(asked) + depth(found)), by the deepest concept above both (Wu and Palmer).

    A concept's depth is its number of steps from the root; a concept stands above itself. Equal concepts have 1,
    concepts that have only the root in common 0. A tree with several roots has a nameless one above them.

    Parameters
    ----------
    tree : nested mapping, mapping of child to parent, or pairs (child, parent)
        The concepts, which are strings. In a nested mapping the leaves may be written as a list, or as {} or None.
    root_depth : {0, 1}, default=0
        The depth of the root; with 1 the root is something in common too.
    below : bool, default=False
        Whether asking for a concept is met by every concept below it.

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
            raise OptionError(f"root_depth={self.root_depth!r} is unknown.", hint="give 0 or 1.")
        for child, parent in _pairs(self.tree):
            if not (isinstance(child, str) and child) or not isinstance(parent, str | None) or parent == "":
                raise OptionError(f"{child!r} under {parent!r}: concepts are strings, and not empty.")
            known = self.parents.setdefault(child, parent)
            if known != parent:
                raise OptionError(
                    f"{child!r} has two parents: {listed([known, parent])}.", hint="a tree has one each."
                )
        for parent in [p for p in self.parents.values() if p is not None]:
            self.parents.setdefault(parent, None)
        if not self.parents:
            raise OptionError("The taxonomy is empty.")
        object.__setattr__(self, "tree", dict(self.parents))
        self._paths.update(_paths(self.parents))

    def as_setting(self) -> dict[str, Any]:
        """Plain data, with the tree as pairs (child, parent)."""
        return {**super().as_setting(), "tree": list(self.parents.items())}

    def check(self, value: Any, where: Where) -> None:
        """Only concepts of the tree."""
        super().check(value, where)
        if value not in self.parents:
            near = did_you_mean(value, self.parents)
            raise TableError(f"{where} is {value!r}, which the taxonomy does not have.", hint=near)

    def between(self, asked: Any, found: Any) -> float:
        """By the depth of the deepest common concept."""
        if asked == found:
            return 1.0
        if self.below and asked in self._paths[found]:
            return 1.0
        _, common, a, b = self._common(asked, found)
        return 2 * common / (a + b) if a + b else 0.0

    def _common(self, asked: str, found: str) -> tuple[str, int, int, int]:
        """The deepest concept above both, its depth, and the depths of both."""
        one, other = self._paths[asked], self._paths[found]
        shared = sum(1 for _ in takewhile(lambda step: step[0] == step[1], zip(one, other, strict=False)))
        lift = self.root_depth - 1
        return one[shared - 1], (shared + lift if shared else 0), len(one) + lift, len(other) + lift

    def explain(self, asked: Any, found: Any) -> str:
        """The common concept, and the formula with its numbers."""
        if asked == found:
            return "equal"
        if self.below and asked in self._paths[found]:
            return f"below {asked}"
        above, common, a, b = self._common(asked, found)
        return f"both {above or 'the root'}: 2 × {common} / ({a} + {b})"


def _pairs(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Children with their parents, from any of the forms of a tree."""
    if isinstance(tree, Mapping):
        if tree and all(isinstance(parent, str) or parent is None for parent in tree.values()) and any(tree.values()):
            yield from tree.items()
        else:
            yield from _nested(tree)
    elif isinstance(tree, Iterable) and not isinstance(tree, str):
        for pair in tree:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise OptionError(f"{pair!r} is no pair (child, parent).")
            yield pair[0], pair[1]
    else:
        raise OptionError(f"{tree!r} is no taxonomy.", hint="give {'trip': {'sea': ['bathing', 'diving']}}.")


def _nested(tree: Mapping[Any, Any]) -> Iterator[tuple[Any, Any]]:
    seen: set[Any] = set()
    waiting: list[tuple[Any, Any]] = [(tree, None)]
    while waiting:
        branch, parent = waiting.pop()
        if branch is None:
            continue
        if isinstance(branch, str) or not isinstance(branch, Mapping | list | tuple | set | frozenset):
            raise OptionError(f"{branch!r} under {parent!r} is no part of a tree.", hint="give a mapping or a list.")
        for child in branch:
            if child in seen:
                raise OptionError(f"{child!r} stands in the taxonomy twice.", hint="a concept has one parent.")
            seen.add(child)
            yield child, parent
            if isinstance(branch, Mapping):
                waiting.append((branch[child], child))


def _paths(parents: Mapping[str, str | None]) -> dict[str, tuple[str, ...]]:
    """The way from the root to each concept; a nameless root if there are several."""
    roots = [concept for concept, parent in parents.items() if parent is None]
    paths: dict[str, tuple[str, ...]] = {root: (root,) if len(roots) == 1 else ("", root) for root in roots}
    for concept in parents:
        way: list[str] = []
        here: str | None = concept
        while here is not None and here not in paths:
            if here in way:
                raise OptionError(f"The taxonomy has a cycle: {' < '.join([*way[way.index(here) :], here])}.")
            way.append(here)
            here = parents[here]
        for step in reversed(way):
            above = parents[step]
            paths[step] = (*(paths[above] if above is not None else ()), step)
    return paths
