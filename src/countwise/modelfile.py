"""Model files: plain JSON, checked before anything is built, written whole or not at all.

A file holds the format's version, the kind of model, its settings, the schema and
what was learned: tallies, a tree, or rules. Kinds are found in a fixed table; nothing in a file is ever looked up as
a class or function name, and nothing is unpickled.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from countwise import registry
from countwise.data.schema import Schema, attribute_from
from countwise.distributions import MEstimate, Smoothing, distribution_from
from countwise.errors import ModelFileError
from countwise.jsonfile import MAX_BYTES, enveloped, plain, read_checked, revived, write_whole
from countwise.neighbors.metric import DistanceMetric
from countwise.network.families import Dirichlet

__all__ = ["load", "save", "write_whole"]


def save(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to a file.

    The file appears whole or not at all: it is written beside its place, synced, and
    renamed. Leftovers of a save that was killed are removed by the next.

    Parameters
    ----------
    model : estimator
        A fitted classifier, regressor or density.
    path : str or path
        Where to.

    Examples
    --------
    >>> import countwise, os, tempfile
    >>> rain = countwise.samples.load("rain")
    >>> path = os.path.join(tempfile.mkdtemp(), "rain.json")
    >>> countwise.save(countwise.NaiveBayesClassifier().fit(rain.frame, "rain"), path)
    >>> countwise.load(path).predict([{"wind": "north", "temp": 22.8}]).tolist()
    ['no']
    """
    content = _content(model)
    try:
        body = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except TypeError:
        odd = [name for name, value in content["settings"].items() if not _is_plain(value)]
        if not odd:
            raise
        raise ModelFileError(
            f"The setting {odd[0]!r} holds an object ({type(model.get_params(deep=False)[odd[0]]).__name__}) that a "
            "model file cannot hold.",
            hint="files hold words, numbers and tables; pickle can keep the rest.",
        ) from None
    if len(body) > MAX_BYTES:
        raise ModelFileError("The model is too large for a file: it keeps its rows.", hint="learn from fewer rows.")
    write_whole(Path(path), enveloped(body))


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that `save` wrote.

    Parameters
    ----------
    path : str or path
        The file.

    Returns
    -------
    estimator
        The fitted model.
    """
    place = Path(path)
    content = read_checked(place, hint="train one: countwise train FILE -y TARGET.")
    try:
        return _build(content)
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"{place} is not a sound model file: {type(error).__name__}: {error}.") from None


def _is_plain(value: Any) -> bool:
    try:
        json.dumps(value)
    except TypeError:
        return False
    return True


def _content(model: Any) -> dict[str, Any]:
    kind = registry.kind_of(model)
    if kind is None:
        raise ModelFileError(f"{type(model).__name__} is not a model that can be saved.")
    model._check_fitted()
    return {
        "kind": kind,
        "settings": {name: plain(value) for name, value in model.get_params(deep=False).items()},
        "schema": model.schema_.to_dict(),
        "target": model.target_.to_dict(),
        "labels": None if model._label_type is None else model._label_type.str,
        "rows": int(model.n_rows_),
        "left_out": int(model.n_left_out_),
        "named": hasattr(model, "feature_names_in_"),
        "features": int(model.n_features_in_),
        **model._state(),
    }


def _old_distribution(**settings: Any) -> Any:
    """A distribution of a file of format 1."""
    names = {"law": "kind", "width": "bandwidth"}
    return distribution_from({names.get(key, key): v for key, v in settings.items()})


def _dirichlet(**settings: Any) -> Any:
    """A Dirichlet prior; its setting is "ess" in files of format 1."""
    (size,) = settings.values()
    return Dirichlet(float(size))


# What settings may be made of, by the word "@"; nothing else is ever made.
_SETTINGS: dict[str, Callable[..., Any]] = {
    "attribute": lambda of: attribute_from(of),
    "dirichlet": _dirichlet,
    "distribution": lambda **settings: distribution_from(settings),
    "law": _old_distribution,
    "m-estimate": MEstimate,
    "metric": lambda of: DistanceMetric(**{str(name): value for name, value in of}),
    "schema": lambda of: Schema.from_dict(of),
    "smoothing": Smoothing,
}


def _class_of(name: Any) -> tuple[Any, registry.Kind]:
    if name == "CaseBase":
        raise ModelFileError("The file holds a case base, not a model.", hint="CaseBase.load reads it.")
    if name not in registry.KINDS:
        raise ModelFileError(f"This version has no model {name!r}.")
    kind = registry.KINDS[name]
    return registry.class_of(kind), kind


def _build(content: Mapping[str, Any]) -> Any:
    cls, kind = _class_of(content["kind"])
    settings = {kind.renamed.get(name, name): revived(v, _SETTINGS) for name, v in content["settings"].items()}
    settings.pop("", None)  # a setting that there is no more
    model = cls(**settings)
    model.schema_ = Schema.from_dict(content["schema"])
    model.target_ = attribute_from(content["target"])
    model._label_type = None if content["labels"] is None else np.dtype(str(content["labels"]))
    model.n_rows_, model.n_left_out_ = int(content["rows"]), int(content["left_out"])
    model.n_features_in_ = int(content["features"])
    if content["named"]:
        model.feature_names_in_ = np.array(list(model.schema_), dtype=object)
    model._revive(content)
    return model
