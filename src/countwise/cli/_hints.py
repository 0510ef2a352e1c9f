"""Translation of messages and hints: ``types={'age': 'nominal'}`` becomes ``--types age=nominal``."""

from __future__ import annotations

import re
from inspect import signature
from typing import Any

import click

from countwise.registry import KINDS, class_of, kind_of_word

__all__ = ["message_with_options", "with_options"]

_RENAMED = {
    "n_bins": "bins",
    "n_jobs": "jobs",
    "random_state": "seed",
    "sample_weight": "weights",
    "scoring": "score",
    "train_sizes": "sizes",
}
# Phrases about Python that have another form on the command line, where tables are files in UTF-8.
_PHRASES = {
    "None or NaN": "an empty field",
    "replace it with NaN if the value is missing, else with": "leave the field empty if the value is missing, else "
    "write",
    "pass the encoding of the file, for example encoding='latin-1' or encoding='cp1252'": "convert the file to UTF-8",
    "pass encoding='utf-16-le' if the file is UTF-16 without a byte order mark": "convert the file to UTF-8",
    "check the line, or pass the right separator and quote": "correct the line",
    "correct the line, or pass quote=None to read quotation marks as ordinary characters": "correct the line",
    "rename one of the columns, or pass names=[...]": "rename one of the columns",
    "or write a model file with countwise.save": "or train a model with countwise train FILE -y TARGET",
    "pass a file that was written by countwise.save or countwise train": "use a file written by countwise train",
    "use a regressor or attribute_scores(..., target='number')": "use countwise train --model regression-tree or "
    "countwise rank --number",
    "or `forget` to remove rows": "or countwise forget to remove rows",
    "pass one number for each row": "use a numeric column for --weights",
    "use target='class' or a score for classes, such as 'information_gain'": "remove --number",
    "use keys (true class, predicted class)": "use CLASS:PREDICTION=COST",
    "use NeighborsClassifier": "use --model neighbors",
    "use ParzenClassifier": "use --model parzen",
    "use pairs of the classes": "use CLASS:PREDICTION=COST with the classes",
}
_DROP = re.compile(r"\bdrop the column\b(?! with)")
_SUBJECT = re.compile(r"([a-z_]+)(?= (?:must|refers|has no|contains|is empty|takes|cannot)\b)")
_MAPPING = re.compile(r"(?<![\w(.])(\w+)=\{(?:'([^']*)'|(\w+)|\.\.\.): (?:'([^']*)'|\w+)\}")
_ORDER = re.compile(r"pass types=\{'([^']*)': Ordinal\('[^']*', \(lowest, \.\.\., highest\)\)\}")
_VALUES = re.compile(r"(?<![\w(.])(\w+)=('[^']*'|-?[0-9.]*[0-9]|True|False)((?:, '[^']*')*(?: or '[^']*')?)")


def with_options(text: str, context: click.Context) -> str:
    """Replace Python arguments in a hint by options of the running command.

    An argument without an option is not changed. Missing values are empty fields of a file, not None or NaN.
    """
    scope = _Scope(context)

    def mapping(found: re.Match[str]) -> str:
        name, column, value = found[1], found[2] or found[3] or "COLUMN", found[4] or "VALUE"
        column = column.upper() if column == "column" else column
        if name == "types":
            train = "" if "--types" in scope.options else "countwise train "
            return f"{train}--types {_quoted(column)}={value}"
        if name == "distributions" and scope.kind == "naive-bayes":
            return f"--distribution {_quoted(column)}={value}"
        return f"{scope.prefix}{name}={value}" if name == "distributions" and scope.owns(name) else found[0]

    def values(found: re.Match[str]) -> str:
        option = scope.option(found[1], found[2])
        if option is None:
            return found[0]
        more = re.sub(r"'([^']*)'", lambda other: option + other[1], found[3])
        return option + ("" if option.startswith("--no-") else found[2].strip("'")) + more

    for phrase, other in _PHRASES.items():
        text = text.replace(phrase, other)
    train = "" if "--types" in scope.options else "countwise train "
    text = _ORDER.sub(lambda found: f"use {train}--types '{found[1]}=LOWEST<...<HIGHEST'", text)
    if "--drop" in scope.options:
        text = _DROP.sub("drop the column with --drop", text)
    return _VALUES.sub(values, _MAPPING.sub(mapping, text)).replace("train with countwise train --", "train with --")


def message_with_options(text: str, context: click.Context) -> str:
    """Replace the Python argument that a message begins with by an option: ``max_depth must be an integer >= 0``."""
    scope = _Scope(context)
    text = text.replace("passed to `sample_weight`", "of --weights")
    found = _SUBJECT.match(text)
    if found is None:
        return text
    name, rest = found[1], text[found.end() :]
    if name == "distributions" and scope.kind == "naive-bayes":
        return f"--distribution{rest}"
    if name == "missing" and scope.kind == "naive-bayes":
        return f"--missing{rest}"
    if name == "weights" and scope.owns(name):  # weights of neighbors; --weights has those of the rows
        option = scope.prefix + name
    else:
        option = (scope.option(name, "") or name).rstrip(" =")
    return option + (rest.replace("None", "none") if option.startswith("--option ") else rest)


class _Scope:
    """The options of the running command, and the parameters of its model."""

    def __init__(self, context: click.Context) -> None:
        parameters = context.command.params
        self.options = {name for parameter in parameters for name in parameter.opts + parameter.secondary_opts}
        self.kind: Any = context.params.get("kind")
        self.prefix, self._words = "--option ", [self.kind] if self.kind and "--option" in self.options else []
        if "model" in context.params and "--option" not in self.options:  # a model that is already trained
            self.prefix = "countwise train --option "
            self._words = [model.word for model in KINDS.values() if model.word]

    def owns(self, name: str) -> bool:
        """Return whether the model has a parameter; its class is imported only for that."""
        return any(name in signature(class_of(kind_of_word(word))).parameters for word in self._words)

    def option(self, name: str, value: str) -> str | None:
        """Return the option that sets a Python argument, up to its value; None if there is none."""
        if value in ("True", "False"):
            no = f"--no-{name}"
            return no if value == "False" and no in self.options else None
        separate = f"--{_RENAMED.get(name, name)}"
        naive_bayes = self.kind in (None, "naive-bayes")
        # --missing of `train` names a column, --smoothing is for naive Bayes, --target is not the argument `target`
        if separate in self.options and name not in ("missing", "target") and (name != "smoothing" or naive_bayes):
            return f"{separate} "
        if f"-{name}" in self.options:
            return f"-{name} "
        if self.owns(name) and not (name == "missing" and self.kind == "naive-bayes"):
            return f"{self.prefix}{name}="
        return None


def _quoted(column: str) -> str:
    """Quote a column name with blanks for the shell."""
    return f"'{column}'" if " " in column else column
