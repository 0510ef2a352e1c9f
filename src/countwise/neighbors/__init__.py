"""Instance-based learning: distance metrics for mixed columns, nearest neighbors, PEBLS, prototypes, rote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from countwise.registry import lazy_names

if TYPE_CHECKING:
    from countwise.neighbors.instance_selection import InstanceSelector
    from countwise.neighbors.knn import NeighborsClassifier, NeighborsRegressor
    from countwise.neighbors.metric import DistanceMetric, distance_matrix
    from countwise.neighbors.pebls import PEBLSClassifier
    from countwise.neighbors.prototype import PrototypeClassifier
    from countwise.neighbors.rote import RoteClassifier

__all__ = [
    "DistanceMetric",
    "InstanceSelector",
    "NeighborsClassifier",
    "NeighborsRegressor",
    "PEBLSClassifier",
    "PrototypeClassifier",
    "RoteClassifier",
    "distance_matrix",
]

__getattr__, __dir__ = lazy_names("countwise.neighbors")
