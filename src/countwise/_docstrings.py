"""Sections of docstrings that many methods share.

The docstring of such a method holds only its summary and its examples. `complete` inserts the sections Parameters and
Returns of the methods of all learners, `inherit_sections` those of a base class, so that `help` and the reference
documentation show them in full.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from inspect import cleandoc
from types import FunctionType
from typing import Any

__all__ = ["complete", "inherit_sections"]

_TRAINING = (
    "table, path or iterator of tables",
    (
        "The training rows: a pandas or Polars DataFrame, a PyArrow table, a NumPy array, a SciPy sparse\n"
        "matrix, a mapping of column names to arrays, a list of dicts, the path of a file, or an iterator\n"
        "of such tables. Learners that only need counts and sums also accept a DuckDB relation, Polars\n"
        "LazyFrame, Dask, Spark or Ibis table."
    ),
)
_ARGUMENTS = {
    "fit.X": _TRAINING,
    "partial_fit.X": (_TRAINING[0], "More training rows, with the same columns. See `fit` for the accepted tables."),
    "forget.X": (_TRAINING[0], "Rows that were passed to `fit` or `partial_fit` before."),
    "inverse_transform.X": ("table", "A table that `transform` returned."),
    "X": (
        "table",
        "The rows. Columns are matched by name, or by position if X is an array. X may have missing values.",
    ),
    "y": ("array-like of shape (n_rows,) or str", "The target of each row, or the name of the target column in X."),
    "score.y": ("array-like of shape (n_rows,)", "The true target of each row."),
    "score.sample_weight": (
        "array-like of shape (n_rows,)",
        "The weight of each row. By default every row has weight 1.",
    ),
    "sample_weight": (
        "array-like of shape (n_rows,) or str",
        (
            "The weight of each row, or the name of the column of weights in X; 0, or from 1e-100 to 1e100. A row\n"
            "of weight n counts as n equal rows. By default every row has weight 1."
        ),
    ),
    "classes": (
        "array-like",
        (
            "Classes that may occur in later calls. A class has probability 0 until its first row comes. Unlisted\n"
            "classes are added when they first occur."
        ),
    ),
    "row": ("int", "The position of the row in X; negative positions count from the end."),
    "dialect": ("{'duckdb', 'postgres', 'spark', 'sqlite'}", "The SQL dialect of the query."),
    "proba": ("bool", "Whether to return the probability of every class in addition to the predicted class."),
}
_MATRIX = "ndarray of shape (n_rows, n_classes)"
_VECTOR = "ndarray of shape (n_rows,)"
_RETURNS = {
    "predict": (_VECTOR, "The prediction for each row."),
    "predict_proba": (
        _MATRIX,
        "P(class | row). The columns are in the order of `classes_`, and every row sums to 1.",
    ),
    "predict_log_proba": (_MATRIX, "The logarithm of P(class | row). The columns are in the order of `classes_`."),
    "predict_joint_log_proba": (
        _MATRIX,
        "The logarithm of P(class, row). The columns are in the order of `classes_`.",
    ),
    "distances": (_MATRIX, "The distance of each row to each class, in the order of `classes_`."),
    "contributions": (
        "dict of str to ndarray of shape (n_rows, n_classes)",
        (
            "The log-likelihood of each term. The key is the name of its column, or the names of its columns\n"
            "joined by ' + ' if one term models several columns."
        ),
    ),
    "inverse_transform": ("table", "The original columns, in a table of the same type as X."),
    "transform": (
        "table",
        "The transformed columns, in a table of the same type as X unless `set_output` was called.",
    ),
    "score": ("float", "The score; higher is better."),
    "summary": ("str", "A description of the model in a few lines."),
    "fit": ("self", "The fitted estimator."),
    "partial_fit": ("self", "The updated estimator."),
    "forget": ("self", "The updated estimator."),
    "explain": (None, "The working. It prints as text, and notebooks show it as a table."),
    "Floats": (_VECTOR, "One number for each row."),
    "NDArray[Any]": (_VECTOR, "One value for each row."),
    "Indices": (_VECTOR, "One integer for each row."),
    "dict[str, Grid]": ("dict of str to Grid", "The tables by name."),
    "dict[str, str]": ("dict of str to str", "The titles by name."),
    "Self": ("self", "The estimator."),
}


def complete(methods: Mapping[str, Any], ignored: tuple[str, ...] = ()) -> None:
    """Add the sections Parameters and Returns to the public methods that lack them."""
    arguments = {
        **_ARGUMENTS,
        **dict.fromkeys(ignored, ("ignored", "Not used; present for compatibility with scikit-learn.")),
    }
    for name, method in methods.items():
        if isinstance(method, FunctionType) and not name.startswith("_") and method.__doc__:
            method.__doc__ = _completed(method, cleandoc(method.__doc__), arguments)


def _completed(method: FunctionType, doc: str, known: Mapping[str, tuple[str, str]]) -> str:
    arguments = _defaults(method)
    result: str = method.__annotations__.get("return", "None")
    if "\n---" in doc.partition("Examples\n")[0] or result == "None" or not set(arguments) <= set(known):
        return doc
    sections = ["Parameters", "----------"] if arguments else []
    for name, default in arguments.items():
        own = known[name]
        type_, text = own if own[0] == "ignored" else known.get(f"{method.__name__}.{name}", own)
        sections += [f"{name} : {type_}{'' if type_ == 'ignored' else default}", _description(text)]
    returned, text = _RETURNS.get(method.__name__) or _RETURNS.get(result) or (result, "")
    sections += [""] * bool(arguments) + ["Returns", "-------", returned or result]
    sections += [_description(text)] if text else []
    summary, title, examples = doc.partition("\n\nExamples\n")
    return summary + "\n\n" + "\n".join(sections) + title + examples


def _description(text: str) -> str:
    return "    " + text.replace("\n", "\n    ")


def _defaults(method: FunctionType) -> dict[str, str]:
    """Return the parameters of a method and their defaults, as numpydoc writes them."""
    code, given = method.__code__, method.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    found = {**dict(zip(names[len(names) - len(given) :], given, strict=True)), **(method.__kwdefaults__ or {})}

    def written(name: str) -> str:
        if name not in found:
            return ""
        default = found[name]
        return ", default=None" if default is None else f", default={default!r}"

    return {name: written(name) for name in code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]}


def inherit_sections(cls: type[Any], base: type[Any]) -> None:
    """Copy the sections Parameters and Returns of a base class to overriding methods with short docstrings."""
    for name, method in vars(cls).items():
        inherited = getattr(getattr(base, name, None), "__doc__", None)
        if isinstance(method, FunctionType) and method.__doc__ and inherited and "---" not in method.__doc__:
            before = cleandoc(inherited).partition("\n\nExamples\n")[0]
            start = re.search(r"\n\n(?:Parameters|Returns)\n-", before)
            method.__doc__ = cleandoc(method.__doc__) + (before[start.start() :] if start else "")
