"""What a network answers: posteriors, explanations of them, probabilities of rows, samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.base.row_model import encode_finite
from countwise.base.tally_model import TallyModel
from countwise.base.term import Term, derive
from countwise.data.table import Table
from countwise.errors import SEED, check_number, check_value
from countwise.network import inspection, queries
from countwise.network.blueprint import Blueprint
from countwise.network.net import Net
from countwise.network.queries import QueryAnswer
from countwise.working import Account, Grid

__all__ = ["FRAMES", "NetworkAnswers"]

_MOST_ROWS = 100_000_000  # of a drawn sample
FRAMES = ("pandas", "polars", "pyarrow")


class NetworkAnswers(TallyModel):
    """The queries of a network."""

    net_: Net
    terms_: list[Term]
    _blueprint: Blueprint

    def _net(self) -> Net:
        self._check_fitted()
        return self.net_

    def _evidence(self, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """Convert the user's evidence; the number of a discretized node becomes its bin."""
        return queries.evidence_of(self._net(), self._blueprint.cuts, given)

    def query(
        self,
        nodes: str | Sequence[str],
        given: Mapping[str, Any] | None = None,
        *,
        method: str = "exact",
        n: int = 10_000,
        random_state: int = 0,
    ) -> QueryAnswer:
        """Compute the posterior distribution P(nodes | given).

        Parameters
        ----------
        nodes : str or sequence of str
            A node, or several nominal nodes for their joint distribution.
        given : mapping of str to value, optional
            The evidence: the observed value of each observed node. A number observed for a discretized node is
            replaced by its bin. ``{value: weight}`` or an array is soft evidence on a nominal node: the likelihood of
            each value, up to a constant. None and NaN mean no evidence.
        method : {'exact', 'likelihood_weighting', 'gibbs'}, default='exact'
            'exact' uses variable elimination. 'likelihood_weighting' and 'gibbs' draw samples and also estimate
            standard errors. They support one nominal query node; use them if the exact computation needs too much
            memory.
        n : int, default=10000
            The number of samples; ignored by 'exact'.
        random_state : int, default=0
            The seed of the sampler; ignored by 'exact'.

        Returns
        -------
        QueryAnswer
            A dict that maps each value to its probability; for several nodes the keys are tuples of values. For a
            numeric node the keys are "mean" and "sd" (standard deviation).

        Examples
        --------
        >>> from countwise import BayesNetwork, samples
        >>> net = BayesNetwork("naive", target="play", smoothing=0).fit(samples.load("tennis").frame)
        >>> print(net.query("play", {"wind": "Weak"}))
        P(play | wind = Weak)
        No   0.25
        Yes  0.75
        """
        net, evidence = self._net(), self._evidence(given)
        return queries.query(net, nodes, evidence, shown=given or {}, method=method, n=n, seed=random_state)

    def marginals(self, given: Mapping[str, Any] | None = None) -> dict[str, QueryAnswer]:
        """Compute P(node | given) of every nominal node at once, by a junction tree.

        Parameters
        ----------
        given : mapping of str to value, optional
            The evidence, in the form that `query` accepts.

        Returns
        -------
        dict of str to QueryAnswer
            The posterior of each nominal node, including the nodes with evidence.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().add_arc("rain", "wet").add_node("rain", ["no", "yes"], [0.8, 0.2])
        >>> net = net.add_node("wet", ["no", "yes"], {"no": [0.9, 0.1], "yes": [0.2, 0.8]})
        >>> print(net.marginals()["wet"])
        P(wet)
        no   0.76
        yes  0.24
        """
        return queries.marginals(self._net(), self._evidence(given))

    def most_probable_explanation(self, given: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the most probable joint assignment of the nominal nodes that have no evidence (MPE).

        Parameters
        ----------
        given : mapping of str to value, optional
            The evidence, in the form that `query` accepts.

        Returns
        -------
        dict of str to value
            The value of each nominal node that has no evidence.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().add_arc("rain", "wet").add_node("rain", ["no", "yes"], [0.8, 0.2])
        >>> net = net.add_node("wet", ["no", "yes"], {"no": [0.9, 0.1], "yes": [0.2, 0.8]})
        >>> net.most_probable_explanation({"wet": "yes"})
        {'rain': 'yes'}
        """
        return self._net().most_probable_explanation(self._evidence(given))

    def log_evidence(self, given: Mapping[str, Any]) -> float:
        """Compute the logarithm of the probability of the evidence, log P(given).

        Parameters
        ----------
        given : mapping of str to value
            The evidence, in the form that `query` accepts.

        Returns
        -------
        float
            The natural logarithm of the probability; minus infinity if the evidence is impossible. Numeric nodes
            contribute the density of their value.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().add_node("rain", ["no", "yes"], [0.8, 0.2])
        >>> round(net.log_evidence({"rain": "yes"}), 6)
        -1.609438
        """
        return self._net().calibrated(self._evidence(given))[1]

    def _rows_of(self, X: Any) -> Table:
        """Encode a table with one column for each node."""
        self._check_fitted()
        return derive(encode_finite(self.schema_, self.schema_.opened(X)), self.terms_)

    def score_samples(self, X: Any) -> Floats:
        """Compute log P(row) of each row. Missing values are summed out.

        Parameters
        ----------
        X : any table
            The rows, with the columns of `fit`.

        Returns
        -------
        ndarray of shape (n_rows,)
            The natural logarithm of the probability of the observed values of each row. Numeric nodes contribute the
            density of their value.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().add_node("rain", ["no", "yes"], [0.75, 0.25])
        >>> net.score_samples({"rain": ["yes", "no", None]}).round(4).tolist()
        [-1.3863, -0.2877, 0.0]
        """
        return queries.log_prob_rows(self._net(), self._rows_of(X))

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Any:
        """Draw rows from the network.

        Parameters
        ----------
        n_samples : int, default=1
            The number of rows.
        random_state : int, Generator or None, default=None
            The seed; None gives different rows at each call.

        Returns
        -------
        table
            A data frame of the same library as the training data; a dict of columns if the network was not fitted on
            a pandas, Polars or PyArrow table.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().add_node("rain", ["no", "yes"], [0.5, 0.5])
        >>> len(net.sample(5, random_state=0)["rain"])
        5
        """
        net = self._net()
        check_number("n_samples", n_samples, 1, most=_MOST_ROWS, whole=True)
        check_value("random_state", random_state, SEED)
        cells = queries.sample_rows(net, int(n_samples), np.random.default_rng(random_state))
        library = getattr(self, "_library", None)
        return Grid({n: c.tolist() for n, c in cells.items()}).to_frame(library) if library in FRAMES else cells

    def explaining_away(
        self, cause: str | Mapping[str, Any], effect: Mapping[str, Any], other: str | Mapping[str, Any]
    ) -> Account:
        """Show whether a second cause explains an effect away, that is, makes the first cause less probable.

        Parameters
        ----------
        cause : str or mapping of str to value
            The first cause: a nominal node with its value, such as ``{"rain": "yes"}``. For a name alone, the value
            is used whose probability the effect raises by the largest factor.
        effect : mapping of str to value
            The observed effect.
        other : str or mapping of str to value
            The other cause, in the same form as `cause`.

        Returns
        -------
        Account
            P(cause) without evidence, given the other cause, given the effect, and given both; and whether the two
            causes are d-separated.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().add_node("rain", ["no", "yes"], [0.8, 0.2])
        >>> net = net.add_node("hose", ["no", "yes"], [0.9, 0.1])
        >>> net = net.add_arc("rain", "wet").add_arc("hose", "wet").add_node("wet", ["no", "yes"])
        >>> net = net.set_cpt("wet", [[[1, 0], [0.1, 0.9]], [[0.2, 0.8], [0.1, 0.9]]])
        >>> print(net.explaining_away("rain", {"wet": "yes"}, "hose").answer)
        hose = yes explains wet = yes away: P(rain = yes) falls from 69.2 % to 20.0 %.
        """
        return inspection.explaining_away(self._net(), cause, self._evidence(effect), other)

    def sensitivity(self, node: str, value: Any, given: Mapping[str, Any] | None = None) -> Grid:
        """Compute the derivative of P(node = value | given) with respect to each CPT entry.

        When one entry changes, the other entries of its row change in proportion, so that the row still sums to 1.

        Parameters
        ----------
        node : str
            A nominal node.
        value : object
            A value of this node.
        given : mapping of str to value, optional
            The evidence, in the form that `query` accepts.

        Returns
        -------
        Grid
            The node of the CPT, the entry, its probability P and the derivative, with the largest absolute derivative
            first. Entries with derivative 0 are omitted.

        Examples
        --------
        >>> from countwise import BayesNetwork
        >>> net = BayesNetwork().add_arc("rain", "wet").add_node("rain", ["no", "yes"], [0.8, 0.2])
        >>> net = net.add_node("wet", ["no", "yes"], {"no": [0.9, 0.1], "yes": [0.2, 0.8]})
        >>> print(net.sensitivity("wet", "yes"))
        node  entry                        P  derivative
        wet   P(wet = no | rain = no)    0.9        -0.8
        wet   P(wet = yes | rain = no)   0.1         0.8
        rain  P(rain = no)               0.8        -0.7
        rain  P(rain = yes)              0.2         0.7
        wet   P(wet = no | rain = yes)   0.2        -0.2
        wet   P(wet = yes | rain = yes)  0.8         0.2
        """
        return inspection.sensitivity_grid(self._net(), node, value, self._evidence(given))
