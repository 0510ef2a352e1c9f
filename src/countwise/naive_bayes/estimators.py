"""Naive Bayes with scikit-learn's face."""

from __future__ import annotations

from countwise.base.faces import Classifier
from countwise.naive_bayes.model import NaiveBayes

__all__ = ["NaiveBayesClassifier"]


class NaiveBayesClassifier(Classifier, NaiveBayes):
    """Naive Bayes for tables as they are: mixed columns, missing cells, answers with their working.

    .. math:: P(c | x) ∝ P(c) ∏_a P(x_a | c)

    Parameters
    ----------
    conditionals : str, conditional or mapping of column to either, optional
        The law of each column: "categorical", "bernoulli", "multinomial", "gaussian",
        "poisson", "kernel", "ranges", or "auto" (the law whose leave-one-out
        log P(class | that column) is best). A single one is the law of every column that
        it suits. By default nominal columns are categorical, numeric ones Gaussian,
        counts Poisson, texts and sparse blocks multinomial.
    smoothing : float, {"laplace", "global", "none"}, MEstimate or None, default=1
        Against zero counts: Laplace with that ε; ε from global statistics num(w) / num;
        an m-estimate; nothing.
    prior : {"raw", "smoothed", "uniform"}, mapping or array-like, default="raw"
        P(class): as counted, smoothed like the attributes, alike, or given.
    types : mapping of column to kind, str or Schema, optional
        "nominal", "ordinal", "numeric", "count", "text", "boolean", or an attribute. By
        default dtypes tell.
    categorical_features : array-like, optional
        Nominal columns as scikit-learn declares them: names, positions or a mask.
    missing : {"ignore", "value"} or mapping of column to either, default="ignore"
        A missing cell's factor is left out, or its absence is evidence. See `missing_report`.
    unseen : {"ignore", "share", "error"}, default="ignore"
        A value never met in training is left out, gets a share of the imagined counts,
        or is an error.

    Attributes
    ----------
    classes_ : ndarray
        The classes in order.
    tallies_ : dict
        All that was learned.
    schema_ : Schema
        What each column is.
    conditionals_ : dict
        The law of each column.
    choices_ : dict
        Under "auto": what each candidate scored.
    class_prior_ : ndarray
        P(class).

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier, samples
    >>> weather = samples.load("weather")
    >>> model = NaiveBayesClassifier(smoothing=0).fit(weather.X, weather.y)
    >>> day = [{"outlook": "sunny", "temperature": 66, "humidity": 90, "windy": True}]
    >>> model.predict(day).tolist(), model.predict_proba(day).round(4).tolist()
    (['no'], [[0.7921, 0.2079]])
    """
