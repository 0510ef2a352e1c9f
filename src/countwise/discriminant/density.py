"""Normal laws of several columns together: their densities, and those of the columns that are there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise._cached import lazy
from countwise._typing import Flags, Floats
from countwise.data.derived import Derived
from countwise.data.schema import Schema
from countwise.discriminant.collinearity import Redundant
from countwise.discriminant.left_out import normal_left_out
from countwise.discriminant.scoring import diagonal_terms, joint_term
from countwise.distributions.distribution import Density, LeftOutRows
from countwise.distributions.distribution import no_say as left_out_step
from countwise.distributions.gaussian import GaussianDensity
from countwise.working.numbers import number
from countwise.working.steps import Factor, Step

__all__ = ["DiagonalNormal", "Marginal", "MultivariateNormal", "event_of", "patterns_of"]

_MOST_KEPT = 1 << 26  # bytes of marginal laws, of patterns of missing cells, that are kept
_MOST_SHOWN = 3  # numbers of a row that are written out; those of longer ones stand in the tables below


def event_of(names: Sequence[str], values: Sequence[str]) -> tuple[tuple[str, str], str]:
    """How a row is named and written in a working: by its cells while they are few, else as x."""
    if len(names) == 1:
        return (names[0], values[0]), values[0]
    if len(names) > _MOST_SHOWN:
        return ("x", ""), "x"
    row = ", ".join(values)
    return (f"({', '.join(names)})", f"({row})"), row


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


class Marginal:
    """The Gaussians of some columns: one covariance for all classes, or one each.

    Parameters
    ----------
    mean : ndarray, shape (classes, columns)
        The means.
    covariance : ndarray, shape (columns, columns) or (classes, columns, columns)
        Positive definite.
    """

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
        """Add what tells the classes apart to complete rows of out; returns which rows have gaps."""
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
class MultivariateNormal(Density):
    """Gaussians over whole rows, one a class; a missing cell is integrated out.

    Parameters
    ----------
    columns : ndarray of int
        Which of the vector's numbers are in use.
    names : tuple of str
        What they are called.
    mean : ndarray, shape (classes, columns)
        Means.
    covariance : ndarray, shape (columns, columns) or (classes, columns, columns)
        One for all, or one each.
    n : ndarray, shape (classes,)
        Rows behind them.
    left_out : dict of str to str
        Numbers that are not in use, and why.
    redundant : tuple of Redundant
        Those that made the covariance singular.
    shrinkage : ndarray
        By how much covariances were shrunk.
    n_iter : int
        Steps of EM; 0 if no cell was missing.
    rule : str
        For the working.
    n_complete : float
        Rows without a gap in these columns.
    """

    columns: NDArray[np.intp]
    names: tuple[str, ...]
    mean: Floats
    covariance: Floats
    n: Floats
    left_out: dict[str, str]
    redundant: tuple[Redundant, ...]
    shrinkage: Floats
    n_iter: int
    rule: str
    n_complete: float
    _kept: dict[bytes, Marginal] = field(default_factory=dict, repr=False)

    @property
    def shared(self) -> bool:
        """Whether the classes have one covariance."""
        return self.covariance.ndim == 2

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """How many classes there are."""
        return len(self.mean)

    @lazy
    def whole(self) -> Marginal:
        """The law of rows without a gap."""
        return Marginal(self.mean, self.covariance)

    def marginal(self, there: Flags) -> Marginal:
        """The law of the columns that are there."""
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

    def row(self, column: Sequence[Any]) -> Floats:
        """The numbers in use of the first row."""
        return np.array([float(column[j][0]) for j in self.columns.tolist()])

    def steps(self, name: str, column: Sequence[Any], shown: str) -> list[Step]:
        """The density of each class at the row; what is missing or left out has no say."""
        x = self.row(column)
        there = ~np.isnan(x)
        skipped = [left_out_step(self.names[j], "?", "missing", self.rule)[0] for j in np.flatnonzero(~there)]
        skipped += [
            left_out_step(n, "", "never seen" if why == "never seen" else "redundant", self.rule)[0]
            for n, why in self.left_out.items()
        ]
        if not there.any():
            return skipped
        out = np.zeros((1, self.n_classes))
        self.add_log_prob(column, out)
        names = [n for n, t in zip(self.names, there, strict=True) if t]
        event, written = event_of(names, [number(float(v)) for v in x[there]])
        mark = "" if self.shared else "_c"
        text, latex = f"φ({written}; μ_c, Σ{mark})", rf"\varphi({written};\,\mu_c,\,\Sigma{mark})"
        factors = tuple(
            Factor(float(log), text, latex, total=float(n)) for log, n in zip(out[0], self.n, strict=True)
        )
        return [Step(*event, factors, "known", self.rule), *skipped]

    def scoring_terms(self, derived: Derived, schema: Schema, tally: Any) -> list[Any]:
        """One joint term."""
        return [joint_term(derived, self, tally)]

    def log_prob_left_out(
        self, rule: Any, tally: Any, column: Sequence[Any], rows: LeftOutRows, *, keep: bool = False
    ) -> tuple[Floats, Flags, bool] | None:
        """By the formulas of Sherman and Morrison, where rows are complete."""
        return normal_left_out(self, rule, column, rows)

    def summary(self, classes: Sequence[Any]) -> dict[str, list[Any]]:
        """Means, then the covariance."""
        heads = [f"mean {c}" for c in classes]
        cells = [list(map(float, row)) for row in self.mean]
        stack = (
            [("Σ", self.covariance)]
            if self.shared
            else [(f"Σ {c}", s) for c, s in zip(classes, self.covariance, strict=True)]
        )
        for mark, matrix in stack:
            heads += [f"{mark} {name}" for name in self.names]
            cells += [list(map(float, row)) for row in matrix]
        return {"": heads, **{name: [row[j] for row in cells] for j, name in enumerate(self.names)}}


@dataclass(eq=False)
class DiagonalNormal(Density):
    """Gaussians without correlations: each column on its own.

    Parameters
    ----------
    columns : ndarray of int
        Which of the vector's numbers are in use.
    laws : list of GaussianDensity
        One a number.
    left_out : dict of str to str
        Numbers that are not in use, and why.
    rule : str
        For the working.
    n_complete : float
        Rows without a gap in these columns.
    shared : bool
        Whether all classes have the same deviations.
    """

    columns: NDArray[np.intp]
    laws: list[GaussianDensity]
    left_out: dict[str, str]
    rule: str
    n_complete: float
    shared: bool = True

    @classmethod
    def of_means(
        cls,
        columns: Any,
        names: Sequence[str],
        mean: Floats,
        sd: Floats,
        n: Floats,
        left_out: dict[str, str],
        rule: str,
        n_complete: float,
    ) -> DiagonalNormal:
        """From means and deviations, (classes, columns)."""
        nobody = np.zeros(len(mean), dtype=bool)
        laws = [GaussianDensity(name, mean[:, j], sd[:, j], n[:, j], nobody) for j, name in enumerate(names)]
        return cls(columns, laws, left_out, rule, n_complete)

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """How many classes there are."""
        return self.laws[0].n_classes

    @property
    def names(self) -> tuple[str, ...]:
        """What the numbers in use are called."""
        return tuple(law.name for law in self.laws)

    @property
    def mean(self) -> Floats:
        """Means, (classes, columns)."""
        return np.stack([law.mean for law in self.laws], axis=1)

    @property
    def sd(self) -> Floats:
        """Deviations, (classes, columns)."""
        return np.stack([law.sd for law in self.laws], axis=1)

    @property
    def n(self) -> Floats:
        """Rows behind them, a class."""
        return np.max([law.n for law in self.laws], axis=0)

    @classmethod
    def add_many(cls, densities: Sequence[Any], columns: Sequence[Any], out: Floats) -> None:
        """All columns in one pass."""
        for density, column in zip(densities, columns, strict=True):
            density.add_log_prob(column, out)

    def add_log_prob(self, column: Sequence[Any], out: Floats) -> None:
        """Add log f(row | class); a missing cell adds nothing."""
        used = [column[j] for j in self.columns.tolist()]
        GaussianDensity.add_many(self.laws, used, out)

    def steps(self, name: str, column: Sequence[Any], shown: str) -> list[Step]:
        """The factor of each column."""
        found = []
        for j, law in zip(self.columns.tolist(), self.laws, strict=True):
            x = float(column[j][0])
            found += law.steps(law.name, np.array([x]), "" if np.isnan(x) else number(x))
        return [*found, *(left_out_step(n, "", why, self.rule)[0] for n, why in self.left_out.items())]

    def scoring_terms(self, derived: Derived, schema: Schema, tally: Any) -> list[Any]:
        """A term for each column."""
        return diagonal_terms(derived, self)

    def summary(self, classes: Sequence[Any]) -> dict[str, list[Any]]:
        """Means and deviations."""
        heads = [f"{what} {c}" for c in classes for what in ("mean", "deviation")]
        cells = {
            law.name: [float(v) for c in range(self.n_classes) for v in (law.mean[c], law.sd[c])] for law in self.laws
        }
        return {"": heads, **cells}
