"""The models of whole rows with scikit-learn's face; apart, so that naive Bayes need not wait for them."""

from __future__ import annotations

from sklearn.base import DensityMixin

from countwise.base.faces import Classifier, Estimator
from countwise.discriminant.model import Discriminant
from countwise.neighbors.prototype import Prototype
from countwise.parzen.model import ParzenBayes, ParzenEstimate

__all__ = ["DiscriminantClassifier", "ParzenClassifier", "ParzenDensity", "PrototypeClassifier"]


class DiscriminantClassifier(Classifier, Discriminant):
    """Gaussian discriminants: LDA (GDA), QDA, Gaussian naive Bayes and nearest mean as one family.

    .. math:: P(c | x) ∝ P(c) exp(-(x - μ_c)' Σ_c⁻¹ (x - μ_c) / 2) / √((2π)^d |Σ_c|)

    Its learned state is a mean and a scatter matrix for each class (and each pattern of missing
    cells): it merges, learns in pieces and forgets, and a fit is one pass over the rows.

    Parameters
    ----------
    covariance : {"shared", "own", "diagonal", "spherical"}, default="shared"
        One Σ for all classes (LDA, the GDA of lecture 002); one each (QDA); one each without
        correlations (Gaussian naive Bayes); one variance for everything (nearest mean).
    divisor : {"n", "n-classes"}, default="n"
        Scatter over the number of rows, as lecture 002 and scikit-learn's LDA have it, or
        without bias: over n - classes for a shared Σ, n_c - 1 for a class's own (scikit-learn's QDA until 1.7).
    shrinkage : float, {"auto", "oas"} or None, default=None
        (1 - s) Σ + s (tr Σ / d) I with that s, or with the s of Ledoit and Wolf ("auto") or of the
        oracle-approximating formula ("oas"), columns brought to deviation 1 first; a number shrinks in
        the columns' own units, as in scikit-learn. Where cells are
        missing "auto" is "oas": Ledoit and Wolf need fourth moments, which gaps do not have.
    prior : {"raw", "uniform"}, mapping or array-like, default="raw"
        P(class): as counted, alike, or given.
    missing : {"em", "complete"}, default="em"
        In training: Σ and means under which all cells that are there are likeliest, or those of the
        rows without a gap. In prediction a missing cell is integrated out.
    nominal : {None, "onehot"}, default=None
        Columns of names are refused, or become a number for each value but the first.
    types : mapping of column to kind, str or Schema, optional
        What the columns are, where dtypes do not tell.

    Attributes
    ----------
    classes_ : ndarray
        The classes in order.
    means_ : ndarray, shape (classes, columns)
        Class means.
    covariance_ : ndarray
        Σ, or a Σ for each class.
    columns_ : tuple of str
        The numbers in use.
    left_out_ : dict
        The numbers not in use, and why: never seen, constant, told by others.
    shrinkage_ : ndarray
        By how much Σ was shrunk.
    n_iter_ : int
        Steps of EM.
    n_complete_ : float
        Rows without a gap.
    class_prior_ : ndarray
        P(class).
    tallies_ : dict
        All that was learned.

    Examples
    --------
    >>> from countwise import DiscriminantClassifier, samples
    >>> weather = samples.load("weather").columns("temperature", "humidity", "play")
    >>> model = DiscriminantClassifier().fit(weather, "play")
    >>> model.predict_proba([[66, 90]]).round(6).tolist()
    [[0.490646, 0.509354]]
    >>> print(model.logistic_form())
    P(play = yes | x) = sigmoid(7.6581 - 0.00542398·temperature - 0.0806966·humidity)
    """

    _takes_names = False  # unless it is asked to, with nominal="onehot"


class ParzenClassifier(Classifier, ParzenBayes):
    """A Parzen density of whole rows for each class: mixed columns, missing cells, widths by column and class.

    .. math:: P(c | x) ∝ P(c) 1/n_c Σ_i ∏_j K((x_j - x_ij) / h_cj) / h_cj

    Parameters
    ----------
    width : float, str or mapping of column to either, default="silverman"
        Of each class and column: "silverman", "scott", "sheather_jones" (improved), "leave_one_out"
        (where left-out rows of the class are likeliest), or a number. See `ParzenDensity`.
    kernel : {"gaussian", "epanechnikov", "uniform"} or mapping of column to one, default="gaussian"
        Of columns of numbers.
    prior : {"raw", "uniform"}, mapping or array-like, default="raw"
        P(class): as counted, alike, or given.
    types : mapping of column to kind, str or Schema, optional
        What the columns are, where dtypes do not tell.
    unseen : {"ignore", "error"}, default="ignore"
        A value never met in training is left out, or is an error.

    Attributes
    ----------
    classes_ : ndarray
        The classes in order.
    widths_ : dict of dict
        The width of each column in each class.
    left_out_ : dict
        The columns not in use, and why.
    tallies_ : dict
        All that was learned: the rows.

    Examples
    --------
    >>> from countwise import ParzenClassifier, samples
    >>> rain = samples.load("rain")
    >>> model = ParzenClassifier(width={"temp": 2.0}).fit(rain.X, rain.y)
    >>> model.predict([{"wind": "north", "temp": 22.8}]).tolist()
    ['no']
    """


class ParzenDensity(DensityMixin, Estimator, ParzenEstimate):  # type: ignore[misc]
    """A Parzen (kernel) density of tables as they are: numbers, names and orders, missing cells, weights.

    .. math:: f(x) = 1/n Σ_i ∏_j K((x_j - x_ij) / h_j) / h_j

    Numbers have Gaussian, Epanechnikov or uniform kernels; names that of Aitchison and Aitken
    (1 - λ for the same value, λ / (k - 1) for any other); orders a geometric one (λ^|steps|, made
    to add up to 1). One column of numbers is summed by the fast Gauss transform, exact to 1e-12 of
    the peak and in logarithms to 1e-9 however far out; several by a tree of boxes, each sum to 1e-12 of itself.

    Parameters
    ----------
    width : float, str or mapping of column to either, default="silverman"
        "silverman" (0.9 min(σ, IQR / 1.349) n^(-1/(d+4))), "scott" (σ n^(-1/(d+4))), "sheather_jones"
        (improved), "leave_one_out" or "k_fold" (where held-out rows are likeliest), or a number. A number
        is for columns of numbers; of names and orders the width is the share λ, by default such
        that one column alone gets Laplace's shares. Epanechnikov and uniform kernels have the widths
        at which they smooth as the Gaussian does.
    kernel : {"gaussian", "epanechnikov", "uniform"} or mapping of column to one, default="gaussian"
        Of columns of numbers.
    cv : int or splitter, default=10
        For "k_fold": into how many folds the rows are dealt, at random and always alike, equal rows into
        one; or a splitter, or its splits.
    types : mapping of column to kind, str or Schema, optional
        What the columns are, where dtypes do not tell.
    unseen : {"ignore", "error"}, default="ignore"
        A value never met in training is left out, or is an error.

    Attributes
    ----------
    widths_ : dict
        The width of each column.
    width_curve_ : Grid
        For "leave_one_out" and "k_fold": train and held-out log-likelihood against the width, or
        against a factor on the widths if there are several. `countwise.plots.plot_width` draws it.
    best_width_ : float
        Where the held-out curve is highest.
    tallies_ : dict
        All that was learned: the rows.

    Examples
    --------
    >>> from countwise import ParzenDensity, samples
    >>> temp = {"temp": samples.load("rain").X["temp"]}
    >>> density = ParzenDensity("leave_one_out").fit(temp)
    >>> round(density.best_width_, 6), density.score_samples({"temp": [22.8]}).round(6).tolist()
    (5.077724, [-2.856261])
    """

    score = ParzenEstimate.score  # scikit-learn's mixin has one that answers nothing


class PrototypeClassifier(Classifier, Prototype):
    """Nearest mean, or nearest prototype: each class is its middle, and a row belongs to the nearest.

    .. math:: P(c | x) ∝ P(c) exp(-d(x, m_c)² / 2s²), or P(c) exp(-d(x, m_c) / s) with the Manhattan metric

    where s² (or s) is the mean squared (or plain) distance, a column, of the training rows from their own prototype:
    with the Euclidean metric and numbers alone the posterior is that of
    ``DiscriminantClassifier("spherical", prior="uniform")``.

    Parameters
    ----------
    center : {"mean", "median"}, default="mean"
        The middle of numbers. Of names it is the commonest, of orders the middle value.
    metric : {"euclidean", "manhattan"} or Metric, default="euclidean"
        Distances add up as squares, or as they are; names differ by 0 or 1. A `Metric` with p 1 or 2 says itself how
        numbers, orders and names are compared and weighed; cells that are missing add nothing.
    scale : {"auto", "deviation", None}, default="auto"
        Numbers in deviations of their column, and orders from 0 to 1; "auto" does so where names
        stand beside numbers, and else takes numbers as they are.
    prior : {"uniform", "raw"}, mapping or array-like, default="uniform"
        P(class): alike, so that the nearest wins, as counted, or given.
    types : mapping of column to kind, str or Schema, optional
        What the columns are, where dtypes do not tell.
    unseen : {"ignore", "error"}, default="ignore"
        A value never met in training is left out, or is an error.

    Attributes
    ----------
    classes_ : ndarray
        The classes in order.
    prototypes_ : Grid
        The prototype of each class.
    tallies_ : dict
        All that was learned.

    Examples
    --------
    >>> from countwise import PrototypeClassifier, samples
    >>> weather = samples.load("weather").columns("temperature", "humidity", "play")
    >>> model = PrototypeClassifier().fit(weather, "play")
    >>> model.distances([[66, 90]]).round(6).tolist(), model.predict([[66, 90]]).tolist()
    ([[9.402127, 12.944802]], ['no'])
    """
