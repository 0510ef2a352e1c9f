"""The scikit-learn estimator protocol without its base classes.

It covers settings, tags, scores, `set_output` and metadata routing. scikit-learn itself is imported only when it is
needed, because importing it takes longer than most fits.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Hashable
from inspect import Parameter, signature
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from countwise import _docstrings
from countwise._typing import Floats
from countwise.data.cells import one_row
from countwise.data.frames import Frame, series_of
from countwise.errors import SEED, NumberIn, OptionError, check_flag, check_value, did_you_mean, listed, warn
from countwise.sources.memory import memory
from countwise.working import Change, Grid
from countwise.working.numbers import number

__all__ = [
    "Classifier",
    "Estimator",
    "Regressor",
    "Transformer",
    "check_level",
    "dirichlet_draws",
    "refuse_unfitted",
    "write_tables",
]

_NOT_METADATA = {"self", "X", "y"}
_MOST_DRAWS = 1_000_000
_LONGEST_VALUE = 200  # characters of one setting in a repr


_KNOWN: dict[Any, dict[str, Any]] = {}  # inspecting signatures is slow


def _defaults(cls: Any) -> dict[str, Any]:
    """Return the settings of a class and their defaults, in the order of its signature."""
    if cls not in _KNOWN:
        own = cls.__init__ is not object.__init__
        _KNOWN[cls] = (
            {p.name: p.default for p in list(signature(cls.__init__).parameters.values())[1:]} if own else {}
        )
    return _KNOWN[cls]


def refuse_unfitted(model: Any) -> None:
    """Raise scikit-learn's NotFittedError if the model is not fitted."""
    if not model.__sklearn_is_fitted__():
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(
            f"This {type(model).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments first."
        )


def write_tables(self: Any, path: Any, name: str | None = None) -> None:
    """Write the tables of a fitted model to an Excel file or a CSV file.

    The tables are those of `tables`, with all digits. The count of each relative frequency is a column of its own.

    Parameters
    ----------
    path : str or path-like
        A file that ends in .xlsx, with a sheet for each table, or in .csv. Several tables in a CSV file have a line
        for each cell, with the columns table, row, column and value.
    name : str or None, default=None
        Write only this table. In a CSV file it is then written as it is.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from countwise import NaiveBayesClassifier, samples
    >>> rain = samples.load("rain")
    >>> model = NaiveBayesClassifier().fit(rain.X, rain.y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.write_tables(Path(folder) / "wind.csv", "wind")
    ...     print((Path(folder) / "wind.csv").read_text())
    wind,count no,count yes,no,yes
    east,1,2,0.4,0.6
    north,2,1,0.6,0.4
    <BLANKLINE>
    """
    from countwise.io.spreadsheets import write_tables as write

    write(self.tables(), path, name)


class Estimator:
    """Base of all estimators, by the scikit-learn protocol; they accept mixed columns with missing values."""

    _estimator_type: ClassVar[str | None] = None
    _takes_names = True  # whether nominal columns are accepted
    _ignored: ClassVar[tuple[str, ...]] = ()  # arguments present only for scikit-learn

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        _docstrings.complete(vars(cls), cls._ignored)

    # -- settings ---------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether to include the settings of nested estimators, with keys such as ``metric__p``.

        Returns
        -------
        dict of str to object
            The settings.

        Examples
        --------
        >>> from countwise import Discretizer
        >>> Discretizer("equal_width", n_bins=4).get_params()["n_bins"]
        4
        """
        found, deep = dict[str, Any](), check_flag("deep", deep)
        for name in _defaults(type(self)):
            value = found[name] = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                found.update((f"{name}__{inner}", own) for inner, own in value.get_params().items())
        return found

    def set_params(self, **params: Any) -> Self:
        """Change settings.

        Parameters
        ----------
        **params : object
            New values by name. Settings of a nested estimator have keys such as ``metric__p``.

        Returns
        -------
        self
            The estimator.

        Examples
        --------
        >>> from countwise import Discretizer
        >>> Discretizer().set_params(method="equal_width", n_bins=4)
        Discretizer(method='equal_width', n_bins=4)
        """
        nested: dict[str, dict[str, Any]] = defaultdict(dict)
        for key, value in params.items():
            name, inside, rest = key.partition("__")
            if name not in _defaults(type(self)):
                raise OptionError(
                    f"Invalid parameter {name!r} for estimator {self}. "
                    f"Valid parameters are: {sorted(_defaults(type(self)))!r}."
                )
            if inside and not hasattr(getattr(self, name), "set_params"):
                raise OptionError(
                    f"Parameter {key!r} is invalid: {name} is {getattr(self, name)!r}, which has no parameters.",
                    hint=f"set {name} to an estimator first.",
                )
            if inside:
                nested[name][rest] = value
            else:
                setattr(self, name, value)
        for name, inner in nested.items():
            getattr(self, name).set_params(**inner)
        return self

    def __repr__(self) -> str:
        defaults = _defaults(type(self))
        changed = []
        for name, default in defaults.items():
            text = repr(getattr(self, name))
            if text != repr(default):
                text = text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 3]}..."
                changed.append(f"{name}={text}")
        name = type(self).__name__
        line = f"{name}({', '.join(changed)})"
        return line if len(line) <= 79 else f"{name}(" + f",\n{' ' * (len(name) + 1)}".join(changed) + ")"

    # -- tags and display ----------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "schema_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        given = InputTags(allow_nan=True, categorical=self._takes_names, string=True, sparse=True)
        return Tags(estimator_type=self._estimator_type, target_tags=TargetTags(required=False), input_tags=given)

    @property
    def _repr_html_(self) -> Any:
        """The diagram shown in notebooks; absent if scikit-learn is configured to show text."""
        from sklearn import get_config
        from sklearn.utils import estimator_html_repr

        if get_config()["display"] != "diagram":
            raise AttributeError("_repr_html_ is defined only if scikit-learn's 'display' option is 'diagram'.")
        return lambda: estimator_html_repr(self)

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown = {"text/plain": repr(self)}
        html = getattr(self, "_repr_html_", None)
        return shown if html is None else {**shown, "text/html": html()}

    def _get_params_html(self, *args: Any, **kwargs: Any) -> Any:
        from sklearn.base import BaseEstimator

        return BaseEstimator._get_params_html(self, *args, **kwargs)

    def _get_fitted_attr_html(self, *args: Any, **kwargs: Any) -> Any:
        from sklearn.base import BaseEstimator

        return BaseEstimator._get_fitted_attr_html(self, *args, **kwargs)

    # -- metadata routing ----------------------------------------------------------------

    def get_metadata_routing(self) -> Any:
        """Return which metadata each method requests, for scikit-learn's metadata routing.

        Returns
        -------
        MetadataRequest
            The requests of `fit`, `partial_fit` and `score`.
        """
        from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object

        if hasattr(self, "_metadata_request"):
            return get_routing_for_object(self._metadata_request)
        requests = MetadataRequest(owner=type(self).__name__)
        for method in ("fit", "partial_fit", "score"):
            for name in self._metadata(method):
                getattr(requests, method).add_request(param=name, alias=None)
        return requests

    _get_metadata_request = get_metadata_routing

    @classmethod
    def _metadata(cls, method: str) -> list[str]:
        """Return the parameters of a method besides the table and the target."""
        found = getattr(cls, method, None)
        if found is None:
            return []
        named = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
        return [
            p.name for p in signature(found).parameters.values() if p.kind in named and p.name not in _NOT_METADATA
        ]

    def _request(self, method: str, wanted: dict[str, Any]) -> Self:
        from sklearn import get_config

        if not get_config()["enable_metadata_routing"]:
            raise RuntimeError(
                "This method is only available when metadata routing is enabled. "
                "You can enable it using sklearn.set_config(enable_metadata_routing=True)."
            )
        odd = set(wanted) - set(self._metadata(method))
        if odd:
            raise TypeError(f"Unexpected args: {odd} in {method}. Accepted arguments are: {self._metadata(method)}")
        requests = self.get_metadata_routing()
        for name, alias in wanted.items():
            getattr(requests, method).add_request(param=name, alias=alias)
        self._metadata_request = requests
        return self

    def set_fit_request(self, **metadata: bool | str | None) -> Self:
        """Choose which metadata, such as `sample_weight`, scikit-learn's metadata routing passes to `fit`.

        Parameters
        ----------
        **metadata : bool, str or None
            For each parameter of `fit`: True passes it, False does not, None raises an error if it is given, and a
            string is the name under which it is passed to the meta-estimator.

        Returns
        -------
        self
            The estimator.
        """
        return self._request("fit", metadata)

    def set_score_request(self, **metadata: bool | str | None) -> Self:
        """Choose whether scikit-learn's metadata routing passes `sample_weight` to `score`.

        Parameters
        ----------
        **metadata : bool, str or None
            For each parameter of `score`: True passes it, False does not, None raises an error if it is given, and a
            string is the name under which it is passed to the meta-estimator.

        Returns
        -------
        self
            The estimator.
        """
        return self._request("score", metadata)


def check_level(name: str, level: Any) -> None:
    """Raise an error unless a level is a number between 0 and 1."""
    if level not in NumberIn(0, 1, strict=True):
        raise OptionError(f"{name} must be a number between 0 and 1, not {level!r}.")


def dirichlet_draws(counts: Floats, draws: int, rng: np.random.Generator) -> Floats:
    """Draw the proportions behind counts from their posterior with Jeffreys' prior, shape (draws, classes)."""
    return np.asarray(rng.dirichlet(np.asarray(counts, dtype=np.float64) + 0.5, draws))


class Classifier(Estimator):
    """Base of classifiers, by the scikit-learn protocol."""

    _estimator_type = "classifier"
    write_tables = write_tables

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.classifier_tags, tags.target_tags.required = ClassifierTags(), True
        return tags

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of the posterior probability of each class; -inf for a probability of 0.

        Examples
        --------
        >>> from countwise import NeighborsClassifier, samples
        >>> rain = samples.load("rain")
        >>> model = NeighborsClassifier(3).fit(rain.X, rain.y)
        >>> model.predict_log_proba([{"wind": "north", "temp": 20}]).round(4).tolist()
        [[-0.4055, -1.0986]]
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))  # type: ignore[attr-defined]

    def counterfactuals(self, X: Any, *, row: int = 0) -> Grid:
        """Return the smallest changes of one row that change its prediction.

        Naive Bayes finds the fewest changes of its terms. Other classifiers are asked: every change of one attribute
        to another value is tried, then pairs of changes, then further changes one after the other. The values of a
        number are those around the thresholds of a tree, those of the training rows, or a grid.

        Parameters
        ----------
        X : table
            The rows.
        row : int, default=0
            The position of the row in X; negative positions count from the end.

        Returns
        -------
        Grid
            A row for each other class that can be reached, up to three: the change, the class that is then predicted,
            and its probability. Changes of few attributes come first.

        Examples
        --------
        >>> from countwise import TreeClassifier, samples
        >>> weather = samples.load("weather")
        >>> model = TreeClassifier().fit(weather.frame, "play")
        >>> print(model.counterfactuals([{"outlook": "sunny", "humidity": 90, "windy": False}]))
        change              play  probability
        outlook = overcast  yes             1
        """
        found = self._changes(X, row)
        changes = [" and ".join(f"{name} = {value}" for name, value in change.values.items()) for change in found]
        return Grid(
            {
                "change": changes,
                self.target_.name: [change.to for change in found],  # type: ignore[attr-defined]
                "probability": [change.posterior for change in found],
            }
        )

    def _changes(self, X: Any, row: int) -> list[Change]:
        """Return the counterfactuals of one row."""
        from countwise.base.portraits import searched_changes

        return searched_changes(self, one_row(self._open(X), row))  # type: ignore[attr-defined]

    def _numbers_to_try(self, name: str) -> Any:
        """Return the numbers that a counterfactual tries for a numeric attribute, sorted; None for no change."""
        return None

    def portrait(self, cls: Any) -> Grid:
        """Describe a class by the typical value of each attribute.

        Naive Bayes and networks give the most probable value or the mean of P(attribute | class), discriminants the
        mean, prototypes the prototype, Parzen classifiers and nearest neighbors the mean or the most frequent value
        of the training rows. A tree or a rule list gives the conditions of the leaf or rule with the most training
        rows of the class.

        Parameters
        ----------
        cls : object
            The class.

        Returns
        -------
        Grid
            A row for each attribute with its typical value and a remark.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> rain = samples.load("rain")
        >>> print(NaiveBayesClassifier().fit(rain.X, rain.y).portrait("no"))
        attribute  typical  remark
        wind       north    60% of the class
        temp       25.0333  ± 6.43843
        """
        c = self._class_code(cls)
        found = self._portrait(c)
        return Grid(
            {
                "attribute": [name for name, _, _ in found],
                "typical": [number(v) if isinstance(v, float) else str(v) for _, v, _ in found],
                "remark": [remark for _, _, remark in found],
            }
        )

    def sample(self, n_samples: int = 1, random_state: Any = None, *, cls: Any = None) -> Any:
        """Draw rows, if the model has a distribution of the rows; this one has none.

        Parameters
        ----------
        n_samples : int, default=1
            The number of rows.
        random_state : int, Generator or None, default=None
            The seed; None gives different rows at each call.
        cls : object, default=None
            Draw rows of this class only.

        Returns
        -------
        table
            The rows.

        Raises
        ------
        OptionError
            If the model has no distribution of the rows.
        """
        refuse_unfitted(self)
        raise OptionError(
            f"{type(self).__name__} draws no rows: it models P(class | row), and has no distribution of the rows.",
            hint="use NaiveBayesClassifier, DiscriminantClassifier, ParzenClassifier or BayesNetworkClassifier.",
        )

    def _class_code(self, cls: Any) -> int:
        """Return the position of a class; an unknown class is an error."""
        refuse_unfitted(self)
        classes: list[Any] = self.classes_.tolist()  # type: ignore[attr-defined]
        if not isinstance(cls, Hashable) or cls not in classes:
            hint = did_you_mean(cls, classes) or f"use one of the classes {listed(classes)}."
            raise OptionError(f"There is no class {cls!r}.", hint=hint)
        return classes.index(cls)

    def _portrait(self, c: int) -> list[tuple[str, Any, str]]:
        """Return each attribute with its typical value in class c and a remark."""
        raise OptionError(
            f"{type(self).__name__} does not describe its classes by typical values.",
            hint="use NaiveBayesClassifier, or another classifier.",
        )

    def predict_interval(self, X: Any, *, level: float = 0.9, draws: int = 2000, random_state: int = 0) -> Floats:
        """Return a credible interval of each posterior P(class | row).

        The interval reflects the uncertainty of the estimated parameters. Parameters are drawn from their posterior
        distribution, P(class | row) is computed again for each draw, and the interval contains the middle part of
        these values. Drawn are: Dirichlet for categorical and multinomial attributes, the leaves of a tree, the rules
        of a list, identical rows and the votes of neighbors; normal and scaled inverse chi-square (or inverse
        Wishart) for means and (co)variances; gamma for rates of counts; and the Bayesian bootstrap for kernel
        densities. The structure, such as the tests of a tree, is kept.

        Parameters
        ----------
        X : table
            The rows.
        level : float, default=0.9
            The probability of the interval.
        draws : int, default=2000
            The number of draws for each row.
        random_state : int, default=0
            The seed of the draws.

        Returns
        -------
        ndarray of shape (n_rows, n_classes, 2)
            The lower and the upper limit for each class.

        Raises
        ------
        OptionError
            If the parameters of the model have no distribution; the message says why.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> model = NaiveBayesClassifier().fit(tennis.X, tennis.y)
        >>> low, high = model.predict_interval(tennis.X)[0, 0]
        >>> bool(low < model.predict_proba(tennis.X)[0, 0] < high)
        True
        """
        check_level("level", level)
        check_value("draws", draws, NumberIn(1, _MOST_DRAWS, whole=True))
        check_value("random_state", random_state, SEED)
        frame: Frame = self._open(X)  # type: ignore[attr-defined]
        proba = self.predict_proba(frame)  # type: ignore[attr-defined]
        ends = np.empty((*proba.shape, 2))
        for row, own in enumerate(proba):
            ends[row] = self._interval(frame.slice(row, row + 1), own, level, draws, random_state)
        return ends

    def _interval(self, one: Frame, own: Any, level: float, draws: int, seed: int) -> tuple[tuple[float, float], ...]:
        """Return the interval of each class for one row with the posterior `own`."""
        drawn = self._posterior_draws(one, draws, np.random.default_rng(seed))
        low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
        # where a probability is at the edge of what the data allow, such as 0, the draws lie beside it
        return tuple(zip(np.minimum(low, own).tolist(), np.maximum(high, own).tolist(), strict=True))

    def _posterior_draws(self, one: Frame, draws: int, rng: np.random.Generator) -> Floats:
        """Return P(class | row) for drawn parameters, shape (draws, classes)."""
        raise OptionError(f"{type(self).__name__} has no intervals: its parameters have no distribution.")

    def _labels_and_proba(self, X: Any) -> tuple[NDArray[Any], Floats]:
        """Return the predicted class of each row and P(class | row); in one pass if the model can."""
        return self.predict(X), self.predict_proba(X)  # type: ignore[attr-defined]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy: the proportion of rows whose class is predicted correctly.

        Rows for which the classifier abstains are not counted; NaN if it abstains for all of them.

        Examples
        --------
        >>> from countwise import NaiveBayesClassifier, samples
        >>> tennis = samples.load("tennis")
        >>> round(NaiveBayesClassifier().fit(tennis.X, tennis.y).score(tennis.X, tennis.y), 4)
        0.9286
        """
        refuse_unfitted(self)
        source = memory(X, y, sample_weight)
        target = self.target_  # type: ignore[attr-defined]
        predicted = target.encode(series_of(self.predict(source.frame))[0])  # type: ignore[attr-defined]
        known = predicted != target.missing
        right, weights = (predicted == target.encode(source.target))[known], source.weights
        weights = None if weights is None else weights[known]
        return float(np.average(right, weights=weights)) if known.any() else float("nan")


class Regressor(Estimator):
    """Base of regressors, by the scikit-learn protocol."""

    _estimator_type = "regressor"
    write_tables = write_tables

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import RegressorTags

        tags = super().__sklearn_tags__()
        tags.regressor_tags, tags.target_tags.required = RegressorTags(), True
        return tags

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R²: one minus the residual sum of squares divided by the total sum of squares.

        Examples
        --------
        >>> from countwise import TreeRegressor, samples
        >>> hours = samples.load("hours")
        >>> round(TreeRegressor().fit(hours.X, hours.y).score(hours.X, hours.y), 4)
        1.0
        """
        refuse_unfitted(self)
        source = memory(X, y, sample_weight, numbers=True)
        if len(source.target) < 2:
            warn("R² is not defined for fewer than two rows; the score is NaN.")
            return float("nan")
        weights, found = source.weights, self.predict(source.frame)  # type: ignore[attr-defined]
        size = float(max(np.abs(source.target).max(), np.abs(found).max())) or 1.0  # no square overflows
        y_true, y_pred = source.target / size, found / size
        mean = np.average(y_true, weights=weights)
        residual, total = (np.average((y_true - m) ** 2, weights=weights) for m in (y_pred, mean))
        if total == 0:  # a constant target, as scikit-learn defines it
            return float(residual == 0) if np.ptp(source.target) == 0 else -np.inf
        return float(1 - residual / total)


class Transformer(Estimator):
    """Base of transformers, by the scikit-learn protocol."""

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags(preserves_dtype=[])
        return tags

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit to a table and transform it.

        Parameters
        ----------
        X : table
            The rows.
        y : array-like of shape (n_rows,), default=None
            The target of each row, if the transformer uses it.
        **fit_params : object
            Further arguments of `fit`, such as `sample_weight`.

        Returns
        -------
        table
            The transformed columns, in a table of the same type as X unless `set_output` was called.

        Examples
        --------
        >>> from countwise import Discretizer
        >>> Discretizer("equal_width", n_bins=2).fit_transform({"temp": [12, 18, 30]})["temp"].tolist()
        ['<= 21', '<= 21', '> 21']
        """
        return self.fit(X, y, **fit_params).transform(X)  # type: ignore[attr-defined]

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose the type of table that `transform` returns.

        Parameters
        ----------
        transform : {'default', 'pandas', 'polars'} or None, default=None
            'default' returns the type of the input, 'pandas' and 'polars' a DataFrame of that library. None changes
            nothing.

        Returns
        -------
        self
            The transformer.

        Examples
        --------
        >>> from countwise import Discretizer
        >>> cutter = Discretizer("equal_width", n_bins=2, encode="codes").set_output(transform="pandas")
        >>> print(cutter.fit_transform({"temp": [12, 18, 30]}))
           temp
        0   0.0
        1   0.0
        2   1.0
        """
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def _output_wanted(self) -> str | None:
        """Return the type of table chosen by `set_output`, here or in scikit-learn's configuration."""
        own: str | None = getattr(self, "_sklearn_output_config", {}).get("transform")
        if own is not None or "sklearn" not in sys.modules:
            return own
        from sklearn import get_config

        configured: str | None = get_config()["transform_output"]
        return configured
