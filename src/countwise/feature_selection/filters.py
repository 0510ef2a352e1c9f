"""Filter scores: each attribute is scored by its own table with the target, a class or a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from countwise import measures
from countwise.cuts import CutRule, midway, rule_of
from countwise.data.attributes import Nominal, Numeric
from countwise.data.columns import numbers_of
from countwise.data.derived import free_name
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.errors import OptionError, SchemaError, TableError, check_value, did_you_mean, listed
from countwise.feature_selection.contingency import Contingency, Filtering, refuse_nominal
from countwise.feature_selection.contingency_table import one_column
from countwise.feature_selection.pairs import codes_of, like
from countwise.sources.labelled_table import labelled
from countwise.tallies import Moments, Values, fill_all, shortfall
from countwise.working import Grid

__all__ = [
    "ADJUSTED",
    "REDUCTIONS",
    "SCORES",
    "attribute_scores",
    "gains_of",
    "pmi",
    "pmi_table",
    "reduction_scores",
    "scored",
    "threshold_gains",
]

SCORES = ("information_gain", "gain_ratio", "symmetrical_uncertainty", "chi_square", "gini_gain")
ADJUSTED = ("adjusted_gain", "adjusted_chi_square")
REDUCTIONS = ("sd_reduction", "variance_reduction")

_NOT_NUMERIC = "The reduction of the standard deviation needs a numeric target, but {!r} is not numeric."
_USE_CLASS = "use target='class' or a score for classes, such as 'information_gain'."


def scored(found: Sequence[Contingency], adjust: str | None) -> dict[str, list[Any]]:
    """Return all scores of all tables, with a column for each measure."""
    check_value("adjust", adjust, (None, "permutation", "analytic"))
    columns: dict[str, list[Any]] = {}
    for contingency in found:
        for name, cells in _rows(contingency, adjust).items():
            columns.setdefault(name, []).extend(np.asarray(cells).tolist())
    return columns


def _rows(c: Contingency, adjust: str | None) -> dict[str, Any]:
    k, tables = len(c.names), c.tables
    unknown = np.full(k, np.nan)
    counted = c.information is None
    statistic, _, p_value = measures.chi_square(tables) if counted else (unknown, unknown, unknown)
    rows: dict[str, Any] = {
        "attribute": c.names,
        "kind": [c.of.kind] * k,
        "read_as": [c.how] * k,
        "values": (tables.sum(axis=-1) > 0).sum(axis=-1) if counted else np.full(k, None),
        "missing": [int(c.missing) if c.missing == int(c.missing) else c.missing] * k,
        "entropy": measures.entropy(tables.sum(axis=-1), axis=-1) if counted else unknown,
        "information_gain": measures.mutual_information(tables) if counted else np.full(k, c.information),
        "gain_ratio": measures.gain_ratio(tables) if counted else unknown,
        "symmetrical_uncertainty": measures.symmetrical_uncertainty(tables) if counted else unknown,
        "chi_square": statistic,
        "p_value": p_value,
        "gini_gain": measures.gini_gain(tables) if counted else unknown,
    }
    if adjust is not None:
        rows |= (
            _adjusted(c, adjust, rows["information_gain"])
            if counted
            else dict.fromkeys(("adjusted_gain", "adjusted_chi_square", "adjusted_p_value"), unknown)
        )
    rows["note"] = [c.note] * k
    return rows


def _adjusted(c: Contingency, adjust: str, gains: Any) -> dict[str, Any]:
    """Return the gain minus its expected value under independence, and χ² with rare values pooled."""
    bias = [measures.expected_information(table, adjust) for table in c.tables]
    tests = [measures.chi_square(measures.pooled_rare(table)) for table in c.tables]
    return {
        "adjusted_gain": np.asarray(gains) - np.array(bias),
        "adjusted_chi_square": [test[0] if test[1] else np.nan for test in tests],  # NaN: one value after pooling
        "adjusted_p_value": [test[2] for test in tests],
    }


def attribute_scores(
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    numeric: Any = None,
    nominal: str = "nominal",
    ordinal: str = "nominal",
    adjust: str | None = None,
    target: str = "class",
    types: Any = None,
) -> Any:
    """Score every attribute by its association with the target, a class or a number.

    Rows with a missing value of an attribute are ignored in the table of that attribute, and counted in the column
    `missing`.

    Parameters
    ----------
    X : any table, path, or iterator of frames
        Columns of any type; missing values are allowed.
    y : array-like or str
        The target of each row, or the name of its column in X.
    sample_weight : array-like or str, optional
        Weight of each row, or the name of its column.
    numeric : str, sequence of float, Binned, 'gaussian', or mapping of column to any of these, optional
        How numeric columns are discretized: a rule or cut points as in `Discretizer`, by default 'mdl'. With
        'gaussian' the information gain is computed from a Gaussian density for each class; the other scores are NaN.
    nominal : {'nominal', 'binary'}, default='nominal'
        Whether a nominal column is scored as one attribute, or as one binary indicator for each value.
    ordinal : {'nominal', 'binary', 'number'}, default='nominal'
        Whether an ordinal column is scored as a nominal one ('nominal'), as one indicator for each threshold
        ('binary'), or as the rank of its value, discretized like a numeric column ('number').
    adjust : {None, 'permutation', 'analytic'}, default=None
        If given, add scores that are corrected for chance: `adjusted_gain` is the information gain minus its expected
        value over all permutations of the rows ('permutation') or the first term of the expansion of that value
        ('analytic'); `adjusted_chi_square` pools the values with an expected count below 5 in some class.
    target : {'class', 'number'}, default='class'
        The type of y. For 'number', the scores are the reductions of the standard deviation and of the variance of y
        (divisor N) given the attribute; numeric columns are discretized into ten bins of equal frequency unless
        `numeric` is another unsupervised rule.
    types : mapping of column to type, str or Schema, optional
        Declared column types; the types of other columns follow from their dtypes.

    Returns
    -------
    data frame of the same library as X, else Grid
        One row for each attribute, in the order of the columns: attribute, kind, read_as, values, missing, entropy
        (bits), information_gain (mutual information, bits), gain_ratio, symmetrical_uncertainty, chi_square, p_value,
        gini_gain, note. With `adjust`, also adjusted_gain, adjusted_chi_square and adjusted_p_value. For a numeric
        target, mean, sd, sd_reduction and variance_reduction replace the scores. A text column has a row for each
        word, which is scored as present or absent.

    See Also
    --------
    FilterSelector : Select attributes by one of these scores.

    Examples
    --------
    >>> from countwise import samples
    >>> from countwise.feature_selection import attribute_scores
    >>> tennis = samples.load("tennis")
    >>> found = attribute_scores(tennis.X, tennis.y)
    >>> dict(zip(found["attribute"], [round(gain, 4) for gain in found["information_gain"]]))
    {'outlook': 0.2467, 'temperature': 0.0292, 'humidity': 0.1518, 'wind': 0.0481}
    """
    check_value("target", target, ("class", "number"))
    if target == "number":
        usual = {"nominal": "nominal", "ordinal": "nominal", "adjust": None}
        for (option, default), value in zip(usual.items(), (nominal, ordinal, adjust), strict=True):
            if value != default:
                raise OptionError(
                    f"{option}={value!r} applies to a class as target, but target='number'.", hint=f"drop {option}."
                )
        return like(Grid(reduction_scores(X, y, sample_weight, numeric, types)), X)
    filters = Filtering(numeric=numeric, nominal=nominal, ordinal=ordinal, types=types)
    filters.fit(X, y, sample_weight)
    return like(Grid(scored(filters.contingencies_, adjust)), X)


def pmi(X: Any, y: Any = None, *, sample_weight: Any = None, numeric: Any = None, types: Any = None) -> Any:
    """Compute the pointwise mutual information of every value and class.

    It is log₂ [p(value, class) / (p(value) p(class))]: positive if value and class occur together more often than
    under independence, and minus infinity if they never occur together.

    Parameters
    ----------
    X : any table, path, or iterator of frames
        Columns of any type; missing values are allowed.
    y : array-like or str
        The class of each row, or the name of its column in X.
    sample_weight : array-like or str, optional
        Weight of each row, or the name of its column.
    numeric : str, sequence of float, Binned, or mapping of column to any of these, optional
        How numeric columns are discretized; see `attribute_scores`.
    types : mapping of column to type, str or Schema, optional
        Declared column types; the types of other columns follow from their dtypes.

    Returns
    -------
    data frame of the same library as X, else Grid
        One row for each attribute, value and class, with the number of rows that have both (n) and the pointwise
        mutual information in bits (pmi).

    Examples
    --------
    >>> from countwise import samples
    >>> from countwise.feature_selection import pmi
    >>> tennis = samples.load("tennis")
    >>> print(pmi({"outlook": tennis.X["outlook"]}, tennis.y))
    attribute  value     class  n         pmi
    outlook    Overcast  No     0        -inf
    outlook    Overcast  Yes    4   0.63743
    outlook    Rain      No     2   0.163499
    outlook    Rain      Yes    3  -0.0995357
    outlook    Sunny     No     3   0.748461
    outlook    Sunny     Yes    2  -0.684498
    """
    filters = Filtering(numeric=numeric, types=types).fit(X, y, sample_weight)
    return like(Grid(pmi_table(filters)), X)


def pmi_table(filters: Filtering) -> dict[str, list[Any]]:
    """Return one row for each attribute, value and class."""
    classes = [str(c) for c in filters.target_.values]
    cells: list[tuple[Any, ...]] = []
    for found in filters.contingencies_:
        for name, table in zip(found.names, found.tables, strict=True):
            bits = measures.pmi(table)
            cells += [
                (name, value, label, table[i, c].item(), float(bits[i, c]))
                for i, value in enumerate(found.values)
                for c, label in enumerate(classes)
                if table[i].any() and table[:, c].any()  # undefined for a value or a class that does not occur
            ]
    names = ("attribute", "value", "class", "n", "pmi")
    return {name: [row[j] for row in cells] for j, name in enumerate(names)}


def threshold_gains(
    X: Any,
    y: Any = None,
    *,
    column: str | None = None,
    thresholds: str = "midway",
    sample_weight: Any = None,
    types: Any = None,
) -> Grid:
    """Compute the information gain and gain ratio of every binary split of a numeric attribute.

    A threshold m divides the rows into those with values <= m and those with values > m. Rows without a value are
    left out.

    Parameters
    ----------
    X : array-like of one column, any table, path, or iterator of frames
        The attribute, or a table that has it.
    y : array-like or str
        The class of each row, or the name of its column in X.
    column : str, optional
        The numeric attribute, if X has several columns.
    thresholds : {'midway', 'values'}, default='midway'
        Whether the thresholds are midway between adjacent values, or the values themselves except for the largest.
        The rows are divided in the same way.
    sample_weight : array-like or str, optional
        Weight of each row, or the name of its column.
    types : mapping of column to type, str or Schema, optional
        Declared column types; the types of other columns follow from their dtypes.

    Returns
    -------
    Grid
        One row for each threshold, in ascending order: threshold, the number of rows of each class below and above
        it, information_gain (bits) and gain_ratio.

    See Also
    --------
    contingency_table : The computation for one threshold m, with ``numeric=[m]``.
    countwise.plots.plot_threshold_gains : Draw the gain against the threshold.

    Examples
    --------
    >>> from countwise.feature_selection import threshold_gains
    >>> print(threshold_gains([60, 70, 70, 85], ["no", "yes", "yes", "no"]))
    threshold  below no  below yes  above no  above yes  information_gain  gain_ratio
         65           1          0         1          2          0.311278    0.383689
         77.5         1          2         1          0          0.311278    0.383689
    """
    check_value("thresholds", thresholds, ("midway", "values"))
    if types is None and not isinstance(sample_weight, str):
        X = one_column(X, y, column)
    # any rule for numeric columns will do: only the values are needed
    filters = Filtering(numeric="equal_width", types=types).fit(X, y, sample_weight)
    return gains_of(filters, column, thresholds)


def gains_of(filters: Filtering, column: Any, thresholds: str) -> Grid:
    """Return the gain of each threshold of a numeric attribute whose values were counted."""
    schema = filters.schema_
    numeric = [name for name in schema if isinstance(schema[name], Numeric)]
    if column is None and len(schema) > 1:
        hint = f"name it: column={numeric[0]!r}." if numeric else "pass a table with a numeric column."
        raise OptionError(f"X has {len(schema)} columns, but the thresholds are those of one.", hint=hint)
    name = next(iter(schema)) if column is None else column
    if not isinstance(name, str) or name not in schema:
        hint = did_you_mean(name, numeric) or f"use one of {listed(numeric)}."
        raise OptionError(f"The table has no attribute {name!r}.", hint=hint)
    tally: Any = filters.tallies_[name]
    if not isinstance(tally, Values):
        raise OptionError(f"{name!r} is {schema[name].kind}; only a numeric attribute has thresholds.")
    classes = filters.target_.values
    values, codes, weights = tally.merged
    distinct, places = np.unique(values, return_inverse=True)
    counts = np.zeros((len(distinct), len(classes)), dtype=np.int64 if weights is None else np.float64)
    np.add.at(counts, (places, codes), 1 if weights is None else weights)
    if counts.dtype.kind == "f" and (counts == np.rint(counts)).all() and counts.sum() < 2**53:
        counts = counts.astype(np.int64)
    below, above = np.cumsum(counts, axis=0)[:-1], np.cumsum(counts[::-1], axis=0)[::-1][1:]
    tables = np.stack([below, above], axis=1)  # (thresholds, 2, classes)
    cuts = midway(distinct[:-1], distinct[1:]) if thresholds == "midway" else distinct[:-1]
    sides = {
        f"{side} {c}": tables[:, i, k] for i, side in enumerate(("below", "above")) for k, c in enumerate(classes)
    }
    scores = {"information_gain": measures.mutual_information(tables), "gain_ratio": measures.gain_ratio(tables)}
    return Grid({"threshold": cuts.tolist()} | {n: cells.tolist() for n, cells in {**sides, **scores}.items()})


# -- scores for a numeric target: the reduction of its standard deviation and variance --------------------------


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
