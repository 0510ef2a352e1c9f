"""The laws of a model as terms that an engine can add up."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags
from countwise.base.term import Term
from countwise.data.attributes import Nominal
from countwise.data.schema import Schema
from countwise.discriminant import density as normal
from countwise.distributions.binned import RangesDensity
from countwise.distributions.categorical import CategoricalDensity
from countwise.distributions.gaussian import GaussianDensity
from countwise.distributions.poisson import PoissonDensity
from countwise.errors import OptionError
from countwise.scoring.plan import Cut, Joint, LookupTerm, NormalTerm, Number, Presence, Rate

__all__ = ["terms_of"]

_MOST_NUMBERS = 8000  # of laws for patterns of gaps, that are written down beforehand
_MOST_OF_ONE_GAP = 100_000  # the same, for gaps in one column alone
_MOST_GROUPS = 50  # columns whose gaps are told apart by a key of whole numbers


def terms_of(part: Term, density: Any, tally: Any, schema: Schema) -> list[Any]:
    """What a part adds; a law that no engine can compute is refused by name."""
    chosen = getattr(density, "law", density) if hasattr(density, "choice") else density
    name = part.columns[0] if part.columns else part.key
    if isinstance(chosen, RangesDensity):
        return [Cut(name, np.asarray(chosen.edges, dtype=np.float64), _laid(chosen)[: len(chosen.edges) + 1])]
    if isinstance(chosen, CategoricalDensity):
        return _of_names(name, part, chosen, schema)
    if isinstance(chosen, GaussianDensity):
        return [] if chosen.constant else [_normal(name, chosen)]
    if isinstance(chosen, PoissonDensity):
        return [] if chosen.constant else [Rate(name, chosen.rate)]
    if isinstance(chosen, normal.DiagonalNormal):
        return _diagonal(part, chosen)
    if isinstance(chosen, normal.MultivariateNormal):
        return [_joint(part, chosen, tally)]
    what = repr(name) if len(part.columns) == 1 else "The row"
    by_name = hasattr(part.rule, "kind")  # one that a user chooses for each column
    raise OptionError(
        f"{what} has a law that no engine can compute: {getattr(chosen, 'rule', part.rule)}.",
        hint="cut it into ranges: distributions={...: 'ranges'}."
        if by_name
        else "naive Bayes with ranges and discriminants can be answered in an engine; predict takes rows.",
    )


def _laid(density: CategoricalDensity) -> Any:
    """Log P(value | class), (values, missing, unseen; classes), as the answer adds it."""
    return density._lookup


def _of_names(name: str, part: Term, density: CategoricalDensity, schema: Schema) -> list[Any]:
    logs = _laid(density)
    if part.how == "missing":
        attribute = schema[name]
        values = attribute.values if isinstance(attribute, Nominal) else None
        return [Presence(name, logs[0], logs[1], values)]
    if part.how == "positive":
        return [Cut(name, np.zeros(1), logs[:2])]
    assert isinstance(density.of, Nominal)  # noqa: S101 - the law of names
    k = len(density.of.values)
    other = logs[k + 1] if density.unseen == "share" else None
    if k == 0 or not logs.any():
        return []  # nothing was ever counted: all classes say the same
    return [LookupTerm(name, density.of.values, logs[:k], other)]


def _normal(name: str, law: GaussianDensity) -> NormalTerm:
    return NormalTerm(name, law.mean, law.inverse_sd, law.log_norm)


def _numbers(part: Term, columns: NDArray[np.intp]) -> tuple[tuple[Number, ...], NDArray[np.intp]]:
    """The numbers in use of a row, and which of them are of one column."""
    vector: Any = part.of
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


def _diagonal(part: Term, law: normal.DiagonalNormal) -> list[Any]:
    """A term a column; one of names is a joint law of its numbers, which do not depend on each other."""
    numbers, groups = _numbers(part, law.columns)
    terms: list[Any] = []
    for g in range(int(groups.max(initial=-1)) + 1):
        own = np.flatnonzero(groups == g)
        if numbers[own[0]].values is None:
            terms += [] if law.laws[own[0]].constant else [_normal(numbers[own[0]].column, law.laws[own[0]])]
            continue
        laws = [law.laws[j] for j in own if not law.laws[j].constant]
        kept = tuple(numbers[j] for j in own if not law.laws[j].constant)
        if laws:
            mean, scale = (np.stack([getattr(one, what) for one in laws], axis=1) for what in ("mean", "inverse_sd"))
            factors = np.stack([np.eye(len(laws)) * row for row in scale])
            norm = np.sum([one.log_norm for one in laws], axis=0)
            terms.append(_listed(kept, np.zeros(len(laws), dtype=np.intp), mean, [_Law(factors=factors, norm=norm)]))
    return terms


class _Law:
    """What a pattern of gaps has: slopes, or factors and constants, of all numbers."""

    def __init__(self, slopes: Any = None, factors: Any = None, norm: Any = None) -> None:
        self.slopes, self.factors, self.norm = slopes, factors, norm


def _joint(part: Term, law: normal.MultivariateNormal, tally: Any) -> Joint:
    numbers, groups = _numbers(part, law.columns)
    met = [there[law.columns] for there, _ in tally.patterns]
    patterns = _patterns(law, groups, met)
    return _listed(numbers, groups, law.mean, [_marginal(law, row[groups]) for row in patterns], patterns)


def _listed(
    numbers: tuple[Number, ...], groups: NDArray[np.intp], mean: Any, laws: list[_Law], patterns: Any = None
) -> Joint:
    """A joint law; with the pattern without any cell, of which no class says anything."""
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


def _marginal(law: normal.MultivariateNormal, there: Flags) -> _Law:
    """The law of the numbers that are there, with zeros for the others."""
    marginal, place = law.marginal(there), np.flatnonzero(there)
    k, n = law.mean.shape
    if marginal.shared:
        slopes = np.zeros((k, n))
        slopes[:, place] = marginal.slopes
        return _Law(slopes=slopes)
    factors = np.zeros((k, n, n))
    factors[:, place[:, None], place[None, :]] = marginal.whitener
    return _Law(factors=factors, norm=marginal.log_norm)


def _patterns(law: normal.MultivariateNormal, groups: NDArray[np.intp], met: Sequence[Flags]) -> Flags:
    """Which columns are there: nothing missing first, then fewer gaps before more, as many as can be written down.

    Gaps in one column come first, then those in any two, and so on as long as there is room for all of a kind; then
    those that were met in training.
    """
    k, n = law.mean.shape
    n_groups = int(groups.max()) + 1
    each = k * (n + 1 if law.shared else 1 + n * (n + 1) // 2)
    found = {(True,) * n_groups: None}
    for gaps in range(1, n_groups):
        room = _MOST_OF_ONE_GAP if gaps == 1 else _MOST_NUMBERS if n_groups <= _MOST_GROUPS else 0
        if (len(found) + comb(n_groups, gaps)) * each > room:
            break
        found |= {tuple(g not in lost for g in range(n_groups)): None for lost in combinations(range(n_groups), gaps)}
    firsts = [int(np.flatnonzero(groups == g)[0]) for g in range(n_groups)]
    for there in met if n_groups <= _MOST_GROUPS else ():
        if len(found) * each < 2 * _MOST_NUMBERS and there.any():
            found[tuple(there[firsts].tolist())] = None
    return np.array(list(found))
