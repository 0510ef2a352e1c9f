"""Answers in the engine: the terms of a model as expressions, the class and its probabilities as new columns."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.engines import query as nw
from countwise.scoring.expressions import ScoringQuery, first, first_of, ranged, real
from countwise.scoring.plan import Cut, Joint, LookupTerm, NormalTerm, Presence, Rate, Scoring
from countwise.scoring.sql.dialects import LEAST

__all__ = ["answered"]


def answered(X: Any, scoring: Scoring, *, proba: bool = True, reasons: int = 0) -> Any:
    """The same kind of frame with columns for the class, its probabilities, and the `reasons` that spoke most for it.

    Nothing is computed before the frame is collected.
    """
    k = len(scoring.classes)
    asked, answer, shares, named = ScoringQuery.open(X, scoring, proba, reasons)
    plan, voices = _voices(asked, scoring, reasons > 0)
    joint = {
        f"cw_l{c}": nw.total([first(prior), *(nw.col(f"cw_t{i}_{c}") for i in range(len(voices)))])
        for c, prior in enumerate(scoring.prior)
    }
    plan = plan.with_columns(**joint)
    plan = plan.with_columns(cw_top=nw.max_horizontal(*map(nw.col, joint), real(LEAST)))
    answers = {answer: _class(scoring)}
    if proba:
        plan = plan.with_columns(**{f"cw_e{c}": (nw.col(f"cw_l{c}") - nw.col("cw_top")).exp() for c in range(k)})
        plan = plan.with_columns(cw_total=nw.total([nw.col(f"cw_e{c}") for c in range(k)]))
        answers |= {name: _share(scoring, c) for c, name in enumerate(shares)}
    if reasons:
        plan = _with_reasons(plan, voices, k, reasons)
        answers |= {name: nw.col(f"cw_reason{r}") for r, name in enumerate(named)}
    return asked.given(plan, answers)


def _class(scoring: Scoring) -> Any:
    """The first class that has the largest score; where none can be, that of the prior."""
    cases = [(nw.col(f"cw_l{c}") == nw.col("cw_top"), nw.lit(v)) for c, v in enumerate(scoring.classes)]
    found = first_of(cases, nw.lit(scoring.classes[int(np.argmax(scoring.prior))]))
    return found if scoring.whole else nw.when(~nw.col("cw_l0").is_null()).then(found)


def _share(scoring: Scoring, c: int) -> Any:
    """A class's part of the whole; the prior where no class could have made the row."""
    total = nw.col("cw_total")
    divisor = nw.when(total > 0).then(total).otherwise(real(1.0))  # engines may divide before they choose
    prior = real(np.exp(scoring.prior[c]))
    found = nw.when(total > 0).then(nw.col(f"cw_e{c}") / divisor).otherwise(prior)
    return found if scoring.whole else nw.when(~nw.col("cw_l0").is_null()).then(found)


def _voices(asked: ScoringQuery, scoring: Scoring, apart: bool) -> tuple[Any, list[str]]:
    """The frame with what each term adds for each class as columns cw_t…, and the column that each speaks of."""
    plan, names = asked.frame, list[str]()
    fresh: dict[str, Any] = {}
    for term in scoring.terms:
        if isinstance(term, Joint):
            plan, found = joint_voices(plan, asked, term, apart, f"{scoring.terms.index(term)}_")
        else:
            found = [(term.column, [_expression(asked, term, c) for c in range(len(scoring.classes))])]
        for name, logs in found:
            fresh |= {f"cw_t{len(names)}_{c}": log for c, log in enumerate(logs)}
            names.append(name)
    return (plan.with_columns(**fresh) if fresh else plan), names


def _expression(asked: ScoringQuery, term: Any, c: int) -> Any:
    """What a term adds for a class; nothing where the cell is missing."""
    if isinstance(term, LookupTerm):
        other = 0.0 if term.other is None else float(term.other[c])
        return asked.looked_up(term.column, term.values, term.logs[:, c].tolist(), other)
    if isinstance(term, Presence):
        there = real(term.there[c])
        return nw.when(asked.there(term.column)).then(there).otherwise(real(term.missing[c]))
    x = asked.number(term.column)
    if isinstance(term, Cut):
        found = ranged(x, term.edges, term.logs[:, c].tolist())
    elif isinstance(term, NormalTerm):
        away = (x - float(term.mean[c])) * float(term.inverse_sd[c])
        found = away * away * -0.5 + float(term.log_norm[c])
    else:
        assert isinstance(term, Rate)  # noqa: S101 - no other terms are made
        rate = float(term.rate[c])
        law = x * float(np.log(rate)) - rate if rate > 0 else real(0.0)
        found = nw.when(x >= 0 if rate > 0 else x == 0).then(law).otherwise(real(-np.inf))
    return nw.when(~x.is_null()).then(found).otherwise(real(0.0))


def _with_reasons(plan: Any, voices: list[str], k: int, reasons: int) -> Any:
    """The columns that speak most for the answer against the next best class, by name."""
    top, next_best = nw.col("cw_top"), nw.col("cw_next")
    rest = {
        f"cw_r{c}": nw.when(nw.col(f"cw_l{c}") == top).then(real(LEAST)).otherwise(nw.col(f"cw_l{c}"))
        for c in range(k)
    }
    plan = plan.with_columns(**rest)
    plan = plan.with_columns(cw_next=nw.max_horizontal(*map(nw.col, rest), real(LEAST)))
    names = list(dict.fromkeys(name for name in voices if name))
    fresh = {}
    for j, name in enumerate(names):
        own = [i for i, voice in enumerate(voices) if voice == name]
        said = [nw.total([nw.col(f"cw_t{i}_{c}") for i in own]) for c in range(k)]
        won = first_of([(nw.col(f"cw_l{c}") == top, said[c]) for c in range(k)], real(0.0))
        lost = first_of([(nw.col(f"cw_r{c}") == next_best, said[c]) for c in range(k)], real(0.0))
        fresh[f"cw_o{j}"] = won - lost
    plan = plan.with_columns(**fresh) if fresh else plan
    odds = dict(zip(fresh, names, strict=True))
    for r in range(reasons):
        plan = plan.with_columns(cw_most=nw.max_horizontal(*map(nw.col, odds), real(0.0)))
        most = first_of([(nw.col(o) == nw.col("cw_most"), nw.lit(name)) for o, name in odds.items()], nw.lit(""))
        reason = f"cw_reason{r}"
        plan = plan.with_columns(**{reason: nw.when(nw.col("cw_most") > 0).then(most).otherwise(nw.lit(""))})
        spent = {o: nw.when(nw.col(reason) == n).then(real(0.0)).otherwise(nw.col(o)) for o, n in odds.items()}
        plan = plan.with_columns(**spent) if spent else plan
    return plan


Voices = list[tuple[str, list[Any]]]


def joint_voices(plan: Any, asked: ScoringQuery, term: Joint, apart: bool, mark: str = "") -> tuple[Any, Voices]:
    """The frame with columns on the way, and what each class adds; column by column if they are wanted apart.

    Null where a row has gaps of a pattern that is not listed.
    """
    center = term.center.tolist()
    plan = plan.with_columns(**{f"cw_d{mark}{j}": asked.of(n) - center[j] for j, n in enumerate(term.numbers)})
    key = nw.lit(0)
    for j, place in zip(term.firsts, term.marks, strict=True):
        key = key + nw.when(nw.col(f"cw_d{mark}{j}").is_null()).then(nw.lit(place)).otherwise(nw.lit(0))
    plan = plan.with_columns(**{f"cw_gap{mark}": key.cast(nw.Int64)})
    cells = {name: nw.col(name) for name in (f"cw_d{mark}{j}" for j in range(len(center)))}
    zeros = {name: nw.when(x.is_null()).then(real(0.0)).otherwise(x) for name, x in cells.items()}
    plan = plan.with_columns(**zeros)
    return _shared(plan, term, mark) if term.factors is None else _own(plan, term, apart, mark)


def _by_gaps(term: Joint, numbers: Floats, mark: str) -> Any:
    """A number that depends on the pattern of gaps; null where the pattern is not listed."""
    gap = nw.col(f"cw_gap{mark}")
    there = nw.when(gap == 0).then(real(numbers[0]))
    nothing, values = nw.when(gap < 0).then(real(0.0)), [float(x) for x in numbers[1:]]
    return there.otherwise(gap.replace_strict(term.keys[1:], values, default=nothing, return_dtype=nw.Float64))


def _shared(plan: Any, term: Joint, mark: str) -> tuple[Any, Voices]:
    assert term.slopes is not None  # noqa: S101 - of a shared covariance
    voices: dict[str, list[Any]] = {}
    for j, n in enumerate(term.numbers):
        logs = [
            _by_gaps(term, term.slopes[:, c, j], mark) * (nw.col(f"cw_d{mark}{j}") - 0.5 * float(away[j]))
            for c, away in enumerate(term.away)
        ]
        _add(voices, n.column, logs)
    return plan, list(voices.items())


def _own(plan: Any, term: Joint, apart: bool, mark: str) -> tuple[Any, Voices]:
    assert term.factors is not None  # noqa: S101 - of covariances of their own
    assert term.log_norm is not None  # noqa: S101 - the same
    k, n = term.away.shape
    away = [[nw.col(f"cw_d{mark}{j}") - float(term.away[c, j]) for j in range(n)] for c in range(k)]
    factors = {f"cw_f{mark}{c}_{r}_{j}": (c, r, j) for c in range(k) for r in range(n) for j in range(r + 1)}
    plan = plan.with_columns(
        **{name: _by_gaps(term, term.factors[(slice(None), *at)], mark) for name, at in factors.items()}
    )
    parts = {}
    for c in range(k):
        for r in range(n):
            products = [nw.col(f"cw_f{mark}{c}_{r}_{j}") * away[c][j] for j in range(r + 1)]
            parts[f"cw_y{mark}{c}_{r}"] = reduce(add, products)
    plan = plan.with_columns(**parts)
    voices: dict[str, list[Any]] = {"": [_by_gaps(term, term.log_norm[:, c], mark) for c in range(k)]}
    for r, number in enumerate(term.numbers):
        name = number.column if apart else ""
        said = [
            _said(f"{mark}{c}", r, n, away[c][r]) if apart else nw.col(f"cw_y{mark}{c}_{r}") ** 2 * -0.5
            for c in range(k)
        ]
        _add(voices, name, said)
    return plan, list(voices.items())


def _add(voices: dict[str, list[Any]], name: str, logs: list[Any]) -> None:
    voices[name] = [a + b for a, b in zip(voices[name], logs, strict=True)] if name in voices else logs


def _said(c: str, j: int, n: int, away: Any) -> Any:
    """Of the square the part of a column: its distance from the mean times Σ⁻¹ of all distances."""
    parts = (nw.col(f"cw_f{c}_{r}_{j}") * nw.col(f"cw_y{c}_{r}") for r in range(j, n))
    return away * reduce(add, parts, real(0.0)) * -0.5
