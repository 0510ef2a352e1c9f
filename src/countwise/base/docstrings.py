"""The arguments and results that methods of all learners share, documented once.

A method writes its summary, and its examples if it has some. `complete` adds the sections on its arguments and its
result, so that `help` and the documentation show them in full.
"""

from __future__ import annotations

from collections.abc import Mapping
from inspect import cleandoc
from types import FunctionType
from typing import Any

__all__ = ["complete"]

_TRAINING = (
    "any table, path, or iterator of frames",
    "pandas, Polars, PyArrow, NumPy, SciPy sparse, a mapping of columns, a list of dicts.",
)
_ARGUMENTS = {
    "fit.X": _TRAINING,
    "partial_fit.X": _TRAINING,
    "forget.X": ("any table", "Rows that were given to `fit` or `partial_fit`."),
    "inverse_transform.X": ("any table", "What `transform` gave."),
    "X": ("any table", "Columns are found by name, or by position in an array."),
    "y": ("array-like or str", "The target of each row, or the name of its column in X."),
    "sample_weight": (
        "array-like or str",
        "A weight for each row, or the name of their column; a weight of n equals n copies.",
    ),
    "classes": ("array-like", "The classes that may come. New ones are added without being declared."),
    "row": ("int", "Which row of X."),
    "dialect": ('{"duckdb", "postgres", "spark", "sqlite"}', "Whose SQL to write."),
    "proba": ("bool", "Whether the probabilities of all classes are given too."),
}
_MATRIX = "ndarray, shape (rows, classes)"
_RETURNS = {
    "Floats": "ndarray, shape (rows,)",
    "NDArray[Any]": "ndarray, shape (rows,)",
    "Indices": "ndarray, shape (rows,)",
    "predict_proba": _MATRIX,
    "predict_log_proba": _MATRIX,
    "predict_joint_log_proba": _MATRIX,
    "distances": _MATRIX,
    "inverse_transform": "table of the same kind",
    "transform": "table of the same kind, or of the kind that `set_output` asks for",
    "dict[str, Grid]": "dict of str to Grid",
    "Self": "self",
}


def complete(methods: Mapping[str, Any], ignored: tuple[str, ...] = ()) -> None:
    """Add the sections on arguments and result to the public methods that do not write their own."""
    arguments = {
        **_ARGUMENTS,
        **dict.fromkeys(ignored, ("ignored", "Present for the sake of scikit-learn's protocol.")),
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
        kind, words = known.get(f"{method.__name__}.{name}", known[name])
        sections += [f"{name} : {kind}{'' if kind == 'ignored' else default}", f"    {words}"]
    shown = _RETURNS.get(method.__name__) or _RETURNS.get(result, result)
    sections += [""] * bool(arguments) + ["Returns", "-------", shown]
    own, title, examples = doc.partition("\n\nExamples\n")
    return own + "\n\n" + "\n".join(sections) + title + examples


def _defaults(method: FunctionType) -> dict[str, str]:
    """The arguments of a method, and their defaults in numpydoc's words."""
    code, given = method.__code__, method.__defaults__ or ()
    names = code.co_varnames[: code.co_argcount]
    found = {**dict(zip(names[len(names) - len(given) :], given, strict=True)), **(method.__kwdefaults__ or {})}

    def words(name: str) -> str:
        if name not in found:
            return ""
        default = found[name]
        return ", optional" if default is None else f", default={default!r}".replace("'", '"')

    return {name: words(name) for name in code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]}
