"""Networks with scikit-learn's face."""

from __future__ import annotations

from countwise.models.faces import Estimator
from countwise.models.network import BeliefNetwork

__all__ = ["BayesNetwork"]


class BayesNetwork(Estimator, BeliefNetwork):
    """A Bayesian belief network over names and numbers: drawn by hand, learned from a table, or both (004).

    .. math:: P(x_1, ..., x_d) = ∏_i P(x_i | parents of x_i)

    TODO
    """
