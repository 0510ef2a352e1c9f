"""Moments, scatter matrices and values of the numeric columns of an engine table, by group.

The queries sum differences from a pilot mean. If the mean of a group is so far from the pilot mean that its sum of
squares would lose digits, the group is queried again with its own mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats
from countwise.data.frames import Frame
from countwise.engines import query as nw
from countwise.engines.execute import collected, floats, sums_of, whole
from countwise.engines.relation import MOST_GROUPS, ColumnSummary, Relation, cells_at, grouped, too_many
from countwise.errors import TableError
from countwise.tallies._base import LARGEST
from countwise.tallies.moments import too_large

__all__ = ["Products", "Sums", "gaps", "moments", "products", "totals", "values"]

_FAR = 1e3  # ratio of the squared distance from the pilot mean to the variance beyond which a group is queried again
_MOST_AGAIN = 64  # maximum number of groups that are queried again
FINENESS = 1 << 16  # values within 1/FINENESS of a standard deviation may be pooled


@dataclass(frozen=True, eq=False)
class Sums:
    """Moments of numeric columns by group: arrays of shape (groups, columns)."""

    keys: Frame  # a row for each group
    n: Floats  # weight of the non-missing values
    mean: Floats
    m2: Floats  # sum of squared deviations from the mean


@dataclass(frozen=True, eq=False)
class Products:
    """Means and scatter matrices by group and pattern of non-missing columns."""

    keys: Frame  # a row for each group
    present: Flags  # (groups, columns)
    n: Floats  # (groups,): weight of the rows
    mean: Floats  # (groups, numbers)
    scatter: Floats  # (groups, numbers, numbers): sums of products of deviations from the mean


def moments(relation: Relation, numbers: Sequence[str], look: ColumnSummary, by: Sequence[str]) -> Sums:
    """Compute n, mean and M2 of each numeric column in each group, or over all rows if `by` is empty."""
    found = _moments(relation, numbers, look.means, by)
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.array([look.means[name] for name in numbers])
        far = (found.n > (0 if relation.weights else 1)) & ((found.mean - shift) ** 2 > _FAR * found.m2 / found.n)
    for g in np.flatnonzero(far.any(axis=1))[:_MOST_AGAIN]:
        own = cells_at(found.keys, int(g))
        if None in own.values():
            continue  # no model uses a group with a missing key
        js = np.flatnonzero(far[g]).tolist()
        names = [numbers[j] for j in js]
        again = _moments(relation.only(own), names, dict(zip(names, found.mean[g, js].tolist(), strict=True)), ())
        found.n[g, js], found.mean[g, js], found.m2[g, js] = again.n[0], again.mean[0], again.m2[0]
    return found


def _moments(relation: Relation, numbers: Sequence[str], shifts: Mapping[str, float], by: Sequence[str]) -> Sums:
    plan = relation.known(relation.numbered(numbers))
    fresh: dict[str, Any] = {"cw_w": relation.weight()} if relation.weights else {}
    for j, name in enumerate(numbers):
        x = nw.col(name).cast(nw.Float64)
        fresh[f"cw_d{j}"] = nw.when(x.is_finite()).then(x - shifts[name])
    plan = plan.with_columns(**fresh)
    d = [nw.col(f"cw_d{j}") for j in range(len(numbers))]
    if relation.weights:
        w = nw.col("cw_w")
        more = {f"cw_c{j}": nw.when(~x.is_null()).then(w).otherwise(0.0) for j, x in enumerate(d)}
        more |= {f"cw_s{j}": w * x for j, x in enumerate(d)}
        more |= {f"cw_q{j}": w * x * x for j, x in enumerate(d)}
    else:
        more = {f"cw_q{j}": x * x for j, x in enumerate(d)}
    aggregates = [nw.col(name).sum() for name in more]
    aggregates += [nw.col(name).count().alias(f"cw_a{j}") for j, name in enumerate(numbers)]
    aggregates += [x.count().alias(f"cw_k{j}") for j, x in enumerate(d)] if relation.weights else []
    if not relation.weights:
        aggregates += [x.count().alias(f"cw_c{j}") for j, x in enumerate(d)]
        aggregates += [x.sum().alias(f"cw_s{j}") for j, x in enumerate(d)]
    found = grouped(plan.with_columns(**more), by, aggregates)
    n, s, q, present = (_stacked(found, part, len(numbers)) for part in "csqa")
    finite = _stacked(found, "k", len(numbers)) if relation.weights else n
    # a column with values that are not finite has NaN or infinite values; only then a query checks which
    relation.refuse_infinity([name for j, name in enumerate(numbers) if (present[:, j] > finite[:, j]).any()])
    _refuse_large(numbers, q)
    mean, m2 = _around(n, s, q)
    return Sums(_keys(found, by), n, mean + np.array([shifts[name] for name in numbers]), m2)


def _refuse_large(names: Sequence[str], squares: Floats) -> None:
    """Raise an error if the sum of the squares of a column is too large, as in memory."""
    for j, name in enumerate(names):
        if not (squares[:, j] <= LARGEST**2).all():
            raise too_large(name)


def _around(n: Floats, s: Floats, q: Floats) -> tuple[Floats, Floats]:
    """Convert sums and sums of squares to the mean and M2; an M2 within the rounding error is 0."""
    safe = np.maximum(n, 1e-300)
    m2 = q - s * s / safe
    return np.where(n > 0, s / safe, 0.0), np.where((n > 0) & (m2 > 8 * np.finfo(float).eps * q), m2, 0.0)


def gaps(relation: Relation, names: Sequence[str]) -> dict[str, int]:
    """Return the number of missing values of each column."""
    if not names:
        return {}
    missing = {f"cw_g{j}": nw.when(relation.present(name)).then(0.0).otherwise(1.0) for j, name in enumerate(names)}
    return dict(zip(names, map(int, sums_of(relation.known(), missing).values()), strict=True))


def totals(relation: Relation, numbers: Sequence[str], by: Sequence[str]) -> tuple[Frame, Floats]:
    """Sum counts in each group, shape (groups, columns); a negative count is an error."""
    plan = relation.known(relation.numbered(numbers)).with_columns(cw_w=relation.weight())
    fresh = {}
    for j, name in enumerate(numbers):
        x = nw.col(name).cast(nw.Float64)
        fresh[f"cw_d{j}"] = nw.when(x.is_finite()).then(x).otherwise(0.0)
    plan = plan.with_columns(**fresh)
    plan = plan.with_columns(**{f"cw_s{j}": nw.col(f"cw_d{j}") * nw.col("cw_w") for j in range(len(numbers))})
    aggregates = [nw.col(f"cw_s{j}").sum() for j in range(len(numbers))]
    aggregates += [nw.col(f"cw_d{j}").min().alias(f"cw_m{j}") for j in range(len(numbers))]
    found = grouped(plan, by, aggregates)
    for name, least in zip(numbers, _stacked(found, "m", len(numbers)).min(axis=0), strict=True):
        if least < 0:
            raise TableError(
                f"Negative values in data: the minimum of {name!r} is {least:g}, "
                "but a multinomial distribution needs counts >= 0.",
                hint=f"use another distribution: distributions={{{name!r}: 'gaussian'}}.",
            )
    return _keys(found, by), _stacked(found, "s", len(numbers))


def products(
    relation: Relation,
    numbers: Sequence[tuple[str, Any]],
    flags: Sequence[str],
    look: ColumnSummary,
    by: Sequence[str],
) -> Products:
    """Compute weights, means and scatter matrices in each group and pattern of missing values.

    An element of `numbers` is a numeric column and None, or a nominal column and one of its values (an indicator: 1
    where the column has this value, else 0). The patterns are those of the columns `flags`.
    """
    shifts = np.array([look.means[name] if value is None else 0.0 for name, value in numbers])
    found = _products(relation, numbers, flags, shifts, by)
    diagonal = np.einsum("gii->gi", found.scatter)
    with np.errstate(divide="ignore", invalid="ignore"):
        far = ((found.mean - shifts) ** 2 > _FAR * diagonal / found.n[:, None]) & (found.n > 1)[:, None]
    plain = np.array([value is None for _, value in numbers])  # indicators do not lose digits
    owners = [flags.index(name) for name, _ in numbers]
    for g in np.flatnonzero((far & plain & found.present[:, owners]).any(axis=1))[:_MOST_AGAIN]:
        own = cells_at(found.keys, int(g))
        if None in own.values():
            continue
        again = _products(relation.only(own), numbers, flags, np.where(plain, found.mean[g], 0.0), ())
        at = int(np.flatnonzero((again.present == found.present[g]).all(axis=1))[0])
        found.mean[g], found.scatter[g] = again.mean[at], again.scatter[at]
    return found


def _products(
    relation: Relation, numbers: Sequence[tuple[str, Any]], flags: Sequence[str], shifts: Floats, by: Sequence[str]
) -> Products:
    plan = relation.known(relation.numbered([name for name, value in numbers if value is None]))
    fresh: dict[str, Any] = {"cw_w": relation.weight()}
    for j, (name, value) in enumerate(numbers):
        if value is None:
            x = nw.col(name).cast(nw.Float64)
            fresh[f"cw_d{j}"] = nw.when(x.is_finite()).then(x - float(shifts[j])).otherwise(0.0)
        else:
            (literal,) = relation.literals(name, [value], "a covariance")
            fresh[f"cw_d{j}"] = nw.when(nw.col(name) == literal).then(1.0).otherwise(0.0)
    for i, name in enumerate(flags):
        x, dtype = nw.col(name), relation.dtypes[name]
        number = dtype.is_numeric() or dtype.is_temporal()
        present = x.cast(nw.Float64).is_finite() if number else ~x.is_null()
        fresh[f"cw_f{i}"] = nw.when(present).then(1).otherwise(0)
    plan = plan.with_columns(**fresh)
    w, d, p = nw.col("cw_w"), [nw.col(f"cw_d{j}") for j in range(len(numbers))], len(numbers)
    more = {f"cw_s{j}": w * x for j, x in enumerate(d)}
    more |= {f"cw_q{j}_{k}": w * d[j] * d[k] for j in range(p) for k in range(j + 1)}
    aggregates = [nw.col(name).sum() for name in ("cw_w", *more)]
    found = grouped(plan.with_columns(**more), [*by, *(f"cw_f{i}" for i in range(len(flags)))], aggregates)
    n, sums = np.nan_to_num(floats(found.columns["cw_w"])), _stacked(found, "s", p)
    squares = np.empty((found.n_rows, p, p))
    for j in range(p):
        for k in range(j + 1):
            squares[:, j, k] = squares[:, k, j] = np.nan_to_num(floats(found.columns[f"cw_q{j}_{k}"]))
    _refuse_large([name for name, _ in numbers], np.einsum("gii->gi", squares))
    safe = np.maximum(n, 1e-300)
    scatter = squares - sums[:, :, None] * sums[:, None, :] / safe[:, None, None]
    pattern = _stacked(found, "f", len(flags)) > 0
    return Products(_keys(found, by), pattern, n, sums / safe[:, None] + shifts, scatter)


def values(
    relation: Relation, name: str, look: ColumnSummary, by: Sequence[str], rows: int
) -> tuple[Frame, NDArray[Any]]:
    """Return the distinct values of a numeric column in each group, and their weights.

    If they are too many, values that differ by less than 1/65,536 of the standard deviation (in the tails: of their
    distance from the median) are replaced by their mean.
    """
    plain = replace(relation, frame=relation.numbered([name]))
    if relation.dtypes[name].is_temporal():
        plain = replace(plain, dtypes={**relation.dtypes, name: nw.Float64()})
    if rows <= MOST_GROUPS or name not in look.varied:
        return plain.groups([*by, name])
    for fineness in (FINENESS, FINENESS // 8, FINENESS // 64):
        found = _pooled(plain, name, look, by, fineness)
        if found is not None:
            return found
    raise too_many([*by, name])


def _pooled(
    relation: Relation, name: str, look: ColumnSummary, by: Sequence[str], fineness: int
) -> tuple[Frame, NDArray[Any]] | None:
    """Pool neighboring values at their mean; return None if the groups are still too many."""
    median = look.medians[name]
    scale = max(look.deviations[name], abs(median) * 1e-12, 1e-300)
    x = nw.col(name).cast(nw.Float64)
    plan = relation.known().with_columns(cw_w=relation.weight(), cw_d=nw.when(x.is_finite()).then(x - median))
    d = nw.col("cw_d")
    # equal steps near the median, increasing ones in the tails
    away = ((d.abs() * (1.0 / scale) + 1.0).log() * float(fineness)).floor()
    plan = plan.with_columns(cw_k=nw.when(d < 0).then(away * -1.0 - 1.0).otherwise(away), cw_s=nw.col("cw_w") * d)
    aggregates = [nw.col("cw_w").sum(), nw.col("cw_s").sum(), d.min().alias("cw_lo"), d.max().alias("cw_hi")]
    found = collected(plan.group_by(*by, "cw_k").agg(*aggregates).head(MOST_GROUPS + 1))
    if found.n_rows > MOST_GROUPS:
        return None
    weights, sums, low, high = (floats(found.columns[c]) for c in ("cw_w", "cw_s", "cw_lo", "cw_hi"))
    with np.errstate(invalid="ignore"):
        means = np.where(low == high, low, np.clip(sums / weights, low, high)) + median
    frame = Frame({**{k: found.columns[k] for k in by}, name: means}, found.n_rows, named=True)
    return frame, whole(weights)


def _stacked(found: Frame, part: str, size: int) -> Floats:
    """Return columns of a result as one matrix, 0 where a value is missing."""
    columns = [np.nan_to_num(floats(found.columns[f"cw_{part}{j}"])) for j in range(size)]
    return np.stack(columns, axis=1) if columns else np.zeros((found.n_rows, 0))


def _keys(found: Frame, by: Sequence[str]) -> Frame:
    return Frame({name: found.columns[name] for name in by}, found.n_rows, named=True)
