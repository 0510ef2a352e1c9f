"""Additive models as SQL: nominal values are looked up by joins with small tables, numbers by arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np

from countwise._kernels.ties import TIE
from countwise.errors import OptionError, check_flag
from countwise.scoring.plan import Cut, Joint, LookupTerm, NormalTerm, NumberLookup, Presence, Rate, Scoring
from countwise.scoring.sql.cells import comparison, spelled
from countwise.scoring.sql.dialects import LEAST, added, number
from countwise.scoring.sql.steps import Steps

__all__ = ["scoring_query"]


class JointTerm:
    """Expressions and intermediate steps of a `Joint` term; `mark` makes its aliases unique."""

    def __init__(self, term: Joint, steps: Steps, mark: str = "") -> None:
        self.term, self.steps, self.mark = term, steps, mark
        self.gap, self.gaps = f"cw_gap{mark}", f"cw_gaps{mark}"  # key of a pattern of missing values; their table
        self.cells = [steps.cells.of(n, c) for n, c in zip(term.numbers, term.center.tolist(), strict=True)]
        marks = zip(term.firsts, term.marks, strict=True)
        key = added([f"CASE WHEN {self.cells[j]} IS NULL THEN {mark} ELSE 0 END" for j, mark in marks])
        steps.add(f"cw_known{mark}", {self.gap: key})
        self.joins = [f"{self.gaps} ON {self.gap} = {self.gaps}.v"]
        self.expressions = self._shared() if term.factors is None else self._separate()

    def _complete_or(self, complete: str, looked_up: str) -> str:
        return f"CASE WHEN {self.gap} = 0\n      THEN {complete}\n      ELSE {looked_up} END"

    def _table(self, names: list[str], rows: list[list[float]]) -> None:
        """Add the table of the patterns with missing values."""
        cells = [[str(key), *map(number, row)] for key, row in zip(self.term.keys[1:], rows[1:], strict=True)]
        self.steps.look_up(self.gaps, ["v", *names], cells)

    def _shared(self) -> list[str]:
        term = self.term
        assert term.slopes is not None  # noqa: S101 - a shared covariance has slopes
        k, n = term.away.shape
        bias = -0.5 * (term.slopes * term.away).sum(axis=2)  # (patterns, classes)
        names = [name for c in range(k) for name in (f"b{c}", *(f"s{c}_{j}" for j in range(n)))]
        rows = [
            [x for c in range(k) for x in (float(bias[p, c]), *term.slopes[p, c].tolist())] for p in range(len(bias))
        ]
        self._table(names, rows)
        found = []
        for c in range(k):
            products = [
                f"{number(s)} * {cell}" for s, cell in zip(term.slopes[0, c].tolist(), self.cells, strict=True)
            ]
            present = [f"COALESCE({self.gaps}.s{c}_{j} * {cell}, 0e0)" for j, cell in enumerate(self.cells)]
            complete = added([number(float(bias[0, c])), *products])
            found.append(self._complete_or(complete, added([f"{self.gaps}.b{c}", *present])))
        return found

    def _separate(self) -> list[str]:
        term = self.term
        assert term.factors is not None  # noqa: S101 - separate covariances have factors
        assert term.log_norm is not None  # noqa: S101 - and normalizing constants
        k, n = term.away.shape
        places = [(c, r, j) for c in range(k) for r in range(n) for j in range(r + 1)]
        names = [*(f"n{c}" for c in range(k)), *(f"f{c}_{r}_{j}" for c, r, j in places)]
        rows = [
            [*norms.tolist(), *(float(factors[place]) for place in places)]
            for norms, factors in zip(term.log_norm, term.factors, strict=True)
        ]
        self._table(names, rows)
        self.steps.add(f"cw_parts{self.mark}", self._parts(), self.joins, once=True)
        self.joins = []
        squares = ([self.steps.dialect.square(self._y(c, r)) for r in range(n)] for c in range(k))
        return [f"cw_n{self.mark}{c} - 0.5e0 * ({added(own)})" for c, own in enumerate(squares)]

    def _y(self, c: int, r: int) -> str:
        return f"cw_y{self.mark}{c}_{r}"

    def _parts(self) -> dict[str, str]:
        """Return the normalizing constant of each class, and the numbers whose squares are summed."""
        term = self.term
        factors: Any = term.factors
        norms: Any = term.log_norm
        k, n = term.away.shape
        parts = {
            f"cw_n{self.mark}{c}": f"CASE WHEN {self.gap} = 0 THEN {number(norms[0, c])} ELSE {self.gaps}.n{c} END"
            for c in range(k)
        }
        for c in range(k):
            away = [f"({cell} - {number(u)})" for cell, u in zip(self.cells, term.away[c].tolist(), strict=True)]
            for r in range(n):
                complete = added([f"{number(factors[0, c, r, j])} * {away[j]}" for j in range(r + 1)])
                present = added([f"COALESCE({self.gaps}.f{c}_{r}_{j} * {away[j]}, 0e0)" for j in range(r + 1)])
                parts[self._y(c, r)] = self._complete_or(complete, present)
        return parts


_FEW = 2  # number of values up to which a CASE is as fast as a join
_NEAR = 100.0  # standard deviations within which a square may be expanded without losing digits
_MANY = 6  # number of terms from which a separate sum for complete rows is faster in DuckDB
_MOST_JOINS = 50  # SQLite joins at most 64 tables


def scoring_query(
    scoring: Scoring, table: str, dialect: str = "duckdb", *, form: str = "join", proba: bool = True
) -> str:
    """Return the query that selects all columns of a table, the predicted class and its probabilities.

    `form` "case" looks values up with CASE instead of joins.
    """
    if not isinstance(form, str) or form not in ("join", "case"):
        raise OptionError(
            f"form must be 'join' or 'case', not {form!r}.",
            hint="use 'join' to look values up by joins, or 'case' to look them up by CASE expressions.",
        )
    return _Sums(scoring, Steps(table, dialect, scoring.inputs), form).text(check_flag("proba", proba))


class _Sums:
    """Steps that add up the terms of a model.

    DuckDB is fastest if it does not check complete rows for missing values, sums the numeric terms before the joins,
    and has one sum less: the scores are relative to the last class, unless a class may be impossible.
    """

    def __init__(self, scoring: Scoring, steps: Steps, form: str) -> None:
        self.scoring, self.steps, self.d, self.form = scoring, steps, steps.dialect, form
        self.joins: list[str] = []
        self.fast = self.d.name == "duckdb" and len(scoring.terms) >= _MANY
        self.relative = self.fast and len(scoring.classes) > 1 and _is_regular(scoring)
        self.k = len(scoring.classes) - self.relative  # sums
        self.prior = self._logs(scoring.prior)

    def _logs(self, logs: Any) -> Any:
        """Return log probabilities (last axis: classes), relative to the last class if possible."""
        return (logs - logs[..., -1:])[..., :-1] if self.relative else logs

    def text(self, proba: bool) -> str:
        d, target, classes = self.d, self.scoring.target, self.scoring.classes
        first = [d.cast(self._real(x), "double") if d.name == "postgres" else self._real(x) for x in self.prior]
        numbers = [term for term in self.scoring.terms if self.fast and isinstance(term, NormalTerm)]
        if numbers:
            self.steps.add("cw_numbers", {f"cw_n{c}": self._number_sum(numbers, c) for c in range(self.k)})
            first = [f"cw_n{c}" for c in range(self.k)]
        every = [self._term(term) for term in self.scoring.terms if not (numbers and isinstance(term, NormalTerm))]
        sums = {f"cw_l{c}": self._sum(first[c], every, c) for c in range(self.k)}
        self.steps.add("cw_sums", sums, self.joins, once=True)
        logs = [*sums, *(["0e0"] if self.relative else [])]
        least = [] if self.relative else [number(LEAST)]
        self.steps.add("cw_best", {"cw_top": d.greatest([*logs, *least])}, once=self.k > _FEW)
        given = {f"predicted {target}": self._class(logs)}
        if proba:
            ratios = {f"cw_e{c}": d.power(f"{log} - cw_top") for c, log in enumerate(logs)}
            self.steps.add("cw_shares", ratios, once=self.k > _FEW)
            total = added(list(ratios))
            if len(classes) > _MANY:
                self.steps.add("cw_totals", {"cw_total": total}, once=True)
                total = "cw_total"
            given |= {f"P({v})": self._posterior(c, f"cw_e{c}", total) for c, v in enumerate(classes)}
        return self.steps.text(given)

    @property
    def _known(self) -> str:
        """Condition that the sums are finite; the square of an extreme value overflows."""
        return self.d.finite(added([f"cw_l{c}" for c in range(self.k)]))

    def _class(self, logs: list[str]) -> str:
        classes, best = self.scoring.classes, self.d.literal(self.scoring.likeliest)
        near = f"cw_top - {number(TIE)}"  # rounding errors must not break a tie
        whens = [f"WHEN {log} >= {near} THEN {self.d.literal(v)}" for log, v in zip(logs, classes, strict=True)]
        if self.relative:
            whens.insert(0, f"WHEN NOT {self._known} THEN {best}")
        if not self.scoring.whole:
            whens.insert(0, f"WHEN {logs[0]} IS NULL THEN NULL")
        return "\n    ".join(["CASE", *whens, f"ELSE {best} END"])

    def _posterior(self, c: int, ratio: str, total: str) -> str:
        """Return the posterior of a class; the prior if all classes are impossible."""
        prior = number(float(np.exp(self.scoring.prior[c])))
        if self.relative:
            return f"CASE WHEN {self._known} THEN {ratio} / ({total}) ELSE {prior} END"
        posterior = f"COALESCE({ratio} / NULLIF({total}, 0e0), {prior})"
        return posterior if self.scoring.whole else f"CASE WHEN cw_l0 IS NOT NULL THEN {posterior} END"

    def _sum(self, first: str, every: list[Any], c: int) -> str:
        """Return the sum of a class."""
        careful = added([first, *(term[1][c] for term in every)], "\n      + ")
        if not self.fast or not every:
            return careful
        plain = added([first, *(term[0][c] for term in every)], "\n      + ")
        return f"COALESCE(\n      {plain},\n      {careful})"

    def _number_sum(self, terms: list[NormalTerm], c: int) -> str:
        """Return the sum of the prior and all numeric terms; complete rows need a single constant."""
        parts = [self._normal(term)[c] for term in terms]
        constants = float(self.prior[c]) + sum(constant for constant, _ in parts)
        plain = added([self._real(constants), *(text for _, text in parts)], "\n      + ")
        present = [f"COALESCE({number(constant)} + {text}, 0e0)" for constant, text in parts]
        careful = added([self._real(self.prior[c]), *present], "\n      + ")
        return f"COALESCE(\n      {plain},\n      {careful})"

    # -- terms: the contributions to each class, first with NULL for missing or unseen values, then with 0 ----

    def _term(self, term: Any) -> tuple[list[str], list[str]]:
        if isinstance(term, LookupTerm):
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
            pairs = zip(self._logs(term.there), self._logs(term.missing), strict=True)
            texts = [
                f"CASE WHEN {cell} IS NULL THEN {self._real(missing)} ELSE {self._real(present)} END"
                for present, missing in pairs
            ]
            return texts, texts
        if isinstance(term, NormalTerm):
            plain = [f"{number(constant)} + {text}" for constant, text in self._normal(term)]
            if self.d.name == "postgres":
                plain = self._within_range(term, plain)
        else:
            assert isinstance(term, Rate)  # noqa: S101 - there are no other terms
            plain = [self._rate(self.steps.cells.number(term.column), float(rate)) for rate in term.rate]
        return plain, [_or_zero(text) for text in plain]

    def _real(self, x: Any) -> str:
        return self.d.real(float(x))

    def _cell(self, term: Presence) -> str:
        cells = self.steps.cells
        if term.values is not None:
            return cells.name(term.column, term.values)
        normal = [t for t in self.scoring.terms if isinstance(t, NormalTerm) and t.column == term.column]
        return cells.deviation(term.column, normal[0].middle) if normal else cells.number(term.column)

    def _normal(self, term: NormalTerm) -> list[tuple[float, str]]:
        """Return, for each class, a constant and a quadratic expression; not expanded if that would lose digits."""
        d = self.steps.cells.deviation(term.column, term.middle)
        mean, scale, norm = term.mean - term.middle, term.inverse_sd, term.log_norm
        powers = np.stack([norm - 0.5 * (scale * mean) ** 2, scale * scale * mean, -0.5 * scale * scale])
        near, found = _near(term), []
        for c, (constant, line, square) in enumerate(self._logs(powers).T.tolist()):
            if near[c]:
                found.append((constant, f"{d} * ({number(line)} + {number(square)} * {d})"))
            else:
                away = f"({d} - {number(mean[c])}) * {number(scale[c])}"
                found.append((float(norm[c]), f"(-0.5e0) * ({away}) * ({away})"))
        return found

    def _within_range(self, term: NormalTerm, plain: list[str]) -> list[str]:
        """Let extreme values be impossible, where the square of a double that overflows is an error."""
        d, never = self.steps.cells.deviation(term.column, term.middle), self._real(-np.inf)
        limits = np.minimum(1e150 / term.inverse_sd, 1e300).tolist()
        return [
            f"CASE WHEN ABS({d}) < {number(limit)} THEN {text} WHEN {d} IS NOT NULL THEN {never} END"
            for limit, text in zip(limits, plain, strict=True)
        ]

    def _rate(self, x: str, rate: float) -> str:
        never = self._real(-np.inf)
        if rate == 0:
            return f"CASE WHEN {x} = 0e0 THEN 0e0 WHEN {x} IS NOT NULL THEN {never} END"
        density = f"{x} * {number(float(np.log(rate)))} - {number(rate)}"
        return f"CASE WHEN {x} >= 0e0 THEN {density} WHEN {x} IS NOT NULL THEN {never} END"

    def _lookup(self, term: LookupTerm) -> tuple[list[str], list[str]]:
        if isinstance(term, NumberLookup):
            cell, keys = self.steps.cells.number(term.column), [number(v) for v in term.values]
        else:
            cell, kind = self.steps.cells.name(term.column, term.values), comparison(term.values)
            keys = [spelled(self.d, v, kind) for v in term.values]
        plain = self._found(cell, keys, self._logs(term.logs))
        if term.other is None:
            return plain, [_or_zero(text) for text in plain]
        careful = [
            f"CASE WHEN {cell} IS NOT NULL THEN COALESCE({text}, {self._real(x)}) ELSE 0e0 END"
            for text, x in zip(plain, self._logs(term.other), strict=True)
        ]
        return plain, careful

    def _cut(self, term: Cut) -> tuple[list[str], list[str]]:
        x = self.steps.cells.cell(term.column, "number")
        whens = " ".join(f"WHEN {x} <= {number(float(e))} THEN {i}" for i, e in enumerate(term.edges))
        place = f"CASE {whens} ELSE {len(term.edges)} END" if whens else "0"
        cell = self.steps.cells.computed_as(term.column, f"CASE WHEN {self.d.finite(x)} THEN {place} END")
        plain = self._found(cell, [str(i) for i in range(len(term.edges) + 1)], self._logs(term.logs))
        return plain, [_or_zero(text) for text in plain]

    def _found(self, cell: str, keys: list[str], logs: Any) -> list[str]:
        """Look up the log probabilities of a value, for each class; NULL if no key equals the value."""
        if self.form == "case" or len(keys) <= _FEW or len(self.joins) >= _MOST_JOINS:
            return [self._by_case(cell, keys, logs[:, c]) for c in range(self.k)]
        name = f"cw_t{len(self.joins)}"
        rows = [[key, *map(self._real, row)] for key, row in zip(keys, logs, strict=True)]
        self.steps.look_up(name, ["v", *(f"l{c}" for c in range(self.k))], rows)
        self.joins.append(f"{name} ON {cell} = {name}.v")
        return [f"{name}.l{c}" for c in range(self.k)]

    def _by_case(self, cell: str, keys: list[str], logs: Any) -> str:
        whens = [f"WHEN {cell} = {key} THEN {self._real(x)}" for key, x in zip(keys, logs, strict=True)]
        return f"CASE {' '.join(whens)} END" if whens else "NULL"


def _near(term: NormalTerm) -> Any:
    """Return, for each class, whether its square may be expanded without losing digits."""
    return np.abs(term.mean - term.middle) * term.inverse_sd < _NEAR


def _is_regular(scoring: Scoring) -> bool:
    """Return whether no term can make a class impossible and all squares may be expanded."""
    logs = [scoring.prior]
    for term in scoring.terms:
        if isinstance(term, NormalTerm):
            if not _near(term).all():
                return False
        elif isinstance(term, Presence):
            logs += [term.there, term.missing]
        elif isinstance(term, LookupTerm):
            logs += [term.logs] if term.other is None else [term.logs, term.other]
        elif isinstance(term, Cut):
            logs.append(term.logs)
        else:
            return False
    return all(np.isfinite(own).all() for own in logs)


def _or_zero(text: str) -> str:
    """Replace NULL by 0."""
    is_case = text.startswith("CASE ")
    return f"{text.removesuffix(' END')} ELSE 0e0 END" if is_case else f"COALESCE({text}, 0e0)"
