"""Naive Bayes over mixed columns: each attribute with a distribution of its own, all in one model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.base.generative import GenerativeClassifier
from countwise.base.logistic import LogisticForm, linear_form
from countwise.base.term import Term, make_terms
from countwise.data.attributes import Attribute
from countwise.data.derived import Absent
from countwise.data.frames import Frame
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.distributions import Categorical, default_for, distribution_from, smoothing_of
from countwise.errors import OptionError, did_you_mean, listed
from countwise.measures import chi_square
from countwise.naive_bayes.counterfactuals import changes_of
from countwise.working import Grid, Working
from countwise.working.numbers import number

__all__ = ["NaiveBayesClassifier"]


@dataclass(eq=False, repr=False)
class NaiveBayesClassifier(GenerativeClassifier):
    """Naive Bayes for tables as they are: mixed columns, missing values, predictions with their working.

    .. math:: P(c | x) ∝ P(c) ∏_a P(x_a | c)

    Parameters
    ----------
    distributions : str, distribution or mapping of column to either, optional
        The distribution of each column: "categorical", "bernoulli", "multinomial", "gaussian", "poisson", "kernel",
        "binned", or "auto" (the one whose leave-one-out log P(class | that column) is best). A single one is used for
        every column that it suits. By default nominal columns are categorical, numeric ones Gaussian, counts
        "poisson", texts and sparse blocks multinomial.
    smoothing : float, {"laplace", "global", "none"}, MEstimate or None, default=1
        Against zero counts: Laplace's ε; ε in the proportions of all classes together; an m-estimate; none.
    prior : {"raw", "smoothed", "uniform"}, mapping or array-like, default="raw"
        P(class): as counted, smoothed like the attributes, uniform, or given.
    types : mapping of column to kind, str or Schema, optional
        "nominal", "ordinal", "numeric", "count", "text", "boolean", or an attribute. By default the dtype decides.
    categorical_features : array-like, optional
        Nominal columns as scikit-learn declares them: names, positions or a mask.
    missing : {"ignore", "value"} or mapping of column to either, default="ignore"
        The factor of a missing value is left out, or its absence is evidence. See `missing_report`.
    unseen : {"ignore", "share", "error"}, default="ignore"
        The factor of a value that was never seen in training is left out, gets a share of the imagined counts, or is
        an error.

    Attributes
    ----------
    classes_ : ndarray
        The classes in order.
    tallies_ : dict
        All that was learned: the counts of the classes, and a tally for each column.
    schema_ : Schema
        What each column is.
    distributions_ : dict
        The distribution of each column.
    densities_ : dict
        The estimated density of each column, with its parameters in full precision: `prob` of a categorical one,
        `mean` and `sd` of a Gaussian, `rate`, `bandwidths`, `edges`. `table` prints them.
    choices_ : dict
        Under "auto": the score of each candidate.
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
        return X  # sparse matrices are blocks of counts

    # -- what is counted ----------------------------------------------------------

    def _infer_schema(self, frame: Frame) -> Schema:
        self._check_options(frame)
        schema = Schema.kinds(frame, self.types, self.categorical_features)
        declared = schema if isinstance(self.types, str | Schema) else self.types or ()
        return Schema([a if a.name in declared else self._implied(a) for a in schema.attributes])

    def _asked(self, name: str) -> tuple[Any, bool]:
        """The distribution that the user asked for, or None, and whether it was for this column by name."""
        if not isinstance(self.distributions, Mapping):
            return None if self.distributions is None else distribution_from(self.distributions), False
        if name not in self.distributions:
            return None, False
        try:
            return distribution_from(self.distributions[name]), True
        except OptionError as error:
            raise OptionError(f"The law of {name!r}: {error.message}", hint=error.hint) from None

    def _implied(self, attribute: Attribute) -> Attribute:
        """A distribution that the user named for a column also says what the column is."""
        rule, named = self._asked(attribute.name)
        return attribute if rule is None else rule.implied_attribute(attribute, named=named)

    def _rule(self, attribute: Attribute) -> Any:
        rule, named = self._asked(attribute.name)
        if rule is None or not (named or rule.suits(attribute)):
            rule = default_for(attribute)
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
        for word in self.missing.values() if isinstance(self.missing, Mapping) else [self.missing]:
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
        """The posterior as a sigmoid of w·x + b, or as a softmax: where every distribution is linear in its value.

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

    # -- explanations -----------------------------------------------------------------

    def explain(self, X: Any, *, row: int = 0, changes: bool = True, interval: float | None = 0.9) -> Working:
        """The working behind the answer for one row.

        Parameters
        ----------
        X, row
            The table, and which of its rows.
        changes : bool, default=True
            Whether to look for the smallest change that flips the answer.
        interval : float or None, default=0.9
            The credibility of the interval on P(class | row); None for none.

        Returns
        -------
        Working

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
        share                         0 %              100 %
        <BLANKLINE>
        play = Yes, with probability 100 %.
        What would change the answer:
          outlook = Rain would make it No (63.3 %).
        """
        table, one = self._one(X, row)
        working = self._worked(table, one)
        return replace(
            working,
            changes=tuple(changes_of(self, table, working.chosen)) if changes else (),
            interval=None if interval is None else self._interval(table, interval, 2000, 0),
            level=interval or 0.9,
        )

    def predict_interval(self, X: Any, *, level: float = 0.9, draws: int = 2000, random_state: int = 0) -> Floats:
        """A credible interval on P(class | row), from the counts behind it.

        Each parameter is drawn from its posterior (Dirichlet for tables, normal and chi-square for Gaussians, gamma
        for rates, the Bayesian bootstrap for kernels), and P(class | row) is recomputed.

        Parameters
        ----------
        X : any table
            The rows.
        level : float, default=0.9
            The credibility.
        draws, random_state : int
            How many draws a row, and their seed.

        Returns
        -------
        ndarray, shape (rows, classes, 2)
            Lower and upper ends.
        """
        if not 0 < level < 1:
            raise OptionError(f"level must lie between 0 and 1, not {level!r}.")
        frame = self._open(X)
        ends = np.empty((frame.n_rows, len(self.classes_), 2))
        for row in range(frame.n_rows):
            table = self._table(frame, row, row + 1, every=True)
            ends[row] = self._interval(table, level, draws, random_state)
        return ends

    def _interval(self, table: Table, level: float, draws: int, seed: int) -> tuple[tuple[float, float], ...]:
        rng = np.random.default_rng(seed)
        counts = self.class_count_.astype(np.float64)
        if isinstance(self.prior, str) and self.prior != "uniform":
            logs = np.log(np.maximum(rng.dirichlet(counts + 0.5, draws), 1e-300))
        else:
            logs = np.tile(self.log_prior_, (draws, 1))
        for key, density in self.densities_.items():
            logs = logs + density.draw_log_prob(table[key], draws, rng)
        logs -= logs.max(axis=1, keepdims=True)
        shares = np.exp(logs)
        shares /= shares.sum(axis=1, keepdims=True)
        low, high = np.quantile(shares, [(1 - level) / 2, (1 + level) / 2], axis=0)
        return tuple((float(a), float(b)) for a, b in zip(low, high, strict=True))

    def portrait(self, cls: Any, *, n: int = 0, random_state: int = 0) -> Any:
        """The typical row of a class, or rows drawn from P(row | class).

        Parameters
        ----------
        cls : object
            The class.
        n : int, default=0
            0 for the typical row; else how many rows to draw.
        random_state : int, default=0
            The seed of the draw.

        Returns
        -------
        Grid
            For n = 0 the attribute, its typical value and a remark; else a column an attribute.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> print(NaiveBayesClassifier().fit(rain.X, rain.y).portrait("no"))
        attribute  typical  remark
        wind       north    60% of them
        temp       25.0333  ± 6.43843
        """
        self._check_fitted()
        classes = self.classes_.tolist()
        if cls not in classes:
            raise OptionError(
                f"There is no class {cls!r}.",
                hint=did_you_mean(cls, classes) or f"classes are {listed(classes)}.",
            )
        c = classes.index(cls)
        if not isinstance(n, int | np.integer) or n < 0:
            raise OptionError(f"n must be a whole number, 0 or more, not {n!r}.")
        if n:
            rng = np.random.default_rng(random_state)
            drawn = {key: d.draw(c, n, rng) for key, d in self.densities_.items()}
            return Grid({key: list(column) for key, column in drawn.items()})
        typical = {key: d.typical(c) for key, d in self.densities_.items()}
        return Grid(
            {
                "attribute": list(typical),
                "typical": [number(v) if isinstance(v, float) else str(v) for v, _ in typical.values()],
                "remark": [remark for _, remark in typical.values()],
            }
        )

    def unused_absence(self) -> list[str]:
        """The columns whose absence depends on the class, and is not used as evidence; see `missing_report`."""
        report = self.missing_report()
        found = zip(report["attribute"], report["absence is"], strict=True)
        return [name for name, what in found if what == "evidence" and not self._missing_is_value(name)]

    def missing_report(self) -> Grid:
        """Whether absence depends on the class, for each attribute with missing cells, by a chi-square test.

        Where it is significant, absence is evidence, and ``missing={name: "value"}`` uses it.
        """
        self._check_fitted()
        classes = self.classes_.tolist()
        total = self.class_count_.astype(np.float64)
        columns: dict[str, list[Any]] = {"attribute": [], "missing": []}
        columns.update({f"missing in {c}": [] for c in classes}, **{"p-value": [], "absence is": []})
        for part in self.terms_:
            if not part.as_given:
                continue
            gone = total - _present(self.tallies_[part.key])
            if gone.sum() <= 0:
                continue
            p = chi_square(np.stack([gone, total - gone]))[2]
            columns["attribute"].append(part.key)
            columns["missing"].append(number(float(gone.sum())))
            for c, label in enumerate(classes):
                columns[f"missing in {label}"].append(f"{gone[c] / total[c]:.1%}" if total[c] else "")
            columns["p-value"].append(f"{p:.2g}")
            columns["absence is"].append("evidence" if p < 0.01 else "noise")
        return Grid(columns)


def _present(tally: Any) -> Floats:
    """How many cells are there, in each class."""
    if hasattr(tally, "axes"):
        return np.asarray(tally.table.sum(axis=1), dtype=np.float64)
    n = tally.triple[0] if hasattr(tally, "triple") else tally.filled[0] if hasattr(tally, "present") else tally.n
    return np.asarray(n, dtype=np.float64)
