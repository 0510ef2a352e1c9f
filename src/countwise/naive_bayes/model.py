"""Naive Bayes over mixed columns: each attribute with a law of its own, all in one model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from countwise.base.logistic import LogisticForm, linear_form
from countwise.base.term import Term, make_terms
from countwise.data.attributes import Attribute
from countwise.data.derived import Absent
from countwise.data.frames import Frame
from countwise.data.schema import Schema
from countwise.distributions import Categorical, default_for, distribution_from, smoothing_of
from countwise.errors import OptionError, did_you_mean, listed
from countwise.naive_bayes.inspection import NaiveBayesInspection

__all__ = ["NaiveBayesClassifier"]


class NaiveBayesClassifier(NaiveBayesInspection):
    """Naive Bayes for tables as they are: mixed columns, missing cells, answers with their working.

    .. math:: P(c | x) ∝ P(c) ∏_a P(x_a | c)

    Parameters
    ----------
    distributions : str, conditional or mapping of column to either, optional
        The law of each column: "categorical", "bernoulli", "multinomial", "gaussian",
        "poisson", "kernel", "ranges", or "auto" (the law whose leave-one-out
        log P(class | that column) is best). A single one is the law of every column that
        it suits. By default nominal columns are categorical, numeric ones Gaussian,
        counts Poisson, texts and sparse blocks multinomial.
    smoothing : float, {"laplace", "global", "none"}, MEstimate or None, default=1
        Against zero counts: Laplace with that ε; ε from global statistics num(w) / num;
        an m-estimate; nothing.
    prior : {"raw", "smoothed", "uniform"}, mapping or array-like, default="raw"
        P(class): as counted, smoothed like the attributes, alike, or given.
    types : mapping of column to kind, str or Schema, optional
        "nominal", "ordinal", "numeric", "count", "text", "boolean", or an attribute. By
        default dtypes tell.
    categorical_features : array-like, optional
        Nominal columns as scikit-learn declares them: names, positions or a mask.
    missing : {"ignore", "value"} or mapping of column to either, default="ignore"
        A missing cell's factor is left out, or its absence is evidence. See `missing_report`.
    unseen : {"ignore", "share", "error"}, default="ignore"
        A value never met in training is left out, gets a share of the imagined counts,
        or is an error.

    Attributes
    ----------
    classes_ : ndarray
        The classes in order.
    tallies_ : dict
        All that was learned.
    schema_ : Schema
        What each column is.
    distributions_ : dict
        The law of each column.
    choices_ : dict
        Under "auto": what each candidate scored.
    class_prior_ : ndarray
        P(class).

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier, samples
    >>> weather = samples.load("weather")
    >>> model = NaiveBayesClassifier(smoothing=0).fit(weather.X, weather.y)
    >>> day = [{"outlook": "sunny", "temperature": 66, "humidity": 90, "windy": True}]
    >>> model.predict(day).tolist(), model.predict_proba(day).round(4).tolist()
    (['no'], [[0.7921, 0.2079]])
    """

    _smooths = True

    def _coerce_input(self, X: Any) -> Any:
        return X  # sparse matrices are blocks of counts

    def __init__(
        self,
        distributions: Any = None,
        *,
        smoothing: Any = 1.0,
        prior: Any = "raw",
        types: Any = None,
        categorical_features: Any = None,
        missing: Any = "ignore",
        unseen: str = "ignore",
    ) -> None:
        self.distributions = distributions
        self.smoothing = smoothing
        self.prior = prior
        self.types = types
        self.categorical_features = categorical_features
        self.missing = missing
        self.unseen = unseen

    # -- what is counted ----------------------------------------------------------

    def _infer_schema(self, frame: Frame) -> Schema:
        self._check_options(frame)
        schema = Schema.kinds(frame, self.types, self.categorical_features)
        declared = set(self.types) if isinstance(self.types, Mapping) else set()
        if isinstance(self.types, str | Schema):
            declared = set(frame.columns)
        return Schema([a if a.name in declared else self._implied(a) for a in schema.attributes])

    def _implied(self, attribute: Attribute) -> Attribute:
        """A law that the user named for a column also says what the column is."""
        named = isinstance(self.distributions, Mapping) and attribute.name in self.distributions
        spec = self.distributions[attribute.name] if named else self.distributions
        if named:
            rule = self._named_rule(attribute.name)
        else:
            rule = None if spec is None or isinstance(spec, Mapping) else distribution_from(spec)
        return attribute if rule is None else rule.implied_attribute(attribute, named=named)

    def _named_rule(self, name: str) -> Any:
        try:
            return distribution_from(self.distributions[name])
        except OptionError as error:
            raise OptionError(f"The law of {name!r}: {error.message}", hint=error.hint) from None

    def _rule(self, attribute: Attribute) -> Any:
        if isinstance(self.distributions, Mapping) and attribute.name in self.distributions:
            rule = self._named_rule(attribute.name)
        elif self.distributions is None or isinstance(self.distributions, Mapping):
            rule = default_for(attribute)
        else:
            rule = distribution_from(self.distributions)
            rule = rule if rule.suits(attribute) else default_for(attribute)
        return rule.with_defaults(self.smoothing, self.unseen)

    def _terms(self, schema: Schema, target: str) -> list[Term]:
        taken = {*schema, target}
        terms = make_terms([(a, self._rule(a)) for a in schema.attributes], taken)
        taken |= {term.key for term in terms}
        absent = [a for a in schema.attributes if self._missing_is_value(a.name)]
        return [*terms, *(Term(Absent.of_attribute(a, taken), Categorical(self.smoothing)) for a in absent)]

    def _missing_is_value(self, name: str) -> bool:
        option = self.missing.get(name, "ignore") if isinstance(self.missing, Mapping) else self.missing
        return bool(option == "value")

    def _check_options(self, frame: Frame) -> None:
        smoothing = smoothing_of(self.smoothing)
        if self.unseen == "share" and smoothing.estimate is not None and smoothing.estimate.p == "global":
            raise OptionError(
                "unseen='share' has no meaning with global shares: a value never seen has none.",
                hint="use Laplace (a number) or MEstimate(m).",
            )
        for option, name in ((self.distributions, "distributions"), (self.missing, "missing")):
            for column in option if isinstance(option, Mapping) else ():
                if column not in frame.columns:
                    raise OptionError(
                        f"{name} names {column!r}, which the table does not have.",
                        hint=did_you_mean(column, frame.columns) or f"it has {listed(frame.columns)}.",
                    )
        words = self.missing.values() if isinstance(self.missing, Mapping) else [self.missing]
        for word in words:
            if word not in ("ignore", "value"):
                raise OptionError(f"missing={word!r} is unknown.", hint="give 'ignore' or 'value'.")
        if self.unseen not in ("ignore", "share", "error"):
            raise OptionError(f"unseen={self.unseen!r} is unknown.", hint="give 'ignore', 'share' or 'error'.")

    def _zeros(self) -> tuple[str, str]:
        return (
            "a value was never counted there, or a number lies beyond all densities",
            "smoothing=1 keeps counts above 0",
        )

    def logistic_form(self) -> LogisticForm:
        """The posterior as a sigmoid of w·x + b, or as a softmax: for Poisson and categorical laws (002).

        Returns
        -------
        LogisticForm

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
        self.distributions_ = {part.key: part.distribution for part in self.terms_}
        self.choices_ = {k: d.choice.scores for k, d in self.densities_.items() if d.choice is not None}
