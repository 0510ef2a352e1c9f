"""A Parzen density over whole rows: the mean of a product kernel centered at each training row."""

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
# bandwidths at which the kernels smooth alike, in units of the Gaussian's
CANONICAL = {"gaussian": 1.0, "epanechnikov": 2.2138, "uniform": 1.7400}


def log_kernel(kind: int, scale: Floats, away: Floats) -> Floats:
    """Log of a kernel at a distance, without the constants that are the same for all rows."""
    with np.errstate(divide="ignore", invalid="ignore"):
        if kind == NOMINAL:
            return np.where(away == 0, scale[0], scale[1])
        if kind == ORDINAL:
            return np.where(away == 0, 0.0, scale[0] * np.abs(away))
        z = away / scale[0]
        if kind == 0:
            return np.asarray(-0.5 * z * z)
        inside = np.maximum(1 - z * z, 0.0) if kind == 1 else (np.abs(z) <= 1).astype(np.float64)
        return np.log(inside)


def moved(a: Attribute, kernel: str, h: float, column: Floats, rng: np.random.Generator) -> Floats:
    """Cells moved by the kernel."""
    size = len(column)
    if isinstance(a, Nominal):
        return _other_value(a, h, column.astype(np.int64), rng).astype(np.float64)
    if kernel == "gaussian":
        return column + rng.normal(0, h, size)
    if kernel == "uniform":
        return column + rng.uniform(-h, h, size)
    steps = [rng.uniform(-1, 1, size) for _ in range(3)]  # the one of three nearest the middle
    far = (np.abs(steps[2]) >= np.abs(steps[1])) & (np.abs(steps[2]) >= np.abs(steps[0]))
    return column + h * np.where(far, steps[1], steps[2])


def geometric(share: float, k: int) -> Floats:
    """What share^|steps| adds up to over k values, from each of them."""
    if share == 1:
        return np.full(k, float(k))
    codes = np.arange(k)
    return np.asarray((1 + share - share ** (codes + 1.0) - share ** (k - codes + 0.0)) / (1 - share))


def _other_value(a: Nominal, share: float, codes: Indices, rng: np.random.Generator) -> Indices:
    """Values moved by the kernel of names, or of orders."""
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


_BLOCK = 2048  # queries a piece of work
_FAST_BLOCK = 1 << 17  # the same where a query costs some nanoseconds, and threads more than they save


@dataclass(eq=False)
class ProductKernelDensity:
    """The density of rows: the mean of a product kernel over the training rows.

    A cell that is missing in a training row has the density of its whole column for a kernel; one that is
    missing in a query is integrated out, so that its factor is 1.
    """

    attributes: tuple[Attribute, ...]
    kernels: tuple[str, ...]  # "gaussian", "epanechnikov" or "uniform" of numeric columns; of others any
    bandwidths: Floats  # h of numeric columns; of nominal and ordinal ones λ, the share that other values get
    cells: Floats  # (rows, columns): numbers and codes; NaN is missing
    weights: Floats  # (rows,), above 0
    spare: ProductKernelDensity | None = None  # whose column density stands in where a column has no cell at all
    _kept: dict[bytes, tuple[Floats, Floats, Floats]] = field(default_factory=dict, repr=False)

    def __getstate__(self) -> dict[str, Any]:
        """The rows and bandwidths; what is derived from them is worked out again when it is asked for."""
        names = ("attributes", "kernels", "bandwidths", "cells", "weights", "spare")
        return {name: getattr(self, name) for name in names} | {"_kept": {}}

    # -- the kernels ---------------------------------------------------------------

    @property
    def n(self) -> float:
        """The weight of all rows."""
        return float(self.weights.sum())

    @property
    def kinds(self) -> NDArray[np.uint8]:
        """The kernel of each column, as the sums know it."""
        kinds = [
            ORDINAL if isinstance(a, Ordinal) else NOMINAL if isinstance(a, Nominal) else KERNELS[kernel]
            for a, kernel in zip(self.attributes, self.kernels, strict=True)
        ]
        return np.array(kinds, dtype=np.uint8)

    @lazy
    def scales(self) -> Floats:
        """Per column (h, 0); the logarithms of the shares of the same and of any other value; (log λ, 0)."""
        scales = np.zeros((len(self.attributes), 2))
        with np.errstate(divide="ignore"):
            for j, (a, kind) in enumerate(zip(self.attributes, self.kinds.tolist(), strict=True)):
                h = self.bandwidths[j]
                if kind == NOMINAL:
                    others = max(len(a.values) - 1, 1)  # type: ignore[attr-defined]
                    scales[j] = np.log(1 - h), np.log(h / others)
                elif kind == ORDINAL:
                    scales[j] = np.log(h), 0.0
                else:
                    scales[j] = h, 0.0
        return scales

    @lazy
    def log_norms(self) -> Floats:
        """The logarithm of each kernel's height, where it is one of numbers."""
        area = {0: np.sqrt(2 * np.pi), 1: 4 / 3, 2: 2.0}
        kernels = zip(self.bandwidths, self.kinds, strict=True)
        return np.array([-np.log(h) - np.log(area[k]) if k in area else 0.0 for h, k in kernels])

    @property
    def is_line(self) -> bool:
        """Whether it is one column of numbers under Gaussian kernels: sums by the fast Gauss transform."""
        return len(self.attributes) == 1 and int(self.kinds[0]) == 0

    # -- densities -------------------------------------------------------------------

    def log_density(self, queries: Floats) -> Floats:
        """Log f(row); 0 for a row of which no cell is there."""
        if len(self.attributes) == 1 and not self.known.any():
            return self._unknown(queries)
        logs = self._on_line(queries[:, 0]) if self.is_line else self._sums(queries)
        return self._normed(queries, logs, np.log(self.n))

    def leave_one_out(self) -> Floats:
        """Log f(row) of each training row, from all the others; a weight of w is w rows."""
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
        """The rows that have the first cell."""
        return ~np.isnan(self.cells[:, 0])

    def _unknown(self, queries: Floats) -> Floats:
        """Of a column without any cell: the density that stands in, or none."""
        if self.spare is not None:
            return self.spare.log_density(queries)
        return np.where(np.isnan(queries[:, 0]), 0.0, -np.inf)

    def _normed(self, queries: Floats, logs: Floats, total: Any) -> Floats:
        gaps = np.isnan(queries)
        if not gaps.any():
            return np.asarray(logs - (total - self.log_norms.sum()))
        there = ~gaps
        with np.errstate(invalid="ignore"):
            return np.where(there.any(axis=1), logs - total + there @ self.log_norms, 0.0)

    # one column of numbers

    @lazy
    def sorted_line(self) -> tuple[Floats, Floats | None]:
        """Sorted values and their weights; rows with the same value are one, unless their weights are broken."""
        known = self.known
        column = self.cells[:, 0] if known.all() else self.cells[known, 0]
        if all_ones(self.weights):  # sorting numbers is several times faster than sorting their places
            column = np.sort(column)
            if not (column[1:] == column[:-1]).any():
                return column, None
            first = np.flatnonzero(np.concatenate([[True], column[1:] != column[:-1]]))
            counts = np.diff(first, append=len(column))
            return column[first], ones_as_none(counts)
        weights = self.weights[known]
        if not _kernels.float_is_integral(weights):  # each row is left out on its own
            order = np.argsort(column, kind="stable")
            return column[order], weights[order]
        values, which = np.unique(column, return_inverse=True)
        return values, ones_as_none(np.bincount(which, weights=weights, minlength=len(values)))

    @lazy
    def places_on_line(self) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The rows that have a value, and which of the distinct values it is."""
        known, values = np.flatnonzero(self.known), self.sorted_line[0]
        if len(values) < len(known):
            return known, np.searchsorted(values, self.cells[known, 0])
        which = np.empty(len(known), dtype=np.intp)
        which[np.argsort(self.cells[known, 0], kind="stable")] = np.arange(len(known))
        return known, which

    @lazy
    def expansion(self) -> tuple[Any, Any]:
        """The local expansions of the kernel sum."""
        values, weights = self.sorted_line
        return _kernels.gauss_expand(values, weights, float(self.bandwidths[0]), TOLERANCE)

    def _on_line(self, queries: Floats) -> Floats:
        (values, weights), (boxes, taylor) = self.sorted_line, self.expansion
        h, queries = float(self.bandwidths[0]), np.ascontiguousarray(queries)

        def work(start: int, stop: int) -> Floats:
            return _kernels.gauss_log_sums(values, weights, h, boxes, taylor, TOLERANCE, queries[start:stop])

        # a call looks at every point once: calls must not be many where points are
        block = max(_FAST_BLOCK, len(values) // 4)
        pieces = _kernels.over_blocks(len(queries), block, work, progress=progress.current())
        sums = pieces[0] if len(pieces) == 1 else np.concatenate(pieces) if pieces else np.empty(0)
        # rows without the cell have the whole column's density for a kernel
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

    # many columns, or others than numbers

    @lazy
    def order(self) -> Indices:
        """The rows in an order in which near ones are neighbors."""
        return self._order_of(self.cells)

    def _order_of(self, cells: Floats) -> Indices:
        return _kernels.product_order(np.ascontiguousarray(cells), self.kinds, self.scales)

    @lazy
    def ordinal_shares(self) -> Floats:
        """Log of what λ^|d| adds up to over all values, from each row's value; 0 where it is missing."""
        shares = np.zeros(self.cells.shape)
        for j in np.flatnonzero(self.kinds == ORDINAL).tolist():
            total = np.log(geometric(float(self.bandwidths[j]), len(self.attributes[j].values)))  # type: ignore[attr-defined]
            codes = self.cells[:, j]
            shares[:, j] = np.where(np.isnan(codes), 0.0, total[np.nan_to_num(codes).astype(np.int64)])
        return shares

    def _sums(self, queries: Floats, *, left_out: bool = False) -> Floats:
        """Log sums for any queries, in groups that have the same ordinal cells."""
        out = np.zeros(len(queries))
        ordinal = np.flatnonzero(self.kinds == ORDINAL)
        absent = self._absent(queries, left_out=left_out)
        everything = [(np.empty(0, dtype=bool), np.arange(len(queries)))]
        for there, rows in patterns_of(queries[:, ordinal]) if len(ordinal) else everything:
            gaps = None if absent is None else absent[rows]
            out[rows] = self._group(queries[rows], gaps, ordinal[there], rows if left_out else None)
        return out

    def _prepared(self, ordinal: NDArray[np.intp]) -> tuple[Floats, Floats, Floats]:
        """The rows in order, their log weights where those ordinal cells are asked for, and their boxes."""
        key = ordinal.tobytes()
        if key not in self._kept:
            points = np.ascontiguousarray(self.cells[self.order])
            log_weights = np.log(self.weights) - self.ordinal_shares[:, ordinal].sum(axis=1)
            weighed = log_weights[self.order]
            self._kept[key] = points, weighed, _kernels.product_boxes(points, weighed)
        return self._kept[key]

    def _group(self, queries: Floats, absent: Floats | None, ordinal: NDArray[np.intp], own: Any) -> Floats:
        """Log sums of queries with the same ordinal cells; `own` says which row each query is, to be left out."""
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
            with np.errstate(divide="ignore"):  # without one of the row's copies
                left = np.log(np.maximum(self.weights[mine] - 1.0, 0.0))
            rest = left + weighed[places] - np.log(self.weights[mine])

        def work(start: int, stop: int) -> Floats:
            part = slice(start, stop)
            gaps = None if absent is None else absent[part]
            mine = None if places is None else places[part]
            less = None if rest is None else rest[part]
            return _kernels.product_log_sums(
                points, weighed, boxes, self.kinds, self.scales, queries[part], gaps, mine, less, TOLERANCE
            )

        pieces = _kernels.over_blocks(len(queries), _BLOCK, work, progress=progress.current())
        out = np.empty(len(queries))
        out[near] = np.concatenate(pieces) if pieces else np.empty(0)
        return out

    # missing cells of training rows

    def margin(self, j: int) -> ProductKernelDensity:
        """The density of one column, from the rows in which it is there."""
        known = ~np.isnan(self.cells[:, j])
        if not known.any() and self.spare is not None:
            return self.spare.margin(j)
        place = slice(j, j + 1)
        columns = (self.attributes[place], self.kernels[place], self.bandwidths[place])
        return ProductKernelDensity(*columns, self.cells[known][:, place], self.weights[known])

    def _absent(self, queries: Floats, *, left_out: bool) -> Floats | None:
        """The logarithm of what stands for the kernel of a missing training cell, beside the kernel's height."""
        gaps = np.isnan(self.cells)
        if not gaps.any():
            return None
        out = np.zeros(queries.shape)
        for j in np.flatnonzero(gaps.any(axis=0)).tolist():
            margin, asked = self.margin(j), ~np.isnan(queries[:, j])
            if left_out and (~gaps[:, j]).any():
                out[asked, j] = margin.leave_one_out()
            else:
                out[asked, j] = margin.log_density(queries[asked, j : j + 1])
            out[asked, j] -= self.log_norms[j]
        return np.minimum(out, 0.0)

    # -- what else can be asked ---------------------------------------------------------

    def carriers(self, query: Floats) -> Floats:
        """The share of the density at a row that each training row carries."""
        logs = self.log_terms(query)
        top = logs.max(initial=-np.inf)
        if top == -np.inf:
            return np.zeros(len(logs))
        terms = np.exp(logs - top)
        return np.asarray(terms / terms.sum())

    def log_terms(self, query: Floats) -> Floats:
        """Log of weight times product kernel of each training row, by the definition."""
        absent = self._absent(query[None, :], left_out=False)
        total = np.log(self.weights)
        for j in np.flatnonzero(~np.isnan(query)).tolist():
            term = log_kernel(int(self.kinds[j]), self.scales[j], query[j] - self.cells[:, j])
            if self.kinds[j] == ORDINAL:
                term = term - self.ordinal_shares[:, j]
            total = total + np.where(np.isnan(self.cells[:, j]), 0.0 if absent is None else absent[0, j], term)
        return np.asarray(total)

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Rows drawn from the density: training rows, each cell moved by its kernel."""
        rows = rng.choice(len(self.cells), size, p=self.weights / self.n)
        out = self.cells[rows]
        for j, (a, kernel, h) in enumerate(zip(self.attributes, self.kernels, self.bandwidths, strict=True)):
            gaps = np.isnan(out[:, j])
            if gaps.any():
                margin = self.margin(j)
                again = rng.choice(len(margin.cells), int(gaps.sum()), p=margin.weights / margin.n)
                out[gaps, j] = margin.cells[again, 0]
            out[:, j] = moved(a, kernel, float(h), out[:, j], rng)
        return out

    def with_widths(self, bandwidths: Floats) -> ProductKernelDensity:
        """The same rows under other bandwidths; they need not be sorted again."""
        other = replace(self, bandwidths=bandwidths, _kept={})
        if not self.is_line:
            vars(other)["order"] = self.order
        elif self.known.any():
            vars(other)["sorted_line"] = self.sorted_line
            if "places_on_line" in vars(self):
                vars(other)["places_on_line"] = self.places_on_line
        return other

    def subset(self, rows: NDArray[Any]) -> ProductKernelDensity:
        """Some of the rows."""
        return replace(self, cells=self.cells[rows], weights=self.weights[rows], _kept={})
