"""Parzen density of whole rows: one kernel density for each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import InitVar, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.data.vectors import Vector, chosen_cells
from countwise.discriminant.density import JointDensity
from countwise.errors import OptionError, TableError, TooFewRows, did_you_mean, listed
from countwise.parzen.bandwidth_search import HELD_OUT, LEAST, bandwidths_of, folds_of, rule_of
from countwise.parzen.product_kernel import KERNELS, ProductKernelDensity
from countwise.tallies import Rows
from countwise.working.latex import text_latex
from countwise.working.numbers import cell, number
from countwise.working.steps import Factor

__all__ = ["Parzen", "ParzenJointDensity", "kernel_of", "written"]

_WORDS = {"tophat": "uniform", "normal": "gaussian", "box": "uniform"}


def kernel_of(kernel: Any, name: str) -> str:
    """Return the kernel of one column."""
    word = kernel.get(name, "gaussian") if isinstance(kernel, Mapping) else kernel
    word = _WORDS.get(word, word) if isinstance(word, str) else word
    if not isinstance(word, str) or word not in KERNELS:
        raise OptionError(
            f"kernel must be one of {listed(KERNELS)}, not {word!r}.",
            hint=did_you_mean(word, KERNELS) or "use 'gaussian', the default.",
        )
    return str(word)


@dataclass(frozen=True, slots=True)
class Parzen:
    """A product kernel at each row of a class; see `ParzenDensity` for the settings."""

    bandwidth: Any = "silverman"
    kernel: Any = "gaussian"
    cv: Any = 10
    alone: bool = False  # whether this is a single density; then a constant column is an error

    def blank(self, given: Nominal, of: Vector) -> Rows:
        """Return the empty tally, which stores the rows."""
        return Rows(given, of)

    def estimate(self, tally: Rows) -> ParzenJointDensity:
        """Choose the bandwidths of each class; where a column is constant in a class, those of all rows."""
        cells, _, weights = tally.filled
        empty = np.asarray(np.isnan(cells).all(axis=0))
        left_out = {a.name: "never seen" for a, gone in zip(tally.of.attributes, empty, strict=True) if gone}
        used = np.flatnonzero(~empty).tolist()
        if not used:
            raise TooFewRows("Every value of every column is missing; there is nothing to learn from.")
        whole = self._density(tally, used, cells, weights)
        rules = self.bandwidth if self.alone else _by_thumb(self.bandwidth, whole.attributes)
        folds = self._folds(whole)
        spare = bandwidths_of(whole, rules, folds)
        flat = [k for k, h in enumerate(spare) if h < LEAST and isinstance(whole.attributes[k], Numeric)]
        if flat and (self.alone or len(flat) == len(used)):
            raise _no_spread(whole, flat[0])
        left_out |= {whole.attributes[k].name: "constant" for k in flat}
        used = [j for k, j in enumerate(used) if k not in flat]
        whole = self._density(tally, used, cells, weights).with_bandwidths(np.delete(spare, flat))
        found: list[tuple[ProductKernelDensity, Sequence[int]]] = [(whole, range(len(cells)))]
        if not self.alone:
            found = [self._of_class(tally, used, c, whole) for c in range(len(tally.given.values))]
        by_class, places = zip(*found, strict=True)
        return ParzenJointDensity(np.array(used, dtype=np.intp), by_class, places, left_out, self.bandwidth, folds)

    def _of_class(
        self, tally: Rows, used: list[int], c: int, whole: ProductKernelDensity
    ) -> tuple[ProductKernelDensity, Sequence[int]]:
        cells, weights, rows = tally.of_class(c)
        if len(cells) == 0:  # a declared class without rows
            return whole, range(len(whole.cells))
        density = self._density(tally, used, cells, weights, spare=whole)
        own = bandwidths_of(density, self.bandwidth, self._folds(density))
        numeric = np.array([isinstance(a, Numeric) for a in density.attributes])
        return density.with_bandwidths(np.where(numeric & ~(own >= LEAST), whole.bandwidths, own)), rows.tolist()

    def _density(
        self, tally: Rows, used: list[int], cells: Any, weights: Any, spare: ProductKernelDensity | None = None
    ) -> ProductKernelDensity:
        attributes = tuple(tally.of.attributes[j] for j in used)
        kernels = tuple(kernel_of(self.kernel, a.name) if isinstance(a, Numeric) else "gaussian" for a in attributes)
        return ProductKernelDensity(
            attributes, kernels, np.ones(len(used)), chosen_cells(cells, used), weights, spare
        )

    def _folds(self, density: ProductKernelDensity) -> Any:
        needed = any(rule_of(self.bandwidth, a) == "k_fold" for a in density.attributes)
        return folds_of(density, self.cv) if needed and self.alone else None


def _by_thumb(bandwidth: Any, attributes: Sequence[Attribute]) -> Any:
    """Replace held-out likelihood by Silverman's rule, for bandwidths that are only a fallback."""
    rules = {a.name: rule_of(bandwidth, a) for a in attributes}
    return {name: "silverman" if rule in HELD_OUT else rule for name, rule in rules.items()}


def _no_spread(density: ProductKernelDensity, k: int) -> TableError:
    a = density.attributes[k]
    values = density.cells[:, k]
    value = number(float(values[~np.isnan(values)][0]))
    return TooFewRows(
        f"{a.name!r} is {value} in every row; no rule can choose a bandwidth for it (n_samples={density.n:g}).",
        hint=f"pass a number, such as bandwidth={{{a.name!r}: 1.0}}, or drop the column.",
    )


_CELLS = 4_000_000  # weights that are drawn at a time


@dataclass(eq=False)
class ParzenJointDensity(JointDensity):
    """Kernel densities of whole rows, one for each class."""

    columns: NDArray[np.intp]
    by_class: Sequence[ProductKernelDensity]
    places: Sequence[Sequence[int]]  # indices of the rows of each class among the training rows
    left_out: dict[str, str]
    bandwidth: InitVar[Any]  # the rule that chose the bandwidths
    folds: Any = None  # the folds held out to choose them

    def __post_init__(self, bandwidth: Any) -> None:
        self.n_classes, self.attributes = len(self.by_class), self.by_class[0].attributes
        self.names = tuple(a.name for a in self.attributes)
        how = bandwidth.replace("_", "-") if isinstance(bandwidth, str) else "given"
        self.rule = f"Parzen density, bandwidth {how}"

    def add_log_prob(self, column: Floats, out: Floats) -> None:
        """Add log f(row | class) to `out`."""
        queries = chosen_cells(column, self.columns)
        for c, density in enumerate(self.by_class):
            out[:, c] += density.log_density(queries)

    def draw_log_prob(self, column: Floats, size: int, rng: np.random.Generator) -> Floats:
        """Return log f(row | class) by the Bayesian bootstrap: the training rows have Dirichlet weights."""
        x, out = self.row(column), np.zeros((size, self.n_classes))
        known = ~np.isnan(x)
        for c, density in enumerate(self.by_class if known.any() else ()):
            logs = density.log_terms(x) - np.log(density.weights)
            top = float(logs.max(initial=-np.inf))
            if top == -np.inf:
                out[:, c] = -np.inf
                continue
            kernels, block = np.exp(logs - top), max(1, _CELLS // len(logs))
            for start in range(0, size, block):
                part = out[start : start + block, c]
                weights = rng.gamma(density.weights, size=(len(part), len(logs)))
                part += np.log(np.maximum(weights @ kernels / weights.sum(axis=1), 1e-300))
            out[:, c] += top + density.log_norms[known].sum()
        return out

    def row(self, column: Floats) -> Floats:
        """Return the values of the first row in the used columns."""
        return np.asarray(column[0, self.columns])

    def cell(self, j: int, value: float) -> str:
        """Return a number, or a nominal value, as text."""
        return written(self.attributes[j], value)

    def factor(self, c: int, log: float, row: str) -> Factor:
        """Return the factor of a class: the density at the row, with the number of rows behind it."""
        n = self.by_class[c].n
        tex = row if row == "x" else text_latex(row)
        return Factor(log, f"f({row}; {number(n)} rows)", rf"\hat f({tex};\, n={number(n)})", total=n)

    def summary(self, classes: Sequence[Any]) -> dict[str, list[Any]]:
        """Return the bandwidth of each column in each class."""
        cells = {name: [float(b.bandwidths[j]) for b in self.by_class] for j, name in enumerate(self.names)}
        return {"": [str(c) for c in classes], "rows": [number(b.n) for b in self.by_class], **cells}


def written(a: Attribute, value: float) -> str:
    """Return a value as text; '?' if it is missing."""
    if np.isnan(value):
        return "?"
    return str(a.values[int(value)]) if isinstance(a, Nominal) else cell(float(value))
