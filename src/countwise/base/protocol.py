"""scikit-learn's protocol without its base classes: settings, tags, scores, `set_output`, metadata requests.

scikit-learn asks an estimator for methods, not for a base class. Nothing of it is imported before it asks:
importing it costs more than most fits.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from inspect import Parameter, signature
from typing import Any, ClassVar, Self

import numpy as np

from countwise._typing import Floats
from countwise.base import docstrings

__all__ = ["Classifier", "Estimator", "Regressor", "Transformer", "refuse_unfitted"]

_NOT_METADATA = {"self", "X", "y"}
_LONGEST_VALUE = 200  # characters of one setting in a repr


_KNOWN: dict[Any, dict[str, Any]] = {}  # signatures are slow to take apart


def _defaults(cls: Any) -> dict[str, Any]:
    """The settings of a class and their defaults, in the order of its signature."""
    if cls not in _KNOWN:
        own = cls.__init__ is not object.__init__
        _KNOWN[cls] = (
            {p.name: p.default for p in list(signature(cls.__init__).parameters.values())[1:]} if own else {}
        )
    return _KNOWN[cls]


def refuse_unfitted(model: Any) -> None:
    """Raise scikit-learn's NotFittedError before there is anything to answer from."""
    if not model.__sklearn_is_fitted__():
        from sklearn.exceptions import NotFittedError

        raise NotFittedError(
            f"This {type(model).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments first."
        )


class Estimator:
    """What scikit-learn asks of every estimator, here of one that takes mixed columns with missing values."""

    _estimator_type: ClassVar[str | None] = None
    _takes_names = True  # nominal columns
    _ignored: ClassVar[tuple[str, ...]] = ()  # arguments that are there for scikit-learn alone

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        docstrings.complete(vars(cls), cls._ignored)

    # -- settings ---------------------------------------------------------------------

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings by name.

        Parameters
        ----------
        deep : bool, default=True
            Whether the settings of settings are included, as ``metric__p``.

        Returns
        -------
        dict
        """
        found: dict[str, Any] = {}
        for name in _defaults(type(self)):
            value = found[name] = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                found.update((f"{name}__{inner}", own) for inner, own in value.get_params().items())
        return found

    def set_params(self, **params: Any) -> Self:
        """Change settings; those of a setting as ``metric__p``.

        Parameters
        ----------
        **params
            New values by name.

        Returns
        -------
        self
        """
        nested: dict[str, dict[str, Any]] = defaultdict(dict)
        for key, value in params.items():
            name, inside, rest = key.partition("__")
            if name not in _defaults(type(self)):
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self}. "
                    f"Valid parameters are: {sorted(_defaults(type(self)))!r}."
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

    # -- what scikit-learn looks at -----------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "schema_")

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import InputTags, Tags, TargetTags

        given = InputTags(allow_nan=True, categorical=self._takes_names, string=True, sparse=True)
        return Tags(estimator_type=self._estimator_type, target_tags=TargetTags(required=False), input_tags=given)

    @property
    def _repr_html_(self) -> Any:
        """The diagram of notebooks; absent where scikit-learn is set to show text."""
        from sklearn import get_config
        from sklearn.utils import estimator_html_repr

        if get_config()["display"] != "diagram":
            raise AttributeError("_repr_html_ is there only if scikit-learn's 'display' is 'diagram'.")
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
        """Which metadata each method asks for, as scikit-learn's routers want it."""
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
        """What a method takes beside the table and the target."""
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
        """Whether routers pass metadata such as `sample_weight` to `fit`.

        Parameters
        ----------
        **metadata : bool, str or None
            As scikit-learn's `set_fit_request` takes it.

        Returns
        -------
        self
        """
        return self._request("fit", metadata)

    def set_score_request(self, **metadata: bool | str | None) -> Self:
        """Whether routers pass `sample_weight` to `score`.

        Parameters
        ----------
        **metadata : bool, str or None
            As scikit-learn's `set_score_request` takes it.

        Returns
        -------
        self
        """
        return self._request("score", metadata)


class Classifier(Estimator):
    """What scikit-learn asks of a classifier."""

    _estimator_type = "classifier"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.classifier_tags, tags.target_tags.required = ClassifierTags(), True
        return tags

    def predict_log_proba(self, X: Any) -> Floats:
        """Log P(class | row)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))  # type: ignore[attr-defined]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy: the share of rows whose class is predicted."""
        from sklearn.metrics import accuracy_score

        return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))  # type: ignore[attr-defined]


class Regressor(Estimator):
    """What scikit-learn asks of a regressor."""

    _estimator_type = "regressor"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import RegressorTags

        tags = super().__sklearn_tags__()
        tags.regressor_tags, tags.target_tags.required = RegressorTags(), True
        return tags

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R²: one minus the residual sum of squares over the total sum of squares."""
        from sklearn.metrics import r2_score

        return float(r2_score(y, self.predict(X), sample_weight=sample_weight))  # type: ignore[attr-defined]


class Transformer(Estimator):
    """What scikit-learn asks of a transformer."""

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.transformer_tags = TransformerTags(preserves_dtype=[])
        return tags

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Learn from a table and transform it.

        Parameters
        ----------
        X : any table
            The rows.
        y : array-like, optional
            Their targets.
        **fit_params
            As for `fit`.

        Returns
        -------
        table of the same kind, or of the kind that `set_output` asks for
        """
        return self.fit(X, y, **fit_params).transform(X)  # type: ignore[attr-defined]

    def set_output(self, *, transform: str | None = None) -> Self:
        """In which kind of table `transform` gives its columns.

        Parameters
        ----------
        transform : {"default", "pandas", "polars"} or None
            None leaves it as it is.

        Returns
        -------
        self
        """
        if transform is not None:
            self._sklearn_output_config = {"transform": transform}
        return self

    def _output_wanted(self) -> str | None:
        """The kind of table asked for by `set_output`, here or for all of scikit-learn."""
        own: str | None = getattr(self, "_sklearn_output_config", {}).get("transform")
        if own is not None or "sklearn" not in sys.modules:
            return own
        from sklearn import get_config

        asked: str | None = get_config()["transform_output"]
        return asked
