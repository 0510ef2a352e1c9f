"""Model files: JSON that is validated before a model is built.

A file contains the format version, the type of model, its parameters, the schema and the learned state: tallies, a
tree or rules. Types of model are looked up in a fixed table. Nothing in a file is used as the name of a class or
function, and nothing is unpickled.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from countwise import registry
from countwise.data.attributes import Nominal
from countwise.data.schema import Schema, attribute_from
from countwise.data.text import Block
from countwise.distributions import MEstimate, Smoothing, distribution_from
from countwise.errors import CountwiseError, ModelFileError
from countwise.filewriter import write_whole
from countwise.io.paths import path_of
from countwise.jsonfile import plain, plain_value, read_checked, revived, sealed
from countwise.neighbors.metric import DistanceMetric
from countwise.network.families import Dirichlet

__all__ = ["load", "save"]


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
    place = path_of(path)
    write_whole(place, sealed(_content(model), place))


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
    place = path_of(path)
    content = read_checked(place, hint="check the path, or write a model file with countwise.save.")
    try:
        return _build(content)
    except ModelFileError:
        raise
    except CountwiseError as error:
        raise ModelFileError(f"{place} is not a valid model file: {error.message}") from None
    except (
        ArithmeticError,
        AssertionError,
        AttributeError,
        LookupError,
        MemoryError,
        RecursionError,
        TypeError,
        ValueError,
        Warning,
    ) as error:
        raise ModelFileError(f"{place} is not a valid model file: {type(error).__name__}: {error}.") from None


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
        "settings": {name: _setting(name, value) for name, value in model.get_params(deep=False).items()},
        "schema": [_attribute(a) for a in model.schema_.attributes],
        "target": _attribute(model.target_),
        "labels": None if model._label_type is None else model._label_type.str,
        "rows": int(model.n_rows_),
        "left_out": int(model.n_left_out_),
        "named": hasattr(model, "feature_names_in_"),
        "features": int(model.n_features_in_),
        **model._state(),
    }


def _setting(name: str, value: Any) -> Any:
    """Return a parameter as plain data."""
    try:
        found = plain(value)
        json.dumps(found, default=plain_value)
    except (TypeError, ValueError) as error:
        raise ModelFileError(
            f"Parameter {name!r} is a {type(value).__name__}, which cannot be written to a model file ({error}).",
            hint="use a string, a number or a mapping, or save the model with pickle.",
        ) from None
    return found


def _attribute(a: Any) -> dict[str, Any]:
    """Return an attribute as plain data, with the types of its values."""
    found: dict[str, Any] = a.to_dict()
    for field in ("values", "fixed"):
        found |= {field: [_value(v, a.name) for v in found[field]]} if field in found else {}
    return found


def _value(value: Any, name: str) -> Any:
    try:
        return plain_value(value)
    except TypeError as error:
        raise ModelFileError(
            f"A value of {name!r} cannot be written to a model file: {error}.",
            hint="convert the column to strings, for example with astype(str), or save the model with pickle.",
        ) from None


def _old_distribution(**settings: Any) -> Any:
    """Return a distribution from a file of format 1."""
    names = {"law": "kind", "width": "bandwidth"}
    return distribution_from({names.get(key, key): v for key, v in settings.items()})


def _dirichlet(**settings: Any) -> Any:
    """Return a Dirichlet prior; its parameter is "ess" in files of format 1."""
    (size,) = settings.values()
    return Dirichlet(float(size))


_FLAGS = ("grows", "lowercase", "binary")
_WORDS = ("words", "stop_words")
_LONGEST_PATTERN = 1000


def _attribute_from(entry: Mapping[str, Any]) -> Any:
    """Return an attribute from a file, after checking the types of its fields."""
    for field, value in entry.items():
        parts = value if isinstance(value, list) else [value]
        if any(isinstance(part, list | Mapping) for part in parts):
            raise ValueError(f"{field!r} of an attribute contains a list or an object")
        text = field in ("kind", "name", "pattern")
        if (text and not isinstance(value, str)) or (field in _FLAGS and type(value) not in (bool, type(None))):
            raise ValueError(f"{field!r} of an attribute must not be {value!r}")
        if field in _WORDS and not (isinstance(value, list) and all(isinstance(word, str) for word in value)):
            raise ValueError(f"{field!r} of an attribute is not a list of strings")
        if field in ("values", "fixed") and not isinstance(value, list):
            raise ValueError(f"{field!r} of an attribute is not a list")
    _check_text(entry)
    return attribute_from(entry)


def _check_text(entry: Mapping[str, Any]) -> None:
    """Check the vocabulary, the n-grams and the pattern of a text attribute."""
    words, ngrams, pattern = entry.get("words", []), entry.get("ngrams", [1, 1]), entry.get("pattern", "")
    if len(set(words)) < len(words):
        raise ValueError("the words of an attribute contain duplicates")
    if not (isinstance(ngrams, list) and len(ngrams) == 2 and all(type(n) is int for n in ngrams)):
        raise ValueError("the n-grams of an attribute are not two integers")
    if not 1 <= ngrams[0] <= ngrams[1]:
        raise ValueError(f"the n-grams of an attribute must not be {ngrams}")
    if len(pattern) > _LONGEST_PATTERN:
        raise ValueError("the pattern of an attribute is too long")
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"the pattern of an attribute is not a regular expression: {error}") from None


def _schema_from(entries: Any) -> Schema:
    if not isinstance(entries, list):
        raise ValueError("the schema is not a list")
    return Schema(_attribute_from(entry) for entry in entries)


# The objects that a parameter may contain, by their key "@". No other objects are created.
_SETTINGS: dict[str, Callable[..., Any]] = {
    "attribute": lambda of: _attribute_from(of),
    "dirichlet": _dirichlet,
    "distribution": lambda **settings: distribution_from(settings),
    "law": _old_distribution,
    "m-estimate": MEstimate,
    "metric": lambda of: DistanceMetric(**{str(name): value for name, value in of}),
    "schema": lambda of: _schema_from(of),
    "set": lambda of: frozenset(of),
    "smoothing": Smoothing,
}


def _class_of(name: Any) -> tuple[Any, registry.Kind]:
    if name == "CaseBase":
        raise ModelFileError("The file contains a case base, not a model.", hint="use CaseBase.load.")
    if not isinstance(name, str) or name not in registry.KINDS:
        raise ModelFileError(
            f"Model type {name!r} is unknown to this version of Countwise.",
            hint="use the version of Countwise that wrote the file, or train again.",
        )
    kind = registry.KINDS[name]
    return registry.class_of(kind), kind


def _build(content: Mapping[str, Any]) -> Any:
    """Return the model of a file; a computation that overflows is an error."""
    cls, kind = _class_of(content["kind"])
    settings = {kind.renamed.get(name, name): revived(v, _SETTINGS) for name, v in content["settings"].items()}
    settings.pop("", None)  # a parameter that only older versions have
    model = cls(**settings)
    model.schema_, model.target_ = _schema_from(content["schema"]), _attribute_from(content["target"])
    numeric = getattr(model, "_numbers", False)
    if isinstance(model.target_, Nominal) is numeric or model.target_.name in model.schema_:
        raise ValueError("the target is not one that this model can have")
    model._label_type = None if content["labels"] is None else _label_type(content["labels"], model.target_)
    model.n_rows_, model.n_left_out_ = _size(content, "rows"), _size(content, "left_out")
    model.n_features_in_ = _size(content, "features")
    if model.n_features_in_ != sum(len(a.words) if isinstance(a, Block) else 1 for a in model.schema_.attributes):
        raise ValueError("the number of features is not that of the columns")
    if content["named"]:
        model.feature_names_in_ = np.array(list(model.schema_), dtype=object)
    with np.errstate(over="raise", divide="raise", invalid="raise"):
        model._revive(content)
    return model


_LABEL_TYPE = re.compile(r"\|b1|[<>|]([iuf]\d{1,2}|U\d+)|\|?S\d+|\|O|[<>][mM]8(\[\w{1,2}\])?")


def _label_type(written: Any, target: Any) -> np.dtype[Any]:
    """Return the NumPy type of the classes; they must be of this type."""
    if not (isinstance(written, str) and _LABEL_TYPE.fullmatch(written)) or not isinstance(target, Nominal):
        raise ValueError(f"{written!r} is not a type of classes")
    found = np.dtype(written)
    if found.kind in "biuf" and target.labels(found).tolist() != list(target.values):
        raise ValueError(f"the classes are not of type {written!r}")
    return found


def _size(content: Mapping[str, Any], name: str) -> int:
    value = content[name]
    if type(value) is not int or not 0 <= value < 1 << 53:
        raise ValueError(f"{name!r} must be an integer >= 0, not {value!r}")
    return value
