"""The logistic form: a posterior written as a sigmoid (two classes) or softmax of a linear function (002)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.errors import OptionError, TableError
from countwise.working import Grid
from countwise.working.numbers import number

__all__ = ["LogisticForm", "linear_form"]


@dataclass(frozen=True, eq=False)
class LogisticForm:
    """Weights and bias such that the posterior is sigmoid(w·x + b), or softmax(W x + b) for more classes.

    For two classes the sigmoid is that of the second class: P(c2 | x) = 1 / (1 + exp(-(w·x + b))).

    Parameters
    ----------
    target, classes : str and tuple
        The target and its values.
    names : tuple of str
        The numbers that the weights are for; of a nominal column ``name=value`` is 1 where it has that value.
    weights, biases : ndarray, shape (classes, numbers) and (classes,)
        Those of the softmax.

    Examples
    --------
    >>> from countwise import DiscriminantClassifier, samples
    >>> two = samples.load("weather").columns("temperature", "humidity", "play")
    >>> form = DiscriminantClassifier().fit(two, "play").logistic_form()
    >>> print(form)
    P(play = yes | x) = sigmoid(7.6581 - 0.00542398·temperature - 0.0806966·humidity)
    >>> form.predict_proba([[66, 90]]).round(6).tolist()
    [[0.490646, 0.509354]]
    """

    target: str
    classes: tuple[Any, ...]
    names: tuple[str, ...]
    weights: Floats
    biases: Floats

    @property
    def w(self) -> Floats:
        """The weights of the sigmoid, for two classes."""
        self._check_two()
        return np.asarray(self.weights[1] - self.weights[0])

    @property
    def b(self) -> float:
        """The bias of the sigmoid, for two classes."""
        self._check_two()
        return float(self.biases[1] - self.biases[0])

    def _check_two(self) -> None:
        if len(self.classes) != 2:
            raise OptionError(
                f"A sigmoid is for two classes; here are {len(self.classes)}.",
                hint="weights and biases are those of the softmax.",
            )

    def predict_proba(self, X: Any) -> Floats:
        """P(class | x) by the formula, for rows of numbers in the order of `names`.

        Parameters
        ----------
        X : array-like, shape (rows, numbers)
            None of them missing.

        Returns
        -------
        ndarray, shape (rows, classes)
        """
        rows = np.atleast_2d(np.asarray(X, dtype=np.float64))
        if rows.shape[1] != len(self.names):
            raise TableError(f"A row has {rows.shape[1]} numbers; the form has weights for {len(self.names)}.")
        if not np.isfinite(rows).all():
            raise TableError(
                "A cell is missing or infinite: the formula needs every number.", hint="the model itself takes gaps."
            )
        scores = rows @ self.weights.T + self.biases
        scores -= scores.max(axis=1, keepdims=True)
        shares = np.exp(scores)
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def table(self) -> Grid:
        """Weights and biases as a readable table; for two classes those of the sigmoid."""
        if len(self.classes) == 2:
            return Grid({"": ["bias", *self.names], f"{self.classes[1]}": [self.b, *map(float, self.w)]})
        columns = {str(c): [float(self.biases[k]), *map(float, self.weights[k])] for k, c in enumerate(self.classes)}
        return Grid({"": ["bias", *self.names], **columns})

    def __str__(self) -> str:
        if len(self.classes) == 2:
            inner = _linear(self.b, self.w, self.names)
            return f"P({self.target} = {self.classes[1]} | x) = sigmoid({inner})"
        rows = zip(self.classes, self.biases.tolist(), self.weights, strict=True)
        lines = [f"  {c}: {_linear(b, w, self.names)}" for c, b, w in rows]
        return "\n".join([f"P({self.target} = c | x) = softmax of", *lines])

    __repr__ = __str__


def _linear(b: float, w: Floats, names: tuple[str, ...]) -> str:
    text = number(b)
    for slope, name in zip(w.tolist(), names, strict=True):
        text += f" {'-' if slope < 0 else '+'} {number(abs(slope))}·{name}"
    return text


def linear_form(model: Any) -> LogisticForm:
    """The logistic form of a naive Bayes whose distributions are linear in their values."""
    names: list[str] = []
    weights: list[Floats] = []
    biases = model.log_prior_
    for key, density in model.densities_.items():
        own, slopes, bias = density.linear_terms(key)
        names += own
        weights += slopes
        biases = biases + bias
    matrix = np.array(weights).reshape(len(names), len(biases)).T
    if not np.isfinite(matrix).all() or not np.isfinite(biases).all():
        raise OptionError(
            "Some probability is 0, and its logarithm no weight.", hint="smoothing=1 keeps probabilities above 0."
        )
    return LogisticForm(model.target_.name, tuple(model.classes_.tolist()), tuple(names), matrix, biases)
