"""Translation of hints: ``types={'age': 'nominal'}`` becomes ``--types age=nominal``."""

from __future__ import annotations

import re
from inspect import signature
from typing import Any

import click

from countwise.registry import KINDS, class_of, kind_of_word

__all__ = ["with_options"]

_RENAMED = {
    "n_bins": "bins",
    "n_jobs": "jobs",
    "random_state": "seed",
    "sample_weight": "weights",
    "scoring": "score",
}
_MAPPING = re.compile(r"(?<![\w(.])(\w+)=\{(?:'([^']*)'|(\w+)|\.\.\.): (?:'([^']*)'|\w+)\}")
_VALUES = re.compile(r"(?<![\w(.])(\w+)=('[^']*'|-?[0-9.]*[0-9]|True|False)((?:, '[^']*')*(?: or '[^']*')?)")


def with_options(text: str, context: click.Context) -> str:
    """Replace Python arguments in a hint by options of the running command.

    An argument without an option is not changed. Missing values are empty fields of a file, not None or NaN.
    """
    options = {name for parameter in context.command.params for name in parameter.opts + parameter.secondary_opts}
    kind = context.params.get("kind")
    prefix, own = "--option ", _parameters([kind]) if kind and "--option" in options else set()
    if "model" in context.params and "--option" not in options:  # a parameter of a model that is already trained
        prefix, own = "countwise train --option ", _parameters([model.word for model in KINDS.values() if model.word])

    def mapping(found: re.Match[str]) -> str:
        name, column, value = found[1], found[2] or found[3] or "COLUMN", found[4] or "VALUE"
        column = column.upper() if column == "column" else column
        if name == "types":
            return f"--types {_quoted(column)}={value}"
        if name == "distributions" and kind == "naive-bayes":
            return f"--distribution {_quoted(column)}={value}"
        return f"{prefix}{name}={value}" if name == "distributions" and name in own else found[0]

    def values(found: re.Match[str]) -> str:
        option = _option(found[1], found[2], kind, options, own, prefix)
        if option is None:
            return found[0]
        more = re.sub(r"'([^']*)'", lambda other: option + other[1], found[3])
        return option + ("" if option.startswith("--no-") else found[2].strip("'")) + more

    return _VALUES.sub(values, _MAPPING.sub(mapping, text)).replace("None or NaN", "an empty field")


def _option(name: str, value: str, kind: Any, options: set[str], own: set[str], prefix: str) -> str | None:
    """Return the option that sets a Python argument, up to its value; None if there is none."""
    if value in ("True", "False"):
        no = f"--no-{name}"
        return no if value == "False" and no in options else None
    separate = f"--{_RENAMED.get(name, name)}"
    # some options of `train` are only for naive Bayes, and its --missing names a column
    if separate in options and name != "missing" and (name != "smoothing" or kind in (None, "naive-bayes")):
        return f"{separate} "
    if name in own and not (name == "missing" and kind == "naive-bayes"):
        return f"{prefix}{name}="
    return None


def _parameters(words: list[str]) -> set[str]:
    """Return the parameters of some types of model."""
    return {name for word in words for name in signature(class_of(kind_of_word(word))).parameters}


def _quoted(column: str) -> str:
    """Quote a column name with blanks for the shell."""
    return f"'{column}'" if " " in column else column
