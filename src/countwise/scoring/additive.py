"""Predictions of additive models in an engine: the class and its probabilities as new columns of a table."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np

from countwise._kernels.ties import TIE
from countwise._typing import Floats
from countwise.engines import query as nw
from countwise.scoring.expressions import ScoringQuery, binned, first, first_of, real
from countwise.scoring.plan import (
    Cut,
    Joint,
    LookupTerm,
    NormalTerm,
    NumberLookup,
    Presence,
    Rate,
    Scoring,
    exact_bins,
)
from countwise.scoring.sql.dialects import LEAST

__all__ = ["answered"]


def answered(X: Any, scoring: Scoring, *, proba: bool = True, reasons: int = 0) -> Any:
    """Add the predicted class, its probabilities, and the `reasons` columns that support it most to an engine table.

    The result is a lazy table of the same engine.
    """
    k = len(scoring.classes)
    query, predicted, probabilities, named = ScoringQuery.open(X, scoring, proba, reasons)
    plan, sources = _contributions(query, scoring, reasons > 0)
    joint = {
        f"cw_l{c}": nw.total([first(prior), *(nw.col(f"cw_t{i}_{c}") for i in range(len(sources)))])
        for c, prior in enumerate(scoring.prior)
    }
    plan = plan.with_columns(**joint)
    plan = plan.with_columns(cw_top=nw.max_horizontal(*map(nw.col, joint), real(LEAST)))
    results = {predicted: _class(scoring)}
    if proba:
        plan = plan.with_columns(**{f"cw_e{c}": (nw.col(f"cw_l{c}") - nw.col("cw_top")).exp() for c in range(k)})
        plan = plan.with_columns(cw_total=nw.total([nw.col(f"cw_e{c}") for c in range(k)]))
        results |= {name: _posterior(scoring, c) for c, name in enumerate(probabilities)}
    if reasons:
        plan = _with_reasons(plan, sources, k, reasons)
        results |= {name: nw.col(f"cw_reason{r}") for r, name in enumerate(named)}
    return query.given(plan, results)


def _class(scoring: Scoring) -> Any:
    """Return the first class with the largest score; the most probable class a priori if all are impossible."""
    cases = [(_is_best(c), nw.lit(v)) for c, v in enumerate(scoring.classes)]
    found = first_of(cases, nw.lit(scoring.likeliest))
    return found if scoring.whole else nw.when(~nw.col("cw_l0").is_null()).then(found)


def _is_best(c: int) -> Any:
    """Return whether a class has the largest score; rounding errors must not break a tie."""
    return nw.col(f"cw_l{c}") >= nw.col("cw_top") - TIE


def _posterior(scoring: Scoring, c: int) -> Any:
    """Return the posterior of a class; the prior if all classes are impossible."""
    total = nw.col("cw_total")
    divisor = nw.when(total > 0).then(total).otherwise(real(1.0))  # engines may divide before they evaluate CASE
    prior = real(np.exp(scoring.prior[c]))
    found = nw.when(total > 0).then(nw.col(f"cw_e{c}") / divisor).otherwise(prior)
    return found if scoring.whole else nw.when(~nw.col("cw_l0").is_null()).then(found)


def _contributions(query: ScoringQuery, scoring: Scoring, by_column: bool) -> tuple[Any, list[str]]:
    """Add the contribution of each term to each class as columns cw_t…; return the source column of each term too."""
    plan, names = query.frame, list[str]()
    fresh: dict[str, Any] = {}
    for term in scoring.terms:
        if isinstance(term, Joint):
            plan, found = joint_contributions(plan, query, term, by_column, f"{scoring.terms.index(term)}_")
        else:
            found = [(term.column, [_expression(query, term, c) for c in range(len(scoring.classes))])]
        for name, logs in found:
            fresh |= {f"cw_t{len(names)}_{c}": log for c, log in enumerate(logs)}
            names.append(name)
    return (plan.with_columns(**fresh) if fresh else plan), names


def _expression(query: ScoringQuery, term: Any, c: int) -> Any:
    """Return the contribution of a term to a class; 0 where the value is missing."""
    if isinstance(term, NumberLookup):
        x, (edges, places) = query.number(term.column), exact_bins(np.array(term.values))
        other = 0.0 if term.other is None else float(term.other[c])
        logs = [other if i < 0 else float(term.logs[i, c]) for i in places]
        return nw.when(~x.is_null()).then(binned(x, edges, logs)).otherwise(real(0.0))
    if isinstance(term, LookupTerm):
        other = 0.0 if term.other is None else float(term.other[c])
        return query.looked_up(term.column, term.values, term.logs[:, c].tolist(), other)
    if isinstance(term, Presence):
        present = real(term.there[c])
        return nw.when(query.present(term.column)).then(present).otherwise(real(term.missing[c]))
    x = query.number(term.column)
    if isinstance(term, Cut):
        found = binned(x, term.edges, term.logs[:, c].tolist())
    elif isinstance(term, NormalTerm):
        z = (x - float(term.mean[c])) * float(term.inverse_sd[c])
        found = z * z * -0.5 + float(term.log_norm[c])
    else:
        assert isinstance(term, Rate)  # noqa: S101 - there are no other terms
        rate = float(term.rate[c])
        density = x * float(np.log(rate)) - rate if rate > 0 else real(0.0)
        found = nw.when(x >= 0 if rate > 0 else x == 0).then(density).otherwise(real(-np.inf))
    return nw.when(~x.is_null()).then(found).otherwise(real(0.0))


def _with_reasons(plan: Any, sources: list[str], k: int, reasons: int) -> Any:
    """Add the names of the columns that favor the predicted class most over the second best class."""
    next_best = nw.col("cw_next")
    rest = {f"cw_r{c}": nw.when(_is_best(c)).then(real(LEAST)).otherwise(nw.col(f"cw_l{c}")) for c in range(k)}
    plan = plan.with_columns(**rest)
    plan = plan.with_columns(cw_next=nw.max_horizontal(*map(nw.col, rest), real(LEAST)))
    names = list(dict.fromkeys(name for name in sources if name))
    fresh = {}
    for j, name in enumerate(names):
        own = [i for i, source in enumerate(sources) if source == name]
        sums = [nw.total([nw.col(f"cw_t{i}_{c}") for i in own]) for c in range(k)]
        best = first_of([(_is_best(c), sums[c]) for c in range(k)], real(0.0))
        second = first_of([(nw.col(f"cw_r{c}") == next_best, sums[c]) for c in range(k)], real(0.0))
        fresh[f"cw_o{j}"] = best - second
    plan = plan.with_columns(**fresh) if fresh else plan
    odds = dict(zip(fresh, names, strict=True))
    for r in range(reasons):
        plan = plan.with_columns(cw_most=nw.max_horizontal(*map(nw.col, odds), real(0.0)))
        most = first_of([(nw.col(o) == nw.col("cw_most"), nw.lit(name)) for o, name in odds.items()], nw.lit(""))
        reason = f"cw_reason{r}"
        plan = plan.with_columns(**{reason: nw.when(nw.col("cw_most") > 0).then(most).otherwise(nw.lit(""))})
        used = {o: nw.when(nw.col(reason) == n).then(real(0.0)).otherwise(nw.col(o)) for o, n in odds.items()}
        plan = plan.with_columns(**used) if used else plan
    return plan


Contributions = list[tuple[str, list[Any]]]  # a column and its contribution to each class


def joint_contributions(
    plan: Any, query: ScoringQuery, term: Joint, by_column: bool, mark: str = ""
) -> tuple[Any, Contributions]:
    """Add intermediate columns to the plan; return the contributions to each class, if needed by column.

    They are null if a row has a pattern of missing values that the term does not include.
    """
    center = term.center.tolist()
    plan = plan.with_columns(**{f"cw_d{mark}{j}": query.of(n) - center[j] for j, n in enumerate(term.numbers)})
    key = nw.lit(0)
    for j, place in zip(term.firsts, term.marks, strict=True):
        key = key + nw.when(nw.col(f"cw_d{mark}{j}").is_null()).then(nw.lit(place)).otherwise(nw.lit(0))
    plan = plan.with_columns(**{f"cw_gap{mark}": key.cast(nw.Int64)})
    deviations = {name: nw.col(name) for name in (f"cw_d{mark}{j}" for j in range(len(center)))}
    zeros = {name: nw.when(x.is_null()).then(real(0.0)).otherwise(x) for name, x in deviations.items()}
    plan = plan.with_columns(**zeros)
    return _shared(plan, term, mark) if term.factors is None else _separate(plan, term, by_column, mark)


def _by_pattern(term: Joint, numbers: Floats, mark: str) -> Any:
    """Return the number of the pattern of missing values; null if the term does not include the pattern."""
    key = nw.col(f"cw_gap{mark}")
    complete = nw.when(key == 0).then(real(numbers[0]))
    null, values = nw.when(key < 0).then(real(0.0)), [float(x) for x in numbers[1:]]
    return complete.otherwise(key.replace_strict(term.keys[1:], values, default=null, return_dtype=nw.Float64))


def _shared(plan: Any, term: Joint, mark: str) -> tuple[Any, Contributions]:
    assert term.slopes is not None  # noqa: S101 - a shared covariance has slopes
    found: dict[str, list[Any]] = {}
    for j, n in enumerate(term.numbers):
        logs = [
            _by_pattern(term, term.slopes[:, c, j], mark) * (nw.col(f"cw_d{mark}{j}") - 0.5 * float(away[j]))
            for c, away in enumerate(term.away)
        ]
        _add(found, n.column, logs)
    return plan, list(found.items())


def _separate(plan: Any, term: Joint, by_column: bool, mark: str) -> tuple[Any, Contributions]:
    assert term.factors is not None  # noqa: S101 - separate covariances have factors
    assert term.log_norm is not None  # noqa: S101 - and normalizing constants
    k, n = term.away.shape
    away = [[nw.col(f"cw_d{mark}{j}") - float(term.away[c, j]) for j in range(n)] for c in range(k)]
    factors = {f"cw_f{mark}{c}_{r}_{j}": (c, r, j) for c in range(k) for r in range(n) for j in range(r + 1)}
    plan = plan.with_columns(
        **{name: _by_pattern(term, term.factors[(slice(None), *at)], mark) for name, at in factors.items()}
    )
    parts = {}
    for c in range(k):
        for r in range(n):
            products = [nw.col(f"cw_f{mark}{c}_{r}_{j}") * away[c][j] for j in range(r + 1)]
            parts[f"cw_y{mark}{c}_{r}"] = reduce(add, products)
    plan = plan.with_columns(**parts)
    found: dict[str, list[Any]] = {"": [_by_pattern(term, term.log_norm[:, c], mark) for c in range(k)]}
    for r, number in enumerate(term.numbers):
        name = number.column if by_column else ""
        logs = [
            _column_part(f"{mark}{c}", r, n, away[c][r]) if by_column else nw.col(f"cw_y{mark}{c}_{r}") ** 2 * -0.5
            for c in range(k)
        ]
        _add(found, name, logs)
    return plan, list(found.items())


def _add(found: dict[str, list[Any]], name: str, logs: list[Any]) -> None:
    found[name] = [a + b for a, b in zip(found[name], logs, strict=True)] if name in found else logs


def _column_part(c: str, j: int, n: int, away: Any) -> Any:
    """Return the part of column j in the quadratic form: -½ d_j (Σ⁻¹ d)_j, with the deviations d from the mean."""
    parts = (nw.col(f"cw_f{c}_{r}_{j}") * nw.col(f"cw_y{c}_{r}") for r in range(j, n))
    return away * reduce(add, parts, real(0.0)) * -0.5
