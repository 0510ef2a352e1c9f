"""Joint Gaussian: whole rows as a normal law of several columns in each class (002, 003)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from countwise._typing import Floats
from countwise.data.attributes import Nominal, Numeric
from countwise.data.vectors import Vector
from countwise.discriminant.collinearity import Redundant, flat, redundant
from countwise.discriminant.density import DiagonalNormal, MultivariateNormal
from countwise.discriminant.em import EMEstimate
from countwise.discriminant.sample import DiscriminantSample
from countwise.discriminant.shrinkage import check_shrinkage, ledoit_wolf_share, oas_share, shrunk, shrunk_by_scale
from countwise.distributions.gaussian import Gaussian
from countwise.errors import OptionError, TooFewRows, check_settings, listed, warn
from countwise.tallies import Moments, Scatter

__all__ = ["JointGaussian"]

_CREEPING = 1e-6  # of a column's variance
COVARIANCES = ("shared", "own", "diagonal", "spherical")


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
        return Scatter(given, of, higher=isinstance(self.shrinkage, str) and self.shrinkage == "auto")

    def estimate(self, tally: Scatter) -> Any:
        """Means and covariances, with what cannot be inverted left out or refused."""
        if tally.worn:
            warn(
                "Most of the data was forgotten: variances have lost precision. "
                "Hint: fit again on the rows that remain."
            )
        sample = DiscriminantSample(
            tally, missing=self.missing, unrelated=self.covariance in ("diagonal", "spherical")
        )
        if self.covariance == "diagonal":
            return self._diagonal(sample)
        if self.covariance == "spherical":
            return self._spherical(sample)
        return self._full(sample)

    def _diagonal(self, sample: DiscriminantSample) -> DiagonalNormal:
        _refuse_flat(sample, "a variance")
        sample.leave_out_constants()
        n, mean, m2 = sample.margins
        self._refuse_light(sample, n.max(axis=1), m2.max(axis=1))
        law = Gaussian("n" if self.divisor == "n" else "n-1")
        laws = [
            law.estimate(Moments(sample.tally.given, Numeric(name), n[:, j], mean[:, j], m2[:, j]))
            for j, name in enumerate(sample.names)
        ]
        rule = f"Gaussians over {self._over('n_c')}, no correlations"
        return DiagonalNormal(sample.columns, laws, sample.left_out, rule, sample.n_complete, shared=False)

    def _spherical(self, sample: DiscriminantSample) -> DiagonalNormal:
        _refuse_flat(sample, "one variance for all")
        sample.leave_out_constants()
        n, mean, m2 = sample.margins
        cells = n.sum() - (0 if self.divisor == "n" else np.count_nonzero(n))
        if not cells > 0:
            raise self._too_light(float(n.sum()), f"{np.count_nonzero(n)} means")
        rule = f"one variance for all columns and classes, over {self._over('cells')}"
        sd = np.full(mean.shape, np.sqrt(float(m2.sum()) / cells))
        return DiagonalNormal.of_means(
            sample.columns, sample.names, sample.means, sd, n, sample.left_out, rule, sample.n_complete
        )

    def _refuse_light(self, sample: DiscriminantSample, n: Floats, m2: Floats) -> None:
        """Weights that add up to less than the means that the divisor takes away."""
        if self.divisor == "n":
            return
        if self.covariance in ("own", "diagonal"):
            for c, label in enumerate(sample.classes):
                if m2[c] > 0 and n[c] <= 1:
                    raise self._too_light(float(n[c]), f"the mean of class {label!r}")
        elif n.sum() <= np.count_nonzero(n):
            raise self._too_light(float(n.sum()), f"{np.count_nonzero(n)} means")

    def _too_light(self, weight: float, means: str) -> TooFewRows:
        return TooFewRows(
            f"The weights add up to {weight:g}, and divisor={self.divisor!r} takes {means} away from that.",
            hint="divisor='n' takes nothing away; or scale the weights.",
        )

    def _full(self, sample: DiscriminantSample) -> MultivariateNormal:
        _refuse_lonely(sample, self)
        estimate, covariance, shares, redundants = self._inverted(sample)
        rule = f"Gaussian, Σ {'of all classes together' if self.covariance == 'shared' else 'of each class'}"
        rule += f" over {self._over('n' if self.covariance == 'shared' else 'n_c')}"
        if shares.any():
            rule += f", shrunk by {', '.join(dict.fromkeys(f'{share:.3g}' for share in shares))}"
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
            rule=rule,
            n_complete=sample.n_complete,
        )

    def _over(self, n: str) -> str:
        if self.divisor == "n":
            return n
        return f"{n} - {'1' if self.covariance in ('own', 'diagonal') else 'classes'}"

    def _inverted(self, sample: DiscriminantSample) -> tuple[EMEstimate, Floats, Floats, tuple[Redundant, ...]]:
        """Means and covariances, after the columns that a covariance cannot do with are left out."""
        shared = self.covariance == "shared"
        estimate = sample.estimate(shared=shared)
        self._refuse_light(sample, estimate.n, np.einsum("kjj->kj", estimate.scatter).max(axis=1))
        covariance, shares = self._covariance(sample, estimate)
        pooled = covariance if shared else _pooled(estimate)
        found = redundant(pooled, estimate.mean, sample.names) if shared or self.shrinkage is None else []
        if found:
            if len(found) == len(sample.names):
                raise _no_spread(sample, "a covariance")
            _warn_of(found, estimate, len(sample.names))
            sample.drop([one.column for one in found], found)
            estimate = sample.estimate(shared=shared)
            covariance, shares = self._covariance(sample, estimate)
        if not shared:
            _refuse_singular(sample, covariance, estimate)
        return estimate, covariance, shares, tuple(found)

    def _covariance(self, sample: DiscriminantSample, estimate: EMEstimate) -> tuple[Floats, Floats]:
        """(columns, columns) of all classes, or (classes, columns, columns); and by how much each was shrunk."""
        n, scatter = estimate.n, estimate.scatter
        less = 0 if self.divisor == "n" else 1
        own = np.stack([s / (m - less) if m > less else s for s, m in zip(scatter, n, strict=True)])
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
            share = float(self.shrinkage or 0.0)
            return shrunk(scatter.sum(axis=0) / free, share), np.array([share])
        each = [
            shrunk_by_scale(s / max(m, 1e-300), share) * m for s, m, share in zip(scatter, n, shares, strict=True)
        ]
        return np.sum(each, axis=0) / free, shares

    def _share(self, sample: DiscriminantSample, c: int, covariance: Floats, n: float) -> float:
        if self.shrinkage is None or n <= 0:
            return 0.0
        if self.shrinkage == "auto" and sample.is_complete:
            return ledoit_wolf_share(sample.cells, c)
        if isinstance(self.shrinkage, str):  # the fourth moments of cells that are not there are not known
            return oas_share(covariance, n)
        return float(self.shrinkage)


def _pooled(estimate: EMEstimate) -> Floats:
    """The covariance of all classes together."""
    return np.asarray(estimate.scatter.sum(axis=0) / max(float(estimate.n.sum()), 1e-300))


def _no_spread(sample: DiscriminantSample, what: str) -> TooFewRows:
    rows, classes = float(sample.weight.sum()), int(np.count_nonzero(sample.weight))
    return TooFewRows(
        f"No class has two different rows, so there is no spread to learn {what} from "
        f"(n_samples={rows:g}, {classes} class{'es' * (classes > 1)}).",
        hint="a nearest mean (PrototypeClassifier) or a Parzen density of a given width needs no spread.",
    )


def _refuse_flat(sample: DiscriminantSample, what: str) -> None:
    """Rows without any spread: say so before anything else."""
    if flat(*sample.margins).all():
        raise _no_spread(sample, what)


def _refuse_lonely(sample: DiscriminantSample, settings: JointGaussian) -> None:
    """One row a class has no covariance: say so before anything else."""
    _refuse_flat(sample, "a covariance")
    m2 = sample.margins[2]
    lonely = [label for c, label in enumerate(sample.classes) if sample.weight[c] > 0 and not (m2[c] > 0).any()]
    if settings.covariance != "own" or not lonely:
        return
    has = f"Class {lonely[0]!r} has" if len(lonely) == 1 else f"Classes {listed(lonely)} have"
    told = f"{has} no two different rows, so there is no covariance of {'its' if len(lonely) == 1 else 'their'} own"
    if settings.shrinkage is None:
        raise TooFewRows(
            f"{told} (n_samples={sample.weight.sum():g}).",
            hint="covariance='shared' has one for all; with shrinkage the class takes that.",
        )
    warn(f"{told}: that of all classes is taken.")


def _warn_of(found: Sequence[Redundant], estimate: EMEstimate, columns: int) -> None:
    free = float(estimate.n.sum()) - np.count_nonzero(estimate.n)
    few = f" There are {estimate.n.sum():g} rows in {np.count_nonzero(estimate.n)} classes for {columns} columns."
    shown = "; ".join(map(str, found[:5])) + (f"; and {len(found) - 5} more" if len(found) > 5 else "")
    alone = [one.name for one in found if one.separates]
    note = few if free < columns else ""
    if alone and not note:
        are = "is" if len(alone) == 1 else "are"
        note = f" {listed(alone)} would tell classes apart without any doubt, and {are} not used."
    warn(
        f"The covariance is singular (to 11 digits): {shown}. "
        f"{'The column is' if len(found) == 1 else 'These columns are'} left out.{note} "
        "Hint: shrinkage='auto' keeps such columns."
    )


def _refuse_singular(sample: DiscriminantSample, covariance: Floats, estimate: EMEstimate) -> None:
    """A class whose own covariance cannot be inverted: its density could not be compared with the others'."""
    for c, label in enumerate(sample.classes):
        # where cells are missing, EM only creeps towards a covariance that cannot be inverted
        least = _CREEPING if estimate.n_iter else None
        found = redundant(covariance[c], estimate.mean[c : c + 1], sample.names, least) if estimate.n[c] > 0 else []
        if found:
            n, kind = (
                (float(sample.cells.n[c]), "complete rows") if estimate.n_iter else (float(estimate.n[c]), "rows")
            )
            why = f"it has {n:g} {kind} for {len(sample.names)} columns; " if n <= len(sample.names) else ""
            shown = "; ".join(map(str, found[:3])) + (f"; and {len(found) - 3} more" if len(found) > 3 else "")
            raise TooFewRows(
                f"The covariance of class {label!r} is singular: {why}{shown} (n_samples={estimate.n[c]:g}).",
                hint="covariance='shared', or shrinkage='auto', or leave the columns out.",
            )
