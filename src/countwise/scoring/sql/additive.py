"""Sums of terms as a query: names are looked up by joins with small tables, numbers enter by arithmetic."""

from __future__ import annotations

from typing import Any

import numpy as np

from countwise.errors import OptionError
from countwise.scoring.plan import Cut, Joint, LookupTerm, NormalTerm, Presence, Rate, Scoring, kind_of
from countwise.scoring.sql.cells import Steps, is_any, spelled
from countwise.scoring.sql.dialects import LEAST, added, number

__all__ = ["scoring_query"]


class JointTerm:
    """What each class adds, and the steps on the way there; the mark tells the names of this term from others'."""

    def __init__(self, term: Joint, steps: Steps, mark: str = "") -> None:
        self.term, self.steps, self.mark = term, steps, mark
        self.gap, self.gaps = f"cw_gap{mark}", f"cw_gaps{mark}"  # the key of a row's gaps, the table of patterns
        self.cells = [steps.cells.of(n, c) for n, c in zip(term.numbers, term.center.tolist(), strict=True)]
        marks = zip(term.firsts, term.marks, strict=True)
        key = added([f"CASE WHEN {self.cells[j]} IS NULL THEN {mark} ELSE 0 END" for j, mark in marks])
        steps.add(f"cw_known{mark}", {self.gap: key})
        self.joins = [f"{self.gaps} ON {self.gap} = {self.gaps}.v"]
        self.expressions = self._shared() if term.factors is None else self._own()

    def _whole_or(self, whole: str, looked_up: str) -> str:
        return f"CASE WHEN {self.gap} = 0\n      THEN {whole}\n      ELSE {looked_up} END"

    def _table(self, names: list[str], rows: list[list[float]]) -> None:
        """The patterns with gaps, by the key of the gaps."""
        cells = [[str(key), *map(number, row)] for key, row in zip(self.term.keys[1:], rows[1:], strict=True)]
        self.steps.look_up(self.gaps, ["v", *names], cells)

    def _shared(self) -> list[str]:
        term = self.term
        assert term.slopes is not None  # noqa: S101 - of a shared covariance
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
            gaps = [f"COALESCE({self.gaps}.s{c}_{j} * {cell}, 0e0)" for j, cell in enumerate(self.cells)]
            whole, partly = added([number(float(bias[0, c])), *products]), added([f"{self.gaps}.b{c}", *gaps])
            found.append(self._whole_or(whole, partly))
        return found

    def _own(self) -> list[str]:
        term = self.term
        assert term.factors is not None  # noqa: S101 - of covariances of their own
        assert term.log_norm is not None  # noqa: S101 - the same
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
        squares = ([f"{self._y(c, r)} * {self._y(c, r)}" for r in range(n)] for c in range(k))
        return [f"cw_n{self.mark}{c} - 0.5e0 * ({added(own)})" for c, own in enumerate(squares)]

    def _y(self, c: int, r: int) -> str:
        return f"cw_y{self.mark}{c}_{r}"

    def _parts(self) -> dict[str, str]:
        """The constant of each class, and the numbers whose squares are added up."""
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
                whole = added([f"{number(factors[0, c, r, j])} * {away[j]}" for j in range(r + 1)])
                partly = added([f"COALESCE({self.gaps}.f{c}_{r}_{j} * {away[j]}, 0e0)" for j in range(r + 1)])
                parts[self._y(c, r)] = self._whole_or(whole, partly)
        return parts


_FEW = 2  # values for which a CASE is as good as a join
_NEAR = 100.0  # deviations within which a square may be multiplied out
_MANY = 6  # terms from which on DuckDB had better add up rows without gaps by themselves
_MOST_JOINS = 50  # SQLite joins 64 tables


def scoring_query(
    scoring: Scoring, table: str, dialect: str = "duckdb", *, form: str = "join", proba: bool = True
) -> str:
    """The query: all columns of a table, and the class and its probabilities; `form` "case" looks up without joins.

    In SQLite, which cannot leave columns out, the sums on the way, named cw…, are among them.
    """
    if form not in ("join", "case"):
        raise OptionError(f"form={form!r} is unknown.", hint="give 'join' or 'case'.")
    return _Sums(scoring, Steps(table, dialect), form).text(proba)


class _Sums:
    """The steps of a sum.

    DuckDB is quickest if it need not look for gaps in rows that have none, adds up numbers before it joins, and has
    one sum less to carry: that of the last class is taken from the others, unless some class may be impossible.
    """

    def __init__(self, scoring: Scoring, steps: Steps, form: str) -> None:
        self.scoring, self.steps, self.d, self.form = scoring, steps, steps.dialect, form
        self.joins: list[str] = []
        self.fast = self.d.name == "duckdb" and len(scoring.terms) >= _MANY
        self.relative = self.fast and len(scoring.classes) > 1 and _is_tame(scoring)
        self.k = len(scoring.classes) - self.relative  # sums
        self.prior = self._logs(scoring.prior)

    def _logs(self, logs: Any) -> Any:
        """Logarithms, classes last, as they are added up."""
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
            shares = {f"cw_e{c}": d.power(f"{log} - cw_top") for c, log in enumerate(logs)}
            self.steps.add("cw_shares", shares, once=self.k > _FEW)
            given |= {f"P({v})": self._share(c, list(shares)) for c, v in enumerate(classes)}
        return self.steps.text(given)

    @property
    def _known(self) -> str:
        """Whether the sums are numbers: not where one is so far out that its square is infinite."""
        return self.d.finite(added([f"cw_l{c}" for c in range(self.k)]))

    def _class(self, logs: list[str]) -> str:
        classes, best = self.scoring.classes, self.d.literal(self.scoring.classes[int(np.argmax(self.scoring.prior))])
        whens = [f"WHEN {log} = cw_top THEN {self.d.literal(v)}" for log, v in zip(logs, classes, strict=True)]
        if self.relative:
            whens.insert(0, f"WHEN NOT {self._known} THEN {best}")
        if not self.scoring.whole:
            whens.insert(0, f"WHEN {logs[0]} IS NULL THEN NULL")
        return f"CASE {' '.join(whens)} ELSE {best} END"

    def _share(self, c: int, shares: list[str]) -> str:
        """A class's part of the whole; the prior where no class could have made the row."""
        prior, total = number(float(np.exp(self.scoring.prior[c]))), added(shares)
        if self.relative:
            return f"CASE WHEN {self._known} THEN {shares[c]} / ({total}) ELSE {prior} END"
        share = f"COALESCE({shares[c]} / NULLIF({total}, 0e0), {prior})"
        return share if self.scoring.whole else f"CASE WHEN cw_l0 IS NOT NULL THEN {share} END"

    def _sum(self, first: str, every: list[Any], c: int) -> str:
        """The sum for a class."""
        careful = added([first, *(term[1][c] for term in every)], "\n      + ")
        if not self.fast or not every:
            return careful
        plain = added([first, *(term[0][c] for term in every)], "\n      + ")
        return f"COALESCE(\n      {plain},\n      {careful})"

    def _number_sum(self, terms: list[NormalTerm], c: int) -> str:
        """The prior and all numbers of a class; their constants are one where no number is missing."""
        parts = [self._normal(term)[c] for term in terms]
        whole = float(self.prior[c]) + sum(constant for constant, _ in parts)
        plain = added([self._real(whole), *(text for _, text in parts)], "\n      + ")
        gaps = [f"COALESCE({number(constant)} + {text}, 0e0)" for constant, text in parts]
        careful = added([self._real(self.prior[c]), *gaps], "\n      + ")
        return f"COALESCE(\n      {plain},\n      {careful})"

    # -- terms: what each class adds, NULL where something is missing or new; and the same with 0 there -------

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
                f"CASE WHEN {cell} IS NULL THEN {self._real(gone)} ELSE {self._real(there)} END"
                for there, gone in pairs
            ]
            return texts, texts
        if isinstance(term, NormalTerm):
            plain = [f"{number(constant)} + {text}" for constant, text in self._normal(term)]
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
        normal = [t for t in self.scoring.terms if isinstance(t, NormalTerm) and t.column == term.column]
        return cells.number(term.column, normal[0].middle if normal else 0.0)

    def _normal(self, term: NormalTerm) -> list[tuple[float, str]]:
        """Of each class a constant, and a square in the difference from the middle; written out to keep digits."""
        d = self.steps.cells.number(term.column, term.middle)
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

    def _rate(self, x: str, rate: float) -> str:
        never = self._real(-np.inf)
        if rate == 0:
            return f"CASE WHEN {x} = 0e0 THEN 0e0 WHEN {x} IS NOT NULL THEN {never} END"
        law = f"{x} * {number(float(np.log(rate)))} - {number(rate)}"
        return f"CASE WHEN {x} >= 0e0 THEN {law} WHEN {x} IS NOT NULL THEN {never} END"

    def _lookup(self, term: LookupTerm) -> tuple[list[str], list[str]]:
        cell, kind = self.steps.cells.name(term.column, term.values), kind_of(term.values)
        keys = [spelled(self.d, v, kind) for v in term.values]
        plain = self._found(cell, keys, self._logs(term.logs))
        if term.other is None:
            return plain, [_or_nothing(text) for text in plain]
        careful = [
            f"CASE WHEN {cell} IS NOT NULL THEN COALESCE({text}, {self._real(x)}) ELSE 0e0 END"
            for text, x in zip(plain, self._logs(term.other), strict=True)
        ]
        return plain, careful

    def _cut(self, term: Cut) -> tuple[list[str], list[str]]:
        x = self.d.cast(self.d.identifier(term.column), "double")
        whens = " ".join(f"WHEN {x} <= {number(float(e))} THEN {i}" for i, e in enumerate(term.edges))
        place = f"CASE {whens} ELSE {len(term.edges)} END" if whens else "0"
        cell = self.steps.cells.named(term.column, f"CASE WHEN {self.d.finite(x)} THEN {place} END")
        plain = self._found(cell, [[str(i)] for i in range(len(term.edges) + 1)], self._logs(term.logs))
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


def _near(term: NormalTerm) -> Any:
    """Of each class, whether its square may be multiplied out without losing digits."""
    return np.abs(term.mean - term.middle) * term.inverse_sd < _NEAR


def _is_tame(scoring: Scoring) -> bool:
    """Whether no term can make a class impossible, and all squares may be multiplied out."""
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


def _or_nothing(text: str) -> str:
    """The same, and 0 for NULL."""
    is_case = text.startswith("CASE ")
    return f"{text.removesuffix(' END')} ELSE 0e0 END" if is_case else f"COALESCE({text}, 0e0)"
