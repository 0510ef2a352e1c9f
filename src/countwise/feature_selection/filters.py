"""Filter scores: each attribute is scored by its own contingency table with the class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from countwise import measures
from countwise.errors import OptionError, check_value
from countwise.feature_selection.contingency import Contingency, Filtering
from countwise.feature_selection.pairs import like
from countwise.feature_selection.regression_scores import reduction_scores
from countwise.working import Grid

__all__ = ["ADJUSTED", "SCORES", "attribute_scores", "pmi", "pmi_table", "scored"]

SCORES = ("information_gain", "gain_ratio", "symmetrical_uncertainty", "chi_square", "gini_gain")
ADJUSTED = ("adjusted_gain", "adjusted_chi_square")


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
