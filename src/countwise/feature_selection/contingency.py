"""Contingency tables of attributes of any type: values by classes, without missing values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels, measures
from countwise.base.tally_model import TallyModel
from countwise.base.term import Term
from countwise.cuts import CutRule, Cuts, rule_of, settings_of
from countwise.data.attributes import Attribute, Nominal, Numeric, Ordinal
from countwise.data.derived import AsGiven
from countwise.data.frames import Frame
from countwise.data.schema import Schema
from countwise.data.table import threads_for
from countwise.data.text import Block, Text
from countwise.distributions import Bernoulli, Binned, Categorical, Gaussian
from countwise.errors import OptionError, check_settings, did_you_mean, listed
from countwise.tallies import Counts, Moments, Values, Words, shortfall

__all__ = ["Contingency", "Filtering", "refuse_nominal"]


@dataclass(frozen=True, slots=True, eq=False)
class Contingency:
    """The contingency table of an attribute, or of each of its binary indicators."""

    names: list[str]  # the name of each table
    of: Attribute
    how: str  # how the values were grouped, for the column "read_as"
    values: list[str]  # the rows of each table
    tables: NDArray[Any]  # shape (tables, values, classes)
    missing: float  # the weight of rows with a missing value
    note: str = ""  # a remark for the user
    information: float | None = None  # information gain of Gaussian densities, which have no counts


@dataclass(eq=False, repr=False)
class Filtering(TallyModel):
    """Tally the contingency tables of all attributes, from which all scores are computed."""

    _: KW_ONLY
    numeric: Any = None
    nominal: str = "nominal"
    ordinal: str = "nominal"
    types: Any = None

    def _infer_schema(self, frame: Frame) -> Schema:
        check_settings(self, nominal=("nominal", "binary"), ordinal=("nominal", "binary", "number"))
        named = self.numeric if isinstance(self.numeric, Mapping) else {}
        for name in named:
            if name not in frame.columns:
                raise OptionError(
                    f"numeric refers to column {name!r}, but the table has no such column.",
                    hint=did_you_mean(name, frame.columns) or f"choose among {listed(frame.columns)}.",
                )
        schema = Schema.kinds(frame, self.types)
        refuse_nominal(named, schema, self.ordinal)
        return schema

    def _rule(self, name: str) -> Any:
        spec = self.numeric.get(name) if isinstance(self.numeric, Mapping) else self.numeric
        if (spec if isinstance(spec, str) else getattr(spec, "kind", "")) == "gaussian":
            return Gaussian()
        how = rule_of("mdl" if spec is None else spec)
        return Binned(**settings_of(how))

    def _terms(self, schema: Schema, target: str) -> list[Term]:
        def distribution(a: Attribute) -> Any:
            if isinstance(a, Numeric):
                return self._rule(a.name)
            return Bernoulli() if isinstance(a, Text | Block) else Categorical()

        return [Term(AsGiven(a), distribution(a)) for a in schema.attributes]

    def _estimate(self) -> None:
        parts = self._terms(self.schema_, self.target_.name)
        self.contingencies_ = _kernels.over_items(parts, self._contingency, threads_for(self.n_rows_))
        self._release()

    def _contingency(self, part: Term) -> Contingency:
        tally: Any = self.tallies_[part.key]
        total = float(self.tallies_[self.target_.name].table.sum())
        if isinstance(tally, Counts):
            return self._of_counts(tally, total)
        if isinstance(tally, Values):
            return _of_values(tally, part.distribution.how, part.of, total)
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
            return _of_order(of, table, self.target_, self._rule(of.name), total)
        if way == "binary" and len(names) > 1:
            steps = isinstance(of, Ordinal)
            rows = np.cumsum(table[::-1], axis=0)[::-1][1:] if steps else table
            titles = [f"{of.name}>{v}" for v in names[:-1]] if steps else [f"{of.name}={v}" for v in names]
            return Contingency(titles, of, "binary", ["no", "yes"], _two_valued(rows, table.sum(axis=0)), missing)
        note = "only one value" if len(names) == 1 else "all values missing" if not names else ""
        if total >= 100 and len(names) > 0.9 * total:
            note = "looks like an identifier"
        return Contingency([of.name], of, "nominal", names, table[None], missing, note)


def refuse_nominal(named: Mapping[str, Any], schema: Schema, ordinal: str = "") -> None:
    """Raise an error if a rule for numeric columns is given for a column of another type."""
    for name in named:
        a = schema[name]
        if not isinstance(a, Numeric) and not (isinstance(a, Ordinal) and ordinal == "number"):
            raise OptionError(
                f"numeric refers to column {name!r}, which is {a.kind}; it applies to numeric columns only.",
                hint=f"drop {name!r} from numeric.",
            )


def _two_valued(rows: NDArray[Any], totals: NDArray[Any]) -> NDArray[Any]:
    """Return tables (no, yes) × classes of indicators that are true in `rows` of `totals` rows."""
    return np.stack([totals - rows, rows], axis=1)


def _of_values(tally: Values, how: CutRule, of: Attribute, total: float) -> Contingency:
    cuts: Cuts = how.cut(tally)
    counts = tally.counts_in(cuts.edges).T
    missing = shortfall(total, float(counts.sum()))
    k = len(cuts.edges) + 1
    read = f"{k} bin{'s' * (k > 1)} ({how})"
    note = "; ".join(cuts.notes)
    low, high = tally.bounds
    if not low < high:
        note = "all values missing" if np.isnan(low) else "only one value"
    return Contingency([of.name], of, read, list(cuts.labels), counts[None], missing, note)


def _of_order(of: Nominal, table: NDArray[Any], given: Nominal, rule: Any, total: float) -> Contingency:
    """Return the table of an ordinal attribute whose values are read as the numbers 0, 1, 2, ..."""
    places = np.arange(len(table), dtype=np.float64)
    sets = tuple((places[row > 0], row[row > 0]) for row in table.T)
    tally = Values(given, Numeric(of.name), sets)
    if rule.how is None:
        return _of_moments(tally.moments, total, of)
    found = _of_values(tally, rule.how, of, total)
    return replace(found, how=f"number, {found.how}")


def _of_moments(tally: Moments, total: float, of: Attribute | None = None) -> Contingency:
    n, mean, m2 = tally.triple
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.where(n > 1, m2 / np.maximum(n - 1, 1e-300), 0.0)
    information = measures.gaussian_information(n, mean, variance)
    note = "a class has fewer than two distinct values" if np.isnan(information) else ""
    of, missing = of or tally.of, shortfall(total, float(n.sum()))
    nothing = np.zeros((1, 0, len(n)))
    return Contingency([of.name], of, "Gaussian in each class", [], nothing, missing, note, information)


def _of_words(tally: Words, total: float) -> Contingency:
    (n, cells), of = tally.filled, tally.of
    names = [str(word) if isinstance(of, Block) else f"{of.name}: {word}" for word in of.words]
    tables, note = _two_valued(cells.T, n), ""
    if not names:
        names, tables, note = [of.name], np.zeros((1, 2, len(n))), "no words"
    missing = shortfall(total, float(n.sum()))
    return Contingency(names, of, "word present or absent", ["no", "yes"], tables, missing, note)
