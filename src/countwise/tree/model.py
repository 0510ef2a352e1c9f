"""Decision trees for classes and regression trees (001, 002)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels, progress
from countwise._typing import Floats
from countwise.data.attributes import Nominal, Numeric
from countwise.data.columns import plain
from countwise.distributions import smoothing_of
from countwise.errors import OptionError, listed
from countwise.sources import Memory
from countwise.tree.base import BLOCK
from countwise.tree.inspection import TreeAnswers
from countwise.tree.training_set import Ground

__all__ = ["ClassTree", "NumberTree"]


class ClassTree(TreeAnswers):
    """A decision tree; see `TreeClassifier`."""

    _numbers = False

    def __init__(
        self,
        criterion: str = "gain",
        *,
        nominal: str = "multiway",
        numeric: str = "binary",
        ranges: str = "mdl",
        thresholds: str = "exact",
        max_bins: int = 255,
        missing: str = "fractions",
        unseen: str = "ignore",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_gain: float = 0.0,
        threshold_cost: bool = False,
        max_branches: int = 1000,
        pruning: str | None = None,
        confidence: float = 0.25,
        ccp_alpha: Any = "cv",
        cv: int = 5,
        validation_fraction: float = 0.25,
        random_state: int = 0,
        class_weight: Any = None,
        smoothing: Any = None,
        types: Any = None,
        categorical_features: Any = None,
    ) -> None:
        self.criterion = criterion
        self.nominal = nominal
        self.numeric = numeric
        self.ranges = ranges
        self.thresholds = thresholds
        self.max_bins = max_bins
        self.missing = missing
        self.unseen = unseen
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_gain = min_gain
        self.threshold_cost = threshold_cost
        self.max_branches = max_branches
        self.pruning = pruning
        self.confidence = confidence
        self.ccp_alpha = ccp_alpha
        self.cv = cv
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.class_weight = class_weight
        self.smoothing = smoothing
        self.types = types
        self.categorical_features = categorical_features

    def _check_settings(self) -> None:
        super()._check_settings()
        smoothing_of(self.smoothing)

    def _target(self, rows: Memory) -> tuple[Nominal, NDArray[Any], int]:
        target = Nominal(rows.name, grows=True).learn(rows.target)
        return target, target.encode(rows.target, strict=True), len(target.values)

    def _weights(self, weights: Any, told: NDArray[Any], target: Nominal) -> Any:
        """Weights of rows times weights of classes."""
        counts = np.bincount(told, weights=weights, minlength=len(target.values)).astype(np.float64)
        factors = self._factors(counts, target)
        if factors is None:
            return weights
        both = factors[told] * (1.0 if weights is None else weights)
        return both.astype(np.int64) if _kernels.float_is_integral(both) else both

    def _factors(self, counts: Floats, target: Nominal) -> Floats | None:
        if self.class_weight is None:
            return None
        if not isinstance(self.class_weight, str):
            return _class_factors(self.class_weight, target)
        if self.class_weight != "balanced":
            raise OptionError(f"class_weight={self.class_weight!r} is unknown.", hint="give 'balanced' or a mapping.")
        return np.asarray(counts.sum() / (len(counts) * np.maximum(counts, 1e-300)))

    def _derive(self) -> None:
        """What follows from the tree."""
        tree = self.tree_
        self.classes_ = self.target_.labels(self._label_type)
        self._node_weights = tree.weights(numbers=False)
        self._used = np.unique(tree.attribute[tree.attribute >= 0]).tolist()
        cells = tree.answering(self._numbers)
        pseudo = smoothing_of(self.smoothing).pseudo(tree.cells[:1], self.target_.values)
        counts = cells + pseudo
        self._probabilities = counts / counts.sum(axis=1, keepdims=True)
        self._best = np.argmax(self._probabilities.round(12), axis=1)  # sums of parts of rows may be equal but for it
        self.class_count_ = tree.cells[0].copy()

    def adopt(self, ground: Ground, target: Nominal) -> None:
        """Grow from rows that somebody else has opened."""
        vars(self).update(self._learned(ground, target))
        self._features, self.target_, self._label_type = list(ground.features), target, None
        self._derive()

    def _smoothing_words(self) -> str:
        """How the shares in a leaf are smoothed; nothing if they are not."""
        words = str(smoothing_of(self.smoothing))
        return "" if words == "unsmoothed" else words

    def predict_proba(self, X: Any) -> Floats:
        """P(class | row): the shares of the classes in the leaf.

        Parameters
        ----------
        X : any table
            Columns are found by name, or by place in an array.

        Returns
        -------
        ndarray, shape (rows, classes)
        """
        self._check_fitted()
        return np.concatenate(self._answered(X, self._probabilities))

    def predict_log_proba(self, X: Any) -> Floats:
        """Log P(class | row).

        Parameters
        ----------
        X : any table
            Columns are found by name, or by place in an array.

        Returns
        -------
        ndarray, shape (rows, classes)
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """The commonest class of the leaf; at a tie the first of `classes_`.

        Parameters
        ----------
        X : any table
            Columns are found by name, or by place in an array.

        Returns
        -------
        ndarray, shape (rows,)
        """
        self._check_fitted()
        frame = self._open(X)

        def work(start: int, stop: int) -> NDArray[Any]:
            landing = self._landing(self._table(frame, start, stop))
            if landing.rows is None:
                return np.asarray(self._best[landing.leaves])
            return np.asarray(np.argmax(landing.blended(self._probabilities).round(12), axis=1))

        codes = _kernels.over_blocks(frame.n_rows, BLOCK, work, progress=progress.current())
        return self.classes_[np.concatenate(codes)]


class NumberTree(TreeAnswers):
    """A regression tree; see `TreeRegressor`."""

    _numbers = True

    def __init__(
        self,
        criterion: str = "sd",
        *,
        nominal: str = "multiway",
        numeric: str = "binary",
        thresholds: str = "exact",
        max_bins: int = 255,
        missing: str = "fractions",
        unseen: str = "ignore",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_gain: float = 0.0,
        max_branches: int = 1000,
        pruning: str | None = None,
        ccp_alpha: Any = "cv",
        cv: int = 5,
        validation_fraction: float = 0.25,
        random_state: int = 0,
        types: Any = None,
        categorical_features: Any = None,
    ) -> None:
        self.criterion = criterion
        self.nominal = nominal
        self.numeric = numeric
        self.thresholds = thresholds
        self.max_bins = max_bins
        self.missing = missing
        self.unseen = unseen
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_gain = min_gain
        self.max_branches = max_branches
        self.pruning = pruning
        self.ccp_alpha = ccp_alpha
        self.cv = cv
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.types = types
        self.categorical_features = categorical_features

    ranges = "mdl"  # numbers have no classes to cut by; refused with numeric="ranges"
    threshold_cost = False  # a cost in bits

    def _target(self, rows: Memory) -> tuple[Numeric, NDArray[Any], int]:
        return Numeric(rows.name), np.asarray(rows.target, dtype=np.float64), 0

    def _derive(self) -> None:
        """What follows from the tree."""
        tree = self.tree_
        self._node_weights = tree.weights(numbers=True)
        self._used = np.unique(tree.attribute[tree.attribute >= 0]).tolist()
        self._means = tree.answering(self._numbers)[:, 1]

    def predict(self, X: Any) -> Floats:
        """The mean of the leaf.

        Parameters
        ----------
        X : any table
            Columns are found by name, or by place in an array.

        Returns
        -------
        ndarray, shape (rows,)
        """
        self._check_fitted()
        return np.concatenate(self._answered(X, self._means))


def _class_factors(given: Any, target: Nominal) -> Floats:
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
