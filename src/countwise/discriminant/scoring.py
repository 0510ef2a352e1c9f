"""A discriminant as terms that an engine can add up: a form for each pattern of missing values."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags
from countwise.data.attributes import Nominal
from countwise.data.derived import Derived
from countwise.scoring.plan import Joint, NormalTerm, Number

__all__ = ["diagonal_terms", "joint_term"]

_MOST_NUMBERS = 8000  # of forms for patterns of missing values, that are written down beforehand
_MOST_OF_ONE = 100_000  # the same, for missing values in one column alone
_MOST_GROUPS = 50  # columns whose missing values are told apart by a key of whole numbers


def _numbers(derived: Derived, columns: NDArray[np.intp]) -> tuple[tuple[Number, ...], NDArray[np.intp]]:
    """The numbers in use of a row, and which of them are of one column."""
    vector: Any = derived.of
    every = [
        number
        for a in vector.attributes
        for number in (
            [Number(a.name, value, a.values) for value in a.values] if isinstance(a, Nominal) else [Number(a.name)]
        )
    ]
    used = [every[j] for j in columns.tolist()]
    names = list(dict.fromkeys(number.column for number in used))
    return tuple(used), np.array([names.index(number.column) for number in used], dtype=np.intp)


def diagonal_terms(derived: Derived, law: Any) -> list[Any]:
    """A term for each column; a nominal one is a joint term of its 0-1 columns, which do not depend on each other."""
    numbers, groups = _numbers(derived, law.columns)
    terms: list[Any] = []
    for g in range(int(groups.max(initial=-1)) + 1):
        own = np.flatnonzero(groups == g)
        if numbers[own[0]].values is None:
            one = law.laws[own[0]]
            terms += (
                [] if one.constant else [NormalTerm(numbers[own[0]].column, one.mean, one.inverse_sd, one.log_norm)]
            )
            continue
        laws = [law.laws[j] for j in own if not law.laws[j].constant]
        kept = tuple(numbers[j] for j in own if not law.laws[j].constant)
        if laws:
            mean, scale = (np.stack([getattr(one, what) for one in laws], axis=1) for what in ("mean", "inverse_sd"))
            factors = np.stack([np.eye(len(laws)) * row for row in scale])
            norm = np.sum([one.log_norm for one in laws], axis=0)
            terms.append(
                _listed(kept, np.zeros(len(laws), dtype=np.intp), mean, [_PatternForm(factors=factors, norm=norm)])
            )
    return terms


class _PatternForm:
    """What a pattern of missing values has: slopes, or factors and constants, of all numbers."""

    def __init__(self, slopes: Any = None, factors: Any = None, norm: Any = None) -> None:
        self.slopes, self.factors, self.norm = slopes, factors, norm


def joint_term(derived: Derived, law: Any, tally: Any) -> Joint:
    """A Gaussian of the whole row, with a form for each pattern of missing values."""
    numbers, groups = _numbers(derived, law.columns)
    met = [there[law.columns] for there, _ in tally.patterns]
    patterns = _patterns(law, groups, met)
    return _listed(numbers, groups, law.mean, [_marginal(law, row[groups]) for row in patterns], patterns)


def _listed(
    numbers: tuple[Number, ...], groups: NDArray[np.intp], mean: Any, laws: list[_PatternForm], patterns: Any = None
) -> Joint:
    """A joint term; with the pattern without any value, of which no class says anything."""
    center = mean.mean(axis=0)
    n_groups = int(groups.max()) + 1
    there = np.ones((1, n_groups), dtype=bool) if patterns is None else patterns
    there = np.vstack([there, np.zeros((1, n_groups), dtype=bool)])
    stacks = {}
    for what, name in (("slopes", "slopes"), ("factors", "factors"), ("norm", "log_norm")):
        first = getattr(laws[0], what)
        if first is not None:
            stacks[name] = np.stack([*(getattr(one, what) for one in laws), np.zeros_like(first)])
    return Joint(numbers, center, mean - center, groups, there, **stacks)


def _marginal(law: Any, there: Flags) -> _PatternForm:
    """The marginal density of the numbers that are there, with zeros for the others."""
    marginal, place = law.marginal(there), np.flatnonzero(there)
    k, n = law.mean.shape
    if marginal.shared:
        slopes = np.zeros((k, n))
        slopes[:, place] = marginal.slopes
        return _PatternForm(slopes=slopes)
    factors = np.zeros((k, n, n))
    factors[:, place[:, None], place[None, :]] = marginal.whitener
    return _PatternForm(factors=factors, norm=marginal.log_norm)


def _patterns(law: Any, groups: NDArray[np.intp], met: Sequence[Flags]) -> Flags:
    """Which columns are there: nothing missing first, then as many patterns of missing values as can be written down.

    One missing column comes first, then any two, and so on as long as there is room for all of a kind; then those
    patterns that training rows had.
    """
    k, n = law.mean.shape
    n_groups = int(groups.max()) + 1
    each = k * (n + 1 if law.shared else 1 + n * (n + 1) // 2)
    found = {(True,) * n_groups: None}
    for gaps in range(1, n_groups):
        room = _MOST_OF_ONE if gaps == 1 else _MOST_NUMBERS if n_groups <= _MOST_GROUPS else 0
        if (len(found) + comb(n_groups, gaps)) * each > room:
            break
        found |= {tuple(g not in lost for g in range(n_groups)): None for lost in combinations(range(n_groups), gaps)}
    firsts = [int(np.flatnonzero(groups == g)[0]) for g in range(n_groups)]
    for there in met if n_groups <= _MOST_GROUPS else ():
        if len(found) * each < 2 * _MOST_NUMBERS and there.any():
            found[tuple(there[firsts].tolist())] = None
    return np.array(list(found))
