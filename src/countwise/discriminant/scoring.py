"""A discriminant as terms that an engine can sum: one quadratic form for each pattern of missing values."""

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

_MOST_NUMBERS = 8000  # most coefficients of precomputed forms for patterns of missing values
_MOST_OF_ONE = 100_000  # the same for patterns with one missing column
_MOST_GROUPS = 50  # most columns whose missing values can be encoded in one integer key


def _numbers(derived: Derived, columns: NDArray[np.intp]) -> tuple[tuple[Number, ...], NDArray[np.intp]]:
    """Return the used numbers of a row, and the index of the original column of each."""
    vector: Any = derived.of
    every: list[Number] = []
    for a in vector.attributes:
        nominal = isinstance(a, Nominal)
        every += [Number(a.name, value, a.values) for value in a.values] if nominal else [Number(a.name)]
    used = [every[j] for j in columns.tolist()]
    names = list(dict.fromkeys(number.column for number in used))
    return tuple(used), np.array([names.index(number.column) for number in used], dtype=np.intp)


def diagonal_terms(derived: Derived, density: Any) -> list[Any]:
    """Return a term for each column; a nominal one is a joint term of its independent indicator columns."""
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
            known, group = np.ones((1, 1), dtype=bool), np.zeros(len(parts), dtype=np.intp)
            terms.append(_listed(tuple(numbers[j] for j in kept), group, mean, [form], known))
    return terms


def joint_term(derived: Derived, density: Any, tally: Any) -> Joint:
    """Return the joint normal density of the row as a term, with a form for each pattern of missing values."""
    numbers, groups = _numbers(derived, density.columns)
    patterns = _patterns(density, groups, [known[density.columns] for known, _ in tally.patterns])
    forms = [_marginal(density, row[groups]) for row in patterns]
    return _listed(numbers, groups, density.mean, forms, patterns)


def _listed(
    numbers: tuple[Number, ...], groups: NDArray[np.intp], mean: Any, forms: list[dict[str, Any]], known: Flags
) -> Joint:
    """Return a joint term, with one more pattern in which every value is missing and no class gets a contribution."""
    center = mean.mean(axis=0)
    known = np.vstack([known, np.zeros((1, known.shape[1]), dtype=bool)])
    stacks = {name: np.stack([*(form[name] for form in forms), np.zeros_like(one)]) for name, one in forms[0].items()}
    return Joint(numbers, center, mean - center, groups, known, **stacks)


def _marginal(density: Any, known: Flags) -> dict[str, Any]:
    """Return slopes, or factors and norms, of the marginal density of the known numbers; zeros for the others."""
    marginal, place = density.marginal(known), np.flatnonzero(known)
    k, n = density.mean.shape
    if marginal.shared:
        slopes = np.zeros((k, n))
        slopes[:, place] = marginal.slopes
        return {"slopes": slopes}
    factors = np.zeros((k, n, n))
    factors[:, place[:, None], place[None, :]] = marginal.whitener
    return {"factors": factors, "log_norm": marginal.log_norm}


def _patterns(density: Any, groups: NDArray[np.intp], seen: Sequence[Flags]) -> Flags:
    """Return the patterns of known columns: the complete one, then as many patterns of missing values as fit.

    Patterns with one missing column come first, then those with two, and so on while all patterns of a size fit. Then
    the patterns of the training rows follow.
    """
    k, n = density.mean.shape
    n_groups = int(groups.max()) + 1
    each = k * (n + 1 if density.shared else 1 + n * (n + 1) // 2)
    found = {(True,) * n_groups: None}
    for n_missing in range(1, n_groups):
        room = _MOST_OF_ONE if n_missing == 1 else _MOST_NUMBERS if n_groups <= _MOST_GROUPS else 0
        if (len(found) + comb(n_groups, n_missing)) * each > room:
            break
        for missing in combinations(range(n_groups), n_missing):
            found[tuple(g not in missing for g in range(n_groups))] = None
    firsts = [int(np.flatnonzero(groups == g)[0]) for g in range(n_groups)]
    for known in seen if n_groups <= _MOST_GROUPS else ():
        if len(found) * each < 2 * _MOST_NUMBERS and known.any():
            found[tuple(known[firsts].tolist())] = None
    return np.array(list(found))
