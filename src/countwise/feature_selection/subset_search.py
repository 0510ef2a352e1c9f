"""Searches over attribute subsets: exhaustive, forward selection, backward elimination."""

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

_EQUAL = 1e-12  # scores that differ by less are a tie


class SubsetScorer:
    """Base class that scores attribute subsets by their mean score over the folds; subclasses define `scores`."""

    how: ClassVar[str]
    d: int  # the number of attributes
    _n_scored = 0

    def scores(self, subsets: list[Subset]) -> list[float]:
        """Return the score of each subset."""
        raise NotImplementedError

    def adding(self, base: Subset, more: Sequence[int]) -> list[float]:
        """Return the scores of a subset with each of some attributes added."""
        return self.scores([tuple(sorted((*base, a))) for a in more])

    def dropping(self, base: Subset) -> list[float]:
        """Return the scores of a subset without each of its attributes in turn."""
        return self.scores([tuple(a for a in base if a != gone) for gone in base])

    def every(self, sizes: range) -> Iterator[tuple[Subset, float]]:
        """Yield all subsets of some sizes with their scores."""
        subsets = [subset for k in sizes for subset in combinations(range(self.d), k)]
        yield from zip(subsets, self.scores(subsets), strict=True)

    def _report(self, more: int) -> None:
        """Advance the progress bar by a number of subsets."""
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
    ties: Subset = ()  # attributes that would give the same score


@dataclass(frozen=True, slots=True)
class FoundSubset:
    """The result of a search: the best subset, the path to it, and the reason for stopping."""

    subset: Subset
    path: list[Stage]
    why: str
    scores: dict[Subset, float]  # every scored subset


def greedy(
    scorer: SubsetScorer, d: int, *, forward: bool, tol: float, wanted: int | None, empty: bool
) -> FoundSubset:
    """Add the best attribute, or drop the least useful one, until the score stops improving or the size is reached.

    An addition must raise the score by more than tol; a removal may lower it by at most tol.
    """
    current: Subset = () if forward else tuple(range(d))
    path = [Stage(current, scorer.scores([current])[0])] if current or empty else []
    scores = {stage.subset: stage.score for stage in path}
    end = wanted
    why = f"the requested number of {wanted} attributes was reached"
    if end is None:
        end = d if forward else int(not empty)
        why = f"no attribute is left to {'add' if forward else 'remove'}"
    while len(current) != end:
        changes = [a for a in range(d) if a not in current] if forward else list(current)
        values = scorer.adding(current, changes) if forward else scorer.dropping(current)
        after = [tuple(sorted({*current} ^ {a})) for a in changes]
        scores.update(zip(after, values, strict=True))
        top = max(values)
        best = [i for i, value in enumerate(values) if value >= top - _EQUAL]  # ties go to the first column
        stage = Stage(after[best[0]], values[best[0]], changes[best[0]], tuple(changes[i] for i in best[1:]))
        before = path[-1].score if path else None
        if wanted is None and before is not None:
            if forward and not stage.score - before > tol + _EQUAL:
                why = (
                    f"the best addition changes the score by {stage.score - before:+.6g}, which is not above {tol:g}"
                )
                break
            if not forward and before - stage.score > tol + _EQUAL:
                why = f"the best removal lowers the score by {before - stage.score:.6g}, which is more than {tol:g}"
                break
        path.append(stage)
        current = stage.subset
    return FoundSubset(current, path, why, scores)


def exhaustive(scorer: SubsetScorer, d: int, *, wanted: int | None, empty: bool, limit: int) -> FoundSubset:
    """Score every subset; ties go to the subset with the fewest attributes, then to the first columns."""
    sizes = range(0 if empty else 1, d + 1) if wanted is None else range(wanted, wanted + 1)
    n_subsets = sum(comb(d, k) for k in sizes)
    if n_subsets > limit:
        raise OptionError(
            f"An exhaustive search of {d} attributes has {n_subsets} subsets; the limit is {limit}.",
            hint="use direction='forward' or 'backward', or increase max_subsets.",
        )
    scores = dict(scorer.every(sizes))
    top = max(scores.values())
    ties = sorted((s for s, v in scores.items() if v >= top - _EQUAL), key=lambda s: (len(s), s))
    path = []
    for k in sizes:
        of_size = {s: v for s, v in scores.items() if len(s) == k}
        best = max(of_size.values())
        path.append(Stage(min(s for s, v in of_size.items() if v >= best - _EQUAL), best))
    others = len(ties) - 1
    tied = f"; {others} other subset{'s have' if others > 1 else ' has'} the same score" if others else ""
    return FoundSubset(ties[0], path, f"all {n_subsets} subsets were scored{tied}", scores)
