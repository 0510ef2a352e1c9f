"""Trees with scikit-learn's face."""

from __future__ import annotations

from typing import Any

from countwise.base.faces import Classifier, Regressor
from countwise.tree.model import ClassTree, NumberTree
from countwise.tree.rule_list import RuleList

__all__ = ["RuleClassifier", "TreeClassifier", "TreeRegressor"]


class TreeClassifier(Classifier, ClassTree):
    """Decision trees as the lectures draw them: ID3, C4.5 and CART over mixed columns with gaps.

    With its default settings it is ID3 with thresholds for numbers. C4.5 is ``TreeClassifier("gain_ratio",
    min_samples_leaf=2, threshold_cost=True, pruning="pessimistic")``, CART is ``TreeClassifier("gini",
    nominal="subset", pruning="cost_complexity")``.

    Parameters
    ----------
    criterion : {"gain", "gain_ratio", "gini"}, default="gain"
        What is compared: the information gain; that over the entropy of the split itself, among
        attributes whose gain is at least average (C4.5); or the fall of Gini impurity. "entropy" is "gain".
    nominal : {"multiway", "one_vs_rest", "subset"}, default="multiway"
        Names: a branch for each value (ID3); one value against the rest; or the best two groups of values, which are
        surely the best for two classes and for up to eight values, and else found by a heuristic.
    numeric : {"binary", "ranges"}, default="binary"
        Numbers and orders: at most a threshold and above it, the threshold midway between two values;
        or several ranges in one split, cut on the node's own rows.
    ranges : {"mdl", "class_contiguous"}, default="mdl"
        How ranges are cut: where a cut pays for itself, or wherever the class changes.
    thresholds : {"exact", "binned"}, default="exact"
        Every threshold is tried, or only the edges of bins that hold about equally many rows: faster by far, and
        all that an engine can count where the rows lie.
    max_bins : int, default=255
        Into how many bins a column is put.
    missing : {"fractions", "branch", "majority"}, default="fractions"
        A row that lacks the value asked for goes down every branch, in fractions (C4.5), in training and in
        prediction; down a branch of its own, where training rows did; or down the branch with most rows.
    unseen : {"ignore", "error"}, default="ignore"
        A value never met in training is taken as missing, or is an error.
    max_depth : int or None, default=None
        How many questions a path may have.
    min_samples_split : float, default=2
        The weight that a node must have to be split.
    min_samples_leaf : float, default=1
        The weight that each of two branches must have; of several branches, two of them.
    min_gain : float, default=0
        What a split must gain, in the unit of the criterion's gain.
    threshold_cost : bool, default=False
        Whether the gain of a threshold must pay for its choice: it is lowered by log2(thresholds) / rows, as in the
        eighth release of C4.5. Columns of many different numbers are then favored less.
    max_branches : int, default=1000
        A column of more names than this is refused where each would have a branch.
    pruning : {None, "pessimistic", "reduced_error", "cost_complexity"}, default=None
        Not at all; by an upper limit of the errors in the training rows (C4.5); by the errors of rows that are held
        out; or at the best of all costs a leaf (CART).
    confidence : float, default=0.25
        Of the pessimistic limit: smaller prunes more.
    ccp_alpha : float, {"cv", "one_se"}, default="cv"
        The cost of a leaf: given, where cross-validated error is least, or the largest whose error is within
        one standard error of that.
    cv : int or splitter, default=5
        Folds, to choose the cost by; rows are dealt at random and always alike, equal rows into one fold.
    validation_fraction : float, default=0.25
        Of each class, the share held out for "reduced_error".
    random_state : int, default=0
        The seed of folds and of rows held out.
    class_weight : mapping of class to weight, "balanced" or None, default=None
        Times the weights of the rows.
    smoothing : float, {"laplace"}, MEstimate or None, default=None
        Of the class shares in a leaf: none, Laplace's ε, or an m-estimate.
    types : mapping of column to kind, str or Schema, optional
        What the columns are, where dtypes do not tell.
    categorical_features : array-like, optional
        Nominal columns as scikit-learn declares them: names, positions or a mask.

    Attributes
    ----------
    classes_ : ndarray
        The classes in order.
    tree_ : Tree
        The nodes.
    feature_importances_ : ndarray
        What the splits by each column tell of the class, in bits.
    path_ : Grid
        For "cost_complexity": the trees passed, with their held-out errors.
    alpha_ : float
        For "cost_complexity": the cost of a leaf in use.

    Notes
    -----
    At equal scores the attribute that stands first in the table is asked, and of one attribute the lowest cut is
    taken. Scores are equal if they differ by less than 1e-12 of the node's impurity. The order of the rows never
    matters.

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


class TreeRegressor(Regressor, NumberTree):
    """Regression trees over mixed columns with gaps, by the fall of standard deviation (002) or of variance.

    Parameters
    ----------
    criterion : {"sd", "variance"}, default="sd"
        What must fall: the standard deviation, weighed by rows, or the variance. "squared_error" is "variance".
    nominal : {"multiway", "one_vs_rest", "subset"}, default="multiway"
        Names: a branch for each value; one value against the rest; or the best two groups of values (surely the best
        for "variance").
    numeric : {"binary"}, default="binary"
        Numbers and orders: at most a threshold and above it.
    thresholds : {"exact", "binned"}, default="exact"
        Every threshold is tried, or only the edges of bins that hold about equally many rows.
    max_bins : int, default=255
        Into how many bins a column is put.
    missing : {"fractions", "branch", "majority"}, default="fractions"
        As for `TreeClassifier`.
    unseen : {"ignore", "error"}, default="ignore"
        A value never met in training is taken as missing, or is an error.
    max_depth : int or None, default=None
        How many questions a path may have.
    min_samples_split : float, default=2
        The weight that a node must have to be split.
    min_samples_leaf : float, default=1
        The weight that each of two branches must have; of several branches, two of them.
    min_gain : float, default=0
        By how much the deviation (variance) must fall.
    max_branches : int, default=1000
        A column of more names than this is refused where each would have a branch.
    pruning : {None, "reduced_error", "cost_complexity"}, default=None
        As for `TreeClassifier`; errors are squared.
    ccp_alpha : float, {"cv", "one_se"}, default="cv"
        The cost of a leaf.
    cv : int or splitter, default=5
        Folds, to choose the cost by.
    validation_fraction : float, default=0.25
        The share of the rows held out for "reduced_error".
    random_state : int, default=0
        The seed of folds and of rows held out.
    types : mapping of column to kind, str or Schema, optional
        What the columns are, where dtypes do not tell.
    categorical_features : array-like, optional
        Nominal columns as scikit-learn declares them: names, positions or a mask.

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


class RuleClassifier(Classifier, RuleList):
    """If-then rules that classify: an ordered list made from a tree, one rule for the best attribute, or one's own.

    The first rule whose conditions hold decides. A condition on a missing cell does not hold, unless it says
    that the cell is missing.

    Parameters
    ----------
    method : {"c45", "tree", "one_r"}, default="c45"
        The rules of a tree with conditions dropped that do not earn their keep, the most reliable first (C4.5rules);
        the rules of a pruned tree as they are; or a rule for each value, or range, of that attribute whose
        commonest classes err least (OneR, 001).
    rules : RuleSet, optional
        Rules to use as they are, in their order, as `TreeClassifier.rules` gives them; only their counts are learned.
    simplify : {"pessimistic", "held_out", None}, default="pessimistic"
        By which errors conditions of "c45" are dropped: pessimistic ones in the training rows, or those in
        rows that are held out.
    default : {"majority", "abstain"}, default="majority"
        Where no rule holds: the commonest class of the training rows left over, or no answer (None).
    n : float, default=6
        For "one_r": how many rows of one class a range of numbers must hold.
    criterion : {"gain_ratio", "gain", "gini"}, default="gain_ratio"
        Of the tree.
    nominal : {"multiway", "one_vs_rest", "subset"}, default="multiway"
        Of the tree.
    max_depth : int or None, default=None
        Of the tree.
    min_samples_leaf : float, default=2
        Of the tree.
    max_branches : int, default=1000
        Of the tree.
    confidence : float, default=0.25
        Of pessimistic errors.
    validation_fraction : float, default=0.25
        Of each class, the share held out for "held_out".
    random_state : int, default=0
        The seed of rows held out.
    smoothing : float, {"laplace"}, MEstimate or None, default=None
        Of the class shares of a rule.
    types : mapping of column to kind, str or Schema, optional
        What the columns are, where dtypes do not tell.
    categorical_features : array-like, optional
        Nominal columns as scikit-learn declares them: names, positions or a mask.

    Attributes
    ----------
    classes_ : ndarray
        The classes in order.
    rules_ : RuleSet
        The rules in order, and the default.
    errors_ : Grid
        For "one_r": how much each attribute errs.

    Examples
    --------
    >>> from countwise import RuleClassifier, samples
    >>> weather = samples.load("weather")
    >>> model = RuleClassifier(min_samples_leaf=1).fit(weather.frame, "play")
    >>> print(model.rules_)
    if outlook = overcast then play = yes  (4 rows, 100 %)
    if outlook = rainy and windy = False then play = yes  (3 rows, 100 %)
    if outlook = sunny and humidity > 77.5 then play = no  (3 rows, 100 %)
    if humidity <= 77.5 then play = yes  (3 rows, 66.7 %)
    otherwise play = no  (1 row, 100 %)
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = self.method == "one_r"  # one attribute tells what it can
        return tags
