"""Generative classifiers: a class prior, and a density for each term."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.base.classifier import AdditiveClassifier
from countwise.base.tally_model import TallyModel
from countwise.base.term import Term
from countwise.data.derived import Absent
from countwise.data.frames import Frame
from countwise.data.output import LIBRARIES, dense, library_of
from countwise.data.table import Table, threads_for
from countwise.distributions import smoothing_of
from countwise.distributions.categorical import counted_factor
from countwise.distributions.smoothing import exact
from countwise.engines.execute import executed
from countwise.errors import SEED, OptionError, check_flag, check_number, check_value, did_you_mean, listed, printable
from countwise.scoring.additive import answered
from countwise.scoring.plan import Scoring, inputs_of
from countwise.scoring.sql import scoring_query
from countwise.tallies import Values
from countwise.working import Grid, Step
from countwise.working.numbers import Worked
from countwise.working.smoothing import smoothing_table

__all__ = ["GenerativeClassifier", "class_prior"]

_KEY = attrgetter("key")
_MOST_ROWS = 10_000_000  # of a drawn sample


class GenerativeClassifier(TallyModel, AdditiveClassifier):
    """Classifier by Bayes' rule: P(class) times the densities; subclasses implement `_infer_schema` and `_terms`."""

    prior: Any
    smoothing: Any = 0.0
    _smooths = False  # whether the model has a setting `smoothing`, which may also apply to the class counts

    def _coerce_input(self, X: Any) -> Any:
        """Convert a sparse matrix to a dense one, which most distributions need."""
        self._library = library_of(X)
        return dense(X)

    # -- draws ------------------------------------------------------------------------

    def sample(self, n_samples: int = 1, random_state: Any = None, *, cls: Any = None) -> Any:
        """Draw rows from the model: a class from P(class), then a row from P(row | class).

        Parameters
        ----------
        n_samples : int, default=1
            The number of rows.
        random_state : int, Generator or None, default=None
            The seed; None gives different rows at each call.
        cls : object, default=None
            Draw rows of this class only.

        Returns
        -------
        table
            The rows with the target as the last column: a data frame of the library of the training table, a dict of
            columns if it was not a pandas, Polars or PyArrow table.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> drawn = NaiveBayesClassifier().fit(rain.X, rain.y).sample(3, random_state=0)
        >>> list(drawn), len(drawn["wind"])
        (['wind', 'temp', 'class'], 3)
        """
        self._check_fitted()
        check_number("n_samples", n_samples, 1, most=_MOST_ROWS, whole=True)
        check_value("random_state", random_state, SEED)
        rng, n = np.random.default_rng(random_state), int(n_samples)
        if cls is None:
            codes = rng.choice(len(self.classes_), size=n, p=self.class_prior_)
        else:
            codes = np.full(n, self._class_code(cls))
        drawn = {c: self._drawn_rows(c, int((codes == c).sum()), rng) for c in np.unique(codes).tolist()}
        names = next(iter(drawn.values()))
        columns: dict[str, Any] = {}
        for name in names:
            parts = {c: np.asarray(part[name]) for c, part in drawn.items()}
            numeric = all(part.dtype.kind == "f" for part in parts.values())
            columns[name] = np.empty(n, dtype=np.float64 if numeric else object)
            for c, part in parts.items():
                columns[name][codes == c] = part
        columns[self.target_.name] = self.classes_[codes]
        library = getattr(self, "_library", None)
        if library not in LIBRARIES:
            return columns
        return Grid({name: column.tolist() for name, column in columns.items()}).to_frame(library)

    def _drawn_rows(self, c: int, n: int, rng: np.random.Generator) -> dict[str, Any]:
        """Draw rows of class c, as columns."""
        kept = [part.key for part in self.terms_ if not isinstance(part.derived, Absent)]
        return {key: self.densities_[key].draw(c, n, rng) for key in kept}

    def _posterior_draws(self, one: Frame, draws: int, rng: np.random.Generator) -> Floats:
        from countwise import _kernels

        table = self._table(one, 0, 1, every=True)
        counts = self.class_count_.astype(np.float64)
        if isinstance(self.prior, str) and self.prior != "uniform":
            logs = np.log(np.maximum(rng.dirichlet(counts + 0.5, draws), 1e-300))
        else:
            logs = np.tile(self.log_prior_, (draws, 1))
        prior = np.exp(logs)
        with np.errstate(all="ignore"):  # a value far from the training data may be impossible in every class
            logs = logs + self._drawn_logs(table, draws, rng)
            _kernels.normalize(logs, "proba")
        return np.where(np.isnan(logs).any(axis=1, keepdims=True), prior, logs)

    def _drawn_logs(self, table: Table, draws: int, rng: np.random.Generator) -> Floats:
        """Return log P(row | class) for drawn parameters, shape (draws, classes)."""
        logs = np.zeros((draws, len(self.classes_)))
        for key, density in self.densities_.items():
            logs += density.draw_log_prob(table[key], draws, rng)
        return logs

    def _numbers_to_try(self, name: str) -> Any:
        grid = self.densities_[name].grid() if name in self.densities_ else None
        return None if grid is None or grid.dtype.kind != "f" else grid.tolist()

    # -- estimation -------------------------------------------------------------------

    def _estimate(self) -> None:
        from countwise import _kernels

        self.classes_ = self.target_.labels(getattr(self, "_label_type", None))
        self.terms_ = self._terms_now()

        def estimate(part: Term) -> Any:
            return part.distribution.estimate(self.tallies_[part.key])

        # only densities estimated from all values are slow enough for threads
        slow, batches = [], defaultdict(list)
        known: dict[str, Any] = {}
        for term in self.terms_:
            if isinstance(self.tallies_[term.key], Values):
                slow.append(term)
            elif hasattr(term.distribution, "estimate_many"):
                batches[type(term.distribution)].append(term)
        if slow:
            threads = threads_for(self.n_rows_) or _kernels.thread_count()
            shared = len(slow) // threads * threads  # the rest are estimated one by one, each with all threads
            found = [*_kernels.over_items(slow[:shared], estimate, threads), *map(estimate, slow[shared:])]
            known |= dict(zip(map(_KEY, slow), found, strict=True))
        for rule, terms in batches.items():
            tallies = [self.tallies_[term.key] for term in terms]
            found = rule.estimate_many([term.distribution for term in terms], tallies)
            known |= dict(zip(map(_KEY, terms), found, strict=True))
        self.densities_ = {t.key: known[t.key] if t.key in known else estimate(t) for t in self.terms_}
        self._release()
        self.class_prior_ = self._prior_of(self.class_count_.astype(np.float64))
        with np.errstate(divide="ignore"):
            self.log_prior_ = np.log(self.class_prior_)
        groups = defaultdict(list)
        for key, density in self.densities_.items():
            groups[type(density)].append(key)
        self._groups = list(groups.items())

    @property
    def _chooses_terms(self) -> bool:
        """Whether the training data decide which terms are used."""
        return False

    @property
    def _density(self) -> Any:
        """The density of a model with a single term over whole rows."""
        self._check_fitted()
        return next(iter(self.densities_.values()))

    @property
    def class_count_(self) -> NDArray[Any]:
        """Number of training rows (or total weight) of each class."""
        counts: NDArray[Any] = self.tallies_[self.target_.name].table
        return counts

    def _prior_of(self, counts: Floats) -> Floats:
        """Return P(class) from the class counts and the setting `prior`; a class without rows has probability 0."""
        return class_prior(self.prior, counts, self.target_.values, self._class_smoothing if self._smooths else None)

    def _class_smoothing(self) -> Any:
        """Return the smoothing of the class frequencies for ``prior="smoothed"``."""
        return smoothing_of(self.smoothing)

    def _prior_step(self) -> Step:
        known = np.flatnonzero(self.class_count_)
        counts, k = self.class_count_[known], len(known)
        values = tuple(self.target_.values[c] for c in known)
        smoothed = isinstance(self.prior, str) and self.prior == "smoothed"
        smoothing = self._class_smoothing() if smoothed else smoothing_of(0)
        none = counted_factor(-np.inf, 0, counts.sum(), Fraction(0), Fraction(0))  # of a class without rows
        factors = [none] * len(self.class_prior_)
        added = [smoothing.exact(counts[None, :], i, values) for i in range(k)]
        mass = sum((one for one in added if one is not None), Fraction(0)) if None not in added else None
        for i, c in enumerate(known):
            p, log = self.class_prior_[c], float(self.log_prior_[c])
            factor = counted_factor(log, counts[i], counts.sum(), added[i], mass)
            if isinstance(self.prior, str) and self.prior == "uniform":
                factor = replace(factor, text=f"1/{k}", latex=rf"\frac{{1}}{{{k}}}", fraction=Fraction(1, k), raw="")
            elif not isinstance(self.prior, str) or factor.fraction is None:
                factor = replace(factor, text=f"{p:.6g}", latex=f"{p:.6g}", fraction=exact(p), raw="")
            factors[c] = factor
        return Step(self.target_.name, "", tuple(factors), "known", "prior")

    # -- the log-joint of a row ---------------------------------------------------------

    def _add_terms(self, table: Table, out: Floats, *, whole: bool = True) -> None:
        columns, densities = table.columns, self.densities_
        for kind, keys in self._groups:
            kind.add_many([densities[key] for key in keys], [columns[key] for key in keys], out)
            if whole and hasattr(kind, "add_common"):
                for key in keys:
                    self.densities_[key].add_common(table[key], out)

    def _add_term(self, part: Term, table: Table, out: Floats) -> None:
        self.densities_[part.key].add_log_prob(table[part.key], out)

    # -- prediction in engines ------------------------------------------------------------

    def scoring(self) -> Scoring:
        """Return the terms of the prediction as plain data, for an engine or an SQL query.

        Returns
        -------
        Scoring
            The log prior and the parameters of each term.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> scoring = NaiveBayesClassifier().fit(rain.X, rain.y).scoring()
        >>> [type(term).__name__ for term in scoring.terms]
        ['LookupTerm', 'NormalTerm']
        """
        self._check_fitted()
        terms: list[Any] = []
        for part in self.terms_:
            density = self.densities_[part.key]
            if density.n_classes == len(self.classes_):  # a node of a network need not depend on the class
                terms += density.scoring_terms(part.derived, self.schema_, self.tallies_.get(part.key))
        classes = tuple(self.classes_.tolist())
        return Scoring(self.target_.name, classes, self.log_prior_, tuple(terms), inputs_of(self.schema_))

    def predict_frame(self, X: Any, *, proba: bool = True, reasons: int = 0) -> Any:
        """Add columns with the prediction to a table, computed by the engine that holds it.

        Parameters
        ----------
        X : table
            A DuckDB relation, Polars LazyFrame, Dask, Spark or Ibis table, or a DataFrame in memory.
        proba : bool, default=True
            Whether to add a column ``P(class)`` for each class.
        reasons : int, default=0
            How many reasons to add. The columns ``reason 1``, ``reason 2``, ... name the attributes whose
            log-likelihood favors the predicted class over the second best class most.

        Returns
        -------
        table
            The table with the added columns, of the same type as X; a lazy table stays lazy. NaN and infinite
            values count as missing. A row for which every class has probability 0 gets the prior. A discriminant
            predicts rows with one missing value, rows whose pattern of missing values occurs in training, and,
            if there are few columns (up to about eight), all rows; the prediction of other rows is null.

        Raises
        ------
        OptionError
            If an engine cannot compute the model: a Parzen or prototype classifier, a kernel density, a
            multinomial, a text column, or a Bayesian network other than 'naive'.

        Examples
        --------
        >>> import pandas as pd
        >>> from countwise import NaiveBayesClassifier, samples
        >>> tennis = pd.DataFrame(samples.load("tennis").frame)
        >>> model = NaiveBayesClassifier().fit(tennis, "play")
        >>> model.predict_frame(tennis.head(2), reasons=1)[["predicted play", "P(No)", "reason 1"]].round(4)
          predicted play   P(No) reason 1
        0             No  0.6880  outlook
        1             No  0.8373  outlook
        """
        return executed(lambda: answered(X, self.scoring(), proba=proba, reasons=reasons))

    def to_sql(self, table: str, dialect: str = "duckdb", *, form: str = "join", proba: bool = True) -> str:
        """Return an SQL query that predicts the rows of a database table without Python.

        Parameters
        ----------
        table : str
            The name of the table. A dot separates schema and table, unless the name is quoted.
        dialect : {'duckdb', 'postgres', 'spark', 'sqlite'}, default='duckdb'
            The SQL dialect of the query.
        form : {'join', 'case'}, default='join'
            'join' looks up nominal columns with many values in small tables that are joined. 'case' uses CASE
            expressions for all columns.
        proba : bool, default=True
            Whether to return the probability of every class in addition to the predicted class.

        Returns
        -------
        str
            The query. It selects all columns of the table and, last, the columns of `predict_frame` except the
            reasons. Text that is not a number is missing in a numeric column. If the table already has columns of
            these names, such as a table that was scored before, DuckDB leaves them out; elsewhere they come first.
            In SQLite, the table must not be a view.

        Raises
        ------
        OptionError
            If SQL cannot compute the model; see `predict_frame`. Or if the database cannot distinguish two names,
            such as 'a' and 'A' in DuckDB, SQLite and Spark.

        Examples
        --------
        >>> from countwise import DiscriminantClassifier, samples
        >>> days = samples.load("weather").columns("temperature", "play")
        >>> query = DiscriminantClassifier().fit(days, "play").to_sql("days", "postgres", proba=False)
        >>> print("SELECT" + query.rpartition("SELECT")[2])
        SELECT (cw_row).*,
          CASE
            WHEN cw_l0 >= cw_top - 1e-12 THEN 'no'
            WHEN cw_l1 >= cw_top - 1e-12 THEN 'yes'
            ELSE 'yes' END AS "predicted play"
        FROM cw_best
        """
        return scoring_query(self.scoring(), table, dialect, form=form, proba=proba)

    def summary(self) -> str:
        """Describe the model in a few lines: rows, classes, and the distribution of each attribute.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> print(NaiveBayesClassifier().fit(samples.load("rain").frame, "rain").summary())
        6 rows, 2 attributes; rain: no 3 (50.0%), yes 3 (50.0%)
          categorical: wind
          gaussian: temp
        """
        self._check_fitted()
        counted = zip(self.classes_, self.class_count_, self.class_count_ / self.class_count_.sum(), strict=True)
        classes = ", ".join(f"{c} {n:.12g} ({fraction:.1%})" for c, n, fraction in counted)
        rules: dict[str, list[str]] = {}
        for term in self.terms_:
            density = self.densities_[term.key]
            kind = getattr(term.distribution, "kind", density.rule)
            rule = kind if density.choice is None else density.choice.chosen
            rules.setdefault(rule, []).extend(term.columns if len(term.columns) > 1 else [term.key])
        lines = [f"{self._training_size}; {self.target_.name}: {classes}"]
        lines += [f"  {rule}: {', '.join(keys[:12])}{' …' if len(keys) > 12 else ''}" for rule, keys in rules.items()]
        return printable("\n".join(lines))

    def tables(self) -> dict[str, Grid]:
        """Return the learned parameters as tables: the prior, and one table for each attribute.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> list(NaiveBayesClassifier().fit(rain.frame, "rain").tables())
        ['rain', 'wind', 'temp']
        """
        self._check_fitted()
        return {name: self.table(name) for name in (self.target_.name, *self.densities_)}

    def table_titles(self) -> dict[str, str]:
        """Return the title of each table of `tables`.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> NaiveBayesClassifier().fit(samples.load("rain").frame, "rain").table_titles()
        {'rain': 'prior', 'wind': 'categorical, Laplace 1', 'temp': 'Gaussian, σ over n - 1'}
        """
        self._check_fitted()
        return {self.target_.name: "prior", **{key: d.rule for key, d in self.densities_.items()}}

    def table(self, name: str, *, smoothing: bool = False) -> Grid:
        """Return the learned parameters of one attribute as a table.

        Parameters
        ----------
        name : str
            The attribute, or the target for the prior.
        smoothing : bool, default=False
            Whether to show each frequency before and after smoothing, in a row for each value and class.

        Returns
        -------
        Grid
            The table. It prints as text, notebooks show it as HTML, and `to_frame` converts it to a DataFrame.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> print(NaiveBayesClassifier(smoothing=0).fit(rain.frame, "rain").table("wind"))
        wind   no              yes
        east   1/3 = 0.333333  2/3 = 0.666667
        north  2/3 = 0.666667  1/3 = 0.333333
        >>> print(NaiveBayesClassifier().fit(rain.frame, "rain").table("wind", smoothing=True))
        probability            raw  smoothed
        P(wind = east | no)    1/3  (1 + 1)/(3 + 2) = 2/5 = 0.4
        P(wind = east | yes)   2/3  (2 + 1)/(3 + 2) = 3/5 = 0.6
        P(wind = north | no)   2/3  (2 + 1)/(3 + 2) = 3/5 = 0.6
        P(wind = north | yes)  1/3  (1 + 1)/(3 + 2) = 2/5 = 0.4
        """
        self._check_fitted()
        check_flag("smoothing", smoothing)
        if not isinstance(name, str):
            raise OptionError(f"name must be the name of an attribute, not {name!r}.")
        if name == self.target_.name:
            prior = self._prior_step()
            if smoothing:
                return smoothing_table([prior], self.classes_.tolist())
            factors = zip(prior.factors, self.class_prior_, self.class_count_, strict=True)
            cells = [Worked(p, f.text, float(n)) for f, p, n in factors]
            return Grid({name: [str(c) for c in self.classes_], "prior": cells})
        key = next((part.key for part in self.terms_ if name == part.key or name in part.columns), None)
        if key is None:
            raise OptionError(
                f"The model has no attribute {name!r}.",
                hint=did_you_mean(name, self.schema_)
                or f"use one of {listed(self.schema_)}, or {self.target_.name!r} for the prior.",
            )
        if not smoothing:
            return Grid(self.densities_[key].summary(self.classes_.tolist()))
        steps = self.densities_[key].smoothing_steps()
        if not steps:
            raise OptionError(
                f"The distribution of {name!r}, {self.densities_[key].rule}, has no frequencies to smooth.",
                hint="use table without smoothing=True.",
            )
        return smoothing_table(steps, self.classes_.tolist())


def class_prior(
    prior: Any, counts: Floats, values: Sequence[Any], smoothing: Callable[[], Any] | None = None
) -> Floats:
    """Return P(class) from the class counts and the setting `prior`; a class without rows has probability 0.

    `smoothing` returns that of the frequencies for ``prior="smoothed"``; None if the model has none.
    """
    known = counts > 0  # a class that was passed to `partial_fit` may have no rows yet
    found = (
        _named_prior(prior, counts, values, smoothing)
        if isinstance(prior, str)
        else _given_prior(prior, tuple(values))
    )
    if known.all():
        return found
    found = np.where(known, found, 0.0)
    if not found.any():
        raise OptionError("prior is 0 for every class that has training rows.", hint="pass another prior.")
    return found / found.sum()


def _named_prior(prior: str, counts: Floats, values: Sequence[Any], smoothing: Callable[[], Any] | None) -> Floats:
    known = counts > 0
    if prior == "raw":
        return counts / counts.sum()
    if prior == "uniform":
        return np.full(len(counts), 1 / len(counts))
    if prior == "smoothed" and smoothing is not None:
        some = tuple(value for value, has_rows in zip(values, known, strict=True) if has_rows)
        smoothed = counts.copy()
        smoothed[known] += smoothing().pseudo(counts[None, known], some)
        return smoothed / smoothed.sum()
    options = ["raw", *["smoothed"] * (smoothing is not None), "uniform"]
    raise OptionError(
        f"prior must be {listed(options)} or the probabilities of the classes, not {prior!r}.",
        hint=did_you_mean(prior, options),
    )


def _given_prior(given: Any, values: tuple[Any, ...]) -> Floats:
    """Return the probabilities that the user passed for the classes."""
    k, shares = len(values), given
    if isinstance(given, Mapping):
        for odd in set(given) - set(values):
            raise OptionError(
                f"prior refers to class {odd!r}, but the target has no such class.",
                hint=did_you_mean(odd, values) or f"use the classes {listed(values)}.",
            )
        absent = [v for v in values if v not in given]
        if absent:
            raise OptionError(f"prior has no probability for {listed(absent)}.", hint="pass one for every class.")
        shares = [given[v] for v in values]
    try:
        prior = np.asarray(shares, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise OptionError(f"prior must be {k} probabilities, not {given!r}.") from None
    if prior.shape != (k,) or (prior < 0).any() or not np.isclose(prior.sum(), 1, rtol=0, atol=1e-8):
        sums = f" Their sum is {prior.sum():g}." if prior.shape == (k,) and (prior >= 0).all() else ""
        raise OptionError(f"prior must be {k} probabilities that sum to 1, one for each of {listed(values)}.{sums}")
    return prior
