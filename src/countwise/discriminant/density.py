"""Multivariate normal densities of rows with missing values, and their leave-one-out values."""

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
from countwise.working.latex import text_latex
from countwise.working.numbers import cell
from countwise.working.steps import Factor, Step

__all__ = ["DiagonalNormal", "JointDensity", "Marginal", "MultivariateNormal", "patterns_of"]

_MOST_KEPT = 1 << 26  # most bytes of cached marginal densities, one for each pattern of missing values
_DRAWS = 256  # drawn covariances at a time
_MOST_SHOWN = 3  # longest row that is written out in a step; longer rows are shown in the tables below it
_BLOCK = 1 << 14  # rows in one block of leave-one-out
_SINGULAR = 1e-5  # if removing a row leaves a smaller fraction of the scatter in its direction, digits are lost


def patterns_of(cells: Floats) -> list[tuple[Flags, NDArray[np.intp]]]:
    """Return each pattern of non-missing values, and the rows that have it."""
    if len(cells) == 0:
        return []
    known = ~np.isnan(cells)
    bits = np.packbits(known, axis=1)
    keys = np.ascontiguousarray(bits).view(np.dtype((np.void, bits.shape[1]))).ravel()
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(which, kind="stable")
    ends = np.cumsum(np.bincount(which, minlength=len(first)))
    return [(known[at], rows) for at, rows in zip(first, np.split(order, ends[:-1]), strict=True)]


class JointDensity(Density):
    """Density of whole rows in each class; missing values are integrated out."""

    columns: NDArray[np.intp]  # indices of the used columns
    names: tuple[str, ...]
    left_out: dict[str, str]  # excluded columns, and the reason for each

    def row(self, column: Any) -> Floats:
        """Return the values of the first row in the used columns."""
        return np.array([float(column[j][0]) for j in self.columns.tolist()])

    def cell(self, j: int, value: float) -> str:
        """Return a value as text."""
        return cell(float(value))

    def factor(self, c: int, log: float, row: str) -> Factor:
        """Return the factor of class c, whose log density at the row is `log`."""
        raise NotImplementedError

    def skipped(self) -> list[Step]:
        """Return the steps of the excluded columns."""
        states = {n: why if why in ("never seen", "constant") else "redundant" for n, why in self.left_out.items()}
        return [step for name, state in states.items() for step in no_say(name, "", state, self.rule)]

    def steps(self, name: str, column: Any, shown: str) -> list[Step]:
        """Return the density of each class at the row, and the steps of missing and excluded columns."""
        x = self.row(column)
        gone = [
            step for j in np.flatnonzero(np.isnan(x)) for step in no_say(self.names[j], "?", "missing", self.rule)
        ]
        gone += self.skipped()
        known = np.flatnonzero(~np.isnan(x)).tolist()
        if not known:
            return gone
        event, row = ("x", ""), "x"
        if len(known) <= _MOST_SHOWN:
            names, row = ", ".join(self.names[j] for j in known), ", ".join(self.cell(j, x[j]) for j in known)
            event = (names, row) if len(known) == 1 else (f"({names})", f"({row})")
        logs = self.log_prob_of_row(column).tolist()
        factors = tuple(self.factor(c, log, row) for c, log in enumerate(logs))
        return [Step(*event, factors, "known", self.rule), *gone]


class Marginal:
    """Normal densities of some columns: means (classes, columns), and one covariance for all classes or for each."""

    def __init__(self, mean: Floats, covariance: Floats) -> None:
        self.mean, self.shared = mean, covariance.ndim == 2
        stack = covariance[None] if self.shared else covariance
        sd = np.sqrt(np.einsum("kjj->kj", stack))
        lower = _cholesky(stack / (sd[:, :, None] * sd[:, None, :]))
        eye = np.broadcast_to(np.eye(stack.shape[1]), stack.shape)
        self.whitener = np.linalg.solve(lower, eye) / sd[:, None, :]  # lower triangular W with W Σ W' = I
        self.log_det = 2 * (np.log(np.einsum("kjj->kj", lower)).sum(axis=1) + np.log(sd).sum(axis=1))
        self.log_norm = -0.5 * (stack.shape[1] * np.log(2 * np.pi) + self.log_det)
        if self.shared:
            self.center = mean.mean(axis=0)
            z = (mean - self.center) @ self.whitener[0].T
            self.slopes = z @ self.whitener[0]  # Σ⁻¹ (μ_c - center)
            self.bias = -0.5 * (z * z).sum(axis=1)

    @property
    def precision(self) -> Floats:
        """The inverse covariance Σ⁻¹."""
        return np.asarray(self.whitener.swapaxes(1, 2) @ self.whitener)

    def add_relative(self, columns: Sequence[Any], out: Floats) -> NDArray[np.uint8]:
        """Add the log densities, up to a shared constant, to complete rows; return the incomplete rows."""
        incomplete = np.zeros(len(out), dtype=np.uint8)
        if self.shared:
            _kernels.add_linear(list(columns), self.center, self.slopes, out, incomplete)
            _add_where(out, self.bias, incomplete)
        else:
            _kernels.add_quadratic(list(columns), self.mean, self.whitener, out, incomplete)
            _add_where(out, self.log_norm, incomplete)
        return incomplete

    def add_common(self, columns: Sequence[Any], out: Floats) -> NDArray[np.uint8]:
        """Add the part of the log density that all classes share to complete rows; return the incomplete rows."""
        incomplete = np.zeros(len(out), dtype=np.uint8)
        common = np.zeros((len(out), 1))
        _kernels.add_quadratic(list(columns), self.center[None], self.whitener, common, incomplete)
        _add_where(common, self.log_norm, incomplete)
        with np.errstate(invalid="ignore"):  # ∞ - ∞ becomes NaN: the density is 0
            out += common
        return incomplete


def _cholesky(r: Floats) -> Floats:
    """Return the Cholesky factors of correlation matrices; eigenvalues below the rounding error are raised to it."""
    lift = 0.0
    while True:
        try:
            return np.asarray(np.linalg.cholesky(r + lift * np.eye(r.shape[1])))
        except np.linalg.LinAlgError:
            lift = max(2 * lift, r.shape[1] * float(np.finfo(float).eps))


def _cholesky_of(covariance: Floats) -> Floats:
    """Return the Cholesky factor of a covariance."""
    sd = np.sqrt(np.diag(covariance))
    return np.asarray(sd[:, None] * _cholesky((covariance / np.outer(sd, sd))[None])[0])


def _add_where(out: Floats, constants: Floats, incomplete: NDArray[np.uint8]) -> None:
    if incomplete.any():
        out[incomplete == 0] += constants
    else:
        out += constants


@dataclass(eq=False)
class MultivariateNormal(JointDensity):
    """Multivariate normal density of each class."""

    columns: NDArray[np.intp]
    names: tuple[str, ...]
    mean: Floats  # (classes, columns)
    covariance: Floats  # (columns, columns) for all classes, or (classes, columns, columns)
    n: Floats  # (classes,): weight of the rows
    left_out: dict[str, str]
    redundant: tuple[Redundant, ...]  # excluded columns that made the covariance singular
    shrinkage: Floats  # shrinkage of the covariance, or of each covariance
    n_iter: int  # EM iterations; 0 if no value was missing
    ridge: float  # fraction of the variances that EM mixed into a covariance; 0 if there was no need
    rule: str
    n_complete: float  # weight of the rows without missing values in these columns
    _kept: dict[bytes, Marginal] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        self.n_classes, self.shared = len(self.mean), self.covariance.ndim == 2

    @lazy
    def whole(self) -> Marginal:
        """The density of complete rows."""
        return Marginal(self.mean, self.covariance)

    def marginal(self, known: Flags) -> Marginal:
        """Return the marginal density of the known columns."""
        if known.all():
            return self.whole
        key = np.packbits(known).tobytes()
        found = self._kept.get(key)
        if found is None:
            place = np.flatnonzero(known)
            found = Marginal(self.mean[:, place], self.covariance[..., place[:, None], place[None, :]])
            if (len(self._kept) + 1) * found.whitener.nbytes < _MOST_KEPT:
                self._kept[key] = found
        return found

    def __getstate__(self) -> dict[str, Any]:
        """Return all fields except cached densities, which are recomputed on demand."""
        return {name: value for name, value in vars(self).items() if name != "whole"} | {"_kept": {}}

    @classmethod
    def add_many(cls, densities: Sequence[Any], columns: Sequence[Any], out: Floats) -> None:
        """Add the log densities up to a constant that all classes share."""
        for density, column in zip(densities, columns, strict=True):
            density._add(column, out, "add_relative")

    def add_common(self, column: Sequence[Any], out: Floats) -> None:
        """Add the part of the log density that all classes share."""
        if self.shared:
            self._add(column, out, "add_common")

    def add_log_prob(self, column: Sequence[Any], out: Floats) -> None:
        """Add log f(row | class) to `out`."""
        self._add(column, out, "add_relative")
        self.add_common(column, out)

    def _add(self, column: Sequence[Any], out: Floats, what: str) -> None:
        used = [column[j] for j in self.columns.tolist()]
        incomplete = np.flatnonzero(getattr(self.whole, what)(used, out))
        if len(incomplete) == 0:
            return
        cells = np.stack([np.asarray(c[incomplete], dtype=np.float64) for c in used], axis=1)
        for known, rows in patterns_of(cells):
            if known.any():  # a row without any known value keeps the prior
                part = np.zeros((len(rows), out.shape[1]))
                getattr(self.marginal(known), what)(list(cells[rows][:, known].T), part)
                out[incomplete[rows]] += part

    def factor(self, c: int, log: float, row: str) -> Factor:
        """Return the normal density φ at the row."""
        mark = "" if self.shared else "_c"
        tex = row if row == "x" else text_latex(row)
        text, latex = f"φ({row}; μ_c, Σ{mark})", rf"\varphi({tex};\,\mu_c,\,\Sigma{mark})"
        return Factor(log, text, latex, total=float(self.n[c]))

    def draw_log_prob(self, column: Any, size: int, rng: np.random.Generator) -> Floats:
        """Return log f(row | class) with means and covariances from their normal and inverse Wishart posterior.

        With Σ = L L', precision Σ⁻¹ = L'⁻¹ B B' L⁻¹ / df, where B is Bartlett's lower triangular matrix.
        """
        x = self.row(column)
        known = ~np.isnan(x)
        out = np.zeros((size, self.n_classes))
        if not known.any():
            return out
        marginal, p = self.marginal(known), int(known.sum())
        for start in range(0, size, _DRAWS):
            part = out[start : start + _DRAWS]
            lower = None
            for c in range(self.n_classes):
                whitener = marginal.whitener[0 if self.shared else c]
                free = max(self.n.sum() - self.n_classes if self.shared else self.n[c] - 1, float(p))
                if lower is None or not self.shared:
                    lower = np.tril(rng.normal(size=(len(part), p, p)), -1)
                    lower[:, range(p), range(p)] = np.sqrt(rng.chisquare(free - np.arange(p), (len(part), p)))
                z = rng.normal(size=(len(part), p)) / np.sqrt(max(self.n[c], 1.0))
                away = np.einsum("dji,j->di", lower, whitener @ (x[known] - self.mean[c, known])) / np.sqrt(free) - z
                log_det = np.log(lower[:, range(p), range(p)]).sum(axis=1) - 0.5 * p * np.log(free)
                part[:, c] = log_det + marginal.log_norm[0 if self.shared else c] - 0.5 * (away**2).sum(axis=1)
        return out

    def draw(self, c: int, size: int, rng: np.random.Generator) -> Floats:
        """Draw rows of class c."""
        covariance = self.covariance if self.shared else self.covariance[c]
        return np.asarray(self.mean[c] + rng.normal(size=(size, len(self.names))) @ _cholesky_of(covariance).T)

    def scoring_terms(self, derived: Derived, schema: Schema, tally: Any) -> list[Any]:
        """Return the density as one joint term."""
        return [joint_term(derived, self, tally)]

    def summary(self, classes: Sequence[Any]) -> dict[str, list[Any]]:
        """Return the means, then the covariance."""
        heads = [f"mean {c}" for c in classes]
        marks = ["Σ"] if self.shared else [f"Σ {c}" for c in classes]
        heads += [f"{mark} {name}" for mark in marks for name in self.names]
        cells = np.vstack([self.mean, self.covariance.reshape(-1, len(self.names))])
        return {"": heads, **{name: cells[:, j].tolist() for j, name in enumerate(self.names)}}

    # -- leave-one-out ------------------------------------------------------------------------
    # Removing a row shifts the mean of its class and subtracts one outer product from the scatter matrix. The inverse
    # and the determinant follow from the Sherman-Morrison formula. With g = w n / (n - w) and δ = x - μ,
    # S' = S - g δδᵀ,  S'⁻¹ = S⁻¹ + g S⁻¹δδᵀS⁻¹ / (1 - g δᵀS⁻¹δ).

    def log_prob_left_out(
        self, rule: Any, tally: Any, column: Sequence[Any], rows: LeftOutRows, *, keep: bool = False
    ) -> tuple[Floats, Flags, bool] | None:
        """Return the leave-one-out log densities in closed form; None after EM, shrinkage or missing values."""
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
        whitener = self.whole.whitener[0] / np.sqrt(free)  # whitens the scatter S instead of Σ
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
            volume = np.log(rest) + x.shape[1] * np.log(before / after)  # log(|Σ without the row| / |Σ|)
            terms[mine, c] = whole.log_norm[c] - 0.5 * volume - 0.5 * after * moved**2 * length / rest
            odd[mine] = ~((rest > _SINGULAR) & (after > 0) & (n[c] > w[mine]))
        return terms, odd


@dataclass(eq=False)
class DiagonalNormal(JointDensity):
    """Normal densities without correlations: a product over the columns."""

    columns: NDArray[np.intp]
    parts: list[GaussianDensity]  # one for each column
    left_out: dict[str, str]
    rule: str
    n_complete: float  # weight of the rows without missing values in these columns
    shared: bool  # whether all classes have the same standard deviations
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
        """The covariance matrix of all classes, or of each class."""
        stack = np.stack([np.diag(v) for v in self.sd**2])
        return np.asarray(stack[0] if self.shared else stack)

    def add_log_prob(self, column: Sequence[Any], out: Floats) -> None:
        """Add log f(row | class) to `out`; a missing value adds 0."""
        GaussianDensity.add_many(self.parts, [column[j] for j in self.columns.tolist()], out)

    def steps(self, name: str, column: Sequence[Any], shown: str) -> list[Step]:
        """Return the factor of each column."""
        found = []
        for part, x in zip(self.parts, self.row(column).tolist(), strict=True):
            found += part.steps(part.name, np.array([x]), "" if np.isnan(x) else cell(x))
        return [*found, *self.skipped()]

    def draw_log_prob(self, column: Any, size: int, rng: np.random.Generator) -> Floats:
        """Return log f(row | class) with means and standard deviations from their posterior."""
        drawn = [
            part.draw_log_prob(np.array([x]), size, rng)
            for part, x in zip(self.parts, self.row(column).tolist(), strict=True)
        ]
        return np.asarray(sum(drawn, np.zeros((size, self.n_classes))))

    def draw(self, c: int, size: int, rng: np.random.Generator) -> Floats:
        """Draw rows of class c."""
        return np.asarray(rng.normal(self.mean[c], self.sd[c], (size, len(self.names))))

    def scoring_terms(self, derived: Derived, schema: Schema, tally: Any) -> list[Any]:
        """Return a term for each column."""
        return diagonal_terms(derived, self)

    def summary(self, classes: Sequence[Any]) -> dict[str, list[Any]]:
        """Return the means and standard deviations."""
        heads = [f"{what} {c}" for c in classes for what in ("mean", "sd")]
        return {"": heads} | {p.name: np.stack([p.mean, p.sd], axis=1).ravel().tolist() for p in self.parts}
