"""Gaussian discriminants: whole rows as normal laws, with one covariance or one each (002, 003)."""

from __future__ import annotations

from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.base.classifier import Explaining
from countwise.base.generative import Bayes
from countwise.base.logistic import LogisticForm
from countwise.base.term import Part, numbers_and_names, whole_row
from countwise.data.attributes import Nominal
from countwise.data.frames import Coded, Frame, is_missing
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.discriminant.density import DiagonalNormal, Normal
from countwise.discriminant.gaussian import JointGaussian
from countwise.discriminant.working import sections_of
from countwise.errors import OptionError, TableError, check_settings, listed
from countwise.working import Section, Working

__all__ = ["Discriminant"]


class Discriminant(Explaining, Bayes):
    """Gaussian discriminants; see `DiscriminantClassifier`."""

    def __init__(
        self,
        covariance: str = "shared",
        *,
        divisor: str = "n",
        shrinkage: Any = None,
        prior: Any = "raw",
        missing: str = "em",
        nominal: str | None = None,
        types: Any = None,
    ) -> None:
        self.covariance = covariance
        self.divisor = divisor
        self.shrinkage = shrinkage
        self.prior = prior
        self.missing = missing
        self.nominal = nominal
        self.types = types

    def _kinds(self, frame: Frame) -> Schema:
        self._rule()
        check_settings(self, nominal=(None, "onehot"))
        schema = numbers_and_names(Schema.kinds(frame, self.types), "a discriminant")
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

    def _parts(self, schema: Schema, target: str) -> list[Part]:
        return [whole_row(schema.attributes, self._rule(), "numbers", {*schema, target})]

    def _showing(self) -> set[str]:
        return super()._showing() - set(self._law.left_out)

    # -- what was learned -----------------------------------------------------------

    @property
    def _law(self) -> Any:
        self._check_fitted()
        return next(iter(self.densities_.values()))

    @property
    def columns_(self) -> tuple[str, ...]:
        """The numbers in use; of a nominal column one for each of its values but the first."""
        names: tuple[str, ...] = self._law.names
        return names

    @property
    def left_out_(self) -> dict[str, str]:
        """The numbers that are not in use, and why."""
        return dict(self._law.left_out)

    @property
    def means_(self) -> Floats:
        """The class means, (classes, columns)."""
        return np.asarray(self._law.mean)

    @property
    def covariance_(self) -> Floats:
        """Σ: (columns, columns) where it is shared, (classes, columns, columns) where each class has its own."""
        law = self._law
        if isinstance(law, Normal):
            return law.covariance
        stack = np.stack([np.diag(v) for v in law.sd**2])
        return np.asarray(stack[0] if law.shared else stack)

    @property
    def shrinkage_(self) -> Floats:
        """By how much the covariance was shrunk: one number, or one a class."""
        law = self._law
        return law.shrinkage if isinstance(law, Normal) else np.zeros(1)

    @property
    def n_iter_(self) -> int:
        """Steps of EM; 0 if no cell was missing."""
        law = self._law
        return law.n_iter if isinstance(law, Normal) else 0

    @property
    def n_complete_(self) -> float:
        """The weight of the rows without a missing cell in the columns in use."""
        return float(self._law.n_complete)

    # -- forms ------------------------------------------------------------------------

    def logistic_form(self) -> LogisticForm:
        """The posterior as a sigmoid of w·x + b (two classes), or as a softmax.

        Returns
        -------
        LogisticForm

        Raises
        ------
        OptionError
            If the classes have covariances of their own: the form is then quadratic.
        """
        law = self._law
        if not law.shared:
            raise OptionError(
                "Where classes have their own covariances the posterior is no sigmoid of w·x + b: it is quadratic.",
                hint="covariance='shared' or 'spherical' gives a linear one.",
            )
        if not np.isfinite(self.log_prior_).all():
            raise OptionError("A class has prior 0, and its logarithm is no bias.", hint="leave the class out.")
        # from a center among the means: what all classes share would only cost digits
        if isinstance(law, DiagonalNormal):
            center = law.mean.mean(axis=0)
            slopes = (law.mean - center) / law.sd**2
            biases = -0.5 * ((law.mean - center) * slopes).sum(axis=1)
        else:
            center, slopes, biases = law.whole.center, law.whole.slopes, law.whole.bias
        biases = biases - slopes @ center + self.log_prior_
        return LogisticForm(self.target_.name, tuple(self.classes_.tolist()), law.names, slopes, biases)

    def _sections(self, table: Table, working: Working) -> list[Section]:
        law = self._law
        return sections_of(law, table[self.parts_[0].key], working) if isinstance(law, Normal) else []

    def _steps(self, table: Table, one: Frame) -> Any:
        steps, notes = super()._steps(table, one)
        law = self._law
        if isinstance(law, Normal) and law.n_iter:
            notes.append(
                f"Means and covariances are of all rows, gaps filled by EM ({law.n_iter} steps); "
                f"{self.n_complete_:g} rows had no gap."
            )
        if isinstance(law, Normal) and law.redundant:
            notes.append(
                f"Left out for a covariance that can be inverted: {listed([str(r) for r in law.redundant])}."
            )
        return steps, notes


def _reads_as_numbers(column: Any) -> bool:
    """Whether the first names of a column are numbers in quotes."""
    names = [str(v) for v in (column.categories if isinstance(column, Coded) else column[:20]) if not is_missing(v)][
        :20
    ]
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
