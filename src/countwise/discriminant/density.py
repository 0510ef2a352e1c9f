"""Normal distributions of several columns together, whole or of the columns that are there; leaving one row out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._cached import lazy
from countwise._typing import Flags, Floats, Indices
from countwise.data.derived import Derived
from countwise.data.schema import Schema
from countwise.discriminant.collinearity import Redundant
from countwise.discriminant.scoring import diagonal_terms, joint_term
from countwise.distributions.distribution import Density, LeftOutRows, no_say
from countwise.distributions.gaussian import GaussianDensity
from countwise.working.numbers import number
from countwise.working.steps import Factor, Step

__all__ = ["DiagonalNormal", "JointDensity", "Marginal", "MultivariateNormal", "patterns_of"]

_MOST_KEPT = 1 << 26  # bytes of marginal densities, of patterns of missing cells, that are kept
_MOST_SHOWN = 3  # cells of a row that are written out; those of longer ones stand in the tables below
_BLOCK = 1 << 14  # rows that are left out at a time
_SINGULAR = 1e-5  # of a scatter matrix: if less is left in the direction of the row, digits are lost


def patterns_of(cells: Floats) -> list[tuple[Flags, NDArray[np.intp]]]:
    """The patterns in which cells are there, and the rows of each."""
    if len(cells) == 0:
        return []
    there = ~np.isnan(cells)
    bits = np.packbits(there, axis=1)
    keys = np.ascontiguousarray(bits).view(np.dtype((np.void, bits.shape[1]))).ravel()
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(which, kind="stable")
    ends = np.cumsum(np.bincount(which, minlength=len(first)))
    return [(there[at], rows) for at, rows in zip(first, np.split(order, ends[:-1]), strict=True)]


class JointDensity(Density):
    """The density of whole rows in each class; a missing cell is integrated out."""

    columns: NDArray[np.intp]  # which columns of the vector are in use
    names: tuple[str, ...]
    left_out: dict[str, str]  # columns that are not in use, and why

    def row(self, column: Any) -> Floats:
        """The cells in use of the first row."""
        return np.array([float(column[j][0]) for j in self.columns.tolist()])

    def cell(self, j: int, value: float) -> str:
        """A cell as a person writes it."""
        return number(float(value))

    def factor(self, c: int, log: float, row: str) -> Factor:
        """The density of class c at a row, as it is written."""
        raise NotImplementedError

    def skipped(self) -> list[Step]:
        """The steps of the columns that are not in use."""
        states = {n: why if why in ("never seen", "constant") else "redundant" for n, why in self.left_out.items()}
        return [step for name, state in states.items() for step in no_say(name, "", state, self.rule)]

    def steps(self, name: str, column: Any, shown: str) -> list[Step]:
        """The density of each class at the row; what is missing or left out has no say."""
        x = self.row(column)
        gone = [
            step for j in np.flatnonzero(np.isnan(x)) for step in no_say(self.names[j], "?", "missing", self.rule)
        ]
        gone += self.skipped()
        there = np.flatnonzero(~np.isnan(x)).tolist()
        if not there:
            return gone
        event, row = ("x", ""), "x"
        if len(there) <= _MOST_SHOWN:
            names, row = ", ".join(self.names[j] for j in there), ", ".join(self.cell(j, x[j]) for j in there)
            event = (names, row) if len(there) == 1 else (f"({names})", f"({row})")
        logs = self.log_prob_of_row(column).tolist()
        factors = tuple(self.factor(c, log, row) for c, log in enumerate(logs))
        return [Step(*event, factors, "known", self.rule), *gone]


class Marginal:
    """The Gaussians of some columns: means (classes, columns), and one covariance for all classes, or one each."""

    def __init__(self, mean: Floats, covariance: Floats) -> None:
        self.mean, self.shared = mean, covariance.ndim == 2
        stack = covariance[None] if self.shared else covariance
        sd = np.sqrt(np.einsum("kjj->kj", stack))
        lower = np.linalg.cholesky(stack / (sd[:, :, None] * sd[:, None, :]))
        eye = np.broadcast_to(np.eye(stack.shape[1]), stack.shape)
        self.whitener = np.linalg.solve(lower, eye) / sd[:, None, :]  # W with W Σ W' = 1, lower triangular
        self.log_det = 2 * (np.log(np.einsum("kjj->kj", lower)).sum(axis=1) + np.log(sd).sum(axis=1))
        self.log_norm = -0.5 * (stack.shape[1] * np.log(2 * np.pi) + self.log_det)
        if self.shared:
            self.center = mean.mean(axis=0)
            z = (mean - self.center) @ self.whitener[0].T
            self.slopes = z @ self.whitener[0]  # Σ⁻¹ (μ_c - center)
            self.bias = -0.5 * (z * z).sum(axis=1)

    @property
    def precision(self) -> Floats:
        """Σ⁻¹."""
        return np.asarray(self.whitener.swapaxes(1, 2) @ self.whitener)

    def add_relative(self, columns: Sequence[Any], out: Floats) -> NDArray[np.uint8]:
        """Add what tells the classes apart to complete rows of out; returns which rows have missing cells."""
        gaps = np.zeros(len(out), dtype=np.uint8)
        if self.shared:
            _kernels.add_linear(list(columns), self.center, self.slopes, out, gaps)
            _add_where(out, self.bias, gaps)
        else:
            _kernels.add_quadratic(list(columns), self.mean, self.whitener, out, gaps)
            _add_where(out, self.log_norm, gaps)
        return gaps

    def add_common(self, columns: Sequence[Any], out: Floats) -> NDArray[np.uint8]:
        """Add what is the same for all classes: the density about the center, if the covariance is shared."""
        gaps = np.zeros(len(out), dtype=np.uint8)
        common = np.zeros((len(out), 1))
        _kernels.add_quadratic(list(columns), self.center[None], self.whitener, common, gaps)
        _add_where(common, self.log_norm, gaps)
        out += common
        return gaps


def _add_where(out: Floats, constants: Floats, gaps: NDArray[np.uint8]) -> None:
    if gaps.any():
        out[gaps == 0] += constants
    else:
        out += constants


@dataclass(eq=False)
class MultivariateNormal(JointDensity):
    """Gaussians over whole rows, one a class."""

    columns: NDArray[np.intp]
    names: tuple[str, ...]
    mean: Floats  # (classes, columns)
    covariance: Floats  # (columns, columns) for all classes, or (classes, columns, columns)
    n: Floats  # rows behind them, (classes,)
    left_out: dict[str, str]
    redundant: tuple[Redundant, ...]  # columns that made the covariance singular
    shrinkage: Floats  # by how much covariances were shrunk
    n_iter: int  # steps of EM; 0 if no cell was missing
    rule: str
    n_complete: float  # rows without a missing cell in these columns
    _kept: dict[bytes, Marginal] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.n_classes, self.shared = len(self.mean), self.covariance.ndim == 2

    @lazy
    def whole(self) -> Marginal:
        """The density of rows without a missing cell."""
        return Marginal(self.mean, self.covariance)

    def marginal(self, there: Flags) -> Marginal:
        """The density of the columns that are there."""
        if there.all():
            return self.whole
        key = np.packbits(there).tobytes()
        found = self._kept.get(key)
        if found is None:
            place = np.flatnonzero(there)
            found = Marginal(self.mean[:, place], self.covariance[..., place[:, None], place[None, :]])
            if (len(self._kept) + 1) * found.whitener.nbytes < _MOST_KEPT:
                self._kept[key] = found
        return found

    def __getstate__(self) -> dict[str, Any]:
        """All but what is worked out again when it is asked for."""
        return {name: value for name, value in vars(self).items() if name != "whole"} | {"_kept": {}}

    @classmethod
    def add_many(cls, densities: Sequence[Any], columns: Sequence[Any], out: Floats) -> None:
        """Add what tells the classes apart."""
        for density, column in zip(densities, columns, strict=True):
            density._add(column, out, "add_relative")

    def add_common(self, column: Sequence[Any], out: Floats) -> None:
        """Add what is the same for all classes."""
        if self.shared:
            self._add(column, out, "add_common")

    def add_log_prob(self, column: Sequence[Any], out: Floats) -> None:
        """Add log f(row | class)."""
        self._add(column, out, "add_relative")
        self.add_common(column, out)

    def _add(self, column: Sequence[Any], out: Floats, what: str) -> None:
        used = [column[j] for j in self.columns.tolist()]
        gaps = np.flatnonzero(getattr(self.whole, what)(used, out))
        if len(gaps) == 0:
            return
        cells = np.stack([np.asarray(c[gaps], dtype=np.float64) for c in used], axis=1)
        for there, rows in patterns_of(cells):
            if there.any():  # of a row without any cell the prior alone decides
                part = np.zeros((len(rows), out.shape[1]))
                getattr(self.marginal(there), what)(list(cells[rows][:, there].T), part)
                out[gaps[rows]] += part

    def factor(self, c: int, log: float, row: str) -> Factor:
        """φ at the row."""
        mark = "" if self.shared else "_c"
        text, latex = f"φ({row}; μ_c, Σ{mark})", rf"\varphi({row};\,\mu_c,\,\Sigma{mark})"
        return Factor(log, text, latex, total=float(self.n[c]))

    def scoring_terms(self, derived: Derived, schema: Schema, tally: Any) -> list[Any]:
        """One joint term."""
        return [joint_term(derived, self, tally)]

    def summary(self, classes: Sequence[Any]) -> dict[str, list[Any]]:
        """Means, then the covariance."""
        heads = [f"mean {c}" for c in classes]
        marks = ["Σ"] if self.shared else [f"Σ {c}" for c in classes]
        heads += [f"{mark} {name}" for mark in marks for name in self.names]
        cells = np.vstack([self.mean, self.covariance.reshape(-1, len(self.names))])
        return {"": heads, **{name: cells[:, j].tolist() for j, name in enumerate(self.names)}}

    # -- leaving one row out ------------------------------------------------------------------
    # The mean of its class moves, and a scatter matrix loses one outer product: its inverse and determinant follow by
    # the formulas of Sherman and Morrison. With g = w n / (n - w) and δ = x - μ,
    # S' = S - g δδᵀ,  S'⁻¹ = S⁻¹ + g S⁻¹δδᵀS⁻¹ / (1 - g δᵀS⁻¹δ).

    def log_prob_left_out(
        self, rule: Any, tally: Any, column: Sequence[Any], rows: LeftOutRows, *, keep: bool = False
    ) -> tuple[Floats, Flags, bool] | None:
        """In closed form, where the covariance is that of complete rows and nothing else."""
        if rule.shrinkage is not None or self.n_iter or not (self.n > 0).all():
            return None
        if any(np.isnan(np.asarray(c, dtype=np.float64)).any() for c in column):
            return None
        used = [column[j] for j in self.columns.tolist()]
        n, less = len(rows.codes), 0 if rule.divisor == "n" else 1
        terms, odd = np.empty((n, rows.k)), np.empty(n, dtype=bool)
        work = self._left_out_of_shared if self.shared else self._left_out_of_own
        for start in range(0, n, _BLOCK):
            part = slice(start, min(start + _BLOCK, n))
            x = np.stack([np.asarray(c[part], dtype=np.float64) for c in used], axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                terms[part], odd[part] = work(x, rows.codes[part], rows.weights[part], less)
        terms[odd] = 0.0
        return terms, odd, True

    def _left_out_of_shared(self, x: Floats, own: Indices, w: Floats, less: int) -> tuple[Floats, Flags]:
        n, rows = self.n, np.arange(len(x))
        free = float(n.sum()) - less * len(n)
        whitener = self.whole.whitener[0] / np.sqrt(free)  # of S, not of Σ
        delta = (x - self.mean[own]) @ whitener.T
        moved = n[own] / (n[own] - w)
        g, length = w * moved, (delta**2).sum(axis=1)
        rest = 1 - g * length
        forms = np.empty((len(x), len(n)))
        for c, mean in enumerate(self.mean):
            z = (x - mean) @ whitener.T
            forms[:, c] = (z**2).sum(axis=1) + g * (z * delta).sum(axis=1) ** 2 / rest
        forms[rows, own] = moved**2 * length / rest
        return -0.5 * (free - w)[:, None] * forms, ~((rest > _SINGULAR) & (n[own] > w) & (free > w))

    def _left_out_of_own(self, x: Floats, own: Indices, w: Floats, less: int) -> tuple[Floats, Flags]:
        whole, n = self.whole, self.n
        terms, odd = np.empty((len(x), len(n))), np.zeros(len(x), dtype=bool)
        for c, mean in enumerate(self.mean):
            forms = (((x - mean) @ whole.whitener[c].T) ** 2).sum(axis=1)
            terms[:, c] = whole.log_norm[c] - 0.5 * forms
            mine = np.flatnonzero(own == c)
            before, after = float(n[c]) - less, float(n[c]) - less - w[mine]
            moved, length = n[c] / (n[c] - w[mine]), forms[mine] / before
            rest = 1 - w[mine] * moved * length
            volume = np.log(rest) + x.shape[1] * np.log(before / after)  # of Σ without the row to Σ
            terms[mine, c] = whole.log_norm[c] - 0.5 * volume - 0.5 * after * moved**2 * length / rest
            odd[mine] = ~((rest > _SINGULAR) & (after > 0) & (n[c] > w[mine]))
        return terms, odd


@dataclass(eq=False)
class DiagonalNormal(JointDensity):
    """Gaussians without correlations: each column on its own."""

    columns: NDArray[np.intp]
    parts: list[GaussianDensity]  # one a column
    left_out: dict[str, str]
    rule: str
    n_complete: float  # rows without a missing cell in these columns
    shared: bool  # whether all classes have the same deviations
    redundant = ()
    shrinkage = np.zeros(1)
    n_iter = 0

    def __post_init__(self) -> None:
        self.n_classes = self.parts[0].n_classes
        self.names = tuple(part.name for part in self.parts)
        self.mean = np.stack([part.mean for part in self.parts], axis=1)  # (classes, columns)
        self.sd = np.stack([part.sd for part in self.parts], axis=1)

    @property
    def covariance(self) -> Floats:
        """The matrix of all classes, or of each."""
        stack = np.stack([np.diag(v) for v in self.sd**2])
        return np.asarray(stack[0] if self.shared else stack)

    def add_log_prob(self, column: Sequence[Any], out: Floats) -> None:
        """Add log f(row | class); a missing cell adds nothing."""
        GaussianDensity.add_many(self.parts, [column[j] for j in self.columns.tolist()], out)

    def steps(self, name: str, column: Sequence[Any], shown: str) -> list[Step]:
        """The factor of each column."""
        found = []
        for part, x in zip(self.parts, self.row(column).tolist(), strict=True):
            found += part.steps(part.name, np.array([x]), "" if np.isnan(x) else number(x))
        return [*found, *self.skipped()]

    def scoring_terms(self, derived: Derived, schema: Schema, tally: Any) -> list[Any]:
        """A term for each column."""
        return diagonal_terms(derived, self)

    def summary(self, classes: Sequence[Any]) -> dict[str, list[Any]]:
        """Means and deviations."""
        heads = [f"{what} {c}" for c in classes for what in ("mean", "deviation")]
        return {"": heads} | {p.name: np.stack([p.mean, p.sd], axis=1).ravel().tolist() for p in self.parts}
