"""Model files: JSON that is validated before a model is built.

A file contains the format version, the type of model, its parameters, the schema and the learned state: tallies, a
tree or rules. Types of model are looked up in a fixed table. Nothing in a file is used as the name of a class or
function, and nothing is unpickled.
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
    """Save a fitted model as a JSON file.

    The file is replaced atomically: the model is written to a temporary file in the same folder, which is synced and
    renamed. The next save removes the temporary file of a save that was killed.

    Parameters
    ----------
    model : estimator
        Fitted classifier, regressor, density or Bayesian network.
    path : str or path-like
        File to write.

    Raises
    ------
    ModelFileError
        If the file cannot be written, or if the model has a parameter that JSON cannot represent.

    See Also
    --------
    load : Load the model.

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
            f"Parameter {odd[0]!r} is a {type(model.get_params(deep=False)[odd[0]]).__name__}, which cannot be "
            "written to a model file.",
            hint="use a string, a number or a mapping, or save the model with pickle.",
        ) from None
    if len(body) > MAX_BYTES:
        raise ModelFileError(
            f"The model has more than {MAX_BYTES} bytes, the limit of a model file.", hint="train on fewer rows."
        )
    write_whole(Path(path), enveloped(body))


def load(path: str | os.PathLike[str]) -> Any:
    """Load a model that was saved with `save`.

    Parameters
    ----------
    path : str or path-like
        Model file.

    Returns
    -------
    estimator
        The fitted model.

    Raises
    ------
    ModelFileError
        If the file does not exist, is not a model file, is damaged, or was written by a newer version.

    See Also
    --------
    save : Save a fitted model.

    Examples
    --------
    >>> import countwise, os, tempfile
    >>> tennis = countwise.samples.load("tennis")
    >>> path = os.path.join(tempfile.mkdtemp(), "tennis.json")
    >>> countwise.save(countwise.TreeClassifier().fit(tennis.X, tennis.y), path)
    >>> countwise.load(path).n_rows_
    14
    """
    place = Path(path)
    content = read_checked(place, hint="check the path, or write a model file with countwise.save.")
    try:
        return _build(content)
    except ModelFileError:
        raise
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError) as error:
        raise ModelFileError(f"{place} is not a valid model file: {type(error).__name__}: {error}.") from None


def _is_plain(value: Any) -> bool:
    try:
        json.dumps(value)
    except TypeError:
        return False
    return True


def _content(model: Any) -> dict[str, Any]:
    kind = registry.kind_of(model)
    if kind is None:
        raise ModelFileError(
            f"An object of type {type(model).__name__} cannot be saved as a model file.",
            hint="pass a fitted classifier, regressor, density or network. Save a transformer or selector with "
            "pickle, and a CaseBase with its method save.",
        )
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
    """Return a distribution from a file of format 1."""
    names = {"law": "kind", "width": "bandwidth"}
    return distribution_from({names.get(key, key): v for key, v in settings.items()})


def _dirichlet(**settings: Any) -> Any:
    """Return a Dirichlet prior; its parameter is "ess" in files of format 1."""
    (size,) = settings.values()
    return Dirichlet(float(size))


# The objects that a parameter may contain, by their key "@". No other objects are created.
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
        raise ModelFileError("The file contains a case base, not a model.", hint="use CaseBase.load.")
    if name not in registry.KINDS:
        raise ModelFileError(
            f"Model type {name!r} is unknown to this version of Countwise.",
            hint="use the version of Countwise that wrote the file, or train again.",
        )
    kind = registry.KINDS[name]
    return registry.class_of(kind), kind


def _build(content: Mapping[str, Any]) -> Any:
    cls, kind = _class_of(content["kind"])
    settings = {kind.renamed.get(name, name): revived(v, _SETTINGS) for name, v in content["settings"].items()}
    settings.pop("", None)  # a parameter that only older versions have
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
