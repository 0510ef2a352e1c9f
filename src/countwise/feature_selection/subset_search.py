"""The searches over subsets of attributes: exhaustive, greedy forward, ablation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import ClassVar

from countwise import progress
from countwise.errors import OptionError

__all__ = ["FoundSubset", "Stage", "SubsetScorer", "exhaustive", "greedy"]

Subset = tuple[int, ...]

_EQUAL = 1e-12  # scores closer than this are a tie


class SubsetScorer:
    """Who says how good a subset of attributes is: its mean score over the folds; a new one writes `scores`."""

    how: ClassVar[str]
    d: int  # the number of attributes
    _n_scored = 0

    def scores(self, subsets: list[Subset]) -> list[float]:
        """The score of each subset."""
        raise NotImplementedError

    def adding(self, base: Subset, more: Sequence[int]) -> list[float]:
        """The scores of a subset with each of some attributes added."""
        return self.scores([tuple(sorted((*base, a))) for a in more])

    def dropping(self, base: Subset) -> list[float]:
        """The scores of a subset without each of its own attributes in turn."""
        return self.scores([tuple(a for a in base if a != gone) for gone in base])

    def every(self, sizes: range) -> Iterator[tuple[Subset, float]]:
        """All subsets of some sizes with their scores."""
        subsets = [subset for k in sizes for subset in combinations(range(self.d), k)]
        yield from zip(subsets, self.scores(subsets), strict=True)

    def _report(self, more: int) -> None:
        """So many more subsets are scored: for the progress bar."""
        self._n_scored += more
        listener = progress.current()
        if listener is not None:
            listener(self._n_scored)


@dataclass(frozen=True, slots=True)
class Stage:
    """One step of a search."""

    subset: Subset  # the attributes after it
    score: float
    changed: int | None = None  # the attribute that was added or dropped
    ties: Subset = ()  # attributes that would have done as well


@dataclass(frozen=True, slots=True)
class FoundSubset:
    """What a search found, how it got there, and why it stopped."""

    subset: Subset
    path: list[Stage]
    why: str
    scores: dict[Subset, float]  # of every subset that was scored


def greedy(judge: SubsetScorer, d: int, *, forward: bool, tol: float, wanted: int | None, empty: bool) -> FoundSubset:
    """Add the best attribute, or drop the one that is missed least, until that no longer pays or so many are left.

    An addition must gain more than tol; an omission may lose so much.
    """
    current: Subset = () if forward else tuple(range(d))
    path = [Stage(current, judge.scores([current])[0])] if current or empty else []
    scores = {stage.subset: stage.score for stage in path}
    end = wanted
    why = f"{wanted} attributes were asked for"
    if end is None:
        end = d if forward else int(not empty)
        why = "no attribute is left" if forward else "no attribute is left to drop"
    while len(current) != end:
        changes = [a for a in range(d) if a not in current] if forward else list(current)
        values = judge.adding(current, changes) if forward else judge.dropping(current)
        after = [tuple(sorted({*current} ^ {a})) for a in changes]
        scores.update(zip(after, values, strict=True))
        top = max(values)
        best = [i for i, value in enumerate(values) if value >= top - _EQUAL]  # ties go to the first column
        stage = Stage(after[best[0]], values[best[0]], changes[best[0]], tuple(changes[i] for i in best[1:]))
        before = path[-1].score if path else None
        if wanted is None and before is not None:
            if forward and not stage.score - before > tol + _EQUAL:
                why = f"the best addition changes the score by {stage.score - before:+.6g}, not more than {tol:g}"
                break
            if not forward and before - stage.score > tol + _EQUAL:
                why = f"the best omission loses {before - stage.score:.6g}, more than {tol:g}"
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
