"""What trees and rules have in common; and of all trees: learning, predicting, and what can be seen of a tree."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats, Indices
from countwise.base.row_model import RowModel
from countwise.data.attributes import Numeric
from countwise.data.cells import row_of
from countwise.data.frames import Frame, is_relation
from countwise.data.output import dense
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.data.text import Text
from countwise.engines.gather import EnginePart
from countwise.engines.relation import Relation
from countwise.errors import CountwiseError, OptionError, check_number, check_settings
from countwise.io.paths import is_paths
from countwise.scoring.sql import choice_expression, choice_query
from countwise.scoring.tree import chosen
from countwise.sources import open_rows, open_whole
from countwise.tree.features import Feature, columns_of, features_of
from countwise.tree.growth.builder import ClassFactors, TrainingSet
from countwise.tree.growth.criteria import Criterion
from countwise.tree.growth.grow_memory import MemoryTrainingSet
from countwise.tree.growth.settings import check_growth_settings, growth_settings
from countwise.tree.nodes import Landing, Tree
from countwise.tree.pruning import check_rule, grown_and_pruned, needs_no_rows
from countwise.tree.rules import RuleSet, rules_of
from countwise.tree.scoring import choices_of
from countwise.tree.working import TreeWorking, drawn
from countwise.working import Account, Grid
from countwise.working.numbers import number

__all__ = ["FeatureModel", "TreeModel"]

_SUMMARY_LEAVES, _SUMMARY_LINES = 20, 40  # of a tree that is drawn whole, and of its drawing


class FeatureModel(RowModel):
    """A model that tests features, one after the other: a tree, or a list of rules."""

    types: Any
    categorical_features: Any
    classes_: NDArray[Any]
    _features: Sequence[Feature]
    _used: list[int]  # the features that are tested
    _probabilities: Floats  # of each node, or of each rule

    def _infer_schema(self, frame: Frame) -> Schema:
        return Schema.kinds(frame, self.types, self.categorical_features)

    def _row(self, X: Any, row: int) -> Table:
        """One row of a table."""
        frame = self._open(X)
        row = row_of(frame, row)
        return self._table(frame, row, row + 1)

    def predict_frame(self, X: Any, *, proba: bool = True, reasons: int = 0) -> Any:
        """The table with columns for the prediction, computed where it lies: class and probabilities, or the number.

        Rows with a missing value, or one never seen in training, go where `predict` sends them. Where rules abstain,
        the columns are null.

        Parameters
        ----------
        X : relation or frame
            DuckDB relation, Polars LazyFrame, Dask or PySpark DataFrame, Ibis table; eager frames too.
        proba : bool, default=True
            Whether a column P(class) is appended for each class; a regression tree has none.
        reasons : int, default=0
            How many of the columns that the deciding rule tests, or that were tested on the path, are named, the
            root's first. Where a row goes down several branches, those tested before.

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
        return self._scored(X, proba=proba, reasons=reasons)

    def _scored(self, X: Any, *, proba: bool, reasons: int) -> Any:
        """The table with its predictions."""
        raise NotImplementedError


@dataclass(eq=False, repr=False)
class TreeModel(FeatureModel):
    """What decision trees and regression trees have in common; their settings, and the defaults of most."""

    criterion: str
    _: KW_ONLY
    nominal: str = "multiway"
    numeric: str = "binary"
    thresholds: str = "exact"
    max_bins: int = 255
    missing: str = "fractions"
    unseen: str = "ignore"
    max_depth: int | None = None
    min_samples_split: float = 2
    min_samples_leaf: float = 1
    min_gain: float = 0.0
    max_branches: int = 1000
    pruning: str | None = None
    ccp_alpha: Any = "cv"
    cv: int = 5
    validation_fraction: float = 0.25
    random_state: int = 0
    types: Any = None
    categorical_features: Any = None

    _best: NDArray[np.intp] = field(init=False)  # the likeliest class of each node
    _means: Floats = field(init=False)  # or the mean of each node
    _block = 1 << 15

    # -- learning --------------------------------------------------------------

    def _learn_from(self, X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
        """Open a training set, wherever the rows are; grow a tree from it; prune the tree."""
        settings = growth_settings(self)
        data = self._training_set(X, y, sample_weight)
        return {
            "schema_": data.schema,
            "target_": data.target,
            "n_rows_": data.n_rows,
            "n_left_out_": data.n_left_out,
            "_label_type": data.label_type,
            "_features": data.features,
            **self._names(data.frame),
            **grown_and_pruned(self, data, settings),
        }

    def _training_set(self, X: Any, y: Any, sample_weight: Any) -> TrainingSet:
        """The rows: in an engine, in a file that is read once a level, or in memory."""
        factors = self._class_factors()
        if is_relation(X):
            from countwise.tree.growth.grow_engine import open_engine

            part = EnginePart.open(Relation.open(X, y, sample_weight))
            return open_engine(part, self._infer_schema, factors, self._needs_rows, numeric_target=self._numbers)
        if self.thresholds == "binned" and is_paths(X) and needs_no_rows(self):
            from countwise.tree.growth.grow_pieces import open_pieces

            reopen = partial(open_rows, X, y, sample_weight, numbers=self._numbers)
            bins = int(self.max_bins)
            return open_pieces(reopen, self._infer_schema, factors, bins, numeric_target=self._numbers)
        rows = open_whole(dense(X), y, sample_weight, numbers=self._numbers)
        try:
            return MemoryTrainingSet.of(rows, self._infer_schema(rows.frame), *self._encode_target(rows), factors)
        except CountwiseError as error:
            raise rows.counted_as_given(error) from None

    def _class_factors(self) -> ClassFactors | None:
        """Gives the weights of classes from their counts; None if all weigh the same."""
        return None

    def _needs_rows(self, schema: Schema) -> tuple[str, str] | None:
        """Why a tree cannot be grown in an engine, and what to do; None if it can."""
        numbers = [a.name for a in schema.attributes if isinstance(a, Numeric)]
        texts = [a.name for a in schema.attributes if isinstance(a, Text)]
        if texts:
            return f"The words of {texts[0]!r} are not counted in an engine", "leave the column out"
        if not needs_no_rows(self):
            what = f"pruning={self.pruning!r} tries trees on rows that are held out"
            return what, "give ccp_alpha as a number, or another pruning"
        if self.numeric == "ranges":
            return "Ranges are cut on the rows of each node", "numeric='binary', thresholds='binned'"
        if numbers and self.thresholds != "binned":
            what = f"Exact thresholds, as for {numbers[0]!r}, need the rows themselves"
            return what, "thresholds='binned' grows the tree where they lie"
        return None

    def _check_settings(self) -> None:
        check_growth_settings(self, numeric_target=self._numbers)
        check_settings(
            self,
            numeric=("binary", "ranges"),
            thresholds=("exact", "binned"),
            missing=("fractions", "branch", "majority"),
            unseen=("ignore", "error"),
        )
        check_number("min_samples_split", self.min_samples_split, 1)
        check_number("min_gain", self.min_gain, 0)
        check_number("max_bins", self.max_bins, 2, most=255, whole=True)
        check_rule(self.pruning, self._numbers)

    def _derive(self) -> None:
        """Set what follows from the tree."""
        self._node_weights = self.tree_.weights(self._numbers)
        self._used = np.unique(self.tree_.attribute[self.tree_.attribute >= 0]).tolist()

    # -- predicting --------------------------------------------------------------

    def _landing(self, table: Table) -> Landing:
        """The leaves that rows reach."""
        columns = columns_of(self._features, table, self._used)
        return self.tree_.land(columns, table.n_rows, self._node_weights)

    def _read(self, X: Any, read: Callable[[Landing], NDArray[Any]]) -> NDArray[Any]:
        """What is read off the leaves that rows reach, block by block."""
        return np.concatenate(self._in_blocks(X, lambda *block: read(self._landing(self._table(*block)))))

    def apply(self, X: Any) -> Indices:
        """The number of the leaf that each row reaches; of several, the one with the largest share."""
        frame = self._open(X)
        landing = self._landing(self._table(frame, 0, frame.n_rows))
        if landing.rows is None or landing.shares is None:
            return landing.leaves.astype(np.int64)
        order = np.lexsort((landing.leaves, -landing.shares, landing.rows))
        rows = landing.rows[order]
        first = np.concatenate([[True], rows[1:] != rows[:-1]])
        return landing.leaves[order][first].astype(np.int64)

    # -- what can be seen of a tree ------------------------------------------------

    def summary(self) -> str:
        """The tree in a few lines: how large it is, and a drawing of all or of the top of it.

        Examples
        --------
        >>> from countwise import TreeClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> print(TreeClassifier(max_depth=1).fit(tennis.frame, "play").summary())
        14 rows, 4 attributes; play: a tree of 3 leaves, 1 deep
          outlook?
          ├─ Overcast: Yes (4)
          ├─ Rain: Yes (5, 2 wrong)
          └─ Sunny: No (5, 2 wrong)
        """
        leaves = self.get_n_leaves()
        size = f"a tree of {leaves} leaves, {self.get_depth()} deep"
        drawing = self.draw(max_depth=None if leaves <= _SUMMARY_LEAVES else 2).split("\n")[:_SUMMARY_LINES]
        head = f"{self.n_rows_} rows, {len(self.schema_)} attributes; {self.target_.name}: {size}"
        return "\n".join([head, *(f"  {line}" for line in drawing)])

    def tables(self) -> dict[str, Grid]:
        """What was learned as tables: the rules, the importances, and the path of cost-complexity pruning."""
        found = {"rules": self.rules().table, "importances": self.importances()}
        return found | ({"path": self.path_} if hasattr(self, "path_") else {})

    def explain(self, X: Any, *, row: int = 0) -> Account:
        """The path of one row down the tree: the test, the contents and the gains of all attributes at each node.

        Examples
        --------
        >>> from countwise import TreeClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> print(TreeClassifier().fit(tennis.frame, "play").explain(tennis.X, row=0))
        play = No, with probability 100 %.
        <BLANKLINE>
        All 14 rows: 5 No, 9 Yes; entropy 0.940286
             attribute    split            gain
          ▶  outlook      each value  0.24675
             temperature  each value  0.0292226
             humidity     each value  0.151836
             wind         each value  0.048127
          outlook = Sunny
        <BLANKLINE>
        5 rows where outlook = Sunny: 3 No, 2 Yes; entropy 0.970951
             attribute    split            gain
             outlook
             temperature  each value  0.570951
          ▶  humidity     each value  0.970951
             wind         each value  0.0199731
          humidity = High
        <BLANKLINE>
        Leaf
          rows  No  Yes  P(No)  P(Yes)
             3   3    0      1       0
        """
        table = self._row(X, row)
        return TreeWorking(self, table, self._landing(table)).account()

    @property
    def feature_importances_(self) -> Floats:
        """By how much the splits by each attribute lower the entropy (in bits) or the variance of the target.

        Their sum is the entropy (variance) of all rows less that within the leaves.
        """
        self._check_fitted()
        tree, n = self.tree_, self._node_weights
        within = n / n[0] * Criterion("variance" if self._numbers else "gain").at_nodes(tree.cells)
        gained = within.copy()
        np.subtract.at(gained, tree.parent[1:], within[1:])
        inner = tree.attribute >= 0
        names = list(self.schema_)
        places = np.array([names.index(f.column) for f in self._features])
        if len(names) == 1 and self.n_features_in_ == len(self._features):
            places = np.arange(len(self._features))
        found = np.zeros(max(len(names), int(places.max(initial=0)) + 1))
        np.add.at(found, places[tree.attribute[inner]], np.maximum(gained[inner], 0.0))
        return found

    def importances(self) -> Grid:
        """The attributes by their importance, the most important first."""
        found = self.feature_importances_
        names = np.array(list(self.schema_), dtype=object)
        if len(names) != len(found):
            names = np.array([f.name for f in self._features], dtype=object)
        order = np.argsort(-found, kind="stable")
        unit = "variance" if self._numbers else "bits"
        return Grid({"attribute": names[order].tolist(), unit: found[order].tolist()})

    def get_depth(self) -> int:
        """How many tests the longest path has."""
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
            How deep to draw; by default all of the tree, unless it is thousands of levels deep.

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
        return drawn(self.tree_, self._features, self._leaf_text, max_depth, self._passed(X, row))

    def _passed(self, X: Any, row: int) -> frozenset[int]:
        """The nodes that a row passes."""
        return frozenset() if X is None else self.tree_.passed(self._landing(self._row(X, row)).leaves.tolist())

    def _leaf_text(self, k: int) -> str:
        """What a leaf predicts, and from how many rows."""
        n = float(self._node_weights[k])
        if self._numbers:
            return f"{number(float(self._means[k]))} ({number(n)})"
        best = int(self._best[k])
        wrong = n - float(self.tree_.cells[k][best])
        counts = number(n) if wrong <= 1e-9 * n else f"{number(n)}, {number(wrong)} wrong"
        return f"{self.classes_[best]} ({counts})"

    def rules(self) -> RuleSet:
        """The tree as if-then rules, a rule a leaf.

        Examples
        --------
        >>> from countwise import TreeClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> rules = TreeClassifier().fit(tennis.X, tennis.y).rules()
        >>> print(rules.disjunction("Yes"))
        (outlook = Overcast) ∨ (outlook = Rain ∧ wind = Weak) ∨ (outlook = Sunny ∧ humidity = Normal)
        """
        self._check_fitted()
        classes, best = ((), ()) if self._numbers else (self.classes_.tolist(), self._best.tolist())
        return rules_of(self.tree_, self._features, self.target_.name, classes, best)

    def _scored(self, X: Any, *, proba: bool, reasons: int) -> Any:
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
            Whether columns may be NULL or NaN. If rows with a missing value go down all branches, that takes longer
            expressions; without it, nested CASEs.

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
            raise OptionError("A regression tree has no probabilities.", hint="proba=False.")
        tree = choices_of(self)
        if table is None:
            return choice_expression(tree, dialect, proba=bool(proba), missing=missing)
        return choice_query(tree, table, dialect, proba=proba is not False, missing=missing)

    # -- the model file --------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        """The tree as plain data."""
        return {"tree": self.tree_.to_dict()}

    def _revive(self, state: Mapping[str, Any]) -> None:
        """Take over what `_state` wrote."""
        self._features = features_of(self.schema_)
        self.tree_ = Tree.from_dict(state["tree"], len(self._features))
        if self.tree_.cells.shape[1] != (3 if self._numbers else len(self.target_.values)):
            raise ValueError("the tree does not fit its target")
        self._derive()
