"""Answers in the engine: the terms of a model as expressions, the class and its probabilities as new columns."""

from __future__ import annotations

from typing import Any

from countwise.errors import TableError, did_you_mean, listed
from countwise.terms import Cut, Lookup, Normal, Presence, Rate, Scoring

__all__ = ["answered"]

_NEVER = -1e300  # log 0 beside any finite number


def answered(X: Any, scoring: Scoring, *, proba: bool = True, reasons: int = 0) -> Any:
    """The same kind of frame with columns for the class, its probabilities, and what spoke most for it.

    Nothing is computed before the frame is collected.

    Parameters
    ----------
    X : lazy or eager frame of any kind that narwhals knows
    scoring : Scoring
        What is added up.
    proba : bool, default=True
        Whether the probabilities are appended.
    reasons : int, default=0
        How many of the terms that speak most for the answer are named.
    """
    import narwhals.stable.v2 as nw

    frame = nw.from_native(X)
    have = list(frame.collect_schema())
    lost = [t.column for t in scoring.terms if t.column not in have]
    if lost:
        raise TableError(
            f"The table lacks the column{'s' * (len(lost) > 1)} {listed(dict.fromkeys(lost))}.",
            hint=did_you_mean(lost[0], have) or f"it has {listed(have)}.",
        )
    k = len(scoring.classes)
    terms = {f"cw_t{i}_{c}": _expression(t, c) for i, t in enumerate(scoring.terms) for c in range(k)}
    plan = frame.with_columns(**terms) if terms else frame
    joint = {}
    for c in range(k):
        total = nw.lit(_log(scoring.prior[c]))
        for i in range(len(scoring.terms)):
            total = total + nw.col(f"cw_t{i}_{c}")
        joint[f"cw_l{c}"] = total
    logs = [nw.col(name) for name in joint]
    plan = plan.with_columns(**joint).with_columns(cw_top=nw.max_horizontal(*joint) if k > 1 else logs[0])
    plan = plan.with_columns(**{f"cw_e{c}": (logs[c] - nw.col("cw_top")).exp() for c in range(k)})
    total = nw.col("cw_e0")
    for c in range(1, k):
        total = total + nw.col(f"cw_e{c}")
    plan = plan.with_columns(cw_total=total)
    given = {f"predicted {scoring.target}": _class(scoring)}
    if proba:
        given |= {f"P({v})": nw.col(f"cw_e{c}") / nw.col("cw_total") for c, v in enumerate(scoring.classes)}
    plan = plan.with_columns(**given)
    if reasons:
        plan = _with_reasons(plan, scoring, reasons)
        given |= {f"reason {r + 1}": None for r in range(reasons)}
    return plan.select(*have, *given).to_native()


def _log(x: Any) -> float:
    return float(max(float(x), _NEVER))


def _class(scoring: Scoring) -> Any:
    """The first class that has the largest score."""
    import narwhals.stable.v2 as nw

    classes = scoring.classes
    found = nw.lit(classes[-1])
    for c in range(len(classes) - 2, -1, -1):
        found = nw.when(nw.col(f"cw_l{c}") == nw.col("cw_top")).then(nw.lit(classes[c])).otherwise(found)
    return found


def _expression(term: Any, c: int) -> Any:
    """What a term adds for a class; nothing where the cell is missing."""
    import narwhals.stable.v2 as nw

    column = nw.col(term.column)
    if isinstance(term, Lookup):
        logs = [_log(x) for x in term.logs[:, c]]
        if not logs:
            return nw.lit(0.0)
        return column.replace_strict(list(term.values), logs, default=nw.lit(0.0), return_dtype=nw.Float64)
    if isinstance(term, Presence):
        there = column.cast(nw.Float64).is_finite() if term.number else ~column.is_null()
        return nw.when(there).then(_log(term.there[c])).otherwise(_log(term.missing[c]))
    x = column.cast(nw.Float64)
    if isinstance(term, Cut):
        found = nw.lit(_log(term.logs[-1, c]))
        for i in range(len(term.edges) - 1, -1, -1):
            found = nw.when(x <= float(term.edges[i])).then(_log(term.logs[i, c])).otherwise(found)
    elif isinstance(term, Normal):
        away = (x - float(term.mean[c])) * float(term.inverse_sd[c])
        found = away * away * -0.5 + float(term.log_norm[c])
    else:
        assert isinstance(term, Rate)  # noqa: S101 - no other terms are made
        found = x * _log(term.log_rate[c]) - float(term.rate[c])
    return nw.when(x.is_finite()).then(found).otherwise(0.0)


def _with_reasons(plan: Any, scoring: Scoring, reasons: int) -> Any:
    """The columns that speak most for the answer against the next best class, by name."""
    import narwhals.stable.v2 as nw

    k, n = len(scoring.classes), len(scoring.terms)
    rest = [
        nw.when(nw.col(f"cw_l{c}") == nw.col("cw_top")).then(_NEVER).otherwise(nw.col(f"cw_l{c}")).alias(f"cw_r{c}")
        for c in range(k)
    ]
    plan = plan.with_columns(*rest)
    plan = plan.with_columns(cw_next=nw.max_horizontal(*(f"cw_r{c}" for c in range(k))))
    fresh = {}
    for i in range(n):
        won, lost = nw.lit(0.0), nw.lit(0.0)
        for c in range(k - 1, -1, -1):
            own = nw.col(f"cw_t{i}_{c}")
            won = nw.when(nw.col(f"cw_l{c}") == nw.col("cw_top")).then(own).otherwise(won)
            lost = nw.when(nw.col(f"cw_r{c}") == nw.col("cw_next")).then(own).otherwise(lost)
        fresh[f"cw_o{i}"] = won - lost
    plan = plan.with_columns(**fresh)
    for r in range(reasons):
        odds = [f"cw_o{i}" for i in range(n)]
        plan = plan.with_columns(cw_best=nw.max_horizontal(*odds) if n > 1 else nw.col(odds[0]))
        name: Any = nw.lit("")
        for i in range(n - 1, -1, -1):
            name = (
                nw.when(nw.col(f"cw_o{i}") == nw.col("cw_best")).then(nw.lit(scoring.terms[i].column)).otherwise(name)
            )
        plan = plan.with_columns(
            **{f"reason {r + 1}": nw.when(nw.col("cw_best") > 0).then(name).otherwise(nw.lit(""))}
        )
        taken = nw.col(f"reason {r + 1}")
        plan = plan.with_columns(
            **{
                f"cw_o{i}": nw.when(taken == scoring.terms[i].column).then(_NEVER).otherwise(nw.col(f"cw_o{i}"))
                for i in range(n)
            }
        )
    return plan
