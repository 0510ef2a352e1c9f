"""A fitted model as a scoring query that needs no Python.

Names are looked up by joins with small tables (or by CASE where they are few), numbers enter by arithmetic. Values
and names of columns are quoted: they are data, whatever they hold.
"""

from __future__ import annotations

from typing import Any

from countwise.errors import OptionError
from countwise.quoting import DIALECTS, LEAST, MOST, Dialect, number
from countwise.terms import Cut, Lookup, Normal, Presence, Rate, Scoring

__all__ = ["DIALECTS", "scoring_query"]

_FEW = 2  # values for which a CASE is as good as a join
_NEAR = 100.0  # deviations within which a square may be multiplied out


def scoring_query(
    scoring: Scoring, table: str, dialect: str = "duckdb", *, form: str = "join", proba: bool = True
) -> str:
    """The query: all columns of a table, and the class and its probabilities.

    In dialects that cannot leave columns out (Postgres, SQLite) the sums on the way, named cw_…, are among them.

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
    if form not in ("join", "case"):
        raise OptionError(f"form={form!r} is unknown.", hint="give 'join' or 'case'.")
    return _Query(scoring, table, Dialect(dialect), form, proba).text()


class _Query:
    def __init__(self, scoring: Scoring, table: str, dialect: Dialect, form: str, proba: bool) -> None:
        self.scoring, self.dialect, self.form, self.proba = scoring, dialect, form, proba
        self.table = ".".join(self._id(part) for part in table.split("."))
        self.k = len(scoring.classes)
        self.normals = [t for t in scoring.terms if isinstance(t, Normal)]
        self.lookups = [t for t in scoring.terms if isinstance(t, Lookup) and not self._is_few(t)]

    def _id(self, name: str) -> str:
        return self.dialect.identifier(name)

    def _is_few(self, term: Lookup) -> bool:
        return self.form == "case" or len(term.values) <= _FEW

    def _lit(self, value: Any) -> str:
        return self.dialect.literal(value)

    def text(self) -> str:
        tables = [self._lookup_table(i, term) for i, term in enumerate(self.lookups)]
        joint = ",\n    ".join(f"{self._joint(c)} AS cw_l{c}" for c in range(self.k))
        joins = "".join(
            f"\n  LEFT JOIN cw_t{i} ON cw_r.{self._id(t.column)} = cw_t{i}.v" for i, t in enumerate(self.lookups)
        )
        cells = "".join(f",\n    {self._cell(t)} AS cw_x{i}" for i, t in enumerate(self.normals))
        source = f"cw_d AS (\n  SELECT *{cells}\n  FROM {self.table}\n)"
        scores = f"cw_s AS (\n  SELECT cw_r.*,\n    {joint}\n  FROM cw_d AS cw_r{joins}\n)"
        logs = [f"cw_l{c}" for c in range(self.k)]
        most = (
            logs[0] if self.k == 1 else f"{'MAX' if self.dialect.name == 'sqlite' else 'GREATEST'}({', '.join(logs)})"
        )
        top = f"cw_m AS (\n  SELECT *, {most} AS cw_top FROM cw_s\n)"
        shares = [f"cw_e{c}" for c in range(self.k)] if self.proba else []
        powers = "".join(f", EXP({log} - cw_top) AS {e}" for log, e in zip(logs, shares, strict=False))
        summed = f"cw_z AS (\n  SELECT *{powers} FROM cw_m\n)"
        given = [self._class() + f" AS {self._id(f'predicted {self.scoring.target}')}"]
        if self.proba:
            given += [
                f"cw_e{c} / ({' + '.join(shares)}) AS {self._id(f'P({self.scoring.classes[c]})')}"
                for c in range(self.k)
            ]
        columns = ", ".join(given)
        helpers = ", ".join([*(f"cw_x{i}" for i in range(len(self.normals))), *logs, "cw_top", *shares])
        every = {"duckdb": f"* EXCLUDE ({helpers})", "spark": f"* EXCEPT ({helpers})"}.get(self.dialect.name, "*")
        return f"WITH {', '.join([*tables, source, scores, top, summed])}\nSELECT {every}, {columns}\nFROM cw_z"

    def _class(self) -> str:
        classes = self.scoring.classes
        if self.k == 1:
            return self._lit(classes[0])
        whens = " ".join(f"WHEN cw_l{c} = cw_top THEN {self._lit(v)}" for c, v in enumerate(classes[:-1]))
        return f"CASE {whens} ELSE {self._lit(classes[-1])} END"

    def _lookup_table(self, i: int, term: Lookup) -> str:
        rows = ", ".join(
            f"({', '.join([self._lit(v), *(number(float(x)) for x in logs)])})"
            for v, logs in zip(term.values, term.logs, strict=True)
        )
        names = ", ".join(["v", *(f"l{c}" for c in range(self.k))])
        if self.dialect.name == "sqlite":
            return f"cw_t{i}({names}) AS (VALUES {rows})"
        return f"cw_t{i} AS (SELECT * FROM (VALUES {rows}) AS cw_v{i}({names}))"

    def _joint(self, c: int) -> str:
        parts = [number(float(self.scoring.prior[c])), *(self._term(term, c) for term in self.scoring.terms)]
        return "\n      + ".join(parts)

    def _term(self, term: Any, c: int) -> str:
        x = f"cw_r.{self._id(term.column)}"
        if isinstance(term, Lookup):
            if not self._is_few(term):
                return f"COALESCE(cw_t{self.lookups.index(term)}.l{c}, 0e0)"
            whens = [
                f"WHEN {x} = {self._lit(v)} THEN {number(float(term.logs[i, c]))}" for i, v in enumerate(term.values)
            ]
            return f"CASE {' '.join(whens)} ELSE 0e0 END" if whens else "0e0"
        cell = self.dialect.double(x)
        if isinstance(term, Presence):
            there, gone = number(float(term.there[c])), number(float(term.missing[c]))
            is_there = f"{cell} BETWEEN {LEAST} AND {MOST}" if term.number else f"{x} IS NOT NULL"
            return f"CASE WHEN {is_there} THEN {there} ELSE {gone} END"
        if isinstance(term, Cut):
            return self._cut(term, cell, c)
        finite = f"{cell} BETWEEN {LEAST} AND {MOST}"
        if isinstance(term, Normal):
            return self._normal(term, c)
        assert isinstance(term, Rate)  # noqa: S101 - no other terms are made
        rate = f"{cell} * {number(float(term.log_rate[c]))} - {number(float(term.rate[c]))}"
        return f"CASE WHEN {finite} THEN {rate} ELSE 0e0 END"

    def _cell(self, term: Normal) -> str:
        """A number less the middle of the classes' means, once for all classes; NULL where it is none."""
        cell = self.dialect.double(self._id(term.column))
        return f"CASE WHEN {cell} BETWEEN {LEAST} AND {MOST} THEN {cell} - {number(_middle(term))} END"

    def _normal(self, term: Normal, c: int) -> str:
        """A square in the difference from the middle; written out where that would lose digits."""
        d = f"cw_r.cw_x{self.normals.index(term)}"
        mean, scale, norm = float(term.mean[c]) - _middle(term), float(term.inverse_sd[c]), float(term.log_norm[c])
        if abs(mean) * scale < _NEAR:
            square, line = -0.5 * scale * scale, scale * scale * mean
            text = f"{number(norm - 0.5 * (scale * mean) ** 2)} + {d} * ({number(line)} + {number(square)} * {d})"
        else:
            away = f"({d} - {number(mean)}) * {number(scale)}"
            text = f"{number(norm)} - 0.5e0 * ({away}) * ({away})"
        return f"COALESCE({text}, 0e0)"

    def _cut(self, term: Cut, cell: str, c: int) -> str:
        whens = [
            f"WHEN {cell} <= {number(float(e))} THEN {number(float(term.logs[i, c]))}"
            for i, e in enumerate(term.edges)
        ]
        last = f"WHEN {cell} <= {MOST} THEN {number(float(term.logs[len(term.edges), c]))}"
        return f"CASE {' '.join([*whens, last])} ELSE 0e0 END"


def _middle(term: Normal) -> float:
    return float(term.mean.mean())
