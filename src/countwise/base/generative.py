"""Bayes' rule over distributions of any kind: a prior, and a term for each part of the row."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
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
from countwise.data.output import dense
from countwise.data.table import Table, threads_for
from countwise.distributions import smoothing_of
from countwise.distributions.categorical import counted_factor
from countwise.distributions.smoothing import exact
from countwise.errors import OptionError, did_you_mean, listed
from countwise.scoring.additive import answered
from countwise.scoring.plan import Scoring
from countwise.scoring.sql import scoring_query
from countwise.tallies import Values
from countwise.working import Grid, Step
from countwise.working.numbers import Worked

__all__ = ["GenerativeClassifier"]

_KEY = attrgetter("key")


class GenerativeClassifier(TallyModel, AdditiveClassifier):
    """Bayes' rule: P(class) times the density of each term. A new one writes `_infer_schema` and `_terms`."""

    prior: Any
    smoothing: Any = 0.0
    _smooths = False  # whether counts, that of the classes among them, may be smoothed

    def _coerce_input(self, X: Any) -> Any:
        """Most distributions take a sparse matrix with its zeros written out."""
        return dense(X)

    # -- what follows from the counts ----------------------------------------------

    def _estimate(self) -> None:
        from countwise import _kernels

        self.classes_ = self.target_.labels(getattr(self, "_label_type", None))
        self.terms_ = self._terms_now()

        def estimate(part: Term) -> Any:
            return part.distribution.estimate(self.tallies_[part.key])

        # threads are for densities made from the values themselves; the others take no time
        heavy, alike = [], defaultdict(list)
        known: dict[str, Any] = {}
        for term in self.terms_:
            if isinstance(self.tallies_[term.key], Values):
                heavy.append(term)
            elif hasattr(term.distribution, "estimate_many"):
                alike[type(term.distribution)].append(term)
        if heavy:
            threads = threads_for(self.n_rows_) or _kernels.thread_count()
            shared = len(heavy) // threads * threads  # the rest come one by one, and use the threads themselves
            found = [*_kernels.over_items(heavy[:shared], estimate, threads), *map(estimate, heavy[shared:])]
            known |= dict(zip(map(_KEY, heavy), found, strict=True))
        for kind, terms in alike.items():
            tallies = [self.tallies_[term.key] for term in terms]
            found = kind.estimate_many([term.distribution for term in terms], tallies)
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
    def _density(self) -> Any:
        """The density of a model of one term: that of whole rows."""
        self._check_fitted()
        return next(iter(self.densities_.values()))

    @property
    def class_count_(self) -> NDArray[Any]:
        """Rows (or weight) of each class."""
        counts: NDArray[Any] = self.tallies_[self.target_.name].table
        return counts

    def _prior_of(self, counts: Floats) -> Floats:
        """P(class) that counts and the setting give."""
        k = len(counts)
        if isinstance(self.prior, str):
            if self.prior == "raw":
                return counts / counts.sum()
            if self.prior == "uniform":
                return np.full(k, 1 / k)
            if self.prior == "smoothed" and self._smooths:
                pseudo = smoothing_of(self.smoothing).pseudo(counts[None, :], self.target_.values)
                return np.asarray((counts + pseudo) / (counts.sum() + pseudo.sum()))
            words = ["raw", *["smoothed"] * self._smooths, "uniform"]
            raise OptionError(f"prior={self.prior!r} is unknown.", hint=f"give {listed(words)} or the probabilities.")
        given = self.prior
        if isinstance(given, Mapping):
            for odd in set(given) - set(self.target_.values):
                raise OptionError(
                    f"prior names a class {odd!r} that there is not.",
                    hint=did_you_mean(odd, self.target_.values) or f"classes are {listed(self.target_.values)}.",
                )
            forgotten = [v for v in self.target_.values if v not in given]
            if forgotten:
                raise OptionError(f"prior names no probability for {listed(forgotten)}.", hint="name every class.")
            given = [given[v] for v in self.target_.values]
        try:
            shares = np.asarray(given, dtype=np.float64)
        except (TypeError, ValueError):
            raise OptionError(f"prior must give {k} probabilities, not {self.prior!r}.") from None
        if shares.shape != (k,) or (shares < 0).any() or not np.isclose(shares.sum(), 1, rtol=0, atol=1e-8):
            raise OptionError(
                f"prior must give {k} probabilities that add up to 1: one for each of {listed(self.target_.values)}."
            )
        return shares

    def _prior_step(self) -> Step:
        counts, k = self.class_count_, len(self.class_prior_)
        smoothing = smoothing_of(self.smoothing if isinstance(self.prior, str) and self.prior == "smoothed" else 0)
        factors = []
        for c, (p, log) in enumerate(zip(self.class_prior_, self.log_prior_.tolist(), strict=True)):
            added = smoothing.exact(counts[None, :], c, self.target_.values)
            factor = counted_factor(log, counts[c], counts.sum(), added, smoothing.mass(counts[None, :]))
            if isinstance(self.prior, str) and self.prior == "uniform":
                factor = replace(factor, text=f"1/{k}", latex=rf"\frac{{1}}{{{k}}}", fraction=Fraction(1, k))
            elif not isinstance(self.prior, str) or factor.fraction is None:
                factor = replace(factor, text=f"{p:.6g}", latex=f"{p:.6g}", fraction=exact(p))
            factors.append(factor)
        return Step(self.target_.name, "", tuple(factors), "known", "prior")

    # -- what a row adds up to --------------------------------------------------------

    def _add_terms(self, table: Table, out: Floats, *, whole: bool = True) -> None:
        columns, densities = table.columns, self.densities_
        for kind, keys in self._groups:
            kind.add_many([densities[key] for key in keys], [columns[key] for key in keys], out)
            if whole and hasattr(kind, "add_common"):
                for key in keys:
                    self.densities_[key].add_common(table[key], out)

    def _add_term(self, part: Term, table: Table, out: Floats) -> None:
        self.densities_[part.key].add_log_prob(table[part.key], out)

    # -- answers elsewhere ----------------------------------------------------------------

    def scoring(self) -> Scoring:
        """The terms of an answer as plain data, for an engine or a query."""
        self._check_fitted()
        terms: list[Any] = []
        for part in self.terms_:
            tally = self.tallies_.get(part.key)
            terms += self.densities_[part.key].scoring_terms(part.derived, self.schema_, tally)
        return Scoring(self.target_.name, tuple(self.classes_.tolist()), self.log_prior_, tuple(terms))

    def predict_frame(self, X: Any, *, proba: bool = True, reasons: int = 0) -> Any:
        """The table with columns for the class, its probabilities and what spoke for it, computed where it lies.

        Parameters
        ----------
        X : relation or frame
            DuckDB relation, Polars LazyFrame, Dask or PySpark DataFrame, Ibis table; or an eager frame.
        proba : bool, default=True
            Whether each class gets a column P(class).
        reasons : int, default=0
            How many columns that spoke most for the answer against the next best class are named.

        Returns
        -------
        the same kind of frame
            Lazy ones stay lazy. What is NaN or infinite is missing. A row that no class could have made gets the
            prior. A discriminant predicts all rows with one missing cell, all rows where the columns are few (up to
            eight or so), and those that lack what rows of training lacked; others get null.

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
        return answered(X, self.scoring(), proba=proba, reasons=reasons)

    def to_sql(self, table: str, dialect: str = "duckdb", *, form: str = "join", proba: bool = True) -> str:
        """A query that scores the rows of a table without Python.

        Parameters
        ----------
        table : str
            The table; a name with dots is one of a schema, unless it stands in quotes.
        dialect : {"duckdb", "postgres", "spark", "sqlite"}, default="duckdb"
            The dialect of SQL.
        form : {"join", "case"}, default="join"
            Whether names of many values are looked up in small tables, or all by CASE.
        proba : bool, default=True
            Whether the probabilities are given beside the class.

        Returns
        -------
        str
            The query gives all columns of the table, and those of `predict_frame` but for reasons. In SQLite, which
            cannot leave columns out, what was worked out on the way is among them, under names that start with cw.

        Examples
        --------
        >>> from countwise import DiscriminantClassifier, samples
        >>> days = samples.load("weather").columns("temperature", "play")
        >>> query = DiscriminantClassifier().fit(days, "play").to_sql("main.days", proba=False)
        >>> print("SELECT" + query.rpartition("SELECT")[2])
        SELECT * EXCLUDE ("cw temperature", cw_gap, cw_l0, cw_l1, cw_top),
          CASE WHEN cw_l0 = cw_top THEN 'no' WHEN cw_l1 = cw_top THEN 'yes' ELSE 'yes' END AS "predicted play"
        FROM cw_best
        """
        return scoring_query(self.scoring(), table, dialect, form=form, proba=proba)

    def summary(self) -> str:
        """What was learned, in a few lines: rows, classes, and the distribution of each attribute.

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
        classes = ", ".join(f"{c} {n:.12g} ({share:.1%})" for c, n, share in counted)
        rules: dict[str, list[str]] = {}
        for term in self.terms_:
            density = self.densities_[term.key]
            kind = getattr(term.distribution, "kind", density.rule)
            rule = kind if density.choice is None else density.choice.chosen
            rules.setdefault(rule, []).extend(term.columns if len(term.columns) > 1 else [term.key])
        lines = [f"{self.n_rows_} rows, {len(self.schema_)} attributes; {self.target_.name}: {classes}"]
        lines += [f"  {rule}: {', '.join(keys[:12])}{' …' if len(keys) > 12 else ''}" for rule, keys in rules.items()]
        return "\n".join(lines)

    def tables(self) -> dict[str, Grid]:
        """What was learned, as tables: the prior, and the parameters of each attribute; see `table`."""
        self._check_fitted()
        return {name: self.table(name) for name in (self.target_.name, *self.densities_)}

    def table_titles(self) -> dict[str, str]:
        """What each of `tables` holds, in words."""
        return {self.target_.name: "prior", **{key: d.rule for key, d in self.densities_.items()}}

    def table(self, name: str) -> Grid:
        """The parameters of one attribute as a readable table: text, HTML, or a frame by its `to_frame`.

        Parameters
        ----------
        name : str
            The attribute, or the target for the prior.

        Returns
        -------
        Grid
        """
        self._check_fitted()
        if name == self.target_.name:
            prior = self._prior_step()
            cells = [Worked(p, f.text) for f, p in zip(prior.factors, self.class_prior_, strict=True)]
            return Grid({name: [str(c) for c in self.classes_], "prior": cells})
        key = next((part.key for part in self.terms_ if name == part.key or name in part.columns), None)
        if key is None:
            raise OptionError(
                f"There is no attribute {name!r}.",
                hint=did_you_mean(name, self.schema_) or f"there are {listed(self.schema_)}.",
            )
        return Grid(self.densities_[key].summary(self.classes_.tolist()))
