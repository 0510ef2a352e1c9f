"""Parzen: whole rows of any columns as a density of bumps, one density a class (003)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.data.vectors import Vector, chosen_cells
from countwise.discriminant.density import event_of
from countwise.distributions.distribution import Density
from countwise.distributions.distribution import no_say as left_out_step
from countwise.errors import OptionError, TableError, TooFewRows, did_you_mean, listed
from countwise.parzen.bandwidth_search import HELD_OUT, LEAST, folds_of, rule_of, widths_of
from countwise.parzen.product_kernel import KERNELS, ProductKernelDensity
from countwise.tallies import Rows
from countwise.working.numbers import number
from countwise.working.steps import Factor, Step

__all__ = ["Parzen", "ParzenLaw", "kernel_of"]

_WORDS = {"tophat": "uniform", "normal": "gaussian", "box": "uniform"}


def kernel_of(kernel: Any, name: str) -> str:
    """The kernel of one column."""
    word = kernel.get(name, "gaussian") if isinstance(kernel, Mapping) else kernel
    word = _WORDS.get(word, word) if isinstance(word, str) else word
    if not isinstance(word, str) or word not in KERNELS:
        raise OptionError(
            f"kernel={word!r} is unknown.", hint=did_you_mean(word, KERNELS) or f"give one of {listed(KERNELS)}."
        )
    return str(word)


@dataclass(frozen=True, slots=True)
class Parzen:
    """A product kernel over each row of the class.

    .. math:: f(x | c) = 1/n_c Σ_i ∏_j K((x_j - x_ij) / h_j) / h_j

    Parameters
    ----------
    bandwidth : float, str or mapping of column to either
        See `ParzenDensity`.
    kernel : str or mapping of column to str
        "gaussian", "epanechnikov" or "uniform".
    cv : int or splitter
        The folds of "k_fold".
    alone : bool
        Whether it is a density on its own: a column without spread then has no density.
    """

    bandwidth: Any = "silverman"
    kernel: Any = "gaussian"
    cv: Any = 10
    alone: bool = False

    def blank(self, given: Nominal, of: Vector) -> Rows:
        """The rows themselves."""
        return Rows(given, of)

    def estimate(self, tally: Rows) -> ParzenLaw:
        """Choose the bandwidths, class by class; a class without spread takes those of all rows."""
        cells, _, weights = tally.filled
        left_out: dict[str, str] = {}
        used = []
        for j, a in enumerate(tally.of.attributes):
            if np.isnan(cells[:, j]).all():
                left_out[a.name] = "never seen"
            else:
                used.append(j)
        if not used:
            raise TooFewRows("There is no column of which any cell is there: nothing can be learned.")
        whole = self._bumps(tally, used, cells, weights)
        rules = self.bandwidth if self.alone else _by_thumb(self.bandwidth, whole.attributes)
        folds = self._folds(whole)
        spare = widths_of(whole, rules, folds)
        flat = [k for k, h in enumerate(spare) if h < LEAST and isinstance(whole.attributes[k], Numeric)]
        if flat and self.alone:
            raise _no_spread(whole, flat[0])
        for k in flat:
            left_out[whole.attributes[k].name] = "constant"
        used = [j for k, j in enumerate(used) if k not in flat]
        if not used:
            raise _no_spread(whole, flat[0])
        spare = np.delete(spare, flat)
        whole = self._bumps(tally, used, cells, weights).with_widths(spare)
        columns = np.array(used, dtype=np.intp)
        if self.alone:
            return ParzenLaw(columns, [whole], [range(len(cells))], left_out, self.bandwidth, folds)
        found = [self._of_class(tally, used, c, whole) for c in range(len(tally.given.values))]
        return ParzenLaw(columns, [b for b, _ in found], [rows for _, rows in found], left_out, self.bandwidth)

    def _of_class(
        self, tally: Rows, used: list[int], c: int, whole: ProductKernelDensity
    ) -> tuple[ProductKernelDensity, Sequence[int]]:
        cells, weights, rows = tally.of_class(c)
        if len(cells) == 0:  # announced, and never met
            return whole, range(len(whole.cells))
        bumps = self._bumps(tally, used, cells, weights, spare=whole)
        own = widths_of(bumps, self.bandwidth, self._folds(bumps))
        numbers = np.array([isinstance(a, Numeric) for a in bumps.attributes])
        return bumps.with_widths(np.where(numbers & ~(own >= LEAST), whole.bandwidths, own)), rows.tolist()

    def _bumps(
        self, tally: Rows, used: list[int], cells: Any, weights: Any, spare: ProductKernelDensity | None = None
    ) -> ProductKernelDensity:
        attributes = tuple(tally.of.attributes[j] for j in used)
        kernels = tuple(kernel_of(self.kernel, a.name) if isinstance(a, Numeric) else "gaussian" for a in attributes)
        return ProductKernelDensity(
            attributes, kernels, np.ones(len(used)), chosen_cells(cells, used), weights, spare
        )

    def _folds(self, bumps: ProductKernelDensity) -> Any:
        asked = any(rule_of(self.bandwidth, a) == "k_fold" for a in bumps.attributes)
        return folds_of(bumps, self.cv) if asked and self.alone else None


def _by_thumb(bandwidth: Any, attributes: Sequence[Attribute]) -> Any:
    """Rules for what only stands in: no search where a rule of thumb will do."""
    rules = {a.name: rule_of(bandwidth, a) for a in attributes}
    return {name: "silverman" if rule in HELD_OUT else rule for name, rule in rules.items()}


def _no_spread(bumps: ProductKernelDensity, k: int) -> TableError:
    a = bumps.attributes[k]
    values = bumps.cells[:, k]
    value = number(float(values[~np.isnan(values)][0]))
    return TooFewRows(
        f"{a.name!r} is {value} in every row: no rule gives it a bandwidth (n_samples={bumps.n:g}).",
        hint=f"give one: bandwidth={{{a.name!r}: 1.0}}; or leave the column out.",
    )


class ParzenLaw(Density):
    """Parzen densities over whole rows, one a class.

    Parameters
    ----------
    columns : ndarray of int
        Which of the vector's attributes are in use.
    bumps : list of ProductKernelDensity
        One a class.
    places : list of sequences of int
        Where the rows of each class stand in training.
    left_out : dict of str to str
        Columns that are not in use, and why.
    rule : object
        How the bandwidths were found, for the wording.
    folds : list or None
        What was held out to find them.
    """

    def __init__(
        self,
        columns: NDArray[np.intp],
        bumps: list[ProductKernelDensity],
        places: list[Sequence[int]],
        left_out: dict[str, str],
        rule: Any,
        folds: Any = None,
    ) -> None:
        self.folds = folds
        self.columns, self.bumps, self.places, self.left_out = columns, bumps, places, left_out
        self.n_classes = len(bumps)
        how = rule if isinstance(rule, str) else "given"
        self.rule = f"Parzen density, bandwidth {how.replace('_', '-')}"

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The columns in use."""
        return self.bumps[0].attributes

    @property
    def names(self) -> tuple[str, ...]:
        """What they are called."""
        return tuple(a.name for a in self.attributes)

    def add_log_prob(self, column: Floats, out: Floats) -> None:
        """Add log f(row | class); a missing cell is integrated out."""
        queries = chosen_cells(column, self.columns)
        for c, bumps in enumerate(self.bumps):
            out[:, c] += bumps.log_density(queries)

    def steps(self, name: str, column: Floats, shown: str) -> list[Step]:
        """The density of each class at the row."""
        x = column[0, self.columns]
        there = ~np.isnan(x)
        skipped = [left_out_step(self.names[j], "?", "missing", self.rule)[0] for j in np.flatnonzero(~there)]
        skipped += [left_out_step(n, "", why, self.rule)[0] for n, why in self.left_out.items()]
        if not there.any():
            return skipped
        out = np.zeros((1, self.n_classes))
        self.add_log_prob(column, out)
        names = [n for n, known in zip(self.names, there, strict=True) if known]
        values = [written(a, v) for a, v, known in zip(self.attributes, x, there, strict=True) if known]
        event, row = event_of(names, values)
        tex = row if row == "x" else rf"\text{{{row}}}"
        factors = tuple(
            Factor(float(log), f"f({row}; {number(b.n)} rows)", rf"\hat f({tex};\, n={number(b.n)})", total=b.n)
            for log, b in zip(out[0], self.bumps, strict=True)
        )
        return [Step(*event, factors, "known", self.rule), *skipped]

    def summary(self, classes: Sequence[Any]) -> dict[str, list[Any]]:
        """The bandwidth of each column in each class."""
        cells = {name: [float(b.bandwidths[j]) for b in self.bumps] for j, name in enumerate(self.names)}
        return {"": [str(c) for c in classes], "rows": [number(b.n) for b in self.bumps], **cells}


def written(a: Attribute, value: float) -> str:
    """A cell as a person writes it."""
    if np.isnan(value):
        return "?"
    return str(a.values[int(value)]) if isinstance(a, Nominal) else number(float(value))
