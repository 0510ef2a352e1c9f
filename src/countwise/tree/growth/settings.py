"""Settings of tree growth: split criterion, split strategies and stopping rules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise._typing import Flags
from countwise.cuts import CutRule, rule_of
from countwise.data.attributes import Nominal
from countwise.distributions import Distribution
from countwise.errors import OptionError, TableError, check_number, check_settings
from countwise.tree.features import Feature
from countwise.tree.growth.criteria import OF_CLASSES, OF_NUMBERS, SYNONYMS, Criterion
from countwise.tree.growth.splits import Multiway, OneAgainstRest, SplitStrategy, Subset, Threshold

__all__ = ["STRATEGIES", "GrowthSettings", "check_growth_settings", "growth_settings", "range_rules"]

_ROUNDING = 1 - 1e-12  # factor for minimum weights, because sums of fractional weights are rounded
STRATEGIES: dict[str, type[Any]] = {"multiway": Multiway, "one_vs_rest": OneAgainstRest, "subset": Subset}
_MANY = 0.3  # an attribute with more values than this fraction of the rows has a high gain by chance


@dataclass(frozen=True, slots=True)
class GrowthSettings:
    """Settings of tree growth; see `TreeClassifier`."""

    criterion: Criterion
    nominal: str
    numeric: str
    rules: Mapping[str, CutRule]  # discretization rule of single columns; that of all others is under ""
    bins: int | None  # largest number of bins of numeric columns; None tries every threshold
    max_branches: int
    max_depth: int | None
    min_split: float
    min_leaf: float
    min_gain: float
    missing: str
    threshold_cost: bool

    def strategy(self, feature: Feature) -> SplitStrategy:
        """Return the strategy for splits by a nominal or ordinal attribute."""
        attribute = feature.attribute
        assert isinstance(attribute, Nominal)  # noqa: S101 - numeric attributes have thresholds
        strategy: SplitStrategy = Threshold() if feature.ordinal else STRATEGIES[self.nominal]()
        n_values = len(attribute.values)
        if isinstance(strategy, Multiway) and n_values > self.max_branches:
            raise TableError(
                f"{attribute.name!r} has {n_values} values; a split may have at most {self.max_branches} branches.",
                hint="drop the column, use nominal='subset' or 'one_vs_rest', or increase max_branches.",
            )
        return strategy

    def rule(self, name: str) -> CutRule:
        """Return the discretization rule of a numeric or ordinal column."""
        return self.rules.get(name, self.rules[""])

    def many_valued(self, features: Sequence[Feature], weight: float) -> Flags:
        """Return a mask of the attributes with so many values, for rows of this weight, that they gain by chance."""
        multiway, many = self.nominal == "multiway", np.zeros(len(features), dtype=bool)
        for j, f in enumerate(features):
            if multiway and isinstance(f.attribute, Nominal) and not f.ordinal:
                many[j] = len(f.attribute.values) >= _MANY * weight * (1 - 1e-9)
        return many


def check_growth_settings(model: Any, *, numeric_target: bool) -> None:
    """Check the settings that all models that grow trees have in common."""
    criteria = OF_NUMBERS if numeric_target else OF_CLASSES
    synonyms = tuple(word for word, meaning in SYNONYMS.items() if meaning in criteria)
    check_settings(model, criterion=(*criteria, *synonyms), nominal=tuple(STRATEGIES))
    check_number("max_depth", model.max_depth, 0, none=True, whole=True)
    check_number("min_samples_leaf", model.min_samples_leaf, 0, above=True)
    check_number("max_branches", model.max_branches, 2, whole=True)


def range_rules(model: Any) -> dict[str, CutRule]:
    """Return the discretization rule of each named column, and under the empty name that of all others."""
    given = model.ranges if isinstance(model.ranges, Mapping) else {"": model.ranges}
    rules = {str(name): _range_rule(spec) for name, spec in {"": type(model).ranges, **given}.items()}
    for name, rule in rules.items():
        where = f" for {name!r}" if name else ""
        if model._numbers and rule.supervised:
            raise OptionError(
                f"ranges={rule.method!r}{where} is supervised and needs a target with classes; "
                "a regression tree has a numeric target.",
                hint="use 'equal_frequency', 'equal_width', 'kmeans', 'lloyd', 'naive' or cut points.",
            )
        if rule.labels is not None and isinstance(rule.method, str):
            raise OptionError(
                f"ranges={rule.method!r}{where} cannot have labels: the bins of every node are found anew.",
                hint="give the cut points, or discretize the columns before by Discretizer(labels=...).",
            )
    return rules


def _range_rule(spec: Any) -> CutRule:
    if isinstance(spec, Distribution) and spec.how is None:
        raise OptionError(
            f"ranges={spec!r} is not a discretization rule.", hint="use a method such as 'mdl', or a Binned."
        )
    try:
        return rule_of(spec)
    except OptionError as error:
        raise OptionError(f"ranges is invalid: {error.message}", hint=error.hint) from None


def growth_settings(model: Any) -> GrowthSettings:
    """Return the growth settings of a model, with defaults for settings that the model does not have."""
    return GrowthSettings(
        Criterion(model.criterion),
        model.nominal,
        numeric=getattr(model, "numeric", "binary"),
        rules=range_rules(model) if getattr(model, "numeric", "binary") == "ranges" else {},
        bins=int(model.max_bins) if getattr(model, "thresholds", "exact") == "binned" else None,
        max_branches=int(model.max_branches),
        max_depth=None if model.max_depth is None else int(model.max_depth),
        min_split=float(getattr(model, "min_samples_split", 2)) * _ROUNDING,
        min_leaf=float(model.min_samples_leaf) * _ROUNDING,
        min_gain=float(getattr(model, "min_gain", 0)),
        missing=getattr(model, "missing", "fractions"),
        threshold_cost=bool(getattr(model, "threshold_cost", False)),
    )
