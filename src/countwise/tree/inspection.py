"""What can be asked of a tree beside a prediction: why, what matters, how it looks, which rules it holds."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.data.cells import row_of
from countwise.errors import OptionError, check_number
from countwise.scoring.sql import choice_expression, choice_query
from countwise.scoring.tree import chosen
from countwise.tree.base import TreeModel
from countwise.tree.growth.criteria import Criterion
from countwise.tree.drawing import drawn
from countwise.tree.rules import RuleSet, rules_of
from countwise.tree.scoring import choices_of
from countwise.tree.working import TreeWorking
from countwise.working import Account, Grid
from countwise.working.numbers import number

__all__ = ["TreeAnswers"]


class TreeAnswers(TreeModel):
    """A tree with explanations, drawings and rules."""

    classes_: NDArray[Any]
    _probabilities: Floats
    _best: NDArray[np.intp]
    _means: Floats

    def explain(self, X: Any, *, row: int = 0) -> Account:
        """The way of one row down the tree: every test, what is at each node, and what all attributes gained there.

        Parameters
        ----------
        X : any table
            Columns are found by name, or by place in an array.
        row : int, default=0
            Which row.

        Returns
        -------
        Account

        Examples
        --------
        >>> from countwise import TreeClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> print(TreeClassifier().fit(tennis.frame, "play").explain(tennis.X, row=0))
        play = No, with probability 100 %.
        <BLANKLINE>
        All 14 rows: 5 No, 9 Yes; entropy 0.940286
             attribute    split       gain
          ▶  outlook      each value  0.24675
             temperature  each value  0.0292226
             humidity     each value  0.151836
             wind         each value  0.048127
          outlook = Sunny
        <BLANKLINE>
        5 rows where outlook = Sunny: 3 No, 2 Yes; entropy 0.970951
             attribute    split       gain
             outlook
             temperature  each value  0.570951
          ▶  humidity     each value  0.970951
             wind         each value  0.0199731
          humidity = High
        <BLANKLINE>
        Leaf
          rows  No  Yes  P(No)  P(Yes)
          3     3   0    1      0
        """
        frame = self._open(X)
        row = row_of(frame, row)
        table = self._table(frame, row, row + 1)
        return TreeWorking(self, table, self._landing(table)).account()

    @property
    def feature_importances_(self) -> Floats:
        """What the splits by each attribute tell of a row's class on average, in bits; of numbers, in variance.

        Their sum is the entropy (variance) of all rows less that which is left in the leaves.
        """
        self._check_fitted()
        tree, n = self.tree_, self._node_weights
        told_in = Criterion("variance" if self._numbers else "gain")
        left = n / n[0] * told_in.at_nodes(tree.cells)
        told = left.copy()
        np.subtract.at(told, tree.parent[1:], left[1:])
        inner = tree.attribute >= 0
        names = list(self.schema_)
        places = np.array([names.index(f.column) for f in self._features])
        if len(names) == 1 and self.n_features_in_ == len(self._features):
            places = np.arange(len(self._features))
        found = np.zeros(max(len(names), int(places.max(initial=0)) + 1))
        np.add.at(found, places[tree.attribute[inner]], np.maximum(told[inner], 0.0))
        return found

    def importances(self) -> Grid:
        """The attributes by what their splits tell, the most telling first."""
        told = self.feature_importances_
        names = np.array(list(self.schema_), dtype=object)
        if len(names) != len(told):
            names = np.array([f.name for f in self._features], dtype=object)
        order = np.argsort(-told, kind="stable")
        unit = "variance" if self._numbers else "bits"
        return Grid({"attribute": names[order].tolist(), unit: told[order].tolist()})

    def get_depth(self) -> int:
        """How many questions the longest path has."""
        self._check_fitted()
        return int(self.tree_.depths.max())

    def get_n_leaves(self) -> int:
        """How many leaves there are."""
        self._check_fitted()
        return len(self.tree_.leaves)

    def draw(self, X: Any = None, *, row: int = 0, max_depth: int | None = None) -> str:
        """The tree as text; with a table, the path of one of its rows is marked.

        Parameters
        ----------
        X : any table, optional
            Whose row to follow.
        row : int, default=0
            Which.
        max_depth : int, optional
            How deep to draw; by default all of the tree, unless it is thousands of questions deep.

        Examples
        --------
        >>> from countwise import TreeClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> print(TreeClassifier().fit(tennis.X, tennis.y).draw())
        outlook?
        ├─ Overcast: Yes (4)
        ├─ Rain: wind?
        │  ├─ Strong: No (2)
        │  └─ Weak: Yes (3)
        └─ Sunny: humidity?
           ├─ High: No (3)
           └─ Normal: Yes (2)
        """
        self._check_fitted()
        check_number("max_depth", max_depth, 0, none=True, whole=True)
        return drawn(self.tree_, self._features, self._said, max_depth, self._passed(X, row))

    def _passed(self, X: Any, row: int) -> frozenset[int]:
        """The nodes that a row passes."""
        if X is None:
            return frozenset()
        frame = self._open(X)
        row = row_of(frame, row)
        landing = self._landing(self._table(frame, row, row + 1))
        return self.tree_.passed(landing.leaves.tolist())

    def _said(self, k: int) -> str:
        """What a leaf answers, and from how many rows."""
        n = float(self._node_weights[k])
        if self._numbers:
            return f"{number(float(self._means[k]))} ({number(n)})"
        best = int(self._best[k])
        wrong = n - float(self.tree_.cells[k][best])
        counts = number(n) if wrong <= 1e-9 * n else f"{number(n)}, {number(wrong)} wrong"
        return f"{self.classes_[best]} ({counts})"

    def rules(self) -> RuleSet:
        """The tree as if-then rules, a rule a leaf.

        Returns
        -------
        RuleSet

        Examples
        --------
        >>> from countwise import TreeClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> rules = TreeClassifier().fit(tennis.X, tennis.y).rules()
        >>> print(rules.disjunction("Yes"))
        (outlook = Overcast) ∨ (outlook = Rain ∧ wind = Weak) ∨ (outlook = Sunny ∧ humidity = Normal)
        """
        self._check_fitted()
        return rules_of(self)

    def predict_frame(self, X: Any, *, proba: bool = True, reasons: int = 0) -> Any:
        """The table with columns for the answer, computed where it lies: class and probabilities, or the number.

        Rows that lack a value, or hold one never seen, go where `predict` sends them.

        Parameters
        ----------
        X : relation or frame
            DuckDB relation, Polars LazyFrame, Dask or PySpark DataFrame, Ibis table; eager frames too.
        proba : bool, default=True
            Whether a column P(class) is appended for each class; a tree for numbers has none.
        reasons : int, default=0
            How many of the columns that were asked on the way down are named, the root's first. Where a row goes down
            several branches, those asked before.

        Returns
        -------
        the same kind of frame
            Lazy ones stay lazy.

        Examples
        --------
        >>> from countwise import TreeClassifier, samples
        >>> import pandas as pd
        >>> tennis = pd.DataFrame(samples.load("tennis").frame)
        >>> model = TreeClassifier().fit(tennis, "play")
        >>> model.predict_frame(tennis.head(2), reasons=2)[["predicted play", "P(Yes)", "reason 1", "reason 2"]]
          predicted play  P(Yes) reason 1  reason 2
        0             No     0.0  outlook  humidity
        1             No     0.0  outlook  humidity
        """
        self._check_fitted()
        return chosen(X, choices_of(self), proba=proba, reasons=reasons)

    def to_sql(
        self,
        table: str | None = None,
        dialect: str = "duckdb",
        *,
        proba: bool | None = None,
        missing: bool = True,
    ) -> str:
        """The tree as a query that scores a table, or as an SQL expression over its columns.

        Parameters
        ----------
        table : str, optional
            The table; without one, only an expression is given.
        dialect : {"duckdb", "postgres", "spark", "sqlite"}, default="duckdb"
            Whose SQL.
        proba : bool, optional
            Whether a query gives the probabilities beside the class, which it does by default. An expression is that
            of the class; with `proba` there is one for each P(class | row) instead.
        missing : bool, default=True
            Whether columns may be NULL or NaN. If rows that lack a value go down all branches, that takes longer
            expressions; without it, one CASE in another.

        Returns
        -------
        str
            With `proba`, expressions with names, separated by commas.

        Examples
        --------
        >>> from countwise import TreeClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> print(TreeClassifier(max_depth=1).fit(tennis.X, tennis.y).to_sql(missing=False))
        CASE
          WHEN "outlook" = 'Overcast' THEN 'Yes'
          WHEN "outlook" = 'Rain' THEN 'Yes'
          WHEN "outlook" = 'Sunny' THEN 'No'
        END
        """
        self._check_fitted()
        if proba and self._numbers:
            raise OptionError("A tree that tells a number has no probabilities.", hint="proba=False.")
        tree = choices_of(self)
        if table is None:
            return choice_expression(tree, dialect, proba=bool(proba), missing=missing)
        return choice_query(tree, table, dialect, proba=proba is not False, missing=missing)
