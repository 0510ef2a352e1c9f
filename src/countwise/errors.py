"""Everything that Countwise raises or warns of.

The tree::

    CountwiseError (ValueError)
      SchemaError        an attribute's declaration or a column's kind is wrong
        UnseenValueError a value outside the domain of its attribute
      TableError         the rows themselves: shape, infinity, weights, target
        TooFewRows       what has come so far is too little to learn from; more may do
      RowsRefused        the model needs rows and the source will not give them
      ReadError          a file cannot be read as a table
      ModelFileError     a model file is damaged, foreign or too new
      OptionError        an argument has no meaning here
      AdaptationFailed   a rule of a case base cannot fit a solution to a query

    CountwiseWarning (UserWarning)
      SlowKernelsWarning the compiled kernels are absent; results are the same
      DataWarning        something in the table that the user will want to know

Each message says what is wrong and where; `hint` says what would be right.
"""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

__all__ = [
    "AdaptationFailed",
    "CountwiseError",
    "CountwiseWarning",
    "DataWarning",
    "ModelFileError",
    "NumberIn",
    "OptionError",
    "ReadError",
    "RowsRefused",
    "SchemaError",
    "SlowKernelsWarning",
    "TableError",
    "TooFewRows",
    "UnseenValueError",
    "check_number",
    "check_settings",
    "check_value",
    "did_you_mean",
    "listed",
    "warn",
]


class CountwiseError(ValueError):
    """Base of all errors: a message, and a hint at the cure.

    Parameters
    ----------
    message : str
        What is wrong, and where.
    hint : str, optional
        What would be right.
    row : int, optional
        The row that the message names, so that whoever knows better how rows are counted can correct it.

    Examples
    --------
    >>> from countwise.errors import CountwiseError
    >>> print(CountwiseError("'wind' is missing.", hint="add the column."))
    'wind' is missing. Hint: add the column.
    """

    def __init__(self, message: str, hint: str | None = None, row: int | None = None) -> None:
        super().__init__(message if hint is None else f"{message} Hint: {hint}")
        self.message = message
        self.hint = hint
        self.row = row

    def __reduce__(self) -> tuple[type[CountwiseError], tuple[str, str | None, int | None]]:
        return type(self), (self.message, self.hint, self.row)

    def at(self, row: int) -> CountwiseError:
        """The same error about another row."""
        return type(self)(self.message.replace(f"row {self.row}", f"row {row}", 1), self.hint, row)


class SchemaError(CountwiseError):
    """An attribute's declaration, or the kind of a column, is wrong."""


class UnseenValueError(SchemaError):
    """A value lies outside the declared domain of its attribute."""


class TableError(CountwiseError):
    """The rows are wrong: their shape, an infinity, the weights, the target."""


class TooFewRows(TableError, AttributeError):  # noqa: N818 - a state that more rows end
    """The rows so far are too few, or too much alike; `partial_fit` waits for more.

    It is an AttributeError too: what would be learned from more rows is not there yet.
    """


class RowsRefused(CountwiseError):  # noqa: N818 - the design's word: a refusal with a way round it
    """A model asks for rows and the source will not hand them over."""


class ReadError(CountwiseError):
    """A file cannot be read as a table."""


class ModelFileError(CountwiseError):
    """A model file is damaged, foreign, or from a newer version."""


class OptionError(CountwiseError):
    """An argument has no meaning here."""


class AdaptationFailed(CountwiseError):  # noqa: N818 - what a rule says of a case, and no defect
    """A rule cannot fit the solution of a case to a query; the base tries the next case."""


class CountwiseWarning(UserWarning):
    """Base of all warnings."""


class SlowKernelsWarning(CountwiseWarning):
    """The compiled kernels are absent: the same results, more slowly."""


class DataWarning(CountwiseWarning):
    """Something in the table that the user will want to know of."""


def warn(message: str, category: type[Warning] = DataWarning) -> None:
    """Warn about the line of the caller's own code, however deep in Countwise the reason was found."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "countwise":
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def did_you_mean(word: object, known: Iterable[object]) -> str | None:
    """Suggest the nearest known word, or None.

    Examples
    --------
    >>> from countwise.errors import did_you_mean
    >>> did_you_mean("gausian", ["gaussian", "poisson"])
    "did you mean 'gaussian'?"
    """
    import difflib

    near = difflib.get_close_matches(str(word), [str(k) for k in known], n=1)
    return f"did you mean {near[0]!r}?" if near else None


def listed(words: Iterable[object], most: int = 8) -> str:
    """Write values as a person lists them: quoted, with the rest counted.

    Examples
    --------
    >>> from countwise.errors import listed
    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    all_words = [repr(w) if isinstance(w, str) else str(w) for w in words]
    if len(all_words) <= most:
        return ", ".join(all_words)
    return ", ".join(all_words[:most]) + f" and {len(all_words) - most} more"


@dataclass(frozen=True, slots=True)
class NumberIn:
    """The numbers that a setting may be: what `check_settings` and `check_value` compare it with.

    Parameters
    ----------
    least, most : float, optional
        The limits.
    strict : bool, default=False
        Whether the limits themselves are refused.
    whole : bool, default=False
        Whether only whole numbers will do.
    words : tuple, optional
        What the setting may be instead of a number.

    Examples
    --------
    >>> from countwise.errors import NumberIn
    >>> str(NumberIn(1, whole=True, words=("loo",))), 2.5 in NumberIn(0, 1)
    ("a whole number of at least 1, or 'loo'", False)
    """

    least: float = -math.inf
    most: float = math.inf
    strict: bool = False
    whole: bool = False
    words: tuple[object, ...] = ()

    def __contains__(self, value: Any) -> bool:
        kind: Any = Integral if self.whole else Real
        if isinstance(value, bool) or not isinstance(value, kind):
            return _is_one_of(value, self.words)
        if self.strict and value in (self.least, self.most):
            return math.isinf(value)
        return bool(self.least <= value <= self.most)

    def __str__(self) -> str:
        above, below = ("above", "below") if self.strict else ("of at least", "at most")
        limits = [f"{above} {self.least:g}"] * math.isfinite(self.least)
        limits += [f"{below} {self.most:g}"] * math.isfinite(self.most)
        said = " ".join(["a whole number" if self.whole else "a number", " and ".join(limits)]).strip()
        return ", or ".join([said, *([listed(self.words)] if self.words else [])])


def _is_one_of(value: object, words: Iterable[object]) -> bool:
    """Whether a value is a word of a list; True is not 1, and an array is compared with none."""
    return any(value is word or (isinstance(value, str) and value == word) for word in words)


def check_value(name: str, value: Any, allowed: tuple[object, ...] | NumberIn) -> None:
    """Refuse a value that is none of those allowed.

    Examples
    --------
    >>> from countwise.errors import NumberIn, check_value
    >>> check_value("radius", -1.5, NumberIn(0))
    Traceback (most recent call last):
      File "/root/.pyenv/versions/3.11.7/lib/python3.11/doctest.py", line 1353, in __run
        exec(compile(example.source, filename, "single",
      File "<doctest countwise.errors.check_value[1]>", line 1, in <module>
        check_value("radius", -1.5, NumberIn(0))
      File "/work/main/src/countwise/errors.py", line 240, in check_value
        raise OptionError(f"{name} must be {allowed}, not {value!r}.")
    countwise.errors.OptionError: radius must be a number of at least 0, not -1.5.
    """
    if isinstance(allowed, NumberIn):
        if value not in allowed:
            raise OptionError(f"{name} must be {allowed}, not {value!r}.")
    elif not _is_one_of(value, allowed):
        near = did_you_mean(value.lower(), allowed) if isinstance(value, str) else None
        raise OptionError(f"{name}={value!r} is unknown.", hint=near or f"give one of {listed(allowed)}.")


def check_settings(owner: object, **allowed: tuple[object, ...] | NumberIn) -> None:
    """Refuse settings that are none of those allowed: words, or numbers within limits.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from countwise.errors import check_settings
    >>> check_settings(SimpleNamespace(divisor="N"), divisor=("n", "n-1"))
    Traceback (most recent call last):
      File "/root/.pyenv/versions/3.11.7/lib/python3.11/doctest.py", line 1353, in __run
        exec(compile(example.source, filename, "single",
      File "<doctest countwise.errors.check_settings[2]>", line 1, in <module>
        check_settings(SimpleNamespace(divisor="N"), divisor=("n", "n-1"))
      File "/work/main/src/countwise/errors.py", line 258, in check_settings
        check_value(name, getattr(owner, name), words)
      File "/work/main/src/countwise/errors.py", line 243, in check_value
        raise OptionError(f"{name}={value!r} is unknown.", hint=near or f"give one of {listed(allowed)}.")
    countwise.errors.OptionError: divisor='N' is unknown. Hint: did you mean 'n'?
    """
    for name, words in allowed.items():
        check_value(name, getattr(owner, name), words)


def check_number(
    name: str,
    value: Any,
    least: float,
    *,
    most: float = math.inf,
    none: bool = False,
    whole: bool = False,
    above: bool = False,
) -> None:
    """Refuse a setting that is no number, or lies outside its limits."""
    if value is None and none:
        return
    number = isinstance(value, Real) and not isinstance(value, bool)
    good = number and (value > least if above else value >= least) and value <= most
    if good and whole:
        good = float(value).is_integer()
    if not good:
        kind = "a whole number" if whole else "a number"
        end = f" and at most {most:g}" if most < math.inf else ""
        raise OptionError(f"{name}={value!r} must be {kind} {'above' if above else 'of at least'} {least:g}{end}.")
