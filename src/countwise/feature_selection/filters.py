"""Filters: score each attribute by its own table of counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from countwise import measures
from countwise.errors import OptionError
from countwise.feature_selection.contingency import Contingency, Filtering
from countwise.feature_selection.pairs import like
from countwise.feature_selection.regression_scores import spread_scores
from countwise.working import Grid

__all__ = ["ADJUSTED", "SCORES", "attribute_scores", "pmi", "pmi_table", "scored"]

SCORES = ("information_gain", "gain_ratio", "symmetrical_uncertainty", "chi_square", "gini_gain")
ADJUSTED = ("adjusted_gain", "adjusted_chi_square")


def scored(found: Sequence[Contingency], adjust: str | None) -> dict[str, list[Any]]:
    """All scores of all tables, a column a measure."""
    if adjust not in (None, "permutation", "analytic"):
        raise OptionError(f"adjust={adjust!r} is unknown.", hint="give None, 'permutation' or 'analytic'.")
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
    """Gain less what chance alone would give; χ² with rare values as one."""
    bias = [measures.expected_information(table, adjust) for table in c.tables]
    tests = [measures.chi_square(measures.pooled_rare(table)) for table in c.tables]
    return {
        "adjusted_gain": np.asarray(gains) - np.array(bias),
        "adjusted_chi_square": [test[0] if test[1] else np.nan for test in tests],  # NaN: no two values are left
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
    """Score every attribute by how much it says about the target: a class, or a number.

    Cells that are missing are left out of their attribute's table, and counted.

    Parameters
    ----------
    X : any table, path, or iterator of frames
        Columns of any kind, with missing values.
    y : array-like or str
        The class of each row, or the name of its column in X.
    sample_weight : array-like or str, optional
        A weight for each row.
    numeric : str, sequence of float, Ranges, "gaussian", or mapping of column to any of these, optional
        How numbers are read: cut into ranges by a rule (see `Discretizer`), by default "mdl"; or as
        Gaussian in each class, of which only the information gain follows.
    nominal : {"nominal", "binary"}, default="nominal"
        As one attribute, or as one two-valued attribute for each value.
    ordinal : {"nominal", "binary", "number"}, default="nominal"
        Without the order; a two-valued attribute for each step; or the number of the value, read
        as `numeric` says.
    adjust : {None, "permutation", "analytic"}, optional
        Add the gain less its mean over all permutations of the rows (or less the first term of
        that mean's expansion), and χ² with values that expect fewer than 5 rows in some class as
        one.
    target : {"class", "number"}, default="class"
        What y is. If it is a number, the scores are by how much knowing the attribute lowers the
        standard deviation and the variance of y (both over N); numbers are cut into ten ranges
        of equal frequency unless `numeric` names another rule that needs no class.
    types : mapping of column to kind, str or Schema, optional
        Declared column types; others follow from dtypes.

    Returns
    -------
    frame of the library that X is of, else Grid
        A row for each attribute, in the order of the columns: attribute, kind, read_as, values,
        missing, entropy (bits), information_gain (mutual information, bits), gain_ratio,
        symmetrical_uncertainty, chi_square, p_value, gini_gain, note. For a number: mean, sd,
        sd_reduction, variance_reduction in place of the last ones.

    Examples
    --------
    >>> from countwise import samples
    >>> from countwise.feature_selection import attribute_scores
    >>> tennis = samples.load("tennis")
    >>> found = attribute_scores(tennis.X, tennis.y)
    >>> dict(zip(found["attribute"], [round(gain, 4) for gain in found["information_gain"]]))
    {'outlook': 0.2467, 'temperature': 0.0292, 'humidity': 0.1518, 'wind': 0.0481}
    """
    if target not in ("class", "number"):
        raise OptionError(f"target={target!r} is unknown.", hint="give 'class' or 'number'.")
    if target == "number":
        usual = {"nominal": "nominal", "ordinal": "nominal", "adjust": None}
        for (option, default), value in zip(usual.items(), (nominal, ordinal, adjust), strict=True):
            if value != default:
                raise OptionError(f"{option}={value!r} has no meaning where the target is a number.")
        return like(Grid(spread_scores(X, y, sample_weight, numeric, types)), X)
    filters = Filtering(numeric=numeric, nominal=nominal, ordinal=ordinal, types=types)
    filters.fit(X, y, sample_weight)
    return like(Grid(scored(filters.contingencies_, adjust)), X)


def pmi(X: Any, y: Any = None, *, sample_weight: Any = None, numeric: Any = None, types: Any = None) -> Any:
    """Pointwise mutual information of every value and class.

    Parameters
    ----------
    X, y, sample_weight, numeric, types
        As for `attribute_scores`.

    Returns
    -------
    frame of the library that X is of, else Grid
        A row for each attribute, value and class: how many rows have both, and
        log₂ [p(value, class) / (p(value) p(class))]: above 0 if they meet more often than chance
        would have it, minus infinity if they never meet.

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
    """A row for each attribute, value and class."""
    classes = [str(c) for c in filters.target_.values]
    cells: list[tuple[Any, ...]] = []
    for found in filters.contingencies_:
        for name, table in zip(found.names, found.tables, strict=True):
            bits = measures.pmi(table)
            cells += [
                (name, value, label, table[i, c].item(), float(bits[i, c]))
                for i, value in enumerate(found.values)
                for c, label in enumerate(classes)
                if table[i].any() and table[:, c].any()  # a value or class that never was has no probability
            ]
    names = ("attribute", "value", "class", "n", "pmi")
    return {name: [row[j] for row in cells] for j, name in enumerate(names)}
