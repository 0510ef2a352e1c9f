"""The searches over subsets of attributes: exhaustive, greedy forward, ablation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import Protocol

from countwise.errors import OptionError

__all__ = ["FoundSubset", "Stage", "SubsetScorer", "backward", "exhaustive", "forward"]

Subset = tuple[int, ...]

_EQUAL = 1e-12  # scores closer than this are a tie


class SubsetScorer(Protocol):
    """Who says how good a subset of attributes is."""

    def score(self, subset: Subset) -> float:
        """The score of a subset."""

    def adding(self, base: Subset, more: Sequence[int]) -> list[float]:
        """The scores of a subset with each of some attributes added."""

    def dropping(self, base: Subset) -> list[float]:
        """The scores of a subset without each of its own attributes in turn."""

    def every(self, sizes: range) -> Iterator[tuple[Subset, float]]:
        """All subsets of some sizes with their scores."""


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a search.

    Parameters
    ----------
    subset : tuple of int
        The attributes after it.
    score : float
        Their score.
    changed : int or None
        The attribute that was added or dropped.
    ties : tuple of int
        Attributes that would have done as well.
    """

    subset: Subset
    score: float
    changed: int | None = None
    ties: Subset = ()


@dataclass(frozen=True, slots=True)
class FoundSubset:
    """What a search found, how it got there, and why it stopped.

    Parameters
    ----------
    subset : tuple of int
        The attributes chosen.
    path : list of Stage
        Every step taken.
    why : str
        Why it stopped.
    scores : dict
        Every subset that was scored.
    """

    subset: Subset
    path: list[Stage]
    why: str
    scores: dict[Subset, float] = field(default_factory=dict)


def forward(judge: SubsetScorer, d: int, *, tol: float, wanted: int | None, empty: bool) -> FoundSubset:
    """Add the best attribute, again and again, while that gains more than tol (or up to so many)."""
    scores: dict[Subset, float] = {}
    path: list[Stage] = []
    current: Subset = ()
    if empty:
        path.append(Stage((), judge.score(())))
        scores[()] = path[0].score
    why = "no attribute is left"
    while len(current) < (d if wanted is None else wanted):
        rest = [a for a in range(d) if a not in current]
        values = judge.adding(current, rest)
        stage = _best(rest, values, lambda a: tuple(sorted((*current, a))))  # noqa: B023 - used at once
        scores.update({tuple(sorted((*current, a))): v for a, v in zip(rest, values, strict=True)})
        if wanted is None and path and not stage.score - path[-1].score > tol + _EQUAL:
            why = f"the best addition changes the score by {stage.score - path[-1].score:+.6g}, not more than {tol:g}"
            break
        path.append(stage)
        current = stage.subset
    else:
        why = f"{wanted} attributes were asked for" if wanted is not None else why
    return FoundSubset(current, path, why, scores)


def backward(judge: SubsetScorer, d: int, *, tol: float, wanted: int | None, empty: bool) -> FoundSubset:
    """Drop the attribute that is missed least, again and again, until that loses more than tol."""
    current: Subset = tuple(range(d))
    path = [Stage(current, judge.score(current))]
    scores = {current: path[0].score}
    least = (0 if empty else 1) if wanted is None else wanted
    why = f"{wanted} attributes were asked for" if wanted is not None else "no attribute is left to drop"
    while len(current) > least:
        values = judge.dropping(current)
        left = [tuple(a for a in current if a != gone) for gone in current]
        scores.update(zip(left, values, strict=True))
        places = dict(zip(current, left, strict=True))
        stage = _best(list(current), values, places.__getitem__)
        if wanted is None and path[-1].score - stage.score > tol + _EQUAL:
            why = f"the best omission loses {path[-1].score - stage.score:.6g}, more than {tol:g}"
            break
        path.append(stage)
        current = stage.subset
    return FoundSubset(current, path, why, scores)


def exhaustive(judge: SubsetScorer, d: int, *, wanted: int | None, empty: bool, limit: int) -> FoundSubset:
    """Score every subset; the fewest attributes win a tie, then the order of the columns."""
    sizes = range(0 if empty else 1, d + 1) if wanted is None else range(wanted, wanted + 1)
    n_subsets = sum(comb(d, k) for k in sizes)
    if n_subsets > limit:
        raise OptionError(
            f"There are {n_subsets} subsets of {d} attributes; the limit is {limit}.",
            hint="direction='forward' or 'backward' looks at far fewer; or raise max_subsets.",
        )
    scores = dict(judge.every(sizes))
    top = max(scores.values())
    ties = sorted((s for s, v in scores.items() if v >= top - _EQUAL), key=lambda s: (len(s), s))
    path = []
    for k in sizes:
        of_size = {s: v for s, v in scores.items() if len(s) == k}
        best = max(of_size.values())
        path.append(Stage(min(s for s, v in of_size.items() if v >= best - _EQUAL), best))
    others = len(ties) - 1
    tied = f"; {others} other subset{'s' * (others > 1)} score{'s' * (others == 1)} as well" if others else ""
    return FoundSubset(ties[0], path, f"all {n_subsets} subsets were scored{tied}", scores)


def _best(attributes: list[int], values: list[float], subset_after: Callable[[int], Subset]) -> Stage:
    """The best of some changes; ties go to the first column."""
    top = max(values)
    best = [a for a, value in zip(attributes, values, strict=True) if value >= top - _EQUAL]
    return Stage(subset_after(best[0]), values[attributes.index(best[0])], best[0], tuple(best[1:]))


def all_subsets(d: int, sizes: range) -> Iterator[Subset]:
    """Subsets by size, then by the order of the columns."""
    for k in sizes:
        yield from combinations(range(d), k)
