"""Scores for a target that is a number: by how much knowing an attribute lowers its spread."""

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

__all__ = ["SPREADS", "spread_scores"]

SPREADS = ("sd_reduction", "variance_reduction")


def spread_scores(X: Any, y: Any, sample_weight: Any, numeric: Any, types: Any) -> dict[str, list[Any]]:
    """A row for each attribute: what is left of the spread of y, which holds numbers, once its value is known.

    Numbers are cut by a rule that needs no class: if `numeric` is None, into ten ranges of equal frequency.
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
        "read_as": f"{size} ranges ({how})" if number else "nominal",
        "values": int(np.count_nonzero(n > 0)),
        "missing": shortfall(whole, float(n.sum())),
        "mean": overall,
        "sd": float(np.sqrt(left / total)) if total > 0 else float("nan"),
        "sd_reduction": measures.sd_reduction(n, mean, m2),
        "variance_reduction": measures.variance_reduction(n, mean, m2),
        "note": "nothing but gaps" if not n.any() else "one value only" if np.count_nonzero(n) == 1 else "",
    }


def _rules(numeric: Any, schema: Schema) -> dict[str, CutRule]:
    """The rule of each column of numbers."""
    named = numeric if isinstance(numeric, Mapping) else {}
    refuse_nominal(named, schema)
    return {name: _unsupervised(named.get(name) if isinstance(numeric, Mapping) else numeric) for name in schema}


def _unsupervised(numeric: Any) -> CutRule:
    how = rule_of("equal_frequency" if numeric is None else numeric)
    if how.supervised:
        raise OptionError(
            f"{how.method!r} looks at classes, and the target is a number.", hint="use 'equal_frequency'."
        )
    return how


def _numbers(target: Any, name: str) -> Any:
    if target.dtype.kind in "OUS":
        try:
            target = numbers_of(target, name)
        except SchemaError as error:
            raise TableError(
                f"The target {name!r} is not a column of numbers.", hint="target='class' scores for classes."
            ) from error
    if target.dtype.kind not in "fiub":
        raise TableError(f"The target {name!r} is not a column of numbers.")
    return target.astype(np.float64)
