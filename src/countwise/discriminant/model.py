"""Gaussian discriminant classifier: linear and quadratic discriminant analysis, and their relatives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.base.generative import GenerativeClassifier
from countwise.base.logistic import LogisticForm
from countwise.base.term import Term, numeric_and_nominal
from countwise.data.attributes import Nominal
from countwise.data.derived import NumberColumns, whole_row
from countwise.data.frames import Frame
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.discriminant.density import DiagonalNormal
from countwise.discriminant.gaussian import JointGaussian
from countwise.discriminant.working import sections_of
from countwise.errors import OptionError, TableError, check_settings
from countwise.working import Section, Working
from countwise.working.numbers import number

__all__ = ["DiscriminantClassifier"]


@dataclass(eq=False, repr=False)
class DiscriminantClassifier(GenerativeClassifier):
    """Gaussian discriminant analysis: LDA, QDA, Gaussian naive Bayes and nearest mean, with missing values.

    .. math:: P(c | x) ∝ P(c) exp(-(x - μ_c)' Σ_c⁻¹ (x - μ_c) / 2) / √((2π)^d |Σ_c|)

    The learned state is a mean and a scatter matrix for each class and each pattern of missing values. A fit is
    therefore one pass over the rows; models can be merged, and rows can be added (`partial_fit`) and removed
    (`forget`).

    Parameters
    ----------
    covariance : {'shared', 'own', 'diagonal', 'spherical'}, default='shared'
        'shared': one pooled covariance Σ for all classes (LDA). 'own': a separate covariance for each class (QDA).
        'diagonal': separate variances for each class, without correlations (Gaussian naive Bayes). 'spherical': one
        variance for all columns and classes (nearest mean, if the prior is uniform).
    divisor : {'n', 'n-classes'}, default='n'
        Divisor of the scatter matrix. 'n': the number of rows (maximum likelihood), as in scikit-learn's LDA.
        'n-classes': the unbiased estimate, n - classes for a shared Σ and n_c - 1 for the Σ of a class, as in
        scikit-learn's QDA up to version 1.7.
    shrinkage : float, {'auto', 'oas'} or None, default=None
        Shrinkage s of the covariance, (1 - s) Σ + s (tr Σ / d) I. A number is s itself, applied to the columns in
        their own units, as in scikit-learn. 'auto' is the Ledoit-Wolf estimate and 'oas' the oracle-approximating
        estimate of s, both for standardized columns, so that units do not matter; a column that is constant in a
        class is divided by its deviation within the other classes, or else in all rows. With missing values 'auto'
        is the same as 'oas', because Ledoit-Wolf needs fourth moments. None: no shrinkage. Only for 'shared' and
        'own'.
    prior : {'raw', 'uniform'}, mapping or array-like, default='raw'
        P(class). 'raw': the class frequencies. 'uniform': equal for all classes. A mapping or array gives the
        probabilities. A class without rows has probability 0 in any case.
    missing : {'em', 'complete'}, default='em'
        Treatment of missing values in training. 'em': maximum likelihood for all known values, by the EM algorithm;
        where too few rows have the columns together, with a ridge of 0.1 of the variances and a warning.
        'complete': only complete rows are used. In prediction missing values are integrated out.
    nominal : {None, 'onehot'}, default=None
        Treatment of nominal columns. None: they raise an error. 'onehot': an indicator column for each value but the
        first (with 'diagonal' and 'spherical' for each value).
    types : mapping of column to type, str or Schema, optional
        Types of the columns, where the dtypes do not determine them.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    means_ : ndarray of shape (n_classes, n_columns)
        Class means.
    covariance_ : ndarray of shape (n_columns, n_columns) or (n_classes, n_columns, n_columns)
        Covariance of all classes, or of each class.
    columns_ : tuple of str
        The used columns, including indicator columns.
    left_out_ : dict of str to str
        Excluded columns and the reason for each: every value is missing, the column is constant within the classes,
        or it is a linear combination of other columns.
    shrinkage_ : ndarray
        Shrinkage of the covariance, or of each class.
    n_iter_ : int
        Number of EM iterations; 0 without missing values.
    n_complete_ : float
        Weight of the rows without missing values in the used columns.
    class_prior_ : ndarray
        P(class).
    tallies_ : dict
        The learned means and scatter matrices.

    References
    ----------
    Ledoit, O. and Wolf, M. (2004). A well-conditioned estimator for large-dimensional covariance matrices. Journal of
    Multivariate Analysis 88, 365-411.

    Chen, Y., Wiesel, A., Eldar, Y. C. and Hero, A. O. (2010). Shrinkage algorithms for MMSE covariance estimation.
    IEEE Transactions on Signal Processing 58, 5016-5029.

    Examples
    --------
    >>> from countwise import DiscriminantClassifier, samples
    >>> weather = samples.load("weather").columns("temperature", "humidity", "play")
    >>> model = DiscriminantClassifier().fit(weather, "play")
    >>> model.predict_proba([[66, 90]]).round(6).tolist()
    [[0.490646, 0.509354]]
    >>> print(model.logistic_form())
    P(play = yes | x) = sigmoid(7.6581 - 0.00542398·temperature - 0.0806966·humidity)
    """

    covariance: str = "shared"
    _: KW_ONLY
    divisor: str = "n"
    shrinkage: Any = None
    prior: Any = "raw"
    missing: str = "em"
    nominal: str | None = None
    types: Any = None

    _takes_names = False  # except with nominal="onehot"

    def _infer_schema(self, frame: Frame) -> Schema:
        self._rule()
        check_settings(self, nominal=(None, "onehot"))
        return numeric_and_nominal(Schema.kinds(frame, self.types), "a discriminant")

    def _rule(self) -> JointGaussian:
        return JointGaussian(self.covariance, self.divisor, self.shrinkage, self.missing)

    def _terms(self, schema: Schema, target: str) -> list[Term]:
        for a in schema.attributes:
            if isinstance(a, Nominal) and self.nominal is None and a.values and not _is_truth(a):
                raise TableError(
                    f"{a.name!r} is {a.kind}, but DiscriminantClassifier needs numeric columns.",
                    hint=f"use types={{{a.name!r}: 'numeric'}} to convert it to numbers."
                    if _read_as_numbers(a.values)
                    else "use nominal='onehot' for an indicator column of each value, or drop the column.",
                )
        return [Term(whole_row(NumberColumns, schema.attributes, {*schema, target}), self._rule())]

    def _showing(self) -> set[str]:
        return super()._showing() - set(self._density.left_out)

    # -- fitted attributes ----------------------------------------------------------

    @property
    def columns_(self) -> tuple[str, ...]:
        """The used columns, with the indicator columns of nominal ones."""
        names: tuple[str, ...] = self._density.names
        return names

    @property
    def left_out_(self) -> dict[str, str]:
        """The excluded columns, and the reason for each."""
        return dict(self._density.left_out)

    @property
    def means_(self) -> Floats:
        """The class means, shape (classes, columns)."""
        return np.asarray(self._density.mean)

    @property
    def covariance_(self) -> Floats:
        """The covariance, shape (columns, columns) if shared, else (classes, columns, columns)."""
        return np.asarray(self._density.covariance)

    @property
    def shrinkage_(self) -> Floats:
        """The shrinkage of the covariance, or of each class."""
        return np.asarray(self._density.shrinkage)

    @property
    def n_iter_(self) -> int:
        """The number of EM iterations; 0 without missing values."""
        return int(self._density.n_iter)

    @property
    def n_complete_(self) -> float:
        """The weight of the rows without missing values in the used columns."""
        return float(self._density.n_complete)

    # -- forms ------------------------------------------------------------------------

    def logistic_form(self) -> LogisticForm:
        """Return the posterior as a sigmoid of w·x + b (two classes) or a softmax (more classes).

        Returns
        -------
        LogisticForm
            The weights and biases. ``print`` shows the formula.

        Raises
        ------
        OptionError
            If the classes have separate covariances, so that the log-odds are quadratic; or if a class has prior 0.

        Examples
        --------
        >>> from countwise import DiscriminantClassifier
        >>> model = DiscriminantClassifier().fit({"x": [0.0, 2.0, 3.0, 5.0]}, ["a", "a", "b", "b"])
        >>> print(model.logistic_form())
        P(class = b | x) = sigmoid(-7.5 + 3·x)
        """
        density = self._density
        if not density.shared:
            raise OptionError(
                f"covariance={self.covariance!r}: the classes have their own covariances, so the log-odds are "
                "quadratic and the posterior is not a sigmoid of w·x + b.",
                hint="use covariance='shared' or 'spherical' for linear log-odds.",
            )
        if not np.isfinite(self.log_prior_).all():
            raise OptionError(
                "A class has prior 0, so its bias would be minus infinity.",
                hint="drop the class, or pass a prior without zeros.",
            )
        # slopes relative to the center of the means: the part shared by all classes would only cost precision
        if isinstance(density, DiagonalNormal):
            center = density.mean.mean(axis=0)
            slopes = (density.mean - center) / density.sd**2
            biases = -0.5 * ((density.mean - center) * slopes).sum(axis=1)
        else:
            center, slopes, biases = density.whole.center, density.whole.slopes, density.whole.bias
        biases = biases - slopes @ center + self.log_prior_
        return LogisticForm(self.target_.name, tuple(self.classes_.tolist()), density.names, slopes, biases)

    def _portrait(self, c: int) -> list[tuple[str, Any, str]]:
        covariance = self.covariance_ if self._density.shared else self.covariance_[c]
        cells = zip(self.columns_, self.means_[c].tolist(), np.sqrt(np.diag(covariance)).tolist(), strict=True)
        return [(name, mean, f"± {number(sd)}") for name, mean, sd in cells]

    def _numbers_to_try(self, name: str) -> Any:
        if name not in self.columns_:
            return None
        j, covariance = self.columns_.index(name), np.atleast_3d(self.covariance_.T).T
        means, sd = self.means_[:, j], float(np.sqrt(covariance[:, j, j].max()))
        return np.linspace(means.min() - 2 * sd, means.max() + 2 * sd, 61).tolist()

    def _drawn_rows(self, c: int, n: int, rng: np.random.Generator) -> dict[str, Any]:
        if any(name not in self.columns_ and name not in self.left_out_ for name in self.schema_):
            raise OptionError(
                "No rows can be drawn: the indicator columns of nominal='onehot' are not normal.",
                hint="use numeric columns only, or NaiveBayesClassifier.",
            )
        drawn = dict(zip(self.columns_, self._density.draw(c, n, rng).T, strict=True))
        return {name: drawn.get(name, np.full(n, np.nan)) for name in self.schema_}

    def _sections(self, table: Table, working: Working) -> list[Section]:
        if isinstance(self._density, DiagonalNormal):
            return []
        return sections_of(self._density, table[self.terms_[0].key], working, self.divisor)

    def _steps(self, table: Table, one: Frame) -> Any:
        steps, notes = super()._steps(table, one)
        if self.n_iter_:
            notes.append(
                f"Means and covariances are estimated from all rows by EM ({self.n_iter_} iterations); "
                f"{self.n_complete_:g} rows have no missing values."
            )
            if self._density.ridge:
                notes.append(
                    "The known values do not determine the covariance. EM used a ridge: "
                    f"{1 - self._density.ridge:g} of the covariance, and {self._density.ridge:g} of the variances "
                    "without correlations."
                )
        if self._density.redundant:
            found = self._density.redundant
            excluded = "; ".join(map(str, found[:5])) + (f"; and {len(found) - 5} more" if len(found) > 5 else "")
            notes.append(f"Not used, because the covariance would be singular: {excluded}.")
        return steps, notes


def _read_as_numbers(values: Sequence[Any]) -> bool:
    """Return whether the first values of a column are numbers stored as strings."""
    try:
        return all(np.isfinite(float(str(value))) for value in values[:20])
    except ValueError:
        return False


def _is_truth(a: Nominal) -> bool:
    """Return whether a column is boolean, which counts as the numbers 0 and 1."""
    return a.values == (False, True) and all(isinstance(v, bool) for v in a.values)
