"""Joint Gaussian distribution: a multivariate normal for whole rows in each class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats
from countwise.data.attributes import Nominal, Numeric
from countwise.data.vectors import Vector
from countwise.discriminant.collinearity import SMALL, Redundant, flat, redundant
from countwise.discriminant.density import DiagonalNormal, MultivariateNormal
from countwise.discriminant.em import RIDGE, EMEstimate, em
from countwise.distributions.gaussian import Gaussian, GaussianDensity
from countwise.errors import NumberIn, OptionError, TableError, TooFewRows, check_settings, listed, warn
from countwise.tallies import Moments, Scatter
from countwise.tallies._cells import PatternMoments, merged, nothing
from countwise.tallies.moments import BLUR, HUGE, TINY, too_large, too_small
from countwise.tallies.scatter import margins_of

__all__ = ["JointGaussian"]


Patterns = list[tuple[Flags, PatternMoments]]


class DiscriminantSample:
    """The used columns, and their moments.

    With `unrelated` columns (no covariances), all indicator columns of a nominal attribute are used; otherwise the
    first is dropped. Rows with missing values count unless `missing` is "complete".
    """

    def __init__(self, tally: Scatter, *, missing: str, unrelated: bool) -> None:
        self.tally, self.missing = tally, missing
        self.left_out: dict[str, str] = {}
        self.classes = tally.given.values
        self.n_classes = len(self.classes)
        every = tally.margins()
        used = []
        for j in _numbers(tally.of, every=unrelated):
            if float(every[0][:, j].sum()) > 0:
                used.append(j)
            else:
                self.left_out[tally.of.names[j]] = "never seen"
        if not used:
            raise TooFewRows("Every value of every column is missing; there is nothing to learn from.")
        self.weight = every[0].max(axis=1)  # (classes,)
        self._use(np.array(used, dtype=np.intp))
        self._note_borrowed()
        self._refuse_extremes()

    def _use(self, columns: NDArray[np.intp]) -> None:
        """Select columns, with their moments by pattern of missing values; rows without known values are ignored."""
        self.columns, self.names = columns, tuple(self.tally.of.names[j] for j in columns.tolist())
        found: Patterns = []
        for known, cells in self.tally.patterns:
            used = known[self.columns]
            if used.any():
                own = (np.cumsum(known) - 1)[self.columns[used]]
                found.append((used, _columns_of(cells, own)))
        if self.missing == "complete":
            found = [(known, cells) for known, cells in found if known.all()]
            self._refuse_incomplete(sum((cells.n for _, cells in found), np.zeros(self.n_classes)))
        self.patterns = found
        # (n, mean, M2) of each used column, (classes, columns)
        self.margins = margins_of(found, self.n_classes, len(columns))
        self.is_complete = all(known.all() for known, _ in found)

    def _refuse_incomplete(self, n: Floats) -> None:
        for c, label in enumerate(self.classes):
            if self.weight[c] > 0 and n[c] == 0:
                raise TooFewRows(
                    f"Class {label!r} has no row without missing values.",
                    hint="use missing='em' to learn from incomplete rows too.",
                )

    def _refuse_extremes(self) -> None:
        n, mean, m2 = self.margins
        size = np.abs(np.where(n > 0, mean, 0.0)).max(axis=0)
        variance = m2.sum(axis=0) / np.maximum(n.sum(axis=0), 1e-300)
        for name, most, spread in zip(self.names, size.tolist(), variance.tolist(), strict=True):
            if not np.isfinite(spread) or most > HUGE:
                raise too_large(name)
            if 0 < most < TINY and spread < TINY**2:
                raise too_small(name)

    def _note_borrowed(self) -> None:
        n = self.margins[0]
        for c, label in enumerate(self.classes):
            gone = [self.names[j] for j in np.flatnonzero(~(n[c] > 0))]
            if self.weight[c] > 0 and gone:
                warn(f"Class {label!r} has no value of {listed(gone)}; the mean of the other classes is used.")

    @property
    def means(self) -> Floats:
        """The mean of each class and column; the mean of all classes where a class has no value."""
        n, mean, _ = self.margins
        overall = (n * mean).sum(axis=0) / np.maximum(n.sum(axis=0), 1e-300)
        return np.where(n > 0, mean, overall)

    def drop(self, why: dict[int, str]) -> None:
        """Exclude columns, given by index with the reason for each."""
        self.left_out.update({self.names[j]: reason for j, reason in why.items()})
        self._use(np.delete(self.columns, list(why)))

    def drop_constants(self) -> None:
        """Exclude columns that are equal in all rows, because they would lower a common variance."""
        apart = np.ptp(self.means, axis=0) > BLUR * np.abs(self.means).max(axis=0)
        self.drop(dict.fromkeys(np.flatnonzero(flat(*self.margins) & ~apart).tolist(), "constant"))

    @property
    def cells(self) -> PatternMoments:
        """The moments of the rows that are complete in the used columns."""
        total = nothing(self.n_classes, len(self.columns), higher=self.tally.higher)
        for known, cells in self.patterns:
            if known.all():
                total = merged(total, cells)
        return total

    @property
    def n_complete(self) -> float:
        """The weight of the complete rows."""
        return float(self.cells.n.sum())

    def estimate(self, *, shared: bool) -> EMEstimate:
        """Return the means and scatter matrices of the complete rows, or of all rows by EM."""
        means = self.means
        if self.is_complete:
            total = self.cells
            mean = np.where(total.n[:, None] > 0, total.mean, means)
            return EMEstimate(total.n, mean, total.scattered(), 0, np.zeros(1))
        n, _, m2 = self.margins
        moving = np.flatnonzero(~flat(*self.margins))  # EM would converge only slowly to a variance of 0
        scatter = np.zeros((self.n_classes, len(self.columns), len(self.columns)))
        if len(moving) == 0:
            return EMEstimate(self.weight, means, scatter, 0, np.zeros(1))
        patterns = []
        for known, cells in self.patterns:
            kept = known[moving]
            if kept.any():
                patterns.append((kept, _columns_of(cells, (np.cumsum(known) - 1)[moving[kept]])))
        pooled = (m2.sum(axis=0) / np.maximum(n.sum(axis=0), 1e-300))[moving]
        variance = np.broadcast_to(pooled, (self.n_classes, len(moving)))
        if not shared:
            own = m2[:, moving] / np.maximum(n[:, moving], 1e-300)
            variance = np.where((n[:, moving] > 1) & (own > 0), own, variance)
        found = em(patterns, means[:, moving], variance, shared=shared)
        scatter[:, moving[:, None], moving[None, :]] = found.scatter
        means[:, moving] = found.mean
        return found._replace(mean=means, scatter=scatter)

    def collinear(self) -> list[Redundant]:
        """Return columns that are linear combinations of others in the complete rows, if there are enough rows."""
        total = self.cells
        if not float(total.n.sum()) - np.count_nonzero(total.n) > len(self.columns):
            return []
        found = redundant(_pooled(total.n, total.scattered()), total.mean[total.n > 0], self.names)
        n = np.broadcast_to(total.n[:, None], total.mean.shape)
        constant = flat(n, total.mean, total.scattered().diagonal(axis1=1, axis2=2))
        return [one for one in found if not constant[one.column]]

    def scales(self, covariance: Floats, c: int) -> tuple[Floats, Flags]:
        """Return the unit of each column in class c, and which columns are constant in it.

        It is the standard deviation in the class. A column that is constant there takes the pooled deviation within
        the classes; one that is constant within each class takes its deviation in all rows.
        """
        n, mean, m2 = self.margins
        total = np.maximum(n.sum(axis=0), 1e-300)
        within = m2.sum(axis=0) / total
        between = (n * (np.where(n > 0, mean, 0.0) - (n * mean).sum(axis=0) / total) ** 2).sum(axis=0) / total
        variance = np.diag(covariance)
        constant = variance <= np.maximum((BLUR * self.means[c]) ** 2, SMALL)
        fallback = np.where(flat(n, mean, m2), within + between, within)
        return np.sqrt(np.where(constant, fallback, variance)), constant


def _columns_of(cells: PatternMoments, places: NDArray[np.intp]) -> PatternMoments:
    """Return the moments of some columns."""

    def square(m: Floats | None) -> Any:
        return None if m is None else m[:, places[:, None], places[None, :]]

    higher = None if cells.higher is None else (square(cells.higher[0]), square(cells.higher[1]))
    return PatternMoments(cells.n, cells.mean[:, places], square(cells.scatter), higher)


def _numbers(of: Vector, *, every: bool) -> list[int]:
    """Return the indices of the used columns; without `every`, the first indicator of each nominal one is dropped."""
    used: list[int] = []
    at = 0
    for a, width in zip(of.attributes, of.widths, strict=True):
        first = 1 if isinstance(a, Nominal) and not every else 0
        used += range(at + first, at + width)
        at += width
    return used


def _shrunk(covariance: Floats, share: float) -> Floats:
    """Return (1 - share) Σ + share (tr Σ / d) I."""
    d = len(covariance)
    return (1 - share) * covariance + share * (np.trace(covariance) / d) * np.eye(d)


_NOISELESS = 1e-9  # variance of a sample covariance, relative to its size, that may be a rounding error


def _standardized(covariance: Floats, sd: Floats, constant: Flags) -> Floats:
    """Return the correlation matrix; 0 for the columns that are constant."""
    r = covariance / np.outer(sd, sd)
    r[constant], r[:, constant] = 0.0, 0.0
    return r


def _ledoit_wolf_share(cells: PatternMoments, c: int, sd: Floats, r: Floats) -> float:
    """Return the Ledoit-Wolf shrinkage of the covariance of class c, for standardized columns.

    It is the variance of the sample covariance relative to its distance from (tr Σ / d) I, and needs the fourth
    moments.
    """
    assert cells.higher is not None  # noqa: S101 - requested by JointGaussian.blank
    n, d = float(cells.n[c]), cells.mean.shape[1]
    if d == 1 or n <= 0:
        return 0.0
    if sd.min() < 1e-70:
        raise TableError(
            "Some numbers are too small for shrinkage='auto': their fourth powers underflow (below about 1e-70).",
            hint="rescale the columns, or use shrinkage='oas', which needs only squares.",
        )
    fourth = cells.higher[1][c] / np.outer(sd**2, sd**2)
    mu = float(np.trace(r)) / d
    size = float((r**2).sum())
    noise = float(fourth.sum()) / n - size
    noise = noise / (d * n) if noise > _NOISELESS * size else 0.0  # two rows have none, but for rounding
    away = (size - 2 * mu * float(np.trace(r)) + d * mu**2) / d
    noise = min(noise, away)
    return 0.0 if noise <= 0 else noise / away


def _oas_share(r: Floats, n: float) -> float:
    """Return the oracle-approximating shrinkage (OAS) of a correlation matrix."""
    d = len(r)
    if d == 1:
        return 0.0
    alpha, mu = float((r**2).mean()), float(np.trace(r)) / d
    above, below = alpha + mu**2, (n + 1.0) * (alpha - mu**2 / d)
    return 1.0 if below <= 0 else min(above / below, 1.0)


@dataclass(frozen=True, slots=True)
class JointGaussian:
    """A mean and a covariance of several columns in each class; see `DiscriminantClassifier` for the settings."""

    covariance: str = "shared"
    divisor: str = "n"
    shrinkage: Any = None
    missing: str = "em"
    shows_infinity: ClassVar[bool] = True

    def __post_init__(self) -> None:
        covariances = ("shared", "own", "diagonal", "spherical")
        check_settings(self, covariance=covariances, divisor=("n", "n-classes"), missing=("em", "complete"))
        share = self.shrinkage
        if share not in NumberIn(0, 1, words=(None, "auto", "oas")):
            raise OptionError(
                f"shrinkage must be None, a number from 0 to 1, 'auto' (Ledoit-Wolf) or 'oas', not {share!r}.",
                hint="use 'auto' to let the data determine it.",
            )
        if self.shrinkage is not None and self.covariance not in ("shared", "own"):
            raise OptionError(
                f"shrinkage is not available with covariance={self.covariance!r}: it has no correlations to shrink.",
                hint="use covariance='shared' or 'own', or shrinkage=None.",
            )

    def blank(self, given: Nominal, of: Vector) -> Scatter:
        """Return an empty tally of means and scatter matrices; with fourth moments for Ledoit-Wolf shrinkage."""
        return Scatter(given, of, higher=isinstance(self.shrinkage, str) and self.shrinkage == "auto")

    def estimate(self, tally: Scatter) -> Any:
        """Estimate means and covariances; collinear columns are excluded, or raise an error."""
        if tally.worn:
            warn(
                "The remaining values vary far less than the forgotten ones, so the variances have lost precision. "
                "Hint: fit again on the remaining rows."
            )
        sample = DiscriminantSample(
            tally, missing=self.missing, unrelated=self.covariance in ("diagonal", "spherical")
        )
        return self._full(sample) if self.covariance in ("shared", "own") else self._diagonal(sample)

    def _diagonal(self, sample: DiscriminantSample) -> DiagonalNormal:
        spherical = self.covariance == "spherical"
        _refuse_flat(sample, "one variance for all" if spherical else "a variance")
        sample.drop_constants()
        n, mean, m2 = sample.margins
        if spherical:
            cells = n.sum() - (0 if self.divisor == "n" else np.count_nonzero(n))
            if not cells > 0:
                raise self._too_light(float(n.sum()), f"each of {np.count_nonzero(n)} means")
            rule = f"one variance for all columns and classes, divisor {self._over('n values')}"
            sd, nobody = np.full(len(n), np.sqrt(float(m2.sum()) / cells)), np.zeros(len(n), dtype=bool)
            columns = zip(sample.names, sample.means.T, n.T, strict=True)
            parts = [GaussianDensity(name, own, sd, rows, nobody) for name, own, rows in columns]
        else:
            self._refuse_light(sample, n.max(axis=1), m2.max(axis=1))
            rule = f"Gaussian without correlations, divisor {self._over('n_c')}"
            moments = zip(sample.names, n.T, mean.T, m2.T, strict=True)
            estimate = Gaussian("n" if self.divisor == "n" else "n-1").estimate
            parts = [estimate(Moments(sample.tally.given, Numeric(name), *own)) for name, *own in moments]
        return DiagonalNormal(sample.columns, parts, sample.left_out, rule, sample.n_complete, spherical)

    def _refuse_light(self, sample: DiscriminantSample, n: Floats, m2: Floats) -> None:
        """Raise an error if the weights sum to less than the number of means that the divisor subtracts."""
        if self.divisor == "n":
            return
        if self.covariance in ("own", "diagonal"):
            for c, label in enumerate(sample.classes):
                if m2[c] > 0 and n[c] <= 1:
                    raise self._too_light(float(n[c]), f"the mean of class {label!r}")
        elif n.sum() <= np.count_nonzero(n):
            raise self._too_light(float(n.sum()), f"each of {np.count_nonzero(n)} means")

    def _too_light(self, weight: float, means: str) -> TooFewRows:
        return TooFewRows(
            f"The weights sum to {weight:g}, too little for divisor={self.divisor!r}, which subtracts 1 for {means}.",
            hint="use divisor='n', or scale up the weights.",
        )

    def _full(self, sample: DiscriminantSample) -> MultivariateNormal:
        _refuse_identical_rows(sample, self)
        estimate, covariance, shares, redundants = self._inverted(sample)
        rule = f"Gaussian, {'pooled Σ' if self.covariance == 'shared' else 'Σ of each class'}"
        rule += f", divisor {self._over('n' if self.covariance == 'shared' else 'n_c')}"
        if shares.any():
            rule += f", shrunk by {', '.join(dict.fromkeys(f'{share:.3g}' for share in shares))}"
        if estimate.ridge.any():
            rule += f", ridge {RIDGE:g}"
        return MultivariateNormal(
            columns=sample.columns,
            names=sample.names,
            mean=estimate.mean,
            covariance=covariance,
            n=estimate.n,
            left_out=sample.left_out,
            redundant=redundants,
            shrinkage=shares,
            n_iter=estimate.n_iter,
            ridge=float(estimate.ridge.max()),
            rule=rule,
            n_complete=sample.n_complete,
        )

    def _over(self, n: str) -> str:
        if self.divisor == "n":
            return n
        return f"{n} - {'1' if self.covariance in ('own', 'diagonal') else 'classes'}"

    def _inverted(self, sample: DiscriminantSample) -> tuple[EMEstimate, Floats, Floats, tuple[Redundant, ...]]:
        """Return means and invertible covariances, after collinear and constant columns are excluded."""
        shared = self.covariance == "shared"
        if self._by_scale:
            sample.drop_constants()  # they have no unit
        estimate = sample.estimate(shared=shared)
        self._refuse_light(sample, estimate.n, np.einsum("kjj->kj", estimate.scatter).max(axis=1))
        covariance, shares = self._covariance(sample, estimate)
        pooled = covariance if shared else _pooled(estimate.n, estimate.scatter)
        found = redundant(pooled, estimate.mean, sample.names) if shared or self.shrinkage is None else []
        if not found and estimate.ridge.any() and self.shrinkage is None:
            found = sample.collinear()
        if found:
            if len(found) == len(sample.names):
                raise _no_spread(sample, "a covariance")
            _warn_of(found, estimate, len(sample.names))
            sample.drop({one.column: one.why for one in found})
            estimate = sample.estimate(shared=shared)
            covariance, shares = self._covariance(sample, estimate)
        if not shared:
            _refuse_singular(sample, covariance, estimate, shrunk=self.shrinkage is not None)
        if estimate.ridge.any():
            _warn_of_ridge(sample, estimate)
        return estimate, covariance, shares, tuple(found)

    @property
    def _by_scale(self) -> bool:
        """Whether the correlation matrix is shrunk instead of the covariance."""
        return isinstance(self.shrinkage, str)

    def _covariance(self, sample: DiscriminantSample, estimate: EMEstimate) -> tuple[Floats, Floats]:
        """Return the covariance of all classes or of each class, and the shrinkage of each."""
        n, scatter = estimate.n, estimate.scatter
        less = 0 if self.divisor == "n" else 1
        if self.covariance == "own":
            own = np.stack([s / (m - less) if m > less else s for s, m in zip(scatter, n, strict=True)])
            # a class of identical rows gets the pooled covariance; without shrinkage it is an error
            spread = (np.einsum("kjj->kj", scatter) > 0).any(axis=1)
            own = np.where(spread[:, None, None], own, _pooled(n, scatter))
            shrunk = [self._shrunk_class(sample, c, own[c], float(n[c])) for c in range(len(n))]
            return np.stack([s for s, _ in shrunk]), np.array([share for _, share in shrunk])
        free = float(n.sum()) - less * np.count_nonzero(n)
        if not self._by_scale:
            share = float(self.shrinkage or 0.0)
            return _shrunk(scatter.sum(axis=0) / free, share), np.array([share])
        each = [s / max(float(m), 1e-300) for s, m in zip(scatter, n, strict=True)]
        shrunk = [self._shrunk_class(sample, c, s, float(n[c])) for c, s in enumerate(each)]
        total = np.sum([s * m for (s, _), m in zip(shrunk, n, strict=True)], axis=0)
        return total / free, np.array([share for _, share in shrunk])

    def _shrunk_class(self, sample: DiscriminantSample, c: int, covariance: Floats, n: float) -> tuple[Floats, float]:
        """Shrink the covariance of class c; also return its shrinkage."""
        if self.shrinkage is None or n <= 0:
            return covariance, 0.0
        if not self._by_scale:
            return _shrunk(covariance, float(self.shrinkage)), float(self.shrinkage)
        sd, constant = sample.scales(covariance, c)
        r = _standardized(covariance, sd, constant)
        if self.shrinkage == "auto" and sample.is_complete:
            share = _ledoit_wolf_share(sample.cells, c, sd, r)
        else:  # the fourth moments of missing values are unknown
            share = _oas_share(r, n)
        return (_shrunk(r, share) * np.outer(sd, sd) if share else covariance), share


def _pooled(n: Floats, scatter: Floats) -> Floats:
    """Return the pooled covariance of all classes."""
    return np.asarray(scatter.sum(axis=0) / max(float(n.sum()), 1e-300))


def _no_spread(sample: DiscriminantSample, what: str) -> TooFewRows:
    rows, classes = float(sample.weight.sum()), int(np.count_nonzero(sample.weight))
    return TooFewRows(
        f"No class has two different rows, so {what} cannot be estimated "
        f"(n_samples={rows:g}, {classes} class{'es' * (classes > 1)}).",
        hint="use PrototypeClassifier, or ParzenClassifier with a given bandwidth, which need no variance.",
    )


def _refuse_flat(sample: DiscriminantSample, what: str) -> None:
    """Raise an error if every column is constant within the classes."""
    if flat(*sample.margins).all():
        raise _no_spread(sample, what)


def _refuse_identical_rows(sample: DiscriminantSample, settings: JointGaussian) -> None:
    """Raise an error, or warn, if a class of identical rows needs a covariance of its own."""
    _refuse_flat(sample, "a covariance")
    m2 = sample.margins[2]
    lonely = [label for c, label in enumerate(sample.classes) if sample.weight[c] > 0 and not (m2[c] > 0).any()]
    if settings.covariance != "own" or not lonely:
        return
    has = f"Class {lonely[0]!r} has" if len(lonely) == 1 else f"Classes {listed(lonely)} have"
    their = "its" if len(lonely) == 1 else "their"
    problem = f"{has} no two different rows, so {their} covariance cannot be estimated"
    if settings.shrinkage is None:
        raise TooFewRows(
            f"{problem} (n_samples={sample.weight.sum():g}).",
            hint="use covariance='shared', or pass shrinkage to use the pooled covariance for such a class.",
        )
    warn(f"{problem}; the pooled covariance of all classes is used.")


def _warn_of(found: Sequence[Redundant], estimate: EMEstimate, columns: int) -> None:
    free = float(estimate.n.sum()) - np.count_nonzero(estimate.n)
    few = f" There are {estimate.n.sum():g} rows in {np.count_nonzero(estimate.n)} classes for {columns} columns."
    shown = "; ".join(map(str, found[:5])) + (f"; and {len(found) - 5} more" if len(found) > 5 else "")
    alone = [one.name for one in found if one.separates]
    note = few if free < columns else ""
    if alone and not note:
        are = "is" if len(alone) == 1 else "are"
        note = f" {listed(alone)} would distinguish the classes with certainty, but {are} not used."
    warn(
        f"The covariance is singular (to a precision of 11 digits): {shown}. "
        f"{'The column is' if len(found) == 1 else 'These columns are'} excluded.{note} "
        "Hint: use shrinkage='auto' or shrinkage=0.1 to keep such columns."
    )


def _warn_of_ridge(sample: DiscriminantSample, estimate: EMEstimate) -> None:
    classes = [repr(c) for c, share in zip(sample.classes, estimate.ridge, strict=False) if share > 0]
    whose = f" of class {', '.join(classes)}" if len(estimate.ridge) > 1 else ""
    warn(
        f"The known values do not determine the covariance{whose}: {sample.n_complete:g} rows have all of the "
        f"{len(sample.names)} columns, and the likelihood would grow without limit. "
        f"EM uses a ridge: {1 - RIDGE:g} of the covariance, and {RIDGE:g} of the variances without correlations. "
        "Hint: drop columns with many missing values, or use covariance='diagonal'."
    )


def _refuse_singular(sample: DiscriminantSample, covariance: Floats, estimate: EMEstimate, *, shrunk: bool) -> None:
    """Raise an error if the covariance of a class is singular, because its density could not be compared."""
    for c, label in enumerate(sample.classes):
        found = redundant(covariance[c], estimate.mean[c : c + 1], sample.names) if estimate.n[c] > 0 else []
        open_ended = estimate.n_iter > 0 and bool(estimate.ridge[c] > 0) and not shrunk
        if found or open_ended:
            rows, what = (sample.cells, "complete rows") if estimate.n_iter else (estimate, "rows")
            n = float(rows.n[c])
            why = [f"it has {n:g} {what} for {len(sample.names)} columns"] if n <= len(sample.names) else []
            why += [str(one) for one in found[:3]] + [f"and {len(found) - 3} more"] * (len(found) > 3)
            why += ["the known values do not determine it"] * open_ended
            more = "shrinkage=0.1" if shrunk else "shrinkage='auto'"
            raise TooFewRows(
                f"The covariance of class {label!r} is singular: {'; '.join(why)} (n_samples={estimate.n[c]:g}).",
                hint=f"use covariance='shared' or {more}, or drop the columns.",
            )
