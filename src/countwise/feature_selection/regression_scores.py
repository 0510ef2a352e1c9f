"""Scores for a numeric target: the reduction of its standard deviation and variance given an attribute."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from countwise import measures
from countwise.cuts import CutRule, rule_of
from countwise.data.attributes import Nominal, Numeric
from countwise.data.columns import numbers_of
from countwise.data.derived import free_name
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.errors import OptionError, SchemaError, TableError
from countwise.feature_selection.contingency import refuse_nominal
from countwise.feature_selection.pairs import codes_of
from countwise.sources.labelled_table import labelled
from countwise.tallies import Moments, fill_all, shortfall

__all__ = ["REDUCTIONS", "reduction_scores"]

_NOT_NUMERIC = "The reduction of the standard deviation needs a numeric target, but {!r} is not numeric."
_USE_CLASS = "use target='class' or a score for classes, such as 'information_gain'."

REDUCTIONS = ("sd_reduction", "variance_reduction")


def reduction_scores(X: Any, y: Any, sample_weight: Any, numeric: Any, types: Any) -> dict[str, list[Any]]:
    """Return for each attribute the reductions of the standard deviation and variance of a numeric target.

    Numeric attributes are discretized by an unsupervised rule, by default into ten bins of equal frequency.
    """
    rows = labelled(X, y, sample_weight)
    frame, weights = rows.frame, rows.weights
    numbers = _numbers(rows.y, y if isinstance(y, str) else "y")
    schema = Schema.kinds(frame, types)
    hows = _rules(numeric, schema)
    frame = schema.coded(frame)
    schema = schema.learn(frame)
    codes, sizes = codes_of(schema, schema.encode(frame, weights), hows)
    axes = [Nominal(name, tuple(range(size)), grows=False) for name, size in zip(schema, sizes, strict=True)]
    of = Numeric(free_name(y if isinstance(y, str) else "y", schema))
    table = Table({**dict(zip(schema, codes, strict=True)), of.name: numbers}, len(numbers), weights)
    filled = fill_all({axis.name: Moments(axis, of) for axis in axes}, table)
    whole = float(len(numbers) if weights is None else weights.sum())
    found = [
        _row(schema[name], hows[name], size, filled[name], whole) for name, size in zip(schema, sizes, strict=True)
    ]
    return {name: [row[name] for row in found] for name in found[0]}


def _row(attribute: Any, how: CutRule, size: int, tally: Moments, whole: float) -> dict[str, Any]:
    n, mean, m2 = tally.triple
    number = isinstance(attribute, Numeric)
    total, overall, left = tally.overall
    return {
        "attribute": attribute.name,
        "kind": attribute.kind,
        "read_as": f"{size} bins ({how})" if number else "nominal",
        "values": int(np.count_nonzero(n > 0)),
        "missing": shortfall(whole, float(n.sum())),
        "mean": overall,
        "sd": float(np.sqrt(left / total)) if total > 0 else float("nan"),
        "sd_reduction": measures.sd_reduction(n, mean, m2),
        "variance_reduction": measures.variance_reduction(n, mean, m2),
        "note": "all values missing" if not n.any() else "only one value" if np.count_nonzero(n) == 1 else "",
    }


def _rules(numeric: Any, schema: Schema) -> dict[str, CutRule]:
    """Return the discretization rule of each column."""
    named = numeric if isinstance(numeric, Mapping) else {}
    refuse_nominal(named, schema)
    return {name: _unsupervised(named.get(name) if isinstance(numeric, Mapping) else numeric) for name in schema}


def _unsupervised(numeric: Any) -> CutRule:
    how = rule_of("equal_frequency" if numeric is None else numeric)
    if how.supervised:
        raise OptionError(
            f"numeric={how.method!r} is a supervised method that needs classes, but the target is numeric.",
            hint="use 'equal_frequency'.",
        )
    return how


def _numbers(target: Any, name: str) -> Any:
    if target.dtype.kind in "OUS":
        try:
            target = numbers_of(target, name)
        except SchemaError as error:
            raise TableError(_NOT_NUMERIC.format(name), hint=_USE_CLASS) from error
    if target.dtype.kind not in "fiub":
        raise TableError(_NOT_NUMERIC.format(name), hint=_USE_CLASS)
    return target.astype(np.float64)
