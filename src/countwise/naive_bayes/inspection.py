"""What can be asked of a naive Bayes beside a prediction: why, how sure, what if, what is typical."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.base.generative import GenerativeClassifier
from countwise.data.table import Table
from countwise.errors import OptionError, did_you_mean, listed
from countwise.measures import chi_square
from countwise.naive_bayes.counterfactuals import changes_of
from countwise.working import Grid, Working
from countwise.working.numbers import number

__all__ = ["NaiveBayesInspection"]


class NaiveBayesInspection(GenerativeClassifier):
    """Explanations of a fitted naive Bayes; mixed into `NaiveBayesClassifier`."""

    def explain(self, X: Any, *, row: int = 0, changes: bool = True, interval: float | None = 0.9) -> Working:
        """The working behind the answer for one row.

        Parameters
        ----------
        X : any table
            Columns are found by name, or by place in an array.
        row : int, default=0
            Which row.
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

        Each parameter is drawn from what the counts leave open (Dirichlet for tables,
        normal and chi-square for Gaussians, gamma for rates, the Bayesian bootstrap for
        kernels), and the posterior recomputed.

        Parameters
        ----------
        X : any table
            The rows.
        level : float, default=0.9
            The credibility.
        draws : int, default=2000
            How many draws a row.
        random_state : int, default=0
            The seed.

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
        if self.prior in ("raw", "smoothed") if isinstance(self.prior, str) else False:
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

    def missing_report(self) -> Grid:
        """Whether absence depends on the class, for each attribute with missing cells.

        A chi-square test of missing against class. Where it is significant, absence is
        evidence, and ``missing={name: "value"}`` uses it.

        Returns
        -------
        Grid
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
