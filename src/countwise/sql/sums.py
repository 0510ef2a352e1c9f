"""Sums of terms as a query: names are looked up by joins with small tables, numbers enter by arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np

from countwise.errors import OptionError
from countwise.quoting import LEAST, added, number
from countwise.sql.cells import is_any, spelled
from countwise.sql.joint import JointTerm
from countwise.sql.steps import Steps
from countwise.terms import Cut, Joint, Lookup, Normal, Presence, Rate, Scoring, kind_of

__all__ = ["check_form", "scoring_query"]

_FEW = 2  # values for which a CASE is as good as a join
_NEAR = 100.0  # deviations within which a square may be multiplied out
_MANY = 6  # terms from which on DuckDB had better add up rows without gaps by themselves
_MOST_JOINS = 50  # SQLite joins 64 tables


def check_form(form: str) -> None:
    """Refuse a form that there is not."""
    if form not in ("join", "case"):
        raise OptionError(f"form={form!r} is unknown.", hint="give 'join' or 'case'.")


def scoring_query(
    scoring: Scoring, table: str, dialect: str = "duckdb", *, form: str = "join", proba: bool = True
) -> str:
    """The query: all columns of a table, and the class and its probabilities.

    In SQLite, which cannot leave columns out, the sums on the way, named cw…, are among them.

    Parameters
    ----------
    scoring : Scoring
        What is added up.
    table : str
        The table; a name with dots is one of a schema.
    dialect : {"duckdb", "postgres", "spark", "sqlite"}
    form : {"join", "case"}
        Whether names of many values are looked up in small tables, or all by CASE.
    proba : bool
        Whether the probabilities are given too.
    """
    check_form(form)
    return _Sums(scoring, Steps(table, dialect), form).text(proba)


class _Sums:
    def __init__(self, scoring: Scoring, steps: Steps, form: str) -> None:
        self.scoring, self.steps, self.d, self.form = scoring, steps, steps.dialect, form
        self.k = len(scoring.classes)
        self.joins: list[str] = []

    def text(self, proba: bool) -> str:
        d, k = self.d, range(self.k)
        every = [self._term(term) for term in self.scoring.terms]
        sums = {f"cw_l{c}": self._sum(every, c) for c in k}
        self.steps.add("cw_sums", sums, self.joins, once=True)
        logs = list(sums)
        self.steps.add("cw_best", {"cw_top": d.greatest([*logs, number(LEAST)])}, once=self.k > _FEW)
        if proba:
            shares = {f"cw_e{c}": d.power(f"{logs[c]} - cw_top") for c in k}
            self.steps.add("cw_shares", shares, once=self.k > _FEW)
        target, classes = self.scoring.target, self.scoring.classes
        given = {f"predicted {target}": self._class(logs)}
        if proba:
            given |= {f"P({classes[c]})": self._share(c) for c in k}
        return self.steps.text(given)

    def _class(self, logs: list[str]) -> str:
        classes, best = self.scoring.classes, int(np.argmax(self.scoring.prior))
        whens = [f"WHEN {log} = cw_top THEN {self.d.literal(v)}" for log, v in zip(logs, classes, strict=True)]
        if not self.scoring.whole:
            whens.insert(0, f"WHEN {logs[0]} IS NULL THEN NULL")
        return f"CASE {' '.join(whens)} ELSE {self.d.literal(classes[best])} END"

    def _share(self, c: int) -> str:
        """A class's part of the whole; the prior where no class could have made the row."""
        total = added([f"cw_e{i}" for i in range(self.k)])
        share = f"COALESCE(cw_e{c} / NULLIF({total}, 0e0), {number(float(np.exp(self.scoring.prior[c])))})"
        return share if self.scoring.whole else f"CASE WHEN cw_l0 IS NOT NULL THEN {share} END"

    def _sum(self, every: list[Any], c: int) -> str:
        """The sum for a class; DuckDB is quickest at rows that lack nothing if it need not look for gaps."""
        prior = self.d.real(float(self.scoring.prior[c]))
        prior = self.d.cast(prior, "double") if self.d.name == "postgres" else prior  # not a decimal
        careful = added([prior, *(term[1][c] for term in every)], "\n      + ")
        if self.d.name != "duckdb" or len(every) < _MANY:
            return careful
        plain = added([prior, *(term[0][c] for term in every)], "\n      + ")
        return f"COALESCE(\n      {plain},\n      {careful})"

    # -- terms: what each class adds, NULL where something is missing or new; and the same with 0 there -------

    def _term(self, term: Any) -> tuple[list[str], list[str]]:
        if isinstance(term, Lookup):
            return self._lookup(term)
        if isinstance(term, Cut):
            return self._cut(term)
        if isinstance(term, Joint):
            joint = [t for t in self.scoring.terms if isinstance(t, Joint)]
            found = JointTerm(term, self.steps, f"{joint.index(term)}_" if len(joint) > 1 else "")
            self.joins += found.joins
            return found.expressions, found.expressions
        if isinstance(term, Presence):
            cell = self._cell(term)
            pairs = zip(term.there, term.missing, strict=True)
            texts = [
                f"CASE WHEN {cell} IS NULL THEN {self._real(gone)} ELSE {self._real(there)} END"
                for there, gone in pairs
            ]
            return texts, texts
        if isinstance(term, Normal):
            d = self.steps.cells.number(term.column, term.middle)
            plain = [_normal(term, d, c) for c in range(self.k)]
        else:
            assert isinstance(term, Rate)  # noqa: S101 - no other terms are made
            plain = [self._rate(self.steps.cells.number(term.column), float(rate)) for rate in term.rate]
        return plain, [_or_nothing(text) for text in plain]

    def _real(self, x: Any) -> str:
        return self.d.real(float(x))

    def _cell(self, term: Presence) -> str:
        cells = self.steps.cells
        if term.values is not None:
            return cells.name(term.column, term.values)
        normal = [t for t in self.scoring.terms if isinstance(t, Normal) and t.column == term.column]
        return cells.number(term.column, normal[0].middle if normal else 0.0)

    def _rate(self, x: str, rate: float) -> str:
        never = self._real(-np.inf)
        if rate == 0:
            return f"CASE WHEN {x} = 0e0 THEN 0e0 WHEN {x} IS NOT NULL THEN {never} END"
        law = f"{x} * {number(float(np.log(rate)))} - {number(rate)}"
        return f"CASE WHEN {x} >= 0e0 THEN {law} WHEN {x} IS NOT NULL THEN {never} END"

    def _lookup(self, term: Lookup) -> tuple[list[str], list[str]]:
        cell, kind = self.steps.cells.name(term.column, term.values), kind_of(term.values)
        keys = [spelled(self.d, v, kind) for v in term.values]
        plain = self._found(cell, keys, term.logs)
        if term.other is None:
            return plain, [_or_nothing(text) for text in plain]
        careful = [
            f"CASE WHEN {cell} IS NOT NULL THEN COALESCE({text}, {self._real(x)}) ELSE 0e0 END"
            for text, x in zip(plain, term.other, strict=True)
        ]
        return plain, careful

    def _cut(self, term: Cut) -> tuple[list[str], list[str]]:
        x = self.d.cast(self.d.identifier(term.column), "double")
        whens = " ".join(f"WHEN {x} <= {number(float(e))} THEN {i}" for i, e in enumerate(term.edges))
        place = f"CASE {whens} ELSE {len(term.edges)} END" if whens else "0"
        cell = self.steps.cells.named(term.column, f"CASE WHEN {self.d.finite(x)} THEN {place} END")
        plain = self._found(cell, [[str(i)] for i in range(len(term.edges) + 1)], term.logs)
        return plain, [_or_nothing(text) for text in plain]

    def _found(self, cell: str, keys: list[list[str]], logs: Any) -> list[str]:
        """What stands beside a key: for each class, NULL where no key is the cell's."""
        if self.form == "case" or len(keys) <= _FEW or len(self.joins) >= _MOST_JOINS:
            return [self._by_case(cell, keys, logs[:, c]) for c in range(self.k)]
        name = f"cw_t{len(self.joins)}"
        rows = [[text, *map(self._real, row)] for own, row in zip(keys, logs, strict=True) for text in own]
        self.steps.look_up(name, ["v", *(f"l{c}" for c in range(self.k))], rows)
        self.joins.append(f"{name} ON {cell} = {name}.v")
        return [f"{name}.l{c}" for c in range(self.k)]

    def _by_case(self, cell: str, keys: list[list[str]], logs: Any) -> str:
        whens = [f"WHEN {is_any(self.d, cell, own)} THEN {self._real(x)}" for own, x in zip(keys, logs, strict=True)]
        return f"CASE {' '.join(whens)} END" if whens else "NULL"


def _normal(term: Normal, d: str, c: int) -> str:
    """A square in the difference from the middle; written out where that would lose digits."""
    mean, scale, norm = float(term.mean[c]) - term.middle, float(term.inverse_sd[c]), float(term.log_norm[c])
    if abs(mean) * scale < _NEAR:
        square, line = -0.5 * scale * scale, scale * scale * mean
        return f"{number(norm - 0.5 * (scale * mean) ** 2)} + {d} * ({number(line)} + {number(square)} * {d})"
    away = f"({d} - {number(mean)}) * {number(scale)}"
    return f"{number(norm)} - 0.5e0 * ({away}) * ({away})"


def _or_nothing(text: str) -> str:
    """The same, and 0 for NULL."""
    is_case = text.startswith("CASE ")
    return f"{text.removesuffix(' END')} ELSE 0e0 END" if is_case else f"COALESCE({text}, 0e0)"
