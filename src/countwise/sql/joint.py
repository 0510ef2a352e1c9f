"""A normal law of several numbers as SQL: written out for rows without gaps, looked up by their gaps for others."""

from __future__ import annotations

from typing import Any

from countwise.quoting import added, number
from countwise.sql.steps import Steps
from countwise.terms import Joint

__all__ = ["JointTerm"]


class JointTerm:
    """What each class adds, and the steps on the way there.

    Parameters
    ----------
    term : Joint
    steps : Steps
        Gets a step for the key of a row's gaps and, where classes have covariances of their own, one for the parts of
        the square.
    mark : str
        Tells the names of this term from those of others.
    """

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
