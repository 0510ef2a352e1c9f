"""Filters: score each attribute by its own table of counts, whatever its kind, gaps and all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import measures
from countwise.attributes import Attribute, Nominal, Numeric, Ordinal
from countwise.bags import Block, Text
from countwise.conditionals import Bernoulli, Categorical, Gaussian, Ranges
from countwise.cuts import Cuts, How, labels
from countwise.errors import OptionError, did_you_mean, listed
from countwise.frames import Frame
from countwise.learning import Tallying
from countwise.outputs import LIBRARIES, library_of
from countwise.parts import Part
from countwise.schema import Schema
from countwise.tallies import Counts, Moments, Values, Words, shortfall
from countwise.working import Grid

__all__ = ["ADJUSTED", "SCORES", "Contingency", "Filtering", "pmi", "pmi_table", "scored", "scores"]

SCORES = ("information_gain", "gain_ratio", "symmetrical_uncertainty", "chi_square", "gini_gain")
ADJUSTED = ("adjusted_gain", "adjusted_chi_square")


@dataclass(frozen=True, slots=True, eq=False)
class Contingency:
    """The tables of an attribute, or of the two-valued ones that it is read as.

    Parameters
    ----------
    names : list of str
        What each table is of.
    of : Attribute
        The attribute.
    how : str
        As what it was read.
    values : list of str
        The rows of each table.
    tables : ndarray, shape (tables, values, classes)
        How often.
    missing : float
        The weight of missing cells.
    note : str
        What a person should know.
    information : float or None
        Where there are no counts: what the law says.
    """

    names: list[str]
    of: Attribute
    how: str
    values: list[str]
    tables: NDArray[Any]
    missing: float
    note: str = ""
    information: float | None = None


class Filtering(Tallying):
    """The tables of counts of every attribute, from which all scores follow."""

    def __init__(
        self, *, numeric: Any = "mdl", nominal: str = "nominal", ordinal: str = "nominal", types: Any = None
    ) -> None:
        self.numeric = numeric
        self.nominal = nominal
        self.ordinal = ordinal
        self.types = types

    def _kinds(self, frame: Frame) -> Schema:
        if self.nominal not in ("nominal", "binary"):
            raise OptionError(f"nominal={self.nominal!r} is unknown.", hint="give 'nominal' or 'binary'.")
        if self.ordinal not in ("nominal", "binary", "number"):
            raise OptionError(f"ordinal={self.ordinal!r} is unknown.", hint="give 'nominal', 'binary' or 'number'.")
        named = self.numeric if isinstance(self.numeric, Mapping) else {}
        for name in named:
            if name not in frame.columns:
                raise OptionError(
                    f"numeric names {name!r}, which the table does not have.",
                    hint=did_you_mean(name, frame.columns) or f"it has {listed(frame.columns)}.",
                )
        schema = Schema.kinds(frame, self.types)
        refuse_nominal(named, schema, self.ordinal)
        return schema

    def _rule(self, name: str) -> Any:
        spec = self.numeric.get(name, "mdl") if isinstance(self.numeric, Mapping) else self.numeric
        if isinstance(spec, How):
            return Ranges(spec.method, spec.n_bins, spec.n, spec.merge)
        if isinstance(spec, Ranges | Gaussian):
            return spec
        return Gaussian() if isinstance(spec, str) and spec == "gaussian" else Ranges(spec)

    def _parts(self, schema: Schema, target: str) -> list[Part]:
        rules = {Numeric: self._rule, Text: lambda name: Bernoulli(), Block: lambda name: Bernoulli()}
        parts = []
        for a in schema.attributes:
            made = next((rule for kind, rule in rules.items() if isinstance(a, kind)), lambda name: Categorical())
            parts.append(Part(a, made(a.name), (a.name,)))
        return parts

    def _settle(self) -> None:
        from countwise import _kernels
        from countwise.table import threads_for

        parts = self._parts(self.schema_, self.target_.name)
        self.contingencies_ = _kernels.over_items(parts, self._contingency, threads_for(self.n_rows_))
        self._release()

    def _contingency(self, part: Part) -> Contingency:
        tally: Any = self.tallies_[part.key]
        total = float(self.tallies_[self.target_.name].table.sum())
        if isinstance(tally, Counts):
            return self._of_counts(tally, total)
        if isinstance(tally, Values):
            return _of_values(tally, part.rule.how, part.of, total)
        if isinstance(tally, Moments):
            return _of_moments(tally, total)
        return _of_words(tally, total)

    def _of_counts(self, tally: Counts, total: float) -> Contingency:
        of = tally.axes[-1]
        table = tally.table.T  # (values, classes)
        missing = shortfall(total, float(table.sum()))
        names = [str(value) for value in of.values]
        way = self.ordinal if isinstance(of, Ordinal) else self.nominal
        if way == "number":
            how = self._rule(of.name)
            return _of_order(of, table, self.target_, how, total)
        if way == "binary" and len(names) > 1:
            steps = isinstance(of, Ordinal)
            rows = np.cumsum(table[::-1], axis=0)[::-1][1:] if steps else table
            told = [f"{of.name}>{v}" for v in names[:-1]] if steps else [f"{of.name}={v}" for v in names]
            return Contingency(told, of, "binary", ["no", "yes"], _two_valued(rows, table.sum(axis=0)), missing)
        note = "one value only" if len(names) == 1 else "nothing but gaps" if not names else ""
        if total >= 100 and len(names) > 0.9 * total:
            note = "looks like an identifier"
        return Contingency([of.name], of, "nominal", names, table[None], missing, note)


def refuse_nominal(named: Mapping[str, Any], schema: Schema, ordinal: str = "") -> None:
    """A rule for numbers that is named for something else is an error."""
    for name in named:
        a = schema[name]
        if not isinstance(a, Numeric) and not (isinstance(a, Ordinal) and ordinal == "number"):
            raise OptionError(f"numeric names {name!r}, which is {a.kind}.", hint="it says how numbers are read.")


def _two_valued(rows: NDArray[Any], totals: NDArray[Any]) -> NDArray[Any]:
    """Tables (no, yes) x classes of things that are there `rows` times, of `totals` rows."""
    return np.stack([totals - rows, rows], axis=1)


def _of_values(tally: Values, how: How, of: Attribute, total: float, name: str = "") -> Contingency:
    cuts: Cuts = how.cut(tally)
    counts = tally.counts_in(cuts.edges).T
    missing = shortfall(total, float(counts.sum()))
    k = len(cuts.edges) + 1
    read = f"{k} range{'s' * (k > 1)} ({how})"
    note = "; ".join(cuts.notes)
    low, high = tally.bounds
    if not low < high:
        note = "nothing but gaps" if np.isnan(low) else "one value only"
    return Contingency([name or of.name], of, read, list(labels(cuts.edges)), counts[None], missing, note)


def _of_order(of: Nominal, table: NDArray[Any], given: Nominal, rule: Any, total: float) -> Contingency:
    """An ordinal attribute as the numbers 0, 1, 2, ..."""
    places = np.arange(len(table), dtype=np.float64)
    sets = tuple((places[row > 0], row[row > 0]) for row in table.T)
    tally = Values(given, Numeric(of.name), sets)
    if isinstance(rule, Gaussian):
        return _of_moments(tally.moments, total, of)
    found = _of_values(tally, rule.how, of, total)
    return Contingency(found.names, of, f"number, {found.how}", found.values, found.tables, found.missing, found.note)


def _of_moments(tally: Moments, total: float, of: Attribute | None = None) -> Contingency:
    n, mean, m2 = tally.triple
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.where(n > 1, m2 / np.maximum(n - 1, 1e-300), 0.0)
    information = measures.gaussian_information(n, mean, variance)
    note = "a class has fewer than two different values" if np.isnan(information) else ""
    nothing = np.zeros((1, 0, len(n)))
    attribute = of or tally.of
    return Contingency(
        [attribute.name],
        attribute,
        "Gaussian in each class",
        [],
        nothing,
        shortfall(total, float(n.sum())),
        note,
        information,
    )


def _of_words(tally: Words, total: float) -> Contingency:
    n, cells = tally.filled
    words = [str(word) for word in tally.of.words]
    missing = shortfall(total, float(n.sum()))
    if not words:
        nothing = np.zeros((1, 2, len(n)))
        return Contingency(
            [tally.of.name], tally.of, "word there or not", ["no", "yes"], nothing, missing, "no words"
        )
    names = words if isinstance(tally.of, Block) else [f"{tally.of.name}: {word}" for word in words]
    tables = _two_valued(cells.T, n)
    return Contingency(names, tally.of, "word there or not", ["no", "yes"], tables, missing)


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
        "missing": np.full(k, c.missing),
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
    whole = c.tables.dtype.kind in "iu"
    how = adjust if whole else "analytic"
    bias = [measures.expected_information(table, how) for table in c.tables]
    tests = [measures.chi_square(measures.pooled_rare(table)) for table in c.tables]
    return {
        "adjusted_gain": np.asarray(gains) - np.array(bias),
        "adjusted_chi_square": [test[0] if test[1] else np.nan for test in tests],  # NaN: no two values are left
        "adjusted_p_value": [test[2] for test in tests],
    }


def scores(
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    numeric: Any = "mdl",
    nominal: str = "nominal",
    ordinal: str = "nominal",
    adjust: str | None = None,
    target: str = "class",
    types: Any = None,
) -> Any:
    """Score every attribute by what it tells of the class (001), or of a number (002).

    Cells that are missing are left out of their attribute's table, and counted.

    Parameters
    ----------
    X : any table, path, or iterator of frames
        Columns of any kind, with gaps.
    y : array-like or str
        The class of each row, or the name of its column in X.
    sample_weight : array-like or str, optional
        A weight for each row.
    numeric : str, sequence of float, Ranges, "gaussian", or mapping of column to any of these, default="mdl"
        How numbers are read: cut into ranges by a rule (see `Discretizer`), or as Gaussian in
        each class, of which only the information gain follows.
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
        What the columns are, where dtypes do not tell.

    Returns
    -------
    frame of the library that X is of, else Grid
        A row for each attribute, in the order of the columns: attribute, kind, read_as, values,
        missing, entropy (bits), information_gain (mutual information, bits), gain_ratio,
        symmetrical_uncertainty, chi_square, p_value, gini_gain, note. For a number: mean, sd,
        sd_reduction, variance_reduction in place of the last ones.

    Examples
    --------
    >>> from countwise import samples, scores
    >>> tennis = samples.load("tennis")
    >>> found = scores(tennis.X, tennis.y)
    >>> dict(zip(found["attribute"], [round(gain, 4) for gain in found["information_gain"]]))
    {'outlook': 0.2467, 'temperature': 0.0292, 'humidity': 0.1518, 'wind': 0.0481}
    """
    if target not in ("class", "number"):
        raise OptionError(f"target={target!r} is unknown.", hint="give 'class' or 'number'.")
    if target == "number":
        for option, value, usual in (
            ("nominal", nominal, "nominal"),
            ("ordinal", ordinal, "nominal"),
            ("adjust", adjust, None),
        ):
            if value != usual:
                raise OptionError(f"{option}={value!r} has no meaning where the target is a number.")
        from countwise.selection.spread import spread_scores

        return _like(Grid(spread_scores(X, y, sample_weight, numeric, types)), X)
    filters = Filtering(numeric=numeric, nominal=nominal, ordinal=ordinal, types=types)
    filters.fit(X, y, sample_weight)
    return _like(Grid(scored(filters.contingencies_, adjust)), X)


def pmi(X: Any, y: Any = None, *, sample_weight: Any = None, numeric: Any = "mdl", types: Any = None) -> Any:
    """Pointwise mutual information of every value and class (001).

    Parameters
    ----------
    X, y, sample_weight, numeric, types
        As for `scores`.

    Returns
    -------
    frame of the library that X is of, else Grid
        A row for each attribute, value and class: how many rows have both, and
        log₂ [p(value, class) / (p(value) p(class))]: above 0 if they meet more often than chance
        would have it, minus infinity if they never meet.

    Examples
    --------
    >>> from countwise import pmi, samples
    >>> tennis = samples.load("tennis")
    >>> print(pmi({"outlook": tennis.X["outlook"]}, tennis.y))
    attribute  value     class  n  pmi
    outlook    Overcast  No     0  -inf
    outlook    Overcast  Yes    4  0.63743
    outlook    Rain      No     2  0.163499
    outlook    Rain      Yes    3  -0.0995357
    outlook    Sunny     No     3  0.748461
    outlook    Sunny     Yes    2  -0.684498
    """
    filters = Filtering(numeric=numeric, types=types).fit(X, y, sample_weight)
    return _like(Grid(pmi_table(filters)), X)


def pmi_table(filters: Filtering) -> dict[str, list[Any]]:
    """A row for each attribute, value and class."""
    classes = [str(c) for c in filters.target_.values]
    cells = [
        (name, value, label, table[i, c].item(), float(bits[i, c]))
        for name, values, table in _tables(filters.contingencies_)
        for bits in [measures.pmi(table)]
        for i, value in enumerate(values)
        for c, label in enumerate(classes)
    ]
    names = ("attribute", "value", "class", "n", "pmi")
    return {name: [row[j] for row in cells] for j, name in enumerate(names)}


def _tables(found: Sequence[Contingency]) -> Iterator[tuple[str, list[str], NDArray[Any]]]:
    for c in found:
        for name, table in zip(c.names, c.tables, strict=True):
            yield name, c.values, table


def _like(grid: Grid, X: Any) -> Any:
    """The grid as a frame of the library that the user's table is of."""
    library = library_of(X)
    return grid.to_frame(library) if library in LIBRARIES else grid
