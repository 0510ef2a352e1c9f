"""Gaussian discriminants: whole rows with normal distributions, with one covariance or one each (002, 003)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.base.generative import GenerativeClassifier
from countwise.base.logistic import LogisticForm
from countwise.base.term import Term, numeric_and_nominal
from countwise.data.attributes import Nominal
from countwise.data.derived import NumberColumns, whole_row
from countwise.data.frames import Coded, Frame, is_missing
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.discriminant.density import DiagonalNormal
from countwise.discriminant.gaussian import JointGaussian
from countwise.discriminant.working import sections_of
from countwise.errors import OptionError, TableError, check_settings, listed
from countwise.working import Section, Working

__all__ = ["DiscriminantClassifier"]


@dataclass(eq=False, repr=False)
class DiscriminantClassifier(GenerativeClassifier):
    """Gaussian discriminants: LDA (GDA), QDA, Gaussian naive Bayes and nearest mean as one family.

    .. math:: P(c | x) ∝ P(c) exp(-(x - μ_c)' Σ_c⁻¹ (x - μ_c) / 2) / √((2π)^d |Σ_c|)

    Its learned state is a mean and a scatter matrix for each class (and each pattern of missing
    cells): it merges, learns in pieces and forgets, and a fit is one pass over the rows.

    Parameters
    ----------
    covariance : {"shared", "own", "diagonal", "spherical"}, default="shared"
        One Σ for all classes (LDA, the GDA of lecture 002); one each (QDA); one each without
        correlations (Gaussian naive Bayes); one variance for everything (nearest mean).
    divisor : {"n", "n-classes"}, default="n"
        Scatter over the number of rows, as lecture 002 and scikit-learn's LDA have it, or
        without bias: over n - classes for a shared Σ, n_c - 1 for a class's own (scikit-learn's QDA until 1.7).
    shrinkage : float, {"auto", "oas"} or None, default=None
        (1 - s) Σ + s (tr Σ / d) I with that s, or with the s of Ledoit and Wolf ("auto") or of the
        oracle-approximating formula ("oas"), columns brought to deviation 1 first; a number shrinks in
        the columns' own units, as in scikit-learn. Where cells are
        missing "auto" is "oas": Ledoit and Wolf need fourth moments, which missing cells do not have.
    prior : {"raw", "uniform"}, mapping or array-like, default="raw"
        P(class): as counted, alike, or given.
    missing : {"em", "complete"}, default="em"
        In training: Σ and means under which all cells that are there are likeliest, or those of the
        complete rows. In prediction a missing cell is integrated out.
    nominal : {None, "onehot"}, default=None
        Nominal columns are refused, or become a number for each value but the first.
    types : mapping of column to kind, str or Schema, optional
        What the columns are, where dtypes do not say.

    Attributes
    ----------
    classes_ : ndarray
        The classes in order.
    means_ : ndarray, shape (classes, columns)
        Class means.
    covariance_ : ndarray
        Σ, or a Σ for each class.
    columns_ : tuple of str
        The numbers in use.
    left_out_ : dict
        The numbers not in use, and why: never seen, constant, a combination of others.
    shrinkage_ : ndarray
        By how much Σ was shrunk.
    n_iter_ : int
        Steps of EM.
    n_complete_ : float
        Rows without a missing cell.
    class_prior_ : ndarray
        P(class).
    tallies_ : dict
        All that was learned.

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

    _takes_names = False  # unless it is asked to, with nominal="onehot"

    def _infer_schema(self, frame: Frame) -> Schema:
        self._rule()
        check_settings(self, nominal=(None, "onehot"))
        schema = numeric_and_nominal(Schema.kinds(frame, self.types), "a discriminant")
        for a in schema.attributes:
            if isinstance(a, Nominal) and self.nominal is None and not _is_truth(a) and not _blank(a, frame):
                raise TableError(
                    f"{a.name!r} is {a.kind}; a discriminant needs numbers.",
                    hint=f"types={{{a.name!r}: 'numeric'}} reads it as numbers."
                    if _reads_as_numbers(frame.columns[a.name])
                    else "nominal='onehot' makes a number of each value; or leave the column out.",
                )
        return schema

    def _rule(self) -> JointGaussian:
        return JointGaussian(self.covariance, self.divisor, self.shrinkage, self.missing)

    def _terms(self, schema: Schema, target: str) -> list[Term]:
        return [Term(whole_row(NumberColumns, schema.attributes, {*schema, target}), self._rule())]

    def _showing(self) -> set[str]:
        return super()._showing() - set(self._density.left_out)

    # -- what was learned -----------------------------------------------------------

    @property
    def columns_(self) -> tuple[str, ...]:
        """The numbers in use; of a nominal column one for each of its values but the first."""
        names: tuple[str, ...] = self._density.names
        return names

    @property
    def left_out_(self) -> dict[str, str]:
        """The numbers that are not in use, and why."""
        return dict(self._density.left_out)

    @property
    def means_(self) -> Floats:
        """The class means, (classes, columns)."""
        return np.asarray(self._density.mean)

    @property
    def covariance_(self) -> Floats:
        """Σ: (columns, columns) where it is shared, (classes, columns, columns) where each class has its own."""
        return np.asarray(self._density.covariance)

    @property
    def shrinkage_(self) -> Floats:
        """By how much the covariance was shrunk: one number, or one a class."""
        return np.asarray(self._density.shrinkage)

    @property
    def n_iter_(self) -> int:
        """Steps of EM; 0 if no cell was missing."""
        return int(self._density.n_iter)

    @property
    def n_complete_(self) -> float:
        """The weight of the rows without a missing cell in the columns in use."""
        return float(self._density.n_complete)

    # -- forms ------------------------------------------------------------------------

    def logistic_form(self) -> LogisticForm:
        """The posterior as a sigmoid of w·x + b (two classes), or as a softmax.

        Raises
        ------
        OptionError
            If the classes have covariances of their own: the form is then quadratic.
        """
        density = self._density
        if not density.shared:
            raise OptionError(
                "Where classes have their own covariances the posterior is no sigmoid of w·x + b: it is quadratic.",
                hint="covariance='shared' or 'spherical' gives a linear one.",
            )
        if not np.isfinite(self.log_prior_).all():
            raise OptionError("A class has prior 0, and its logarithm is no bias.", hint="leave the class out.")
        # from a center among the means: what all classes share would only cost digits
        if isinstance(density, DiagonalNormal):
            center = density.mean.mean(axis=0)
            slopes = (density.mean - center) / density.sd**2
            biases = -0.5 * ((density.mean - center) * slopes).sum(axis=1)
        else:
            center, slopes, biases = density.whole.center, density.whole.slopes, density.whole.bias
        biases = biases - slopes @ center + self.log_prior_
        return LogisticForm(self.target_.name, tuple(self.classes_.tolist()), density.names, slopes, biases)

    def _sections(self, table: Table, working: Working) -> list[Section]:
        if isinstance(self._density, DiagonalNormal):
            return []
        return sections_of(self._density, table[self.terms_[0].key], working)

    def _steps(self, table: Table, one: Frame) -> Any:
        steps, notes = super()._steps(table, one)
        if self.n_iter_:
            notes.append(
                f"Means and covariances are of all rows, gaps filled by EM ({self.n_iter_} steps); "
                f"{self.n_complete_:g} rows had no gap."
            )
        if self._density.redundant:
            left = listed([str(r) for r in self._density.redundant])
            notes.append(f"Left out for a covariance that can be inverted: {left}.")
        return steps, notes


def _reads_as_numbers(column: Any) -> bool:
    """Whether the first names of a column are numbers in quotes."""
    values = column.categories if isinstance(column, Coded) else column[:20]
    names = [str(v) for v in values if not is_missing(v)][:20]
    try:
        return bool(names) and all(np.isfinite(float(name)) for name in names)
    except ValueError:
        return False


def _is_truth(a: Nominal) -> bool:
    """Whether it is yes or no: a number, 0 or 1."""
    return a.values == (False, True) and all(isinstance(v, bool) for v in a.values)


def _blank(a: Nominal, frame: Frame) -> bool:
    """Whether a column has nothing but missing cells: it may turn out to be numbers."""
    column = frame.columns[a.name]
    return type(a) is Nominal and bool(a.grows) and len(a.learn(column).values) == 0
