"""Decision trees and regression trees."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.base.protocol import Classifier, Regressor
from countwise.data.attributes import Nominal
from countwise.data.columns import plain
from countwise.distributions import smoothing_of
from countwise.errors import OptionError, check_settings, listed
from countwise.tree.base import TreeModel
from countwise.tree.growth.builder import ClassFactors
from countwise.tree.growth.sorted_column import RANGE_RULES
from countwise.tree.nodes import Landing

__all__ = ["TreeClassifier", "TreeRegressor"]


@dataclass(eq=False, repr=False)
class TreeClassifier(Classifier, TreeModel):
    """Decision trees: ID3, C4.5 and CART over mixed columns with missing values.

    With its default settings it is ID3 with thresholds for numeric columns. C4.5 is ``TreeClassifier("gain_ratio",
    min_samples_leaf=2, threshold_cost=True, pruning="pessimistic")``, CART is ``TreeClassifier("gini",
    nominal="subset", pruning="cost_complexity")``.

    Parameters
    ----------
    criterion : {"gain", "gain_ratio", "gini"}, default="gain"
        What is compared: the information gain; that over the entropy of the split itself, among
        attributes whose gain is at least average (C4.5); or the fall of Gini impurity. "entropy" is "gain".
    nominal : {"multiway", "one_vs_rest", "subset"}, default="multiway"
        Nominal columns: a branch for each value (ID3); one value against the rest; or two groups of values, which
        are the best two for two classes and for up to eight values, and else found by a heuristic.
    numeric : {"binary", "ranges"}, default="binary"
        Numeric and ordinal columns: at most a threshold and above it, the threshold midway between two values;
        or several ranges in one split, cut on the node's own rows.
    ranges : {"mdl", "class_contiguous"}, default="mdl"
        How ranges are cut: where a cut pays for itself, or wherever the class changes.
    thresholds : {"exact", "binned"}, default="exact"
        Every threshold is tried, or only the edges of bins that hold about equally many rows: faster by far, and
        all that an engine can count where the rows lie.
    max_bins : int, default=255
        Into how many bins a column is put.
    missing : {"fractions", "branch", "majority"}, default="fractions"
        A row whose value is missing goes down every branch, in fractions (C4.5), in training and in prediction;
        down a branch of its own, where training rows did; or down the branch with most rows.
    unseen : {"ignore", "error"}, default="ignore"
        A value never met in training is taken as missing, or is an error.
    max_depth : int or None, default=None
        How many tests a path may have.
    min_samples_split : float, default=2
        The weight that a node must have to be split.
    min_samples_leaf : float, default=1
        The weight that each of two branches must have; of several branches, two of them.
    min_gain : float, default=0
        The least gain of a split, in the unit of the criterion.
    threshold_cost : bool, default=False
        Whether the gain of a threshold must pay for its choice: it is lowered by log2(thresholds) / rows, as in the
        eighth release of C4.5. Columns of many different numbers are then favored less.
    max_branches : int, default=1000
        A column of more values than this is refused where each would have a branch.
    pruning : {None, "pessimistic", "reduced_error", "cost_complexity"}, default=None
        No pruning; by an upper limit of the errors in the training rows (C4.5); by the errors of held-out rows; or
        by the best cost of a leaf (CART).
    confidence : float, default=0.25
        Of the pessimistic limit: smaller prunes more.
    ccp_alpha : float, {"cv", "one_se"}, default="cv"
        The cost of a leaf: given, where cross-validated error is least, or the largest whose error is within
        one standard error of that.
    cv : int or splitter, default=5
        Folds by which the cost is chosen; rows are assigned at random by their content, equal rows to one fold.
    validation_fraction : float, default=0.25
        Of each class, the share held out for "reduced_error".
    random_state : int, default=0
        The seed of folds and of rows held out.
    types, categorical_features
        What the columns are; see `NaiveBayesClassifier`.
    class_weight : mapping of class to weight, "balanced" or None, default=None
        Times the weights of the rows.
    smoothing : float, {"laplace"}, MEstimate or None, default=None
        Of the class shares in a leaf: none, Laplace's ε, or an m-estimate.

    Attributes
    ----------
    classes_ : ndarray
        The classes in order.
    tree_ : Tree
        The nodes.
    feature_importances_ : ndarray
        By how much the splits by each column lower the entropy, in bits.
    path_ : Grid
        For "cost_complexity": the trees on the way, with their held-out errors.
    alpha_ : float
        For "cost_complexity": the cost of a leaf in use.

    Notes
    -----
    At equal scores the attribute that stands first in the table is taken, and of one attribute the lowest threshold.
    Scores are equal if they differ by less than 1e-12 of the node's impurity. The order of the rows never matters.

    With ``thresholds="binned"``, `fit` also takes a table that an engine holds (DuckDB, Polars lazy, Dask, Spark,
    Ibis). The engine counts, once for each column and level, and the rows stay there. The tree is the same.

    Examples
    --------
    >>> from countwise import TreeClassifier, samples
    >>> weather = samples.load("weather")
    >>> model = TreeClassifier().fit(weather.X, weather.y)
    >>> print(model.draw())
    outlook?
    ├─ overcast: yes (4)
    ├─ rainy: windy?
    │  ├─ False: yes (3)
    │  └─ True: no (2)
    └─ sunny: humidity?
       ├─ <= 77.5: yes (2)
       └─ > 77.5: no (3)
    >>> model.predict([{"outlook": "sunny", "temperature": 66, "humidity": 90, "windy": True}]).tolist()
    ['no']
    """

    criterion: str = "gain"
    _: KW_ONLY
    ranges: str = "mdl"
    threshold_cost: bool = False
    confidence: float = 0.25
    class_weight: Any = None
    smoothing: Any = None

    def _check_settings(self) -> None:
        super()._check_settings()
        check_settings(self, ranges=tuple(RANGE_RULES), threshold_cost=(True, False))
        if self.numeric == "ranges" and self.thresholds == "binned":
            raise OptionError(
                "Ranges are cut on the node's own rows; they cannot be binned.", hint="thresholds='exact'."
            )
        smoothing_of(self.smoothing)

    def _class_factors(self) -> ClassFactors | None:
        if isinstance(self.class_weight, str) and self.class_weight != "balanced":
            raise OptionError(f"class_weight={self.class_weight!r} is unknown.", hint="give 'balanced' or a mapping.")
        return None if self.class_weight is None else self._factors_of_classes

    def _factors_of_classes(self, counts: Floats, target: Nominal) -> Floats:
        """The weights of classes, from their counts."""
        if isinstance(self.class_weight, str):
            return np.asarray(counts.sum() / (len(counts) * np.maximum(counts, 1e-300)))
        given = self.class_weight
        if not isinstance(given, Mapping):
            raise OptionError(f"class_weight={given!r} is neither 'balanced' nor a mapping of class to weight.")
        known = {plain(c): w for c, w in given.items()}
        odd = [c for c in known if c not in target.values]
        if odd:
            raise OptionError(f"class_weight names {listed(odd)}; the classes are {listed(target.values)}.")
        factors = np.array([float(known.get(c, 1.0)) for c in target.values])
        if not (np.isfinite(factors).all() and (factors > 0).all()):
            raise OptionError("The weights of classes must be above 0.")
        return factors

    def _derive(self) -> None:
        super()._derive()
        self.classes_ = self.target_.labels(self._label_type)
        root = self.tree_.cells[:1]
        counts = self.tree_.answering(numeric=False) + smoothing_of(self.smoothing).pseudo(root, self.target_.values)
        self._probabilities = counts / counts.sum(axis=1, keepdims=True)
        self._best = np.argmax(self._probabilities.round(12), axis=1)  # sums of shares may differ by rounding
        self.class_count_ = root[0].copy()

    def predict_proba(self, X: Any) -> Floats:
        """P(class | row): the shares of the classes in the leaf."""
        return self._read(X, lambda landing: landing.blended(self._probabilities))

    def predict(self, X: Any) -> NDArray[Any]:
        """The commonest class of the leaf; at a tie the first of `classes_`."""

        def best(landing: Landing) -> NDArray[Any]:
            if landing.rows is None:
                return np.asarray(self._best[landing.leaves])
            return np.asarray(np.argmax(landing.blended(self._probabilities).round(12), axis=1))

        codes = self._read(X, best)
        return self.classes_[codes]


@dataclass(eq=False, repr=False)
class TreeRegressor(Regressor, TreeModel):
    """Regression trees over mixed columns with missing values, by the fall of standard deviation or variance.

    Parameters
    ----------
    criterion : {"sd", "variance"}, default="sd"
        What a split lowers: the standard deviation, weighed by rows, or the variance. "squared_error" is "variance".
    nominal : {"multiway", "one_vs_rest", "subset"}, default="multiway"
        Nominal columns: a branch for each value; one value against the rest; or two groups of values (the best two
        for "variance").
    numeric : {"binary"}, default="binary"
        Numeric and ordinal columns: at most a threshold and above it.
    min_gain : float, default=0
        By how much the deviation (variance) must fall.
    pruning : {None, "reduced_error", "cost_complexity"}, default=None
        As for `TreeClassifier`; errors are squared.
    thresholds, max_bins, missing, unseen, max_depth, min_samples_split, min_samples_leaf, max_branches
        As for `TreeClassifier`.
    ccp_alpha, cv, validation_fraction, random_state, types, categorical_features
        As for `TreeClassifier`.

    Attributes
    ----------
    tree_ : Tree
        The nodes.
    feature_importances_ : ndarray
        By how much the splits by each column lower the variance.

    Examples
    --------
    >>> from countwise import TreeRegressor, samples
    >>> hours = samples.load("hours")
    >>> print(TreeRegressor(max_depth=1).fit(hours.X, hours.y).draw())
    outlook?
    ├─ Overcast: 49.25 (4)
    ├─ Rainy: 35.6 (5)
    └─ Sunny: 41.8 (5)
    """

    criterion: str = "sd"

    _numbers = True

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.numeric == "ranges":
            raise OptionError(
                "Ranges are cut where classes change; a numeric target has no classes.", hint="numeric='binary'."
            )

    def _derive(self) -> None:
        super()._derive()
        self._means = self.tree_.answering(numeric=True)[:, 1]

    def predict(self, X: Any) -> Floats:
        """The mean of the leaf."""
        return self._read(X, lambda landing: landing.blended(self._means))
