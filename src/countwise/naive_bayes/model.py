"""Naive Bayes classifier for mixed columns, with a separate distribution for each attribute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.base.generative import GenerativeClassifier
from countwise.base.logistic import LogisticForm, linear_form
from countwise.base.protocol import check_level
from countwise.base.tally_model import is_untyped
from countwise.base.term import Term, make_terms
from countwise.data.attributes import Attribute
from countwise.data.derived import Absent, OrderCodes
from countwise.data.frames import Frame
from countwise.data.output import library_of
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.data.text import holds_sentences
from countwise.distributions import Categorical, default_for, distribution_from, smoothing_of
from countwise.distributions.smoothing import check_given
from countwise.distributions.word_density import WordDistribution
from countwise.errors import (
    OptionError,
    check_flag,
    check_settings,
    check_value,
    did_you_mean,
    listed,
)
from countwise.measures import chi_square
from countwise.naive_bayes.counterfactuals import changes_of
from countwise.working import Change, Grid, Section, Step, Working
from countwise.working.numbers import number
from countwise.working.smoothing import smoothing_table
from countwise.working.text import columns as classes_shown

__all__ = ["NaiveBayesClassifier"]

INFORMATIVE = 0.01  # the p-value below which being missing is said to depend on the class


@dataclass(eq=False, repr=False)
class NaiveBayesClassifier(GenerativeClassifier):
    """Naive Bayes classifier for mixed columns with missing values.

    .. math:: P(c | x) ∝ P(c) ∏_a P(x_a | c)

    Each attribute has its own distribution in each class: nominal, numeric, count and text columns are combined in
    one model. The factor of a missing value is ignored. Models can be updated (`partial_fit`, `forget`) and merged
    (``a + b``), and `explain` shows how a prediction is computed.

    Parameters
    ----------
    distributions : str, Distribution, mapping or None, default=None
        The distribution of each attribute: 'categorical', 'bernoulli', 'multinomial', 'gaussian', 'poisson',
        'kernel', 'binned', a discretization method such as 'mdl' (see `Binned`), or 'auto', which chooses the
        distribution with the best leave-one-out log P(class | attribute). A single distribution is used for
        every column that it suits; 'bernoulli' and 'multinomial' refuse columns of sentences that are not
        declared as text in `types`. A mapping gives the distribution of each named column. By default nominal
        columns are 'categorical', numeric columns 'gaussian', counts 'poisson', text columns and sparse matrices
        'multinomial' (boolean ones 'bernoulli').
    smoothing : float, {'laplace', 'global', 'none'}, MEstimate or None, default=1.0
        Smoothing against zero frequencies. A number is the pseudocount ε of Laplace smoothing, and 'laplace' is
        the same as 1. 'global' adds one pseudocount in total, divided in proportion to the frequencies over all
        classes. An `MEstimate` adds m pseudocounts. A `Smoothing` can take K = number of classes in the denominator
        of Laplace smoothing, or use a global ε in Laplace's formula. 0, 'none' and None do not smooth.
    prior : {'raw', 'smoothed', 'uniform'}, mapping or array-like, default='raw'
        P(class): the class frequencies, the class frequencies smoothed like the attributes, the same for all
        classes, or the given probabilities (by class, or in the order of `classes_`). A class without rows has
        probability 0 in any case.
    types : mapping, str, Schema or None, default=None
        The type of each column: 'nominal', 'ordinal', 'numeric', 'count', 'text', 'boolean', or an attribute
        such as `Ordinal`. A string applies to all columns. By default the type follows from the dtype.
    categorical_features : array-like or None, default=None
        The nominal columns in scikit-learn's form: names, positions or a mask.
    missing : {'ignore', 'value', 'auto'} or mapping, default='ignore'
        'ignore' skips the factor of a missing value. 'value' adds a factor for whether the value is missing,
        which uses informative missingness; see `missing_report`. 'auto' adds this factor to the columns where it is
        informative in the training data; see `missing_`. A mapping gives the option of each named column.
    unseen : {'ignore', 'share', 'error'}, default='ignore'
        The treatment of a nominal value that was never seen in training: 'ignore' skips its factor, 'share'
        adds one extra value with a count of 0 and uses its smoothed probability, 'error' raises an error.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes in ascending order.
    class_prior_ : ndarray of shape (n_classes,)
        P(class).
    class_count_ : ndarray of shape (n_classes,)
        The number of training rows (or the total weight) of each class.
    tallies_ : dict
        All that was learned: the class counts, and a tally for each column.
    schema_ : Schema
        The type and the values of each column.
    distributions_ : dict
        The distribution of each column.
    densities_ : dict
        The estimated density of each column, with unrounded parameters: `prob` (categorical), `mean` and `sd`
        (Gaussian), `rate` (counts), `bandwidths` (kernel), `edges` (binned). `table` prints them.
    missing_ : dict
        How the missing values of each column are treated: 'ignore' or 'value'.
    choices_ : dict
        The leave-one-out score of each candidate, for the columns with the distribution 'auto'.
    n_rows_ : int
        The number of training rows.
    n_left_out_ : int
        The number of rows skipped because their target is missing.

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier, samples
    >>> weather = samples.load("weather")
    >>> model = NaiveBayesClassifier(smoothing=0).fit(weather.X, weather.y)
    >>> day = [{"outlook": "sunny", "temperature": 66, "humidity": 90, "windy": True}]
    >>> model.predict(day).tolist(), model.predict_proba(day).round(4).tolist()
    (['no'], [[0.7921, 0.2079]])
    """

    distributions: Any = None
    _: KW_ONLY
    smoothing: Any = 1.0
    prior: Any = "raw"
    types: Any = None
    categorical_features: Any = None
    missing: Any = "ignore"
    unseen: str = "ignore"

    _smooths = True

    def _coerce_input(self, X: Any) -> Any:
        self._library = library_of(X)
        return X  # a sparse matrix is a block of counts and stays sparse

    # -- schema and terms -----------------------------------------------------------

    def _infer_schema(self, frame: Frame) -> Schema:
        self._check_options(frame)
        schema = Schema.kinds(frame, self.types, self.categorical_features)
        declared = schema if isinstance(self.types, str | Schema) else self.types or ()
        if isinstance(self._requested("")[0], WordDistribution) and self.categorical_features is None:
            undeclared = [a.name for a in schema.attributes if a.kind == "nominal" and a.name not in declared]
            for name in undeclared:
                if holds_sentences(frame.columns[name]):
                    raise OptionError(
                        f"{name!r} holds text, but its type is nominal; distributions={self.distributions!r} for all "
                        "columns does not apply to it.",
                        hint=f"use types={{{name!r}: 'text'}}, or 'nominal' if each text is a value of its own.",
                    )
        return Schema([a if a.name in declared else self._implied(a) for a in schema.attributes])

    def _requested(self, name: str) -> tuple[Any, bool]:
        """Return the distribution requested for a column, or None, and whether the column was named."""
        if not isinstance(self.distributions, Mapping):
            return None if self.distributions is None else distribution_from(self.distributions), False
        if name not in self.distributions:
            return None, False
        try:
            return distribution_from(self.distributions[name]), True
        except OptionError as error:
            raise OptionError(f"The distribution of {name!r} is invalid: {error.message}", hint=error.hint) from None

    def _implied(self, attribute: Attribute) -> Attribute:
        """Return the attribute with the type that its requested distribution implies."""
        rule, named = self._requested(attribute.name)
        return attribute if rule is None else rule.implied_attribute(attribute, named=named)

    def _rule(self, attribute: Attribute) -> Any:
        rule, named = self._requested(attribute.name)
        named = named and not is_untyped(attribute)  # a type that suits the distribution may come with a later value
        if rule is None or not (named or rule.suits(attribute)):
            rule = default_for(attribute)
        return rule.with_defaults(self.smoothing, self.unseen)

    def _terms(self, schema: Schema, target: str) -> list[Term]:
        taken = {*schema, target}
        terms = make_terms([(a, self._rule(a)) for a in schema.attributes], taken)
        taken |= {term.key for term in terms}
        absent = [a for a in schema.attributes if self._missing_option(a.name) != "ignore"]
        return [*terms, *(Term(Absent.of_attribute(a, taken), Categorical(self.smoothing)) for a in absent)]

    def _missing_option(self, name: str) -> Any:
        return self.missing.get(name, "ignore") if isinstance(self.missing, Mapping) else self.missing

    def _terms_now(self) -> list[Term]:
        """Return the terms that are used: with missing='auto', only informative factors for missing values.

        The factors that are not used are counted too, so that later rows can change the decision.
        """
        return [term for term in super()._terms_now() if not self._is_auto(term) or self._p_value(term) < INFORMATIVE]

    def _is_auto(self, term: Term) -> bool:
        return type(term.derived) is Absent and self._missing_option(term.columns[0]) == "auto"

    def _p_value(self, term: Term) -> float:
        """Return the p-value of the chi-square test whether being missing depends on the class; 1 without a test."""
        p = float(chi_square(self.tallies_[term.key].table.astype(np.float64).T)[2])
        return 1.0 if np.isnan(p) else p

    @property
    def missing_(self) -> dict[str, str]:
        """How the missing values of each column are treated: 'ignore' or 'value'."""
        self._check_fitted()
        used = {term.columns[0] for term in self.terms_ if type(term.derived) is Absent}
        return {name: "value" if name in used else "ignore" for name in self.schema_}

    @property
    def _chooses_terms(self) -> bool:
        options = self.missing.values() if isinstance(self.missing, Mapping) else [self.missing]
        return "auto" in options

    def _check_options(self, frame: Frame) -> None:
        check_settings(self, unseen=("ignore", "share", "error"))
        smoothing = smoothing_of(self.smoothing)
        if self.unseen == "share" and smoothing.estimate is not None and smoothing.estimate.p == "global":
            raise OptionError(
                "unseen='share' cannot be combined with smoothing='global': an unseen value has no global frequency.",
                hint="use Laplace smoothing (a number) or MEstimate(m).",
            )
        for option, name in ((self.distributions, "distributions"), (self.missing, "missing")):
            for column in option if isinstance(option, Mapping) else ():
                if column not in frame.columns:
                    raise OptionError(
                        f"{name} refers to column {column!r}, but the table has no such column.",
                        hint=did_you_mean(column, frame.columns) or f"use one of {listed(frame.columns)}.",
                    )
        for option in self.missing.values() if isinstance(self.missing, Mapping) else [self.missing]:
            check_value("missing", option, ("ignore", "value", "auto"))

    def _zeros(self) -> tuple[str, str]:
        return (
            "a value has a count of 0 in each class, or a number is too far from the training values",
            "use smoothing=1, which keeps counts above 0",
        )

    def logistic_form(self) -> LogisticForm:
        """Return the posterior as a sigmoid (two classes) or a softmax of a linear function.

        The log-odds of every attribute must be linear: its distribution must be 'categorical', 'poisson', or
        'bernoulli' for a numeric column.

        Returns
        -------
        LogisticForm
            The weights and biases.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> loan = samples.load("loan")
        >>> model = NaiveBayesClassifier("poisson", types={"job_years": "count"}, smoothing=0)
        >>> print(model.fit(loan.columns("job_years"), loan.y).logistic_form())
        P(class = Yes | x) = sigmoid(0.390797 - 0.425668·job_years)
        """
        self._check_fitted()
        return linear_form(self)

    def _estimate(self) -> None:
        super()._estimate()
        check_given(self.densities_.values())
        self.distributions_ = {part.key: part.distribution for part in self.terms_}
        self.choices_ = {k: d.choice.scores for k, d in self.densities_.items() if d.choice is not None}

    # -- explanations -----------------------------------------------------------------

    def _steps(self, table: Table, one: Frame) -> tuple[list[Step], list[str]]:
        steps, notes = super()._steps(table, one)
        for term in self.terms_:
            if self._is_auto(term):
                p = f"p = {self._p_value(term):.2g} in the chi-square test of independence"
                notes.append(f"Whether {term.columns[0]!r} is missing depends on the class: {p}.")
        return steps, notes

    def explain(
        self,
        X: Any,
        *,
        row: int = 0,
        changes: bool = True,
        interval: float | None = 0.9,
        smoothing: bool = False,
        rows: Any = None,
        densities: bool = False,
        all_terms: bool = False,
    ) -> Working:
        """Explain the prediction for one row step by step.

        The working lists the prior, the factor of each attribute in each class, their product and the posterior.

        Parameters
        ----------
        X : table
            The rows.
        row : int, default=0
            The position of the row in X; negative positions count from the end.
        changes : bool, default=True
            Whether to search for counterfactuals: the smallest changes of the row that change the prediction.
        interval : float or None, default=0.9
            The probability of the credible interval of the posterior. None computes no interval.
        smoothing : bool, default=False
            Whether to add a section that shows each frequency before and after smoothing.
        rows : table or tuple (X, y) or None, default=None
            The training table. With it, the working lists the numbers of the training rows behind each count.
        densities : bool, default=False
            Whether to add sections that write each density out: mean, standard deviation or rate from the sums of
            the training data, the formula with its numbers, and the sum of the kernels.
        all_terms : bool, default=False
            Whether the sections of kernel densities list every training value, instead of the largest kernels.

        Returns
        -------
        Working
            The working. It prints as text, and notebooks show it as a table.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> model = NaiveBayesClassifier(smoothing=0).fit(tennis.frame, tennis.target)
        >>> print(model.explain(tennis.X, row=2, interval=None))
                                      play = No        play = Yes         log-odds Yes : No
        P(play)                       5/14 = 0.357143  9/14 = 0.642857    +0.588
        P(outlook = Overcast | play)  0/5 = 0          4/9 = 0.444444     +∞
        P(temperature = Hot | play)   2/5 = 0.4        2/9 = 0.222222     -0.588
        P(humidity = High | play)     4/5 = 0.8        3/9 = 0.333333     -0.875
        P(wind = Weak | play)         2/5 = 0.4        6/9 = 0.666667     +0.511
        product                       0                8/567 = 0.0141093  +∞
        posterior                     0 %              100 %
        <BLANKLINE>
        play = Yes with probability 100 %.
        What would change the prediction:
          outlook = Rain would give No with probability 63.3 %.
        """
        for name, flag in (("smoothing", smoothing), ("densities", densities), ("all_terms", all_terms)):
            check_flag(name, flag)
        if interval is not None:
            check_level("interval", interval)
        table, one = self._one(X, row)
        working = self._with_rows(self._worked(table, one), table, self._training_rows(rows))
        sections = working.sections
        if smoothing:
            smoothed = smoothing_table((working.prior, *working.steps), working.classes)
            sections += (Section("Smoothing", smoothed, () if smoothed.n_rows else ("No factor is a frequency.",)),)
        if densities:
            sections += tuple(self._derivations(table, working, all_terms=all_terms))
        return replace(
            working,
            sections=sections,
            changes=tuple(changes_of(self, table, working.chosen)) if check_flag("changes", changes) else (),
            interval=None
            if interval is None
            else self._interval(one, np.array(working.posterior), interval, 2000, 0),
            level=interval or 0.9,
        )

    def _derivations(self, table: Table, working: Working, *, all_terms: bool) -> list[Section]:
        """Return the sections that write the densities of a row out."""
        classes = {c: f"{working.target} = {working.classes[c]}" for c in classes_shown(working)}
        found: list[Section] = []
        for step in working.used:
            if step.attribute in self.densities_:
                density, tally = self.densities_[step.attribute], self.tallies_[step.attribute]
                found += density.derivation(tally, table[step.attribute], step.event, classes, all_terms=all_terms)
        return found

    def _portrait(self, c: int) -> list[tuple[str, Any, str]]:
        typical = {key: density.typical(c) for key, density in self.densities_.items()}
        for key, codes in self._order_codes().items():
            mean, remark = typical[key]
            typical[key] = f"{number(mean)} ({codes.nearest(np.array([mean]))[0]})", remark
        return [(key, *found) for key, found in typical.items()]

    def _order_codes(self) -> dict[str, OrderCodes]:
        """Return the codes of the ordinal columns that have a density of numbers."""
        return {part.key: part.derived for part in self.terms_ if isinstance(part.derived, OrderCodes)}

    def _drawn_rows(self, c: int, n: int, rng: np.random.Generator) -> dict[str, Any]:
        drawn = super()._drawn_rows(c, n, rng)
        return drawn | {key: codes.nearest(drawn[key]) for key, codes in self._order_codes().items()}

    def _changes(self, X: Any, row: int) -> list[Change]:
        return list(self.explain(X, row=row, interval=None).changes)

    def unused_absence(self) -> list[str]:
        """Return the columns whose missingness is informative but not used by the model; see `missing_report`.

        Returns
        -------
        list of str
            The names of the columns.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> credit = samples.load("credit")
        >>> NaiveBayesClassifier().fit(credit.X, credit.y).unused_absence()
        ['Income', 'Debt']
        """
        report = self.missing_report()
        found = zip(report["attribute"], report["missingness"], strict=True)
        return [name for name, what in found if what == "informative" and self.missing_[name] == "ignore"]

    def missing_report(self) -> Grid:
        """Test for each attribute with missing values whether its missingness depends on the class.

        Missingness is informative if Pearson's chi-square test of independence has a p-value below 0.01. Then
        ``missing={name: "value"}`` uses it as a factor.

        Returns
        -------
        Grid
            A row for each attribute with missing values: their number, their percentage in each class, the p-value,
            and whether the missingness is informative.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> credit = samples.load("credit")
        >>> print(NaiveBayesClassifier().fit(credit.X, credit.y).missing_report())
        attribute  missing  missing in bad  missing in good  p-value  missingness
        Home             6            0.3%             0.1%  0.036    not informative
        Marital          1            0.0%             0.0%  0.53     not informative
        Job              2            0.2%             0.0%  0.024    not informative
        Income         381           17.3%             5.1%  4.8e-39  informative
        Assets          47            1.6%             0.8%  0.027    not informative
        Debt            18            1.0%             0.2%  3.1e-05  informative
        """
        self._check_fitted()
        classes = self.classes_.tolist()
        total = self.class_count_.astype(np.float64)
        columns: dict[str, list[Any]] = {"attribute": [], "missing": []}
        columns.update({f"missing in {c}": [] for c in classes}, **{"p-value": [], "missingness": []})
        for name, (missing, known) in self._missing_counts().items():
            p = chi_square(np.stack([missing, known]))[2]
            columns["attribute"].append(name)
            columns["missing"].append(number(float(missing.sum())))
            for c, label in enumerate(classes):
                columns[f"missing in {label}"].append(f"{missing[c] / total[c]:.1%}" if total[c] else "")
            columns["p-value"].append("" if np.isnan(p) else f"{p:.2g}")  # the same in all rows: nothing to test
            columns["missingness"].append("informative" if p < INFORMATIVE else "not informative")
        return Grid(columns)

    def _missing_counts(self) -> dict[str, tuple[Floats, Floats]]:
        """Return, for each column with missing values, how many are missing and how many are known in each class."""
        total, found = self.class_count_.astype(np.float64), {}
        for part in self.terms_:
            missing = total - _present(self.tallies_[part.key]) if part.as_given else np.zeros(1)
            if missing.sum() > 0:
                found[part.key] = missing, total - missing
        return found


def _present(tally: Any) -> Floats:
    """Return the number of non-missing values in each class."""
    if hasattr(tally, "axes"):
        return np.asarray(tally.table.sum(axis=1), dtype=np.float64)
    n = tally.triple[0] if hasattr(tally, "triple") else tally.filled[0] if hasattr(tally, "present") else tally.n
    return np.asarray(n, dtype=np.float64)
