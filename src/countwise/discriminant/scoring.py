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
    every: list[Number] = []
    for a in vector.attributes:
        nominal = isinstance(a, Nominal)
        every += [Number(a.name, value, a.values) for value in a.values] if nominal else [Number(a.name)]
    used = [every[j] for j in columns.tolist()]
    names = list(dict.fromkeys(number.column for number in used))
    return tuple(used), np.array([names.index(number.column) for number in used], dtype=np.intp)


def diagonal_terms(derived: Derived, density: Any) -> list[Any]:
    """A term for each column; a nominal one is a joint term of its 0-1 columns, which do not depend on each other."""
    numbers, groups = _numbers(derived, density.columns)
    terms: list[Any] = []
    for g in range(int(groups.max(initial=-1)) + 1):
        own = np.flatnonzero(groups == g)
        if numbers[own[0]].values is None:
            part = density.parts[own[0]]
            if not part.constant:
                terms.append(NormalTerm(numbers[own[0]].column, part.mean, part.inverse_sd, part.log_norm))
            continue
        kept = [j for j in own if not density.parts[j].constant]
        if kept:
            parts = [density.parts[j] for j in kept]
            mean, scale = (np.stack([getattr(p, what) for p in parts], axis=1) for what in ("mean", "inverse_sd"))
            factors = np.stack([np.eye(len(parts)) * row for row in scale])
            form = {"factors": factors, "log_norm": np.sum([p.log_norm for p in parts], axis=0)}
            there, group = np.ones((1, 1), dtype=bool), np.zeros(len(parts), dtype=np.intp)
            terms.append(_listed(tuple(numbers[j] for j in kept), group, mean, [form], there))
    return terms


def joint_term(derived: Derived, density: Any, tally: Any) -> Joint:
    """A Gaussian of the whole row, with a form for each pattern of missing values."""
    numbers, groups = _numbers(derived, density.columns)
    patterns = _patterns(density, groups, [there[density.columns] for there, _ in tally.patterns])
    forms = [_marginal(density, row[groups]) for row in patterns]
    return _listed(numbers, groups, density.mean, forms, patterns)


def _listed(
    numbers: tuple[Number, ...], groups: NDArray[np.intp], mean: Any, forms: list[dict[str, Any]], there: Flags
) -> Joint:
    """A joint term; with the pattern without any value, of which no class says anything."""
    center = mean.mean(axis=0)
    there = np.vstack([there, np.zeros((1, there.shape[1]), dtype=bool)])
    stacks = {name: np.stack([*(form[name] for form in forms), np.zeros_like(one)]) for name, one in forms[0].items()}
    return Joint(numbers, center, mean - center, groups, there, **stacks)


def _marginal(density: Any, there: Flags) -> dict[str, Any]:
    """The marginal density of the numbers that are there, with zeros for the others: slopes, or factors and norms."""
    marginal, place = density.marginal(there), np.flatnonzero(there)
    k, n = density.mean.shape
    if marginal.shared:
        slopes = np.zeros((k, n))
        slopes[:, place] = marginal.slopes
        return {"slopes": slopes}
    factors = np.zeros((k, n, n))
    factors[:, place[:, None], place[None, :]] = marginal.whitener
    return {"factors": factors, "log_norm": marginal.log_norm}


def _patterns(density: Any, groups: NDArray[np.intp], met: Sequence[Flags]) -> Flags:
    """Which columns are there: nothing missing first, then as many patterns of missing values as can be written down.

    One missing column comes first, then any two, and so on as long as there is room for all of a kind; then those
    patterns that training rows had.
    """
    k, n = density.mean.shape
    n_groups = int(groups.max()) + 1
    each = k * (n + 1 if density.shared else 1 + n * (n + 1) // 2)
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
