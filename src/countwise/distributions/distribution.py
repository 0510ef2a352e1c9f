"""Base classes of distributions and densities.

A `Distribution` is a rule with frozen settings and no learned state. It determines which tally is needed and
estimates a `Density` from it: P(attribute | class) with its parameters. The base classes raise an error for every
operation that a distribution does not support.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

import numpy as np

from countwise._docstrings import inherit_sections
from countwise._typing import Flags, Floats, Indices
from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.data.derived import AsGiven, Derived
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.errors import OptionError, listed
from countwise.jsonfile import plain
from countwise.working.sections import Section
from countwise.working.steps import Step

__all__ = ["Density", "Distribution", "LeftOutRows", "no_say"]


class Distribution:
    """Base class of distributions: a rule with frozen settings.

    A new distribution is a frozen dataclass with a class variable `kind`, its name, and the methods `blank` and
    `estimate`.

    Examples
    --------
    >>> from countwise import Numeric
    >>> from countwise.distributions import Distribution, Gaussian
    >>> isinstance(Gaussian(), Distribution), Gaussian().suits(Numeric("temp"))
    (True, True)
    """

    __slots__ = ()
    kind: ClassVar[str]
    how: ClassVar[Any] = None  # the discretization rule of a binned distribution
    shows_infinity: ClassVar[bool] = False  # whether an infinite value makes the tally and the prediction non-finite

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        inherit_sections(cls, Distribution)

    def as_setting(self) -> dict[str, Any]:
        """Return the kind and the settings as plain data, for the model file.

        Returns
        -------
        dict
            The data.

        Examples
        --------
        >>> from countwise import Gaussian
        >>> Gaussian().as_setting()
        {'@': 'distribution', 'kind': 'gaussian', 'divisor': 'n-1', 'floor': 1e-09}
        """
        own = {f.name: plain(getattr(self, f.name)) for f in fields(self)}  # type: ignore[arg-type]
        return {"@": "distribution", "kind": self.kind, **own}

    # -- columns ----------------------------------------------------------------------------

    def suits(self, attribute: Attribute) -> bool:
        """Return whether an attribute can have this distribution.

        Parameters
        ----------
        attribute : Attribute
            The attribute.

        Returns
        -------
        bool
            True if the attribute suits.

        Examples
        --------
        >>> from countwise import Gaussian, Nominal
        >>> Gaussian().suits(Nominal("wind"))
        False
        """
        return isinstance(attribute, Numeric)

    def implied_attribute(self, attribute: Attribute, *, named: bool) -> Attribute:
        """Return the attribute with the type that this distribution implies.

        Parameters
        ----------
        attribute : Attribute
            The attribute, with the type inferred from its column.
        named : bool
            Whether the user requested the distribution for this column by name.

        Returns
        -------
        Attribute
            The attribute, possibly of another type.

        Examples
        --------
        >>> from countwise import Categorical, Numeric
        >>> Categorical().implied_attribute(Numeric("month"), named=True).kind
        'nominal'
        """
        return attribute

    def with_defaults(self, smoothing: Any, unseen: str) -> Self:
        """Return the distribution with the settings of the model where it has none of its own.

        Parameters
        ----------
        smoothing : object
            The smoothing of the model.
        unseen : str
            The treatment of unseen values by the model.

        Returns
        -------
        Distribution
            The completed distribution.

        Examples
        --------
        >>> from countwise import Bernoulli
        >>> Bernoulli().with_defaults(1.0, "ignore").smoothing
        1.0
        """
        return replace(self, smoothing=smoothing) if getattr(self, "smoothing", 0) is None else self  # type: ignore[type-var]

    def block_of(self, attribute: Attribute) -> str | None:
        """Return the name of the block of attributes that are modeled jointly.

        Parameters
        ----------
        attribute : Attribute
            The attribute.

        Returns
        -------
        str or None
            The name of the block; None if the attribute has a separate term.

        Examples
        --------
        >>> from countwise import Multinomial, Numeric
        >>> Multinomial(block="words").block_of(Numeric("offer"))
        'words'
        """
        return None

    def derived(self, attribute: Attribute, taken: Container[str]) -> tuple[Derived, Any]:
        """Return the derived column of an attribute, and its distribution.

        Parameters
        ----------
        attribute : Attribute
            The attribute.
        taken : container of str
            Names that the derived column must not have.

        Returns
        -------
        tuple of Derived and Distribution
            The derived column and its distribution.

        Examples
        --------
        >>> from countwise import Gaussian, Numeric
        >>> column, distribution = Gaussian().derived(Numeric("temp"), ())
        >>> column.columns, distribution
        (('temp',), Gaussian(divisor='n-1', floor=1e-09))
        """
        return AsGiven(attribute), self

    # -- estimation -------------------------------------------------------------------------

    def blank(self, given: Nominal, of: Attribute) -> Any:
        """Return the empty tally that the distribution needs.

        Parameters
        ----------
        given : Nominal
            The target.
        of : Attribute
            The attribute.

        Returns
        -------
        Tally
            The empty tally.

        Examples
        --------
        >>> from countwise import Gaussian, Nominal, Numeric
        >>> type(Gaussian().blank(Nominal("rain"), Numeric("temp"))).__name__
        'Moments'
        """
        raise NotImplementedError

    def estimate(self, tally: Any) -> Any:
        """Estimate the density from a filled tally.

        Parameters
        ----------
        tally : Tally
            The tally of `blank`, filled with the training rows.

        Returns
        -------
        Density
            The density.

        Examples
        --------
        >>> from countwise import Gaussian, NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> model = NaiveBayesClassifier().fit(rain.X, rain.y)
        >>> Gaussian("n").estimate(model.tallies_["temp"]).sd.round(4).tolist()
        [5.257, 0.793]
        """
        raise NotImplementedError

    def estimate_from_values(self, values: Any) -> tuple[Any, Any]:
        """Estimate the density from a tally of all values, whichever tally `blank` returns.

        Parameters
        ----------
        values : Values
            The values of each class.

        Returns
        -------
        tuple of Density and Tally
            The density, and the tally that it was estimated from.

        Examples
        --------
        >>> from countwise import Gaussian, NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> values = NaiveBayesClassifier({"temp": "kernel"}).fit(rain.X, rain.y).tallies_["temp"]
        >>> density, _ = Gaussian().estimate_from_values(values)
        >>> density.mean.round(4).tolist()
        [25.0333, 19.4667]
        """
        return self.estimate(values), values

    # -- leave-one-out score ----------------------------------------------------------------

    @property
    def title(self) -> str:
        """Name of the distribution, with the settings that differ from the default."""
        own = fields(self)  # type: ignore[arg-type]
        odd = [f"{f.name}={getattr(self, f.name)}" for f in own if getattr(self, f.name) != f.default]
        return f"{self.kind} ({', '.join(odd)})" if odd else self.kind

    def price(self, density: Any, n: float) -> float:
        """Return the correction of the mean log-loss for parameters that stay fixed when a row is excluded.

        Parameters
        ----------
        density : Density
            The density.
        n : float
            The number of rows.

        Returns
        -------
        float
            The correction, which is subtracted from the leave-one-out score.

        Examples
        --------
        >>> from countwise import Gaussian
        >>> Gaussian().price(None, 100)
        0.0
        """
        return 0.0

    # -- nodes of networks ------------------------------------------------------------------

    binned: ClassVar[bool] = False  # whether the attribute is discretized and becomes a nominal node
    linear: ClassVar[bool] = False  # whether a node may be a linear function of its numeric parents
    scored: ClassVar[bool] = False  # whether a family has a score; other nodes keep the given parents

    def family_likelihood(self, given: Nominal, of: Any, rows: Table) -> tuple[float, int, float]:
        """Return the log-likelihood of a node given its nominal parents.

        Parameters
        ----------
        given : Nominal
            The combinations of the parents' values.
        of : Attribute
            The node.
        rows : Table
            The encoded rows.

        Returns
        -------
        tuple of float, int and float
            The log-likelihood, the number of parameters and the number of rows.
        """
        raise NotImplementedError

    def may_depend_on(self, parent: Distribution) -> bool:
        """Return whether a numeric node of this distribution may have a numeric parent of another distribution.

        Parameters
        ----------
        parent : Distribution
            The distribution of the parent.

        Returns
        -------
        bool
            True if it may.

        Examples
        --------
        >>> from countwise import Gaussian, Kernel
        >>> Gaussian().may_depend_on(Gaussian()), Gaussian().may_depend_on(Kernel())
        (True, False)
        """
        return False


@dataclass(frozen=True, eq=False)
class LeftOutRows:
    """Rows to be excluded one at a time: their classes and weights, and the number of classes."""

    codes: Indices
    weights: Floats
    k: int
    only: int | None = None  # the class of all rows, if the values are those of one class, distinct and ascending

    def own(self, values: Floats) -> Floats:
        """Return, for each row, the entry of its class in an array over the classes."""
        return np.asarray(values[self.codes])

    def picked(self, values: Floats) -> Floats:
        """Return, for each row, the entry of its class in an array (rows, classes)."""
        return np.asarray(values[np.arange(len(self.codes)), self.codes])

    def with_own(self, every: Floats, own: Floats) -> Floats:
        """Return an array (rows, classes) from `every`, with the entry of each row's class replaced by `own`."""
        out = np.tile(every, (len(self.codes), 1)) if every.ndim == 1 else every.copy()
        out[np.arange(len(self.codes)), self.codes] = own
        return out


class Density:
    """Estimated density P(attribute | class), with its parameters.

    A new density implements `add_log_prob`, or `add_many` if one pass over several attributes is faster, and `steps`.
    The other methods are optional.

    Attributes
    ----------
    n_classes : int
        The number of classes.
    rule : str
        A description of the density, shown in workings.
    choice : Choice or None
        The scores of the candidates, if the distribution was chosen automatically.

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier, samples
    >>> rain = samples.load("rain")
    >>> density = NaiveBayesClassifier().fit(rain.X, rain.y).densities_["temp"]
    >>> density.rule, density.mean.round(4).tolist()
    ('Gaussian, σ over n - 1', [25.0333, 19.4667])
    """

    n_classes: int
    rule: str
    choice: Any = None  # the scores of the candidates of 'auto'
    linear = False  # whether it is Gaussian, so that a node may be a linear function of it

    def add_log_prob(self, column: Any, out: Floats) -> None:
        """Add log P(value | class) to `out` in place; a missing value adds 0.

        Parameters
        ----------
        column : ndarray
            The encoded values.
        out : ndarray of shape (n_rows, n_classes)
            The array to add to.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> density = NaiveBayesClassifier().fit(rain.X, rain.y).densities_["temp"]
        >>> out = np.zeros((1, 2))
        >>> density.add_log_prob(np.array([20.0]), out)
        >>> out.round(4).tolist()
        [[-3.0868, -1.0405]]
        """
        self.add_many([self], [column], out)

    @classmethod
    def add_many(cls, densities: Sequence[Any], columns: Sequence[Any], out: Floats) -> None:
        """Add log P(value | class) of several attributes to `out`, in one pass over the rows if that is faster.

        Parameters
        ----------
        densities : sequence of Density
            The densities.
        columns : sequence of ndarray
            The encoded column of each density.
        out : ndarray of shape (n_rows, n_classes)
            The array to add to.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> density = NaiveBayesClassifier().fit(rain.X, rain.y).densities_["temp"]
        >>> out = np.zeros((1, 2))
        >>> type(density).add_many([density], [np.array([20.0])], out)
        >>> out.round(4).tolist()
        [[-3.0868, -1.0405]]
        """
        if cls.add_log_prob is Density.add_log_prob:
            raise NotImplementedError
        for density, column in zip(densities, columns, strict=True):
            density.add_log_prob(column, out)

    def log_prob_of_row(self, column: Any) -> Floats:
        """Return log P(value | class) of a one-row column, for each class.

        Parameters
        ----------
        column : ndarray of shape (1,)
            The encoded value.

        Returns
        -------
        ndarray of shape (n_classes,)
            The log-likelihoods.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> density = NaiveBayesClassifier().fit(rain.X, rain.y).densities_["temp"]
        >>> density.log_prob_of_row(np.array([20.0])).round(4).tolist()
        [-3.0868, -1.0405]
        """
        out = np.zeros((1, self.n_classes))
        self.add_log_prob(column, out)
        return np.asarray(out[0])

    def steps(self, name: str, column: Any, shown: str) -> list[Step]:
        """Return the factors of a one-row column as steps of a working.

        Parameters
        ----------
        name : str
            The name of the attribute.
        column : ndarray of shape (1,)
            The encoded value.
        shown : str
            The value as text.

        Returns
        -------
        list of Step
            The steps.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> density = NaiveBayesClassifier().fit(rain.X, rain.y).densities_["temp"]
        >>> [factor.text for factor in density.steps("temp", np.array([20.0]), "20")[0].factors]
        ['φ(20; 25.0333, 6.43843)', 'φ(20; 19.4667, 0.971253)']
        """
        raise NotImplementedError

    def counted_in(self, column: Any, one: Any, word: str = "") -> Flags | None:
        """Return the rows behind the factor of a one-row column, in all classes.

        Parameters
        ----------
        column : ndarray
            The encoded values of the training rows.
        one : ndarray of shape (1,)
            The encoded value of the row that is explained.
        word : str, default=''
            The word that the factor is about.

        Returns
        -------
        ndarray of bool or None
            The rows with this value, or with any value for a numeric density. None if the factor is no count.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> density = NaiveBayesClassifier().fit(rain.X, rain.y).densities_["wind"]
        >>> density.counted_in(np.array([0, 1, 1]), np.array([1])).tolist()
        [False, True, True]
        """
        if not isinstance(column, np.ndarray) or column.ndim != 1:
            return None
        return np.asarray(column == one[0], dtype=bool)

    # -- explanations and portraits ---------------------------------------------------------

    def grid(self) -> Any:
        """Return the values to try in a search for counterfactuals.

        Returns
        -------
        ndarray or None
            The encoded values; None if the attribute cannot be changed.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> density = NaiveBayesClassifier().fit(rain.X, rain.y).densities_["temp"]
        >>> len(density.grid())
        801
        """
        return None

    def label(self, column: Any, row: int) -> str:
        """Return a value of a column as text.

        Parameters
        ----------
        column : ndarray
            The encoded values.
        row : int
            The position of the value.

        Returns
        -------
        str
            The text.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> density = NaiveBayesClassifier().fit(rain.X, rain.y).densities_["temp"]
        >>> density.label(np.array([20.5]), 0)
        '20.5'
        """
        raise NotImplementedError

    def typical(self, c: int) -> tuple[Any, str]:
        """Return the typical value in a class.

        Parameters
        ----------
        c : int
            The index of the class.

        Returns
        -------
        tuple of object and str
            The value and a remark on its variability.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> density = NaiveBayesClassifier().fit(rain.X, rain.y).densities_["temp"]
        >>> value, remark = density.typical(0)
        >>> round(value, 4), remark
        (25.0333, '± 6.43843')
        """
        raise NotImplementedError

    def draw(self, c: int, size: int, rng: np.random.Generator) -> Any:
        """Draw values from P(attribute | class).

        Parameters
        ----------
        c : int
            The index of the class.
        size : int
            The number of values.
        rng : numpy.random.Generator
            The random generator.

        Returns
        -------
        ndarray of shape (size,)
            The values.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> density = NaiveBayesClassifier().fit(rain.X, rain.y).densities_["temp"]
        >>> density.draw(0, 3, np.random.default_rng(0)).shape
        (3,)
        """
        raise NotImplementedError

    def draw_log_prob(self, column: Any, size: int, rng: np.random.Generator) -> Floats:
        """Return the log-likelihood of a one-row column with parameters drawn from their posterior.

        Parameters
        ----------
        column : ndarray of shape (1,)
            The encoded value.
        size : int
            The number of draws.
        rng : numpy.random.Generator
            The random generator.

        Returns
        -------
        ndarray of shape (size, n_classes)
            The log-likelihoods. By default the parameters are treated as known.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> density = NaiveBayesClassifier().fit(rain.X, rain.y).densities_["temp"]
        >>> density.draw_log_prob(np.array([20.0]), 100, np.random.default_rng(0)).shape
        (100, 2)
        """
        return np.tile(self.log_prob_of_row(column), (size, 1))

    def mean_and_variance(self) -> tuple[Floats, Floats]:
        """Return the mean and the variance of the attribute in each class.

        Returns
        -------
        tuple of ndarray
            The means and the variances.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> loan = samples.load("loan")
        >>> model = NaiveBayesClassifier(types={"job_years": "count"}, smoothing=0).fit(loan.X, loan.y)
        >>> [part.round(4).tolist() for part in model.densities_["job_years"].mean_and_variance()]
        [[3.5714, 2.3333], [3.5714, 2.3333]]
        """
        raise OptionError("A text column or a block of counts has no mean.")

    def summary(self, classes: Sequence[Any]) -> dict[str, list[Any]]:
        """Return the parameters as columns of a table; numbers are not rounded.

        Parameters
        ----------
        classes : sequence
            The classes.

        Returns
        -------
        dict of str to list
            The columns.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> density = NaiveBayesClassifier().fit(rain.X, rain.y).densities_["temp"]
        >>> density.summary(["no", "yes"])["n"]
        [3.0, 3.0]
        """
        raise NotImplementedError

    # -- engines, logistic form and leave-one-out -----------------------------------------------

    def smoothing_steps(self) -> list[Step]:
        """Return the frequencies of the distribution with and without smoothing, as steps.

        Returns
        -------
        list of Step
            A step for each value, whose factors have their `raw` frequency. By default there are none.

        Examples
        --------
        >>> from countwise import samples, NaiveBayesClassifier
        >>> tennis = samples.load("tennis")
        >>> model = NaiveBayesClassifier().fit(tennis.X, tennis.y)
        >>> [step.factors[0].raw for step in model.densities_["wind"].smoothing_steps()]
        ['3/5', '2/5']
        """
        return []

    def derivation(
        self, tally: Any, column: Any, event: str, classes: Mapping[int, str], *, all_terms: bool = False
    ) -> list[Section]:
        """Return sections that compute the density of a row from the sums of the training data.

        Parameters
        ----------
        tally : tally
            The sums, or the values, from which the density was estimated.
        column : array of one row
            The value.
        event : str
            The attribute and its value, such as ``temp = 22.8``.
        classes : mapping of int to str
            The classes to show: the position of each, and its name.
        all_terms : bool, default=False
            Whether all terms of a sum are listed, instead of the largest.

        Returns
        -------
        list of Section
            By default none: a frequency shows its counts.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> model = NaiveBayesClassifier().fit(rain.X, rain.y)
        >>> density, tally = model.densities_["temp"], model.tallies_["temp"]
        >>> print(density.derivation(tally, np.array([22.8]), "temp = 22.8", {0: "rain = no"})[0])
        temp = 22.8: Gaussian density
                     μ = Σ x/n         σ = √(Σ (x - μ)²/(n - 1))
          rain = no  75.1/3 = 25.0333  √(82.9067/(3 - 1)) = 6.43843
          φ(22.8; 25.0333, 6.43843) = 1/(√(2π)·6.43843)·exp(-(22.8 - 25.0333)²/(2·6.43843²)) = 0.0583449
        """
        return []

    def scoring_terms(self, derived: Derived, schema: Schema, tally: Any) -> list[Any]:
        """Return the density as terms that an engine can add.

        Parameters
        ----------
        derived : Derived
            The column of the density.
        schema : Schema
            The schema of the model.
        tally : Tally
            The tally that the density was estimated from.

        Returns
        -------
        list
            The terms.
        """
        first = derived.columns[0]
        if len(derived.columns) > 1:
            what = f"The joint distribution of {listed(derived.columns)}"
            hint = "use naive Bayes with a separate distribution of each column, such as 'binned', or a discriminant."
        elif first in schema and isinstance(schema[first], Numeric):
            what, hint = f"The distribution of {first!r}", f"bin the column: distributions={{{first!r}: 'binned'}}."
        else:
            what, hint = f"The distribution of {first!r}", "predict with the rows in memory, or drop the column."
        raise OptionError(f"{what} cannot be computed by an engine or as SQL: {self.rule}.", hint=hint)

    def linear_terms(self, key: str) -> tuple[list[str], list[Floats], Any]:
        """Return the part of a logistic form that belongs to this attribute.

        Parameters
        ----------
        key : str
            The name of the attribute.

        Returns
        -------
        tuple of list, list and ndarray
            The names of the inputs, the weights of each input in every class, and the addition to the biases.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> loan = samples.load("loan")
        >>> model = NaiveBayesClassifier(types={"job_years": "count"}, smoothing=0).fit(loan.X, loan.y)
        >>> names, weights, _ = model.densities_["job_years"].linear_terms("job_years")
        >>> names, weights[0].round(4).tolist()
        (['job_years'], [1.273, 0.8473])
        """
        raise OptionError(
            f"There is no logistic form: {key!r} ({self.rule}) is not linear in its value.",
            hint="use 'poisson' or 'categorical', or DiscriminantClassifier(covariance='shared') for Gaussians.",
        )

    def mean_left_out(self) -> float | None:
        """Return the leave-one-out mean of log P(class | value), if it follows directly from the counts.

        Returns
        -------
        float or None
            The mean; None if it must be computed from the rows.
        """
        return None

    def log_prob_left_out(
        self, rule: Any, tally: Any, column: Any, rows: LeftOutRows, *, keep: bool = False
    ) -> tuple[Floats, Flags, bool] | None:
        """Return log P(value | class) of each row under the density of all other rows, in closed form.

        Parameters
        ----------
        rule : Distribution
            The distribution that estimated this density.
        tally : Tally
            The tally that it was estimated from.
        column : ndarray
            The encoded values of the rows.
        rows : LeftOutRows
            The classes and weights of the rows.
        keep : bool, default=False
            Whether parameters found by a search over all rows (bin edges, bandwidths) stay fixed.

        Returns
        -------
        tuple or None
            The logarithms, shape (rows, classes), up to a constant that is the same for all classes of a row; a mask
            of the rows for which they are not exact; and whether those rows must be estimated from scratch, because
            subtracting the row from the tally would lose the same digits. None if there is no closed form.
        """
        return None


def no_say(name: str, shown: str, state: str, rule: str) -> list[Step]:
    """Return the step of an attribute that has no effect on the prediction."""
    return [Step(name, shown, (), state, rule)]
