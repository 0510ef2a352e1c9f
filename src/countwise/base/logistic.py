"""Logistic form: the posterior as a sigmoid (two classes) or a softmax of a linear function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.errors import OptionError, TableError, check_number
from countwise.working import Formula, Grid
from countwise.working.numbers import number

__all__ = ["LogisticForm", "linear_form"]


@dataclass(frozen=True, eq=False)
class LogisticForm:
    """Posterior written as sigmoid(w·x + b) for two classes, or as softmax(W x + b) for more.

    For two classes the sigmoid gives the second class: P(c₂ | x) = 1 / (1 + exp(-(w·x + b))).

    Parameters
    ----------
    target : str
        The name of the target.
    classes : tuple
        The classes.
    names : tuple of str
        The name of each input. A nominal column has an input ``name=value`` for each value, which is 1
        if the column has that value and 0 otherwise.
    weights : ndarray of shape (n_classes, n_inputs)
        The weights of the softmax.
    biases : ndarray of shape (n_classes,)
        The biases of the softmax.

    Attributes
    ----------
    w : ndarray of shape (n_inputs,)
        The weights of the sigmoid (two classes only).
    b : float
        The bias of the sigmoid (two classes only).

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
        """Weights of the sigmoid, for two classes."""
        self._check_two()
        return np.asarray(self.weights[1] - self.weights[0])

    @property
    def b(self) -> float:
        """Bias of the sigmoid, for two classes."""
        self._check_two()
        return float(self.biases[1] - self.biases[0])

    def _check_two(self) -> None:
        if len(self.classes) != 2:
            raise OptionError(
                f"The sigmoid is only defined for two classes; the model has {len(self.classes)}.",
                hint="use `weights` and `biases`, the parameters of the softmax.",
            )

    def predict_proba(self, X: Any) -> Floats:
        """Return P(class | x) computed from the weights and biases.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_inputs)
            The inputs in the order of `names`, without missing values.

        Returns
        -------
        ndarray of shape (n_rows, n_classes)
            The posterior of each class.

        Examples
        --------
        >>> from countwise import DiscriminantClassifier, samples
        >>> two = samples.load("weather").columns("temperature", "humidity", "play")
        >>> form = DiscriminantClassifier().fit(two, "play").logistic_form()
        >>> form.predict_proba([[66, 90], [80, 70]]).round(4).tolist()
        [[0.4906, 0.5094], [0.1714, 0.8286]]
        """
        rows = np.atleast_2d(np.asarray(X, dtype=np.float64))
        if rows.shape[1] != len(self.names):
            raise TableError(f"X has {rows.shape[1]} columns, but the logistic form has {len(self.names)} inputs.")
        if not np.isfinite(rows).all():
            raise TableError(
                "X has a missing or infinite value; the logistic form needs every input.",
                hint="use predict_proba of the model, which accepts missing values.",
            )
        scores = rows @ self.weights.T + self.biases
        scores -= scores.max(axis=1, keepdims=True)
        odds = np.exp(scores)
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def latex(self, width: int | None = None) -> str:
        r"""Return the form as LaTeX; the document must load amsmath.

        Parameters
        ----------
        width : int or None, default=None
            The formula is broken to fit into this many characters; a beamer frame has about 56. If None, it is not
            broken.

        Returns
        -------
        str
            Displayed mathematics: the sigmoid, or the score of each class.

        Examples
        --------
        >>> from countwise import DiscriminantClassifier, samples
        >>> two = samples.load("weather").columns("temperature", "humidity", "play")
        >>> print(DiscriminantClassifier().fit(two, "play").logistic_form().latex(width=56))
        \begin{align*}
          & P(\text{play} = \text{yes} \mid x) = \frac{1}{1 + \exp(- z)} \\
          & z = 7.6581 - 0.00542398 \cdot \text{temperature} \\
          & \quad - 0.0806966 \cdot \text{humidity}
        \end{align*}
        """
        check_number("width", width, 1, none=True)
        from countwise.working.latex import lines_latex

        if len(self.classes) == 2:
            posterior = f"P({self.target} = {self.classes[1]} | x) = 1/(1 + exp(-z))"
            scores = [f"z = {_linear(self.b, self.w, self.names)}"]
        else:
            posterior = f"P({self.target} = c | x) = exp(z_c)/Σ_k exp(z_k)"
            rows = zip(self.classes, self.biases.tolist(), self.weights, strict=True)
            scores = [f"z({c}) = {_linear(b, w, self.names)}" for c, b, w in rows]
        return "\n".join(lines_latex(list(map(Formula, [posterior, *scores])), width))

    def table(self) -> Grid:
        """Return weights and biases as a table.

        Returns
        -------
        Grid
            A row for the bias and for each input. Two classes give one column, with the weights of the sigmoid; more
            classes give a column for each class.

        Examples
        --------
        >>> from countwise import DiscriminantClassifier, samples
        >>> two = samples.load("weather").columns("temperature", "humidity", "play")
        >>> print(DiscriminantClassifier().fit(two, "play").logistic_form().table())
                             yes
        bias          7.6581
        temperature  -0.00542398
        humidity     -0.0806966
        """
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
    """Return the logistic form of a naive Bayes classifier whose distributions are linear in their values."""
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
            "A probability is 0, so its logarithm, a weight of the logistic form, is infinite.",
            hint="use smoothing=1, which keeps probabilities above 0.",
        )
    return LogisticForm(model.target_.name, tuple(model.classes_.tolist()), tuple(names), matrix, biases)
