"""Networks with scikit-learn's face."""

from __future__ import annotations

from countwise.base.faces import Classifier, Estimator
from countwise.network.classifier import NetworkBayes
from countwise.network.model import BeliefNetwork

__all__ = ["BayesNetwork", "NetworkClassifier"]


class BayesNetwork(Estimator, BeliefNetwork):
    """A Bayesian belief network over names and numbers: drawn by hand, learned from a table, or both (004).

    .. math:: P(x_1, ..., x_d) = ∏_i P(x_i | parents of x_i)

    Names have tables. Numbers have a law of their own for each combination of the names above them, and Gaussians may
    depend on Gaussians by a line; a number that names depend on is held by its ranges.

    Parameters
    ----------
    structure : str, mapping, list of arcs, Graph or networkx graph, default="given"
        Who depends on whom: ``{child: [parents]}`` or pairs (parent, child); or "given" (what `arc` drew), "ordering"
        (the loop of 004 over `order`), "orders" and "annealing" (a search for the ordering), "chow_liu" (the tree of
        most mutual information), "naive", "tan", "k_dependence" (with the class `target`), "hill_climb".
    order : sequence of str, optional
        For "ordering": causes before effects; by default the columns as they stand.
    criterion : {"bic", "aic", "bdeu", "k2", "log_likelihood"}, default="bic"
        What a structure is judged by. "bdeu" and "k2" are of names: numbers are then held by their ranges.
    ess : float, default=1
        For "bdeu": the equivalent sample size.
    max_parents : int, default=3
        The most parents that a search gives a node.
    required, forbidden : arcs, optional
        What a search must and must not find; `arc` draws required ones too.
    tiers : list of lists, or mapping of node to number, optional
        No arc that is searched goes from a later tier to an earlier one.
    target : str, optional
        The class, for "naive", "tan" and "k_dependence".
    root : str, optional
        Where the tree of "chow_liu" and "tan" begins.
    k : int, default=2
        For "k_dependence": the most parents beside the class.
    smoothing : float, {"laplace", "global", "bdeu", "none"}, MEstimate, Dirichlet or None, default=1
        Against zero counts: Laplace with that ε, or imagined rows. Unless it is 0, a Gaussian in a combination of
        several parents' values has one imagined row of the spread within all combinations.
    conditionals : mapping of column to law, optional
        Of numbers: "gaussian", "poisson", "kernel", "ranges". By default numbers are Gaussian, counts Poisson.
    ranges : int, str, list of edges or Ranges, default=4
        How numbers are cut that names depend on: how many ranges of equal frequency, or a rule.
    types, categorical_features
        What columns are; see `NaiveBayesClassifier`.
    missing : {"em", "available", "complete"}, default="em"
        Missing cells: expected counts by EM (and by structural EM where the structure is searched), each family from
        the rows that have all of it, or only rows that lack nothing.
    latent : mapping of node to number of values or list of values, optional
        Nodes that no column shows.
    restarts : int, default=3
        Of the searches.
    max_iter : int, default=500
        The most steps of EM.
    tol : float, default=1e-8
        EM ends with a step that moves no probability by more.
    random_state : int or None, default=0
        Of searches, and of where latent nodes begin.
    nodes, arcs, tables : optional
        What `node`, `arc` and `table` wrote.

    Attributes
    ----------
    graph_ : Graph
        The structure.
    found_ : Found or None
        Its score, and every arc that was tried.
    em_ : Learned or None
        The log-likelihood before each step of EM.
    tallies_ : dict
        All that was counted; expected counts where EM filled gaps.
    cuts_ : dict
        Where numbers are cut that are held by their ranges.

    Examples
    --------
    >>> from countwise import BayesNetwork, samples
    >>> tennis = samples.load("tennis")
    >>> net = BayesNetwork("naive", target="play", smoothing=0).fit(tennis.frame)
    >>> day = {"outlook": "Sunny", "temperature": "Cool", "humidity": "High", "wind": "Strong"}
    >>> print(net.query("play", day))
    P(play | outlook = Sunny, temperature = Cool, humidity = High, wind = Strong)
    No   0.795417
    Yes  0.204583
    >>> net.separated("outlook", "wind", given="play"), net.separated("outlook", "wind")
    (True, False)
    """

    score = BeliefNetwork.score


class NetworkClassifier(Classifier, NetworkBayes):
    """A class told by a Bayesian network: naive Bayes, a tree beside it (TAN), and on to any structure.

    .. math:: P(c | x) ∝ P(c | parents) ∏_a P(x_a | c, parents of a)

    Naive Bayes takes attributes for independent within a class. `conditional_mi_` shows which pairs are not; "tan"
    gives every attribute one parent beside the class, "k_dependence" up to k, "hill_climb" whatever pays.
    A missing cell is no evidence: what depends on it is summed over its values.

    Parameters
    ----------
    structure : str, mapping, list of arcs, Graph or networkx graph, default="tan"
        "naive", "tan", "k_dependence", "hill_climb", "ordering", "orders", "annealing", or the arcs themselves. See
        `BayesNetwork`; the class is a node by its column's name, or "class".
    prior : {"raw", "smoothed", "uniform"}, mapping or array-like, default="raw"
        P(class), where it depends on nothing.
    ranges : int, str, list of edges or Ranges, default="mdl"
        How numbers are cut that names depend on.
    unseen : {"ignore", "error"}, default="ignore"
        A value never met in training is taken for missing, or is an error.
    order, criterion, ess, max_parents, required, forbidden, tiers, root, k
        As for `BayesNetwork`.
    smoothing, conditionals, types, categorical_features, missing, restarts, max_iter, tol, random_state
        As for `BayesNetwork`. Texts and sparse blocks depend on the class alone.

    Attributes
    ----------
    classes_ : ndarray
        The classes in order.
    graph_ : Graph
        The structure, the class among the nodes.
    conditional_mi_ : Grid
        What each two attributes tell of each other within the classes, in bits.
    tallies_ : dict
        All that was counted.

    Examples
    --------
    >>> from countwise import NetworkClassifier, samples
    >>> tennis = samples.load("tennis")
    >>> model = NetworkClassifier("tan").fit(tennis.frame, "play")
    >>> [arc for arc in model.graph_.arcs if "play" not in arc]
    [('outlook', 'temperature'), ('temperature', 'humidity'), ('outlook', 'wind')]
    >>> model.predict_proba([{"outlook": "Sunny", "humidity": "High"}]).round(4).tolist()
    [[0.6655, 0.3345]]
    """
