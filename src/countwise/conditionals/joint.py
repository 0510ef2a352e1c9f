"""Joint Gaussian: whole rows as a normal law of several columns in each class (002, 003)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from countwise.attributes import Nominal, Numeric
from countwise.conditionals._em import Estimate, em
from countwise.conditionals._shrinking import check_shrinkage, ledoit_wolf_share, oas_share, shrunk, shrunk_by_scale
from countwise.conditionals._singular import Redundant, redundant
from countwise.conditionals.gaussian import Gaussian
from countwise.conditionals.normal import DiagonalNormal, Normal
from countwise.errors import OptionError, TableError, check_settings, listed, warn
from countwise.tallies import Moments, Scatter
from countwise.tallies._cells import Cells
from countwise.vectors import Vector

__all__ = ["JointGaussian"]

COVARIANCES = ("shared", "own", "diagonal", "spherical")
Matrix = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class JointGaussian:
    """A mean and a covariance of several columns in each class.

    .. math:: f(x | c) = exp(-(x - μ_c)' Σ_c⁻¹ (x - μ_c) / 2) / √((2π)^d |Σ_c|)

    Parameters
    ----------
    covariance : {"shared", "own", "diagonal", "spherical"}, default="shared"
        One matrix for all classes; one each; one each without correlations; one number for all.
    divisor : {"n", "n-classes"}, default="n"
        The scatter is divided by the number of rows, or by that less a mean for each class that it is of.
    shrinkage : float, {"auto", "oas"} or None
        Towards the unit matrix; see `DiscriminantClassifier`.
    missing : {"em", "complete"}, default="em"
        What rows with missing cells teach.
    """

    covariance: str = "shared"
    divisor: str = "n"
    shrinkage: Any = None
    missing: str = "em"
    shows_infinity: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_settings(
            self,
            covariance=COVARIANCES,
            divisor=("n", "n-classes"),
            missing=("em", "complete"),
        )
        check_shrinkage(self.shrinkage)
        if self.shrinkage is not None and self.covariance not in ("shared", "own"):
            raise OptionError(
                f"shrinkage has no meaning with covariance={self.covariance!r}: there are no correlations to shrink."
            )

    def blank(self, given: Nominal, of: Vector) -> Scatter:
        """Means and scatter matrices; for Ledoit and Wolf also fourth moments."""
        return Scatter(given, of, higher=self.shrinkage == "auto")

    def settle(self, tally: Scatter) -> Any:
        """Means and covariances, with what cannot be inverted left out or refused."""
        if tally.worn:
            warn(
                "What remains is tiny beside what was taken back: deviations have lost digits. "
                "Hint: fit again on the rows that remain."
            )
        sample = _Sample(tally, self)
        if self.covariance == "diagonal":
            return self._diagonal(sample)
        if self.covariance == "spherical":
            return self._spherical(sample)
        return self._full(sample)

    def _diagonal(self, sample: _Sample) -> DiagonalNormal:
        n, mean, m2 = (part[:, sample.columns] for part in sample.margins)
        if not (m2 > 0).any():
            raise _no_spread(sample, "a variance")
        law = Gaussian("n" if self.divisor == "n" else "n-1")
        laws = [
            law.settle(Moments(sample.tally.given, Numeric(name), n[:, j], mean[:, j], m2[:, j]))
            for j, name in enumerate(sample.names)
        ]
        return DiagonalNormal(
            sample.columns, laws, sample.left_out, f"Gaussians over {self._over('n_c')}, no correlations"
        )

    def _spherical(self, sample: _Sample) -> DiagonalNormal:
        n, mean, m2 = (part[:, sample.columns] for part in sample.margins)
        cells = n.sum() - (0 if self.divisor == "n" else np.count_nonzero(n))
        overall = np.where(n.sum(axis=0) > 0, (n * mean).sum(axis=0) / np.maximum(n.sum(axis=0), 1e-300), 0.0)
        mean = np.where(n > 0, mean, overall)
        spread = float(m2.sum())
        if not cells > 0 or spread <= float(((8 * np.finfo(float).eps * mean) ** 2).sum()):
            raise _no_spread(sample, "one variance for all")
        rule = f"one variance for all columns and classes, over {self._over('cells')}"
        sd = np.full(mean.shape, np.sqrt(spread / cells))
        return DiagonalNormal.of_means(sample.columns, sample.names, mean, sd, n, sample.left_out, rule)

    def _full(self, sample: _Sample) -> Normal:
        _refuse_lonely(sample, self)
        estimate, covariance, shares, redundants = self._inverted(sample)
        rule = f"Gaussian, Σ {'of all classes together' if self.covariance == 'shared' else 'of each class'}"
        rule += f" over {self._over('n' if self.covariance == 'shared' else 'n_c')}"
        if shares.any():
            rule += f", shrunk by {', '.join(dict.fromkeys(f'{share:.3g}' for share in shares))}"
        return Normal(
            columns=sample.columns,
            names=sample.names,
            mean=estimate.mean,
            covariance=covariance,
            n=estimate.n,
            left_out=sample.left_out,
            redundant=redundants,
            shrinkage=shares,
            n_iter=estimate.n_iter,
            rule=rule,
        )

    def _over(self, n: str) -> str:
        if self.divisor == "n":
            return n
        return f"{n} - {'1' if self.covariance in ('own', 'diagonal') else 'classes'}"

    def _inverted(self, sample: _Sample) -> tuple[Estimate, Matrix, NDArray[np.float64], tuple[Redundant, ...]]:
        """Means and covariances, after the columns that a covariance cannot do with are left out."""
        shared = self.covariance == "shared"
        estimate = sample.estimate(shared=shared)
        covariance, shares = self._covariance(sample, estimate)
        pooled = covariance if shared else _pooled(estimate)
        found = redundant(pooled, estimate.mean, sample.names) if shared or self.shrinkage is None else []
        if found:
            if len(found) == len(sample.names):
                raise _no_spread(sample, "a covariance")
            _warn_of(found)
            sample.drop([one.column for one in found], found)
            estimate = sample.estimate(shared=shared)
            covariance, shares = self._covariance(sample, estimate)
        if not shared:
            _refuse_singular(sample, covariance, estimate)
        return estimate, covariance, shares, tuple(found)

    def _covariance(self, sample: _Sample, estimate: Estimate) -> tuple[Matrix, NDArray[np.float64]]:
        """(columns, columns) of all classes, or (classes, columns, columns); and by how much each was shrunk."""
        n, scatter = estimate.n, estimate.scatter
        less = 0 if self.divisor == "n" else 1
        own = np.stack([s / max(m - less, 1e-300) if m > less else s for s, m in zip(scatter, n, strict=True)])
        shares = np.array([self._share(sample, c, own[c], float(n[c])) for c in range(len(n))])
        by_scale = self.shrinkage in ("auto", "oas")
        if self.covariance == "own":
            shrink = shrunk_by_scale if by_scale else shrunk
            # what has no spread of its own takes that of all classes, if it may be shrunk at all
            spread = (np.einsum("kjj->kj", scatter) > 0).any(axis=1)
            own = np.where(spread[:, None, None], own, _pooled(estimate))
            own = np.stack([shrink(s, share) if share else s for s, share in zip(own, shares, strict=True)])
            return own, shares
        free = float(n.sum()) - less * np.count_nonzero(n)
        if not by_scale:
            return shrunk(scatter.sum(axis=0) / free, float(shares[0])), shares[:1]
        each = [
            shrunk_by_scale(s / max(m, 1e-300), share) * m for s, m, share in zip(scatter, n, shares, strict=True)
        ]
        return np.sum(each, axis=0) / free, shares

    def _share(self, sample: _Sample, c: int, covariance: Matrix, n: float) -> float:
        if self.shrinkage is None or n <= 0:
            return 0.0
        if self.shrinkage == "auto" and sample.is_complete:
            return ledoit_wolf_share(sample.cells, c)
        if isinstance(self.shrinkage, str):  # the fourth moments of cells that are not there are not known
            return oas_share(covariance, n)
        return float(self.shrinkage)


class _Sample:
    """The numbers of a tally that a covariance is made of."""

    def __init__(self, tally: Scatter, settings: JointGaussian) -> None:
        self.tally, self.missing = tally, settings.missing
        self.margins = tally.margins()
        self.left_out: dict[str, str] = {}
        unrelated = settings.covariance in ("diagonal", "spherical")
        self.columns = np.array([j for j in _numbers(tally.of, every=unrelated) if self._met(j)], dtype=np.intp)
        if len(self.columns) == 0:
            raise TableError("There is no column of which any cell is there: nothing can be learned.")

    def _met(self, j: int) -> bool:
        if float(self.margins[0][:, j].sum()) > 0:
            return True
        self.left_out[self.tally.of.names[j]] = "never seen"
        return False

    @property
    def names(self) -> tuple[str, ...]:
        names = self.tally.of.names
        return tuple(names[j] for j in self.columns.tolist())

    @property
    def classes(self) -> tuple[Any, ...]:
        return self.tally.given.values

    def drop(self, places: Sequence[int], why: Sequence[Redundant]) -> None:
        """Leave some of the columns out."""
        self.left_out.update({one.name: one.why for one in why})
        self.columns = np.delete(self.columns, list(places))

    @property
    def patterns(self) -> list[tuple[NDArray[np.bool_], Cells]]:
        """The patterns of missing cells among the columns in use; rows without any of them tell nothing."""
        found = []
        for there, cells in self.tally.patterns:
            used = there[self.columns]
            if used.any():
                own = (np.cumsum(there) - 1)[self.columns[used]]
                scatter = None if cells.scatter is None else cells.scatter[:, own[:, None], own[None, :]]
                found.append((used, Cells(cells.n, cells.mean[:, own], scatter)))
        return found

    @property
    def cells(self) -> Cells:
        """The complete rows' moments in the columns in use."""
        whole, own = self.tally.complete, self.columns
        higher = None if whole.higher is None else tuple(m[:, own[:, None], own[None, :]] for m in whole.higher)
        return Cells(whole.n, whole.mean[:, own], whole.scattered()[:, own[:, None], own[None, :]], higher)  # type: ignore[arg-type]

    @property
    def is_complete(self) -> bool:
        return self.missing == "complete" or self.tally.n_patterns == 1

    def estimate(self, *, shared: bool) -> Estimate:
        """Means and scatters of the complete rows, or of all rows by EM."""
        patterns = self.patterns
        if self.missing == "complete":
            patterns = [(there, cells) for there, cells in patterns if there.all()]
            self._refuse_incomplete(patterns)
        if all(there.all() for there, _ in patterns):
            return _direct(patterns, self.columns, self.margins)
        n, mean, m2 = (part[:, self.columns] for part in self.margins)
        overall = (n * mean).sum(axis=0) / np.maximum(n.sum(axis=0), 1e-300)
        mean = np.where(n > 0, mean, overall)
        pooled = m2.sum(axis=0) / np.maximum(n.sum(axis=0), 1e-300)
        flat = pooled <= 0
        variance = np.broadcast_to(np.where(flat, 1.0, pooled), mean.shape)
        if not shared:
            with np.errstate(invalid="ignore", divide="ignore"):
                variance = np.where((n > 1) & (m2 > 0), m2 / n, variance)
        return em(patterns, mean, variance, shared=shared)

    def _refuse_incomplete(self, patterns: Sequence[tuple[Any, Cells]]) -> None:
        n = sum((cells.n for _, cells in patterns), np.zeros(len(self.classes)))
        met = self.margins[0].max(axis=1)
        for c, label in enumerate(self.classes):
            if met[c] > 0 and n[c] == 0:
                raise TableError(
                    f"Class {label!r} has no row without a missing cell.",
                    hint="missing='em' learns from rows with gaps too.",
                )


def _direct(patterns: Sequence[tuple[Any, Cells]], columns: NDArray[np.intp], margins: Any) -> Estimate:
    from countwise.tallies._cells import merged

    total = patterns[0][1]._replace(higher=None)
    for _, cells in patterns[1:]:
        total = merged(total, cells._replace(higher=None))
    n, mean, _ = (part[:, columns] for part in margins)
    overall = (n * mean).sum(axis=0) / np.maximum(n.sum(axis=0), 1e-300)
    return Estimate(total.n, np.where(total.n[:, None] > 0, total.mean, overall), total.scattered(), 0)


def _numbers(of: Vector, *, every: bool) -> list[int]:
    """The numbers in use: of each nominal attribute all but the first, which the others tell."""
    used: list[int] = []
    at = 0
    for a, width in zip(of.attributes, of.widths, strict=True):
        first = 1 if isinstance(a, Nominal) and not every else 0
        used += range(at + first, at + width)
        at += width
    return used


def _pooled(estimate: Estimate) -> Matrix:
    """The covariance of all classes together."""
    return np.asarray(estimate.scatter.sum(axis=0) / max(float(estimate.n.sum()), 1e-300))


def _no_spread(sample: _Sample, what: str) -> TableError:
    n = sample.margins[0].max(axis=1)
    rows, classes = float(n.sum()), int(np.count_nonzero(n))
    return TableError(
        f"No class has two different rows, so there is no spread to learn {what} from "
        f"(n_samples={rows:g}, {classes} class{'es' * (classes > 1)}).",
        hint="a nearest mean (PrototypeClassifier) or a Parzen density of a given width needs no spread.",
    )


def _refuse_lonely(sample: _Sample, settings: JointGaussian) -> None:
    """One row a class has no covariance: say so before anything else."""
    n = sample.margins[0].max(axis=1)
    m2 = sample.margins[2][:, sample.columns]
    if not (m2 > 0).any():
        raise _no_spread(sample, "a covariance")
    lonely = [label for c, label in enumerate(sample.classes) if n[c] > 0 and not (m2[c] > 0).any()]
    if settings.covariance != "own" or not lonely:
        return
    has = f"Class {lonely[0]!r} has" if len(lonely) == 1 else f"Classes {listed(lonely)} have"
    told = f"{has} no two different rows, so there is no covariance of {'its' if len(lonely) == 1 else 'their'} own"
    if settings.shrinkage is None:
        raise TableError(
            f"{told} (n_samples={n.sum():g}).",
            hint="covariance='shared' has one for all; with shrinkage the class takes that.",
        )
    warn(f"{told}: that of all classes is taken.")


def _warn_of(found: Sequence[Redundant]) -> None:
    shown = "; ".join(map(str, found[:5])) + (f"; and {len(found) - 5} more" if len(found) > 5 else "")
    alone = [one.name for one in found if one.separates]
    note = ""
    if alone:
        are = "is" if len(alone) == 1 else "are"
        note = f" {listed(alone)} would tell classes apart without any doubt, and {are} not used."
    warn(
        f"The covariance is singular: {shown}. "
        f"{'The column is' if len(found) == 1 else 'These columns are'} left out.{note} "
        "Hint: shrinkage='auto' keeps them."
    )


def _refuse_singular(sample: _Sample, covariance: Matrix, estimate: Estimate) -> None:
    """A class whose own covariance cannot be inverted: its density could not be compared with the others'."""
    for c, label in enumerate(sample.classes):
        found = redundant(covariance[c], estimate.mean[c : c + 1], sample.names) if estimate.n[c] > 0 else []
        if found:
            few = estimate.n[c] <= len(sample.names)
            why = f"it has {estimate.n[c]:g} rows for {len(sample.names)} columns; " if few else ""
            shown = "; ".join(map(str, found[:3])) + (f"; and {len(found) - 3} more" if len(found) > 3 else "")
            raise TableError(
                f"The covariance of class {label!r} is singular: {why}{shown} (n_samples={estimate.n[c]:g}).",
                hint="covariance='shared', or shrinkage='auto', or leave the columns out.",
            )
