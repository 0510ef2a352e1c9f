"""Base classes: `FeatureModel` for trees and rule lists, `TreeModel` for decision and regression trees."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats, Indices
from countwise.base.portraits import values_around
from countwise.base.row_model import RowModel
from countwise.cuts import CutRule
from countwise.data.attributes import Nominal, Numeric, Ordinal
from countwise.data.cells import row_of
from countwise.data.frames import Frame, is_relation
from countwise.data.output import dense
from countwise.data.schema import Schema, field_types
from countwise.data.table import Table
from countwise.data.text import Block, Text
from countwise.engines.execute import executed
from countwise.engines.gather import EnginePart
from countwise.engines.relation import Relation
from countwise.errors import (
    SEED,
    CountwiseError,
    OptionError,
    check_flag,
    check_number,
    check_settings,
    did_you_mean,
    printable,
)
from countwise.io.paths import is_paths
from countwise.jsonfile import numbers
from countwise.scoring.sql import choice_expression, choice_query
from countwise.scoring.tree import chosen
from countwise.sources import open_rows, open_whole
from countwise.tree.features import Feature, columns_of, features_of
from countwise.tree.growth.builder import ClassFactors, TrainingSet
from countwise.tree.growth.criteria import Criterion
from countwise.tree.growth.grow_memory import MemoryTrainingSet
from countwise.tree.growth.settings import check_growth_settings, growth_settings, range_rules
from countwise.tree.latex import tree_latex
from countwise.tree.nodes import Landing, Tree
from countwise.tree.pruning import PruningStep, check_pruning, grown_and_pruned, needs_no_rows, recorded_steps
from countwise.tree.rules import RuleSet, rules_of
from countwise.tree.scoring import choices_of
from countwise.tree.working import SplitWorking, TreeWorking, drawn, pruning_account, pruning_table
from countwise.working import Account, Grid
from countwise.working.grid import shown
from countwise.working.numbers import number

__all__ = ["FeatureModel", "TreeModel"]

_SUMMARY_LEAVES, _SUMMARY_LINES = 20, 40  # a summary draws trees up to this size completely, and shows so many lines


class FeatureModel(RowModel):
    """Base of models that test one feature after the other: trees and rule lists."""

    types: Any
    categorical_features: Any
    classes_: NDArray[Any]
    _features: Sequence[Feature]
    _used: list[int]  # indices of the features that are tested
    _probabilities: Floats  # class probabilities of each node or rule

    def _infer_schema(self, frame: Frame) -> Schema:
        return Schema.kinds(frame, self.types, self.categorical_features)

    def _row(self, X: Any, row: int) -> Table:
        """Return one row as an encoded table."""
        frame = self._open(X)
        row = row_of(frame, row)
        return self._table(frame, row, row + 1)

    def predict_frame(self, X: Any, *, proba: bool = True, reasons: int = 0) -> Any:
        """Append the predictions to a table; an engine computes them without fetching the rows.

        The appended columns hold the predicted class and the class probabilities, or the predicted number of a
        regression tree. They agree with `predict` and `predict_proba`, also for missing values and for values never
        seen in training. Where a rule list abstains, they are null.

        Parameters
        ----------
        X : DuckDB relation, Polars LazyFrame, Dask, Spark or Ibis table, or eager frame
            The rows to predict.
        proba : bool, default=True
            If True, append a column ``P(class)`` for each class. A regression tree has no such columns.
        reasons : int, default=0
            Number of columns ``reason 1``, ``reason 2``, ... to append. They name the columns that were tested on the
            path, from the root down, or by the rule that applied. For a row that goes down several branches, only
            the tests before the branches separate are named.

        Returns
        -------
        table of the same type as X
            The table with the appended columns. A lazy table stays lazy.

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
        """Return the table with the appended predictions."""
        raise NotImplementedError

    def _numbers_to_try(self, name: str) -> Any:
        """Return numbers on both sides of each threshold."""
        return values_around(limit for column, limit in self._limits() if column == name)

    def _limits(self) -> Iterable[tuple[str, float]]:
        """Return each threshold with its column."""
        raise NotImplementedError


def _with_names(feature: Feature, rule: CutRule) -> Feature:
    """Return a feature with the names of its bins."""
    if rule.labels is None or isinstance(feature.attribute, Nominal):
        return feature
    return replace(feature, names={tuple(rule.method): rule.labels})


@dataclass(eq=False, repr=False)
class TreeModel(FeatureModel):
    """Base of decision trees and regression trees, with their common parameters."""

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

    _best: NDArray[np.intp] = field(init=False)  # code of the most probable class of each node
    _pruning_steps: tuple[PruningStep, ...] | None = field(init=False)
    _means: Floats = field(init=False)  # mean of each node of a regression tree
    _block = 1 << 15

    # -- learning --------------------------------------------------------------

    def _infer_schema(self, frame: Frame) -> Schema:
        """Return the schema; a column in ranges of single values ('naive') is nominal."""
        schema = super()._infer_schema(frame)
        if self.numeric != "ranges":
            return schema
        rules = range_rules(self)
        for name in rules:
            if name and (name not in schema or isinstance(schema[name], Text | Block)):
                raise OptionError(
                    f"ranges refers to column {name!r}, but the table has no such numeric or ordinal column.",
                    hint=did_you_mean(name, schema),
                )
        return Schema(
            Nominal(a.name, a.values if isinstance(a, Ordinal) else ())
            if isinstance(a, Numeric | Ordinal) and rules.get(a.name, rules[""]).method == "naive"
            else a
            for a in schema.attributes
        )

    def _learn_from(self, X: Any, y: Any, sample_weight: Any) -> dict[str, Any]:
        """Open a training set, grow a tree from it and prune the tree."""
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
            "_pruning_steps": (),
            **grown_and_pruned(self, data, settings),
        }

    def _training_set(self, X: Any, y: Any, sample_weight: Any) -> TrainingSet:
        """Open the rows in an engine, in a file that is read once per level, or in memory."""
        factors = self._class_factors()
        if is_relation(X):
            from countwise.tree.growth.grow_engine import open_engine

            part = EnginePart.open(Relation.open(X, y, sample_weight))
            return open_engine(part, self._infer_schema, factors, self._needs_rows, numeric_target=self._numbers)
        if self.thresholds == "binned" and is_paths(X) and needs_no_rows(self):
            from countwise.tree.growth.grow_pieces import open_chunks

            reopen = partial(open_rows, X, y, sample_weight, numbers=self._numbers, types=field_types(self.types))
            bins = int(self.max_bins)
            return open_chunks(reopen, self._infer_schema, factors, bins, numeric_target=self._numbers)
        rows = open_whole(dense(X), y, sample_weight, numbers=self._numbers, types=field_types(self.types))
        try:
            return MemoryTrainingSet.of(rows, self._infer_schema(rows.frame), *self._encode_target(rows), factors)
        except CountwiseError as error:
            raise rows.counted_as_given(error) from None

    def _class_factors(self) -> ClassFactors | None:
        """Return the function that computes class weights from class counts; None if all weights are 1."""
        return None

    def _needs_rows(self, schema: Schema) -> tuple[str, str] | None:
        """Return why a tree cannot be grown in an engine, and a hint; None if it can."""
        numeric = [a.name for a in schema.attributes if isinstance(a, Numeric)]
        texts = [a.name for a in schema.attributes if isinstance(a, Text)]
        if texts:
            return f"An engine cannot count the words of the text column {texts[0]!r}", "drop the column"
        if not needs_no_rows(self):
            what = f"pruning={self.pruning!r} evaluates trees on held-out rows, which an engine cannot do"
            return what, "pass ccp_alpha as a number, or use another pruning"
        if self.numeric == "ranges":
            what = "numeric='ranges' discretizes the rows of each node, which an engine cannot do"
            return what, "use numeric='binary' and thresholds='binned'"
        if numeric and self.thresholds != "binned":
            what = f"An engine cannot search exact thresholds for the numeric column {numeric[0]!r}"
            return what, "use thresholds='binned' to grow the tree in the engine"
        return None

    def _check_settings(self) -> None:
        check_growth_settings(self, numeric_target=self._numbers)
        check_settings(
            self,
            numeric=("binary", "ranges"),
            thresholds=("exact", "binned"),
            missing=("fractions", "branch", "majority"),
            unseen=("ignore", "error"),
            random_state=SEED,
        )
        range_rules(self)
        if self.numeric == "ranges" and self.thresholds == "binned":
            raise OptionError(
                "numeric='ranges' discretizes the rows of each node; it cannot be combined with thresholds='binned'.",
                hint="use thresholds='exact'.",
            )
        check_number("min_samples_split", self.min_samples_split, 1)
        check_number("min_gain", self.min_gain, 0)
        check_number("max_bins", self.max_bins, 2, most=255, whole=True)
        check_pruning(self.pruning, self._numbers)

    def _derive(self) -> None:
        """Set the attributes that are computed from the tree."""
        self._node_weights = self.tree_.weights(self._numbers)
        if self.numeric == "ranges":
            rules = range_rules(self)
            self._features = [_with_names(f, rules.get(f.name, rules[""])) for f in self._features]
        self._used = np.unique(self.tree_.attribute[self.tree_.attribute >= 0]).tolist()

    def _limits(self) -> Iterable[tuple[str, float]]:
        """Return the thresholds of the nodes."""
        for k in np.flatnonzero(self.tree_.attribute >= 0).tolist():
            feature = self._features[self.tree_.attribute[k]]
            if not feature.nominal:
                yield from ((feature.name, float(limit)) for limit in self.tree_.limits_of(k))

    # -- predicting --------------------------------------------------------------

    def _landing(self, table: Table) -> Landing:
        """Return the leaves that the rows reach."""
        columns = columns_of(self._features, table, self._used)
        return self.tree_.land(columns, table.n_rows, self._node_weights)

    def _read(self, X: Any, read: Callable[[Landing], NDArray[Any]]) -> NDArray[Any]:
        """Apply a function to the leaves that the rows reach, block by block."""
        return np.concatenate(self._in_blocks(X, lambda *block: read(self._landing(self._table(*block)))))

    def apply(self, X: Any) -> Indices:
        """Return the index of the leaf that each row reaches.

        A row with a missing value can reach several leaves, with a fraction of its weight at each. Its leaf is then
        the one with the largest fraction.

        Parameters
        ----------
        X : table
            The rows.

        Returns
        -------
        ndarray of int64, shape (n_rows,)
            Indices of nodes; the root is node 0.

        Examples
        --------
        >>> from countwise import TreeClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> TreeClassifier(max_depth=1).fit(tennis.X, tennis.y).apply(tennis.X)[:4].tolist()
        [3, 3, 1, 2]
        """
        frame = self._open(X)
        landing = self._landing(self._table(frame, 0, frame.n_rows))
        if landing.rows is None or landing.fractions is None:
            return landing.leaves.astype(np.int64)
        order = np.lexsort((landing.leaves, -landing.fractions, landing.rows))
        rows = landing.rows[order]
        first = np.concatenate([[True], rows[1:] != rows[:-1]])
        return landing.leaves[order][first].astype(np.int64)

    # -- inspection ----------------------------------------------------------------

    def summary(self) -> str:
        """Summarize the tree: its size, and a drawing of the whole tree or of its top.

        Returns
        -------
        str
            One line with the number of rows, attributes and leaves and the depth, followed by the drawing. Trees
            with more than 20 leaves are drawn to depth 2.

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
        head = f"{self._training_size}; {self.target_.name}: {size}"
        return printable("\n".join([head, *(f"  {line}" for line in drawing)]))

    def tables(self) -> dict[str, Grid]:
        """Return the fitted model as tables.

        Returns
        -------
        dict of str to Grid
            ``"rules"``: the rules of the tree; ``"importances"``: the attributes by importance; after pruning,
            ``"pruning"``: the decisions; and, after cost-complexity pruning, ``"path"``: the pruning path.

        Examples
        --------
        >>> from countwise import TreeClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> list(TreeClassifier().fit(tennis.X, tennis.y).tables())
        ['rules', 'importances']
        """
        found = {"rules": self.rules().table, "importances": self.importances()}
        if self._pruning_steps:
            found["pruning"] = pruning_table(self)
        return found | ({"path": self.path_} if hasattr(self, "path_") else {})

    def explain(self, X: Any, *, row: int = 0, rows: Any = None) -> Account:
        """Explain the prediction of one row by its path down the tree.

        For each node on the path, the working shows the class counts, the impurity, the gain of every attribute and
        the branch that the row takes. It ends with the leaf, or the leaves, that the row reaches.

        Parameters
        ----------
        X : table
            The table that holds the row.
        row : int, default=0
            Position of the row in the table, counted from 0.
        rows : table or tuple (X, y) or None, default=None
            The training table. With it, the working lists the numbers of the training rows in the leaf.

        Returns
        -------
        Account
            The working; print it, or display it in a notebook.

        Examples
        --------
        >>> from countwise import TreeClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> print(TreeClassifier().fit(tennis.frame, "play").explain(tennis.X, row=0))
        play = No with probability 100 %.
        <BLANKLINE>
        All 14 rows: 5 No, 9 Yes; entropy 0.940286
             attribute    split            gain
          ▶  outlook      each value  0.24675
             temperature  each value  0.0292226
             humidity     each value  0.151836
             wind         each value  0.048127
          entropy = -(5/14)·log2(5/14) - (9/14)·log2(9/14) = 0.940286
          gain(outlook) = 0.940286 - (4/14)·0 - (5/14)·0.970951 - (5/14)·0.970951 = 0.24675
          gain(temperature) = 0.940286 - (4/14)·0.811278 - (4/14)·1 - (6/14)·0.918296 = 0.0292226
          gain(humidity) = 0.940286 - (7/14)·0.985228 - (7/14)·0.591673 = 0.151836
          gain(wind) = 0.940286 - (6/14)·1 - (8/14)·0.811278 = 0.048127
          outlook = Sunny
        <BLANKLINE>
        5 rows where outlook = Sunny: 3 No, 2 Yes; entropy 0.970951
             attribute    split            gain
             outlook
             temperature  each value  0.570951
          ▶  humidity     each value  0.970951
             wind         each value  0.0199731
          entropy = -(3/5)·log2(3/5) - (2/5)·log2(2/5) = 0.970951
          gain(temperature) = 0.970951 - (1/5)·0 - (2/5)·0 - (2/5)·1 = 0.570951
          gain(humidity) = 0.970951 - (3/5)·0 - (2/5)·0 = 0.970951
          gain(wind) = 0.970951 - (2/5)·1 - (3/5)·0.918296 = 0.0199731
          humidity = High
        <BLANKLINE>
        Leaf
          rows  No  Yes  P(No)  P(Yes)
             3   3    0      1       0
        """
        table, train = self._row(X, row), self._training_rows(rows)
        working = TreeWorking(self, table, self._landing(table))
        if train is None:
            return working.prediction()
        return working.prediction(train, self._landing(self._table(train.frame, 0, train.n_rows)))

    def split_report(self, *, max_depth: int | None = None) -> Account:
        """Return the candidate splits of each node, with their gains written out.

        A rule for missing values is part of the formulas: with ``missing="fractions"``, a gain is multiplied by the
        proportion of the rows whose value is known.

        Parameters
        ----------
        max_depth : int or None, default=None
            Show the nodes above this depth; the root has depth 0. None shows the first 20 nodes.

        Returns
        -------
        Account
            A section for each inner node, breadth first. `value` is the number of inner nodes. Gains are written out
            in the upper part of large trees, and for splits with at most 50 branches.

        See Also
        --------
        explain : The splits on the path of one row.
        countwise.feature_selection.threshold_gains : The gain of every threshold of a numeric attribute.

        Examples
        --------
        >>> from countwise import TreeClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> print(TreeClassifier("gain_ratio").fit(tennis.frame, "play").split_report(max_depth=1))
        play: 3 splits by gain ratio
        <BLANKLINE>
        All 14 rows: 5 No, 9 Yes; entropy 0.940286
             attribute    split            gain  split information  gain ratio
          ▶  outlook      each value  0.24675             1.57741    0.156428
             temperature  each value  0.0292226           1.55666    0.0187726
             humidity     each value  0.151836            1          0.151836
             wind         each value  0.048127            0.985228   0.0488486
          entropy = -(5/14)·log2(5/14) - (9/14)·log2(9/14) = 0.940286
          gain(outlook) = 0.940286 - (4/14)·0 - (5/14)·0.970951 - (5/14)·0.970951 = 0.24675
          split information(outlook) = -(4/14)·log2(4/14) - (5/14)·log2(5/14) - (5/14)·log2(5/14) = 1.57741
          gain ratio(outlook) = 0.24675/1.57741 = 0.156428
          gain(temperature) = 0.940286 - (4/14)·0.811278 - (4/14)·1 - (6/14)·0.918296 = 0.0292226
          split information(temperature) = -(4/14)·log2(4/14) - (4/14)·log2(4/14) - (6/14)·log2(6/14) = 1.55666
          gain ratio(temperature) = 0.0292226/1.55666 = 0.0187726
          gain(humidity) = 0.940286 - (7/14)·0.985228 - (7/14)·0.591673 = 0.151836
          split information(humidity) = -(7/14)·log2(7/14) - (7/14)·log2(7/14) = 1
          gain ratio(humidity) = 0.151836/1 = 0.151836
          gain(wind) = 0.940286 - (6/14)·1 - (8/14)·0.811278 = 0.048127
          split information(wind) = -(6/14)·log2(6/14) - (8/14)·log2(8/14) = 0.985228
          gain ratio(wind) = 0.048127/0.985228 = 0.0488486
          average gain = (1/4)·(0.24675 + 0.0292226 + 0.151836 + 0.048127) = 0.118984
        <BLANKLINE>
        Note: 2 more splits further down are not shown.
        """
        self._check_fitted()
        check_number("max_depth", max_depth, 0, none=True, whole=True)
        return SplitWorking(self).account(max_depth)

    def pruning_report(self) -> Account:
        """Return each decision of the pruning, with its computation.

        Returns
        -------
        Account
            A table of the subtrees in the order in which they were decided, and a section for each decision. With
            ``pruning="pessimistic"``: the errors of the node as a leaf and of its branches, their upper confidence
            limits, and the sums that are compared. With ``"reduced_error"``: the errors on held-out rows. With
            ``"cost_complexity"``: the cost of a leaf, α, from which each subtree is pruned, and the sequence of
            trees. `value` is the number of subtrees that were replaced by a leaf.

        Raises
        ------
        OptionError
            If the tree was not pruned, or its file has no record of the pruning.

        Examples
        --------
        >>> from countwise import TreeClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> model = TreeClassifier(pruning="pessimistic", confidence=0.25).fit(tennis.frame, "play")
        >>> print(model.pruning_report().sections[1].text(80))
        1. outlook = Sunny: 5 rows, 2 errors as a leaf
          branch             leaves  rows  errors  estimate
          humidity = High         1     3       0   1.11012
          humidity = Normal       1     2       0   1
          U(2, 5) = 0.640564
          (1 - 0.640564)^5 + 5·0.640564·(1 - 0.640564)^4
              + 10·0.640564^2·(1 - 0.640564)^3 = 0.25
          U(0, 3) = 1 - 0.25^(1/3) = 0.370039
          U(0, 2) = 1 - 0.25^(1/2) = 0.5
          leaf = 5·U(2, 5) = 3.20282
          branches = 3·U(0, 3) + 2·U(0, 2) = 1.11012 + 1 = 2.11012
          3.20282 > 2.11012: kept
        """
        self._check_fitted()
        return pruning_account(self)

    @property
    def feature_importances_(self) -> Floats:
        """Total decrease in entropy (in bits) or variance of the target by the splits on each attribute.

        The decrease of each split is weighted by the fraction of rows that reach its node. The sum over all
        attributes is the entropy (variance) of all rows minus the weighted mean of that of the leaves. Unlike in
        scikit-learn, the importances are not normalized to a sum of 1.

        Returns
        -------
        ndarray of shape (n_attributes,)
            In the order of the columns in training.

        Examples
        --------
        >>> from countwise import TreeClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> TreeClassifier().fit(tennis.X, tennis.y).feature_importances_.round(3).tolist()
        [0.247, 0.0, 0.347, 0.347]
        """
        self._check_fitted()
        tree, n = self.tree_, self._node_weights
        within = n / n[0] * Criterion("variance" if self._numbers else "gain").at_nodes(tree.cells)
        gained = within.copy()
        np.subtract.at(gained, tree.parent[1:], within[1:])
        inner = tree.attribute >= 0
        names = list(self.schema_)
        places = np.array([names.index(f.column) for f in self._features], dtype=np.intp)
        if len(names) == 1 and self.n_features_in_ == len(self._features):
            places = np.arange(len(self._features))
        found = np.zeros(max(len(names), int(places.max(initial=0)) + 1))
        np.add.at(found, places[tree.attribute[inner]], np.maximum(gained[inner], 0.0))
        return found

    def importances(self) -> Grid:
        """Return the attributes with their importance, in descending order.

        Returns
        -------
        Grid
            Columns ``attribute`` and ``bits`` (entropy), or ``variance`` for a regression tree. See
            `feature_importances_`.

        Examples
        --------
        >>> from countwise import TreeClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> print(TreeClassifier(max_depth=1).fit(tennis.X, tennis.y).importances())
        attribute       bits
        outlook      0.24675
        temperature  0
        humidity     0
        wind         0
        """
        found = self.feature_importances_
        names = np.array(list(self.schema_), dtype=object)
        if len(names) != len(found):
            names = np.array([f.name for f in self._features], dtype=object)
        order = np.argsort(-found, kind="stable")
        unit = "variance" if self._numbers else "bits"
        return Grid({"attribute": names[order].tolist(), unit: found[order].tolist()})

    def get_depth(self) -> int:
        """Return the depth of the tree: the number of tests on its longest path.

        Returns
        -------
        int
            Depth; 0 for a single leaf.

        Examples
        --------
        >>> from countwise import TreeClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> TreeClassifier().fit(tennis.X, tennis.y).get_depth()
        2
        """
        self._check_fitted()
        return int(self.tree_.depths.max())

    def get_n_leaves(self) -> int:
        """Return the number of leaves.

        Returns
        -------
        int
            Number of leaves.

        Examples
        --------
        >>> from countwise import TreeClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> TreeClassifier().fit(tennis.X, tennis.y).get_n_leaves()
        5
        """
        self._check_fitted()
        return len(self.tree_.leaves)

    def draw(self, X: Any = None, *, row: int = 0, max_depth: int | None = None) -> str:
        """Draw the tree as text, and mark the path of one row if a table is given.

        Each line shows a branch with the attribute that its node tests, or with the prediction of its leaf. In
        parentheses: the number of training rows, and how many of them the leaf misclassifies.

        Parameters
        ----------
        X : table, optional
            The table that holds the row whose path is marked. Without it, no path is marked.
        row : int, default=0
            Position of that row in the table, counted from 0.
        max_depth : int or None, default=None
            Depth at which the drawing stops; nodes that are cut off end in ``…``. None draws the whole tree, unless
            it is thousands of levels deep.

        Returns
        -------
        str
            Drawing with one line for each node.

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

    def latex(self, width: int | None = None, *, max_depth: int | None = None) -> str:
        r"""Return the tree as a LaTeX picture; the document must load tikz.

        Parameters
        ----------
        width : int or None, default=None
            The picture is scaled down to fit a frame with lines of this many characters; a beamer frame has about
            56. If None, it is not scaled.
        max_depth : int or None, default=None
            Depth at which the picture stops; nodes that are cut off end in ``…``. None draws the largest depth with
            at most 30 leaves whose text stays readable.

        Returns
        -------
        str
            A ``tikzpicture``.

        Examples
        --------
        >>> from countwise import TreeClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> print(TreeClassifier(max_depth=1).fit(tennis.X, tennis.y).latex())
        \begin{tikzpicture}[x=1cm, y=1cm, every node/.style={font=\small, align=center}]
          \node[draw, minimum width=1.92cm] (n0) at (2.47,0) {outlook?};
          \node[draw, rounded corners=4pt, minimum width=0.97cm] (n1) at (0,-2) {Yes \\ 4};
          \node[draw, rounded corners=4pt, minimum width=1.73cm] (n2) at (2.47,-2) {Yes \\ 5 \\ 2 wrong};
          \node[draw, rounded corners=4pt, minimum width=1.73cm] (n3) at (4.94,-2) {No \\ 5 \\ 2 wrong};
          \draw[-] (n0) -- node[pos=0.7, fill=white, inner sep=1pt] {Overcast} (n1);
          \draw[-] (n0) -- node[pos=0.7, fill=white, inner sep=1pt] {Rain} (n2);
          \draw[-] (n0) -- node[pos=0.7, fill=white, inner sep=1pt] {Sunny} (n3);
        \end{tikzpicture}
        """
        self._check_fitted()
        check_number("max_depth", max_depth, 0, none=True, whole=True)
        check_number("width", width, 1, none=True)
        return tree_latex(self, max_depth, width)

    def _passed(self, X: Any, row: int) -> frozenset[int]:
        """Return the nodes that a row passes."""
        return frozenset() if X is None else self.tree_.passed(self._landing(self._row(X, row)).leaves.tolist())

    def _leaf_text(self, k: int) -> str:
        """Return the prediction of a leaf with its number of rows."""
        n = float(self._node_weights[k])
        if self._numbers:
            return f"{number(float(self._means[k]))} ({number(n)})"
        best = int(self._best[k])
        wrong = n - float(self.tree_.cells[k][best])
        counts = number(n) if wrong <= 1e-9 * n else f"{number(n)}, {number(wrong)} wrong"
        return f"{shown(self.classes_[best])} ({counts})"

    def rules(self) -> RuleSet:
        """Convert the tree to if-then rules, one for each leaf.

        Returns
        -------
        RuleSet
            The rules in the order in which the leaves are drawn. Leaves that no training row reached have none.

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
        return executed(lambda: chosen(X, choices_of(self), proba=proba, reasons=reasons))

    def to_sql(
        self,
        table: str | None = None,
        dialect: str = "duckdb",
        *,
        proba: bool | None = None,
        missing: bool = True,
    ) -> str:
        """Translate the tree to SQL: a query that scores a table, or an expression over its columns.

        Parameters
        ----------
        table : str, optional
            Name of the table to score; the result is then a query. Without it, the result is an expression.
        dialect : {'duckdb', 'postgres', 'spark', 'sqlite'}, default='duckdb'
            SQL dialect.
        proba : bool or None, default=None
            Whether to compute the class probabilities. A query returns them beside the predicted class unless
            `proba` is False. An expression computes the predicted class; with ``proba=True`` there is one
            expression for each P(class | row) instead. A regression tree has no probabilities.
        missing : bool, default=True
            Whether columns may contain NULL or NaN. If False, the SQL assumes that no value is missing, and a
            tree with ``missing="fractions"`` becomes a shorter, nested CASE expression.

        Returns
        -------
        str
            The query or expression. With ``proba=True`` and no `table`: named expressions separated by commas.

        Raises
        ------
        OptionError
            If `proba` is True for a regression tree, or if the tree tests words of a text column.

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
        proba = None if proba is None else check_flag("proba", proba)
        missing = check_flag("missing", missing)
        if proba and self._numbers:
            raise OptionError("A regression tree has no class probabilities.", hint="use proba=False.")
        tree = choices_of(self)
        if table is None:
            return choice_expression(tree, dialect, proba=bool(proba), missing=missing)
        return choice_query(tree, table, dialect, proba=proba is not False, missing=missing)

    # -- model files -----------------------------------------------------------------

    def _state(self) -> dict[str, Any]:
        """Return the tree and its pruning as plain data."""
        found: dict[str, Any] = {"tree": self.tree_.to_dict()}
        if self.pruning is not None and self._pruning_steps is not None:
            found["pruning"] = [step.to_list() for step in self._pruning_steps]
        if hasattr(self, "path_"):
            found |= {"path": dict(self.path_), "alpha": self.alpha_}
        return found

    def _revive(self, state: Mapping[str, Any]) -> None:
        """Restore the tree from plain data."""
        self._check_settings()
        self._features = features_of(self.schema_)
        self.tree_ = Tree.from_dict(state["tree"], len(self._features))
        if self.tree_.cells.shape[1] != (3 if self._numbers else len(self.target_.values)):
            raise ValueError("the tree and its target have different numbers of classes")
        self.tree_.check_cells(self._numbers)
        groups = np.diff(self.tree_.group_starts)
        for k in np.flatnonzero(self.tree_.attribute >= 0).tolist():
            a = self._features[self.tree_.attribute[k]].attribute
            if groups[k] != (len(a.values) + 2 if isinstance(a, Nominal) else 0):
                raise ValueError(f"the test of node {k} does not suit {a.name!r}")
        self._pruning_steps = recorded_steps(state["pruning"]) if "pruning" in state else None
        if "path" in state:
            path = {str(name): numbers(x, "the pruning path", (None,)).tolist() for name, x in state["path"].items()}
            if len({len(column) for column in path.values()}) > 1:
                raise ValueError("the columns of the pruning path differ in length")
            self.path_, self.alpha_ = Grid(path), float(numbers([state["alpha"]], "alpha", (1,), least=0)[0])
        self._derive()
