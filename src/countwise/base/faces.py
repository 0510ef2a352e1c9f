"""scikit-learn's face of a model: parameters, tags, scores, cloning, pipelines."""

from __future__ import annotations

from functools import cache
from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin

__all__ = ["Classifier", "Estimator", "Regressor"]


class Estimator(BaseEstimator):  # type: ignore[misc]
    """What scikit-learn asks of an estimator that takes tables as they are."""

    _takes_names = True

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        """Looked up once a class: signatures are slow to take apart."""
        names: list[str] = super()._get_param_names()
        return names

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "schema_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = self._takes_names
        tags.input_tags.string = True
        tags.input_tags.sparse = True
        return tags


class Classifier(ClassifierMixin, Estimator):  # type: ignore[misc]
    """The same of a classifier."""


class Regressor(RegressorMixin, Estimator):  # type: ignore[misc]
    """The same of what tells numbers."""
