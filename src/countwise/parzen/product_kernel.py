"""Product kernel density of rows: the mean of a product kernel centered at each training row."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels, progress
from countwise._cached import lazy
from countwise._typing import Flags, Floats, Indices
from countwise.data.attributes import Attribute, Nominal, Ordinal
from countwise.discriminant.density import patterns_of
from countwise.distributions.bandwidths import TOLERANCE, ones_as_none
from countwise.tallies import all_ones

__all__ = ["CANONICAL", "KERNELS", "NOMINAL", "ORDINAL", "ProductKernelDensity", "geometric", "log_kernel", "moved"]


KERNELS = {"gaussian": 0, "epanechnikov": 1, "uniform": 2}
NOMINAL, ORDINAL = 3, 4
# canonical bandwidths: factors at which each kernel smooths as much as the Gaussian
CANONICAL = {"gaussian": 1.0, "epanechnikov": 2.2138, "uniform": 1.7400}


def log_kernel(code: int, scale: Floats, away: Floats) -> Floats:
    """Return the logarithm of a kernel at a distance, without the constants that are equal for all rows."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if code == NOMINAL:
            return np.where(away == 0, scale[0], scale[1])
        if code == ORDINAL:
            return np.where(away == 0, 0.0, scale[0] * np.abs(away))
        z = away / scale[0]
        if code == 0:
            return np.asarray(-0.5 * z * z)
        inside = np.maximum(1 - z * z, 0.0) if code == 1 else (np.abs(z) <= 1).astype(np.float64)
        return np.log(inside)


def moved(a: Attribute, kernel: str, h: float, column: Floats, rng: np.random.Generator) -> Floats:
    """Return values drawn from the kernels centered at the given values."""
    size = len(column)
    if isinstance(a, Nominal):
        return _other_value(a, h, column.astype(np.int64), rng).astype(np.float64)
    if kernel == "gaussian":
        return column + rng.normal(0, h, size)
    if kernel == "uniform":
        return column + rng.uniform(-h, h, size)
    steps = [rng.uniform(-1, 1, size) for _ in range(3)]  # Epanechnikov from three uniforms (Devroye and Györfi)
    far = (np.abs(steps[2]) >= np.abs(steps[1])) & (np.abs(steps[2]) >= np.abs(steps[0]))
    return column + h * np.where(far, steps[1], steps[2])


def geometric(share: float, k: int) -> Floats:
    """Return Σ_v share^|v - u| over k ordinal values v, for each value u."""
    if share == 1:
        return np.full(k, float(k))
    codes = np.arange(k)
    return np.asarray((1 + share - share ** (codes + 1.0) - share ** (k - codes + 0.0)) / (1 - share))


def _other_value(a: Nominal, share: float, codes: Indices, rng: np.random.Generator) -> Indices:
    """Return codes drawn from the nominal or ordinal kernels at the given codes."""
    k, out = len(a.values), codes.copy()
    if not isinstance(a, Ordinal):
        moved = (rng.random(len(codes)) < share) & (k > 1)
        other = rng.integers(0, max(k - 1, 1), int(moved.sum()))
        out[moved] = other + (other >= codes[moved])
        return out
    for code in np.unique(codes).tolist():
        mine = np.flatnonzero(codes == code)
        shares = share ** np.abs(np.arange(k) - code).astype(np.float64)
        out[mine] = rng.choice(k, len(mine), p=shares / shares.sum())
    return out


_BLOCK = 2048  # queries in one block of parallel work
_FAST_BLOCK = 1 << 17  # the same for the fast Gauss transform, where a query takes only nanoseconds


@dataclass(eq=False)
class ProductKernelDensity:
    """Density of rows: the mean of a product kernel over the training rows.

    A missing value of a training row has the marginal density of its column as its kernel. A missing value of a query
    is integrated out, so that its factor is 1.
    """

    attributes: tuple[Attribute, ...]
    kernels: tuple[str, ...]  # "gaussian", "epanechnikov" or "uniform"; ignored for nominal and ordinal columns
    bandwidths: Floats  # h of numeric columns; λ of nominal and ordinal columns
    cells: Floats  # (rows, columns): numbers and codes; NaN is missing
    weights: Floats  # (rows,), above 0
    spare: ProductKernelDensity | None = None  # provides the marginal density of a column without any value
    _kept: dict[bytes, tuple[Floats, Floats, Floats]] = field(default_factory=dict, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """Return the rows and bandwidths; everything else is recomputed on demand."""
        names = ("attributes", "kernels", "bandwidths", "cells", "weights", "spare")
        return {name: getattr(self, name) for name in names} | {"_kept": {}}

    # -- the kernels ---------------------------------------------------------------

    @property
    def n(self) -> float:
        """The total weight of the rows."""
        return float(self.weights.sum())

    @lazy
    def kernel_codes(self) -> NDArray[np.uint8]:
        """The code of each column's kernel."""
        codes = [
            ORDINAL if isinstance(a, Ordinal) else NOMINAL if isinstance(a, Nominal) else KERNELS[kernel]
            for a, kernel in zip(self.attributes, self.kernels, strict=True)
        ]
        return np.array(codes, dtype=np.uint8)

    @lazy
    def scales(self) -> Floats:
        """Parameters of each column's kernel: (h, 0), (log(1 - λ), log(λ / (k - 1))) or (log λ, 0)."""
        scales = np.zeros((len(self.attributes), 2))
        with np.errstate(divide="ignore"):
            for j, (a, code) in enumerate(zip(self.attributes, self.kernel_codes.tolist(), strict=True)):
                h = self.bandwidths[j]
                if code == NOMINAL:
                    others = max(len(a.values) - 1, 1)  # type: ignore[attr-defined]
                    scales[j] = np.log(1 - h), np.log(h / others)
                elif code == ORDINAL:
                    scales[j] = np.log(h), 0.0
                else:
                    scales[j] = h, 0.0
        return scales

    @lazy
    def log_norms(self) -> Floats:
        """The logarithm of the peak of each numeric kernel; 0 for other kernels."""
        area = {0: np.sqrt(2 * np.pi), 1: 4 / 3, 2: 2.0}
        kernels = zip(self.bandwidths, self.kernel_codes, strict=True)
        return np.array([-np.log(h) - np.log(area[k]) if k in area else 0.0 for h, k in kernels])

    @property
    def is_line(self) -> bool:
        """Whether there is a single numeric column with Gaussian kernels; then the fast Gauss transform applies."""
        return len(self.attributes) == 1 and int(self.kernel_codes[0]) == 0

    # -- densities -------------------------------------------------------------------

    def log_density(self, queries: Floats) -> Floats:
        """Return log f of each query; 0 for a query without any known value."""
        if len(self.attributes) == 1 and not self.known.any():
            return self._unknown(queries)
        logs = self._on_line(queries[:, 0]) if self.is_line else self._sums(queries)
        return self._normed(queries, logs, np.log(self.n))

    def leave_one_out(self) -> Floats:
        """Return the leave-one-out log density of each training row; a weight of w represents w rows."""
        if len(self.attributes) == 1 and not self.known.any():
            return self._unknown(self.cells)
        one = np.minimum(self.weights, 1.0)
        with np.errstate(divide="ignore"):
            total = np.log(np.maximum(self.n - one, 0.0))
        logs = self._on_line_left_out() if self.is_line else self._sums(self.cells, left_out=True)
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(total), -np.inf, self._normed(self.cells, logs, total))

    @lazy
    def known(self) -> Flags:
        """Which rows have a value in the first column."""
        return ~np.isnan(self.cells[:, 0])

    def _unknown(self, queries: Floats) -> Floats:
        """Return the log density for a single column without any value: that of `spare`, or -inf."""
        if self.spare is not None:
            return self.spare.log_density(queries)
        return np.where(np.isnan(queries[:, 0]), 0.0, -np.inf)

    def _normed(self, queries: Floats, logs: Floats, total: Any) -> Floats:
        missing = np.isnan(queries)
        if not missing.any():
            return np.asarray(logs - (total - self.log_norms.sum()))
        known = ~missing
        with np.errstate(invalid="ignore"):
            return np.where(known.any(axis=1), logs - total + known @ self.log_norms, 0.0)

    # a single numeric column

    @lazy
    def sorted_line(self) -> tuple[Floats, Floats | None]:
        """The sorted distinct values, and their weights (None if all are 1); fractional weights stay separate."""
        known = self.known
        column = self.cells[:, 0] if known.all() else self.cells[known, 0]
        if all_ones(self.weights):  # sorting values is several times faster than sorting indices
            column = np.sort(column)
            if not (column[1:] == column[:-1]).any():
                return column, None
            first = np.flatnonzero(np.concatenate([[True], column[1:] != column[:-1]]))
            counts = np.diff(first, append=len(column))
            return column[first], ones_as_none(counts)
        weights = self.weights[known]
        if not _kernels.float_is_integral(weights):  # leave-one-out needs each row separately
            order = np.argsort(column, kind="stable")
            return column[order], weights[order]
        values, which = np.unique(column, return_inverse=True)
        return values, ones_as_none(np.bincount(which, weights=weights, minlength=len(values)))

    @lazy
    def places_on_line(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The rows with a value, and the position of each value among the sorted values."""
        known, values = np.flatnonzero(self.known), self.sorted_line[0]
        if len(values) < len(known):
            return known, np.searchsorted(values, self.cells[known, 0])
        which = np.empty(len(known), dtype=np.intp)
        which[np.argsort(self.cells[known, 0], kind="stable")] = np.arange(len(known))
        return known, which

    @lazy
    def expansion(self) -> tuple[Any, Any]:
        """The local expansions of the fast Gauss transform."""
        values, weights = self.sorted_line
        return _kernels.gauss_expand(values, weights, float(self.bandwidths[0]), TOLERANCE)

    def _on_line(self, queries: Floats) -> Floats:
        (values, weights), (boxes, taylor) = self.sorted_line, self.expansion
        h, queries = float(self.bandwidths[0]), np.ascontiguousarray(queries)

        def work(start: int, stop: int) -> Floats:
            return _kernels.gauss_log_sums(values, weights, h, boxes, taylor, TOLERANCE, queries[start:stop])

        # each call passes over all points once, so many points need few calls
        block = max(_FAST_BLOCK, len(values) // 4)
        pieces = _kernels.over_blocks(len(queries), block, work, progress=progress.current())
        sums = pieces[0] if len(pieces) == 1 else np.concatenate(pieces) if pieces else np.empty(0)
        # rows with a missing value have the marginal density as their kernel
        known = float(self.weights[self.known].sum())
        return sums if known == self.n else sums + float(np.log(self.n) - np.log(known))

    def _on_line_left_out(self) -> Floats:
        (values, weights), (boxes, taylor) = self.sorted_line, self.expansion
        sums = _kernels.gauss_loo_log_sums(values, weights, float(self.bandwidths[0]), boxes, taylor, TOLERANCE)
        found = np.zeros(len(self.cells))
        known, which = self.places_on_line
        one = np.minimum(self.weights[known], 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = np.log(np.maximum(self.n - one, 0.0)) - np.log(np.maximum(self.weights[known].sum() - one, 0.0))
            found[known] = np.where(np.isneginf(sums[which]), -np.inf, sums[which] + share)
        return found

    # several columns, or other types

    @lazy
    def order(self) -> Indices:
        """An order of the rows in which nearby rows follow each other."""
        return self._order_of(self.cells)

    def _order_of(self, cells: Floats) -> Indices:
        return _kernels.product_order(np.ascontiguousarray(cells), self.kernel_codes, self.scales)

    @lazy
    def ordinal_shares(self) -> Floats:
        """Log normalization Σ λ^|steps| of each row's ordinal values; 0 for a missing value."""
        shares = np.zeros(self.cells.shape)
        for j in np.flatnonzero(self.kernel_codes == ORDINAL).tolist():
            total = np.log(geometric(float(self.bandwidths[j]), len(self.attributes[j].values)))  # type: ignore[attr-defined]
            codes = self.cells[:, j]
            shares[:, j] = np.where(np.isnan(codes), 0.0, total[np.nan_to_num(codes).astype(np.int64)])
        return shares

    def _sums(self, queries: Floats, *, left_out: bool = False) -> Floats:
        """Return the log sums of the queries, grouped by the pattern of missing ordinal values."""
        out = np.zeros(len(queries))
        ordinal = np.flatnonzero(self.kernel_codes == ORDINAL)
        absent = self._absent(queries, left_out=left_out)
        everything = [(np.empty(0, dtype=bool), np.arange(len(queries)))]
        for known, rows in patterns_of(queries[:, ordinal]) if len(ordinal) else everything:
            margins = None if absent is None else absent[rows]
            out[rows] = self._group(queries[rows], margins, ordinal[known], rows if left_out else None)
        return out

    def _prepared(self, ordinal: NDArray[np.intp]) -> tuple[Floats, Floats, Floats]:
        """Return the sorted rows, their log weights for the given ordinal columns, and their boxes."""
        key = ordinal.tobytes()
        if key not in self._kept:
            points = np.ascontiguousarray(self.cells[self.order])
            log_weights = np.log(self.weights) - self.ordinal_shares[:, ordinal].sum(axis=1)
            weighed = log_weights[self.order]
            self._kept[key] = points, weighed, _kernels.product_boxes(points, weighed)
        return self._kept[key]

    def _group(self, queries: Floats, absent: Floats | None, ordinal: NDArray[np.intp], own: Any) -> Floats:
        """Return the log sums of queries with the same known ordinal columns, leaving out the rows `own`."""
        order = self.order
        points, weighed, boxes = self._prepared(ordinal)
        near = order if own is not None and len(own) == len(order) else self._order_of(queries)
        queries = np.ascontiguousarray(queries[near])
        absent = None if absent is None else np.ascontiguousarray(absent[near])
        places = rest = None
        if own is not None:
            position = np.empty(len(order), dtype=np.int64)
            position[order] = np.arange(len(order))
            mine = own[near]
            places = position[mine]
            with np.errstate(divide="ignore"):  # the weight without one copy of the row
                left = np.log(np.maximum(self.weights[mine] - 1.0, 0.0))
            rest = left + weighed[places] - np.log(self.weights[mine])

        def work(start: int, stop: int) -> Floats:
            part = slice(start, stop)
            margins = None if absent is None else absent[part]
            mine = None if places is None else places[part]
            less = None if rest is None else rest[part]
            return _kernels.product_log_sums(
                points, weighed, boxes, self.kernel_codes, self.scales, queries[part], margins, mine, less, TOLERANCE
            )

        pieces = _kernels.over_blocks(len(queries), _BLOCK, work, progress=progress.current())
        out = np.empty(len(queries))
        out[near] = np.concatenate(pieces) if pieces else np.empty(0)
        return out

    # missing values of training rows

    def margin(self, j: int) -> ProductKernelDensity:
        """Return the marginal density of one column, from the rows with a value."""
        known = ~np.isnan(self.cells[:, j])
        if not known.any() and self.spare is not None:
            return self.spare.margin(j)
        place = slice(j, j + 1)
        columns = (self.attributes[place], self.kernels[place], self.bandwidths[place])
        return ProductKernelDensity(*columns, self.cells[known][:, place], self.weights[known])

    def _absent(self, queries: Floats, *, left_out: bool) -> Floats | None:
        """Return log(marginal density / kernel peak), which replaces the kernel of missing training values."""
        missing = np.isnan(self.cells)
        if not missing.any():
            return None
        out = np.zeros(queries.shape)
        for j in np.flatnonzero(missing.any(axis=0)).tolist():
            margin, known = self.margin(j), ~np.isnan(queries[:, j])
            if left_out and (~missing[:, j]).any():
                out[known, j] = margin.leave_one_out()
            else:
                out[known, j] = margin.log_density(queries[known, j : j + 1])
            out[known, j] -= self.log_norms[j]
        return np.minimum(out, 0.0)

    # -- contributions, samples, copies -------------------------------------------------

    def contributions(self, query: Floats) -> Floats:
        """Return the proportion that each training row contributes to the density at a query."""
        logs = self.log_terms(query)
        top = logs.max(initial=-np.inf)
        if top == -np.inf:
            return np.zeros(len(logs))
        terms = np.exp(logs - top)
        return np.asarray(terms / terms.sum())

    def log_terms(self, query: Floats) -> Floats:
        """Return log(weight · product kernel) of each training row at a query, by the definition."""
        kernels = self.log_kernels(query)
        return np.asarray(np.log(self.weights) + kernels[:, ~np.isnan(query)].sum(axis=1))

    def log_kernels(self, query: Floats) -> Floats:
        """Return the logarithm of each kernel at a query, (rows, columns), without the peak of numeric kernels."""
        absent = self._absent(query[None, :], left_out=False)
        out = np.zeros(self.cells.shape)
        for j in np.flatnonzero(~np.isnan(query)).tolist():
            term = log_kernel(int(self.kernel_codes[j]), self.scales[j], query[j] - self.cells[:, j])
            if self.kernel_codes[j] == ORDINAL:
                term = term - self.ordinal_shares[:, j]
            out[:, j] = np.where(np.isnan(self.cells[:, j]), 0.0 if absent is None else absent[0, j], term)
        return out

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Draw rows from the density: training rows drawn at random, with each value perturbed by its kernel."""
        rows = rng.choice(len(self.cells), size, p=self.weights / self.n)
        out = self.cells[rows]
        for j, (a, kernel, h) in enumerate(zip(self.attributes, self.kernels, self.bandwidths, strict=True)):
            missing = np.isnan(out[:, j])
            if missing.any():
                margin = self.margin(j)
                again = rng.choice(len(margin.cells), int(missing.sum()), p=margin.weights / margin.n)
                out[missing, j] = margin.cells[again, 0]
            out[:, j] = moved(a, kernel, float(h), out[:, j], rng)
        return out

    def with_bandwidths(self, bandwidths: Floats) -> ProductKernelDensity:
        """Return the density of the same rows with other bandwidths; the sorted order is reused."""
        other = replace(self, bandwidths=bandwidths, _kept={})
        if not self.is_line:
            vars(other)["order"] = self.order
        elif self.known.any():
            vars(other)["sorted_line"] = self.sorted_line
            if "places_on_line" in vars(self):
                vars(other)["places_on_line"] = self.places_on_line
        return other

    def subset(self, rows: NDArray[Any]) -> ProductKernelDensity:
        """Return the density of some of the rows."""
        return replace(self, cells=self.cells[rows], weights=self.weights[rows], _kept={})
