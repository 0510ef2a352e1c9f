"""Bayesian networks: structure learning, parameters, inference and classification."""

from __future__ import annotations

from typing import TYPE_CHECKING

from countwise.registry import lazy_names

if TYPE_CHECKING:
    from countwise.network.classifier import BayesNetworkClassifier
    from countwise.network.families import Dirichlet
    from countwise.network.model import BayesNetwork

__all__ = ["BayesNetwork", "BayesNetworkClassifier", "Dirichlet"]

__getattr__, __dir__ = lazy_names("countwise.network")
