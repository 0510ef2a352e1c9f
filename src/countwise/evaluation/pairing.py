"""Two learners on the same folds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from countwise.base.predictions import greater
from countwise.errors import OptionError
from countwise.evaluation.validation import Validation, standard_error

__all__ = ["PairedTest", "paired_test"]


@dataclass(frozen=True, slots=True)
class PairedTest:
    """Two learners on the same folds.

    Parameters
    ----------
    one, other : str
        The learners.
    score : str
        By which they are compared.
    difference : float
        The mean of one less that of the other.
    low, high : float
        Where it would lie by other rows, with that confidence.
    p_value : float
        How likely such a difference would be if there were none.
    n : int
        Folds.
    confidence : float, default=0.95
        Of the interval.

    Examples
    --------
    >>> from countwise.evaluation import PairedTest
    >>> print(PairedTest("tree", "rote", "accuracy", 0.1, -0.05, 0.25, 0.15, 10))
    tree is not told apart from rote by accuracy: difference +0.1000, 95 % interval -0.0500 to +0.2500, p = 0.15
    """

    one: str
    other: str
    score: str
    difference: float
    low: float
    high: float
    p_value: float
    n: int
    confidence: float = 0.95

    @property
    def told_apart(self) -> bool:
        """Whether the difference is more than chance, or beyond all measure."""
        return bool(np.isinf(self.difference) or self.p_value < 1 - self.confidence)

    def __str__(self) -> str:
        better = self.difference > 0 if greater(self.score) else self.difference < 0
        if np.isinf(self.difference):
            worse, best = (self.other, self.one) if better else (self.one, self.other)
            return f"{worse} is infinitely worse than {best} by {self.score}: in some folds it is infinite."
        if self.n < 2:
            few = "one fold" if self.n else "no fold"
            return f"{self.one} and {self.other} have {few} in common: there is no test by {self.score}."
        if not np.isfinite(self.p_value):
            return f"{self.one} and {self.other} cannot be told apart by {self.score}."
        sure = "is better than" if better else "is worse than"
        verb = sure if self.told_apart else "is not told apart from"
        return (
            f"{self.one} {verb} {self.other} by {self.score}: difference {self.difference:+.4f}, "
            f"{100 * self.confidence:g} % interval {self.low:+.4f} to {self.high:+.4f}, p = {self.p_value:.3g}"
        )


def paired_test(one: Validation, other: Validation, score: str = "accuracy", confidence: float = 0.95) -> PairedTest:
    """Compare two learners by a resampled t-test, corrected for rows that the training sets share.

    Parameters
    ----------
    one, other : Validation
        Of the same folds.
    score : str, default="accuracy"
        By which they are compared.
    confidence : float, default=0.95
        Of the interval.

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier, TreeClassifier, cross_validate, samples
    >>> from countwise.evaluation import paired_test
    >>> credit = samples.load("credit")
    >>> bayes, tree = (cross_validate(m, credit.X, credit.y, scoring="accuracy")
    ...                for m in (NaiveBayesClassifier(), TreeClassifier(max_depth=2)))
    >>> paired_test(bayes, tree).p_value < 0.05
    True
    """
    from scipy.stats import t

    for validation in (one, other):
        if not isinstance(validation, Validation):
            raise OptionError(f"{type(validation).__name__} was not judged.", hint="give what cross_validate found.")
    same = len(one.folds) == len(other.folds) and all(
        np.array_equal(a.test, b.test) for a, b in zip(one.folds, other.folds, strict=True)
    )
    if not same:
        raise OptionError("The learners were judged on different folds.", hint="give both the same cv.")
    if not 0 < confidence < 1:
        raise OptionError(f"confidence must lie between 0 and 1, not {confidence!r}.")
    mine, theirs = one.values(score), other.values(score)
    if np.isinf(mine).any() != np.isinf(theirs).any():  # one mean is infinite: no number of other folds outweighs it
        far = np.inf if np.isinf(mine).any() else -np.inf
        return PairedTest(one.name, other.name, score, far, np.nan, np.nan, np.nan, len(mine), confidence)
    with np.errstate(invalid="ignore"):
        gaps = mine - theirs
    both = np.isfinite(gaps)
    gaps, n = gaps[both], int(both.sum())
    if n < 2:
        mean = float(gaps.mean()) if n else np.nan
        return PairedTest(one.name, other.name, score, mean, np.nan, np.nan, np.nan, n, confidence)
    mean, spread = float(gaps.mean()), standard_error(gaps, [f for f, ok in zip(one.folds, both, strict=True) if ok])
    reach = float(t.ppf(0.5 + confidence / 2, n - 1)) * spread
    p = float(2 * t.sf(abs(mean) / spread, n - 1)) if spread > 0 else (1.0 if mean == 0 else 0.0)
    return PairedTest(one.name, other.name, score, mean, mean - reach, mean + reach, p, n, confidence)
