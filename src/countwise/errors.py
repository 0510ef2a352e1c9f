"""Errors and warnings of Countwise, and checks of parameters.

Hierarchy::

    CountwiseError (ValueError)
      SchemaError        wrong declaration of an attribute, or a column of the wrong type
        UnseenValueError a value outside the declared domain of its attribute
        MixedNamesError  some names of columns are strings and others are not
      TableError         wrong rows: shape, infinite values, weights, target
        TooFewRows       too few rows to learn from; more rows may help
      RowsRefused        the model needs the rows in memory, but the source does not provide them
      ReadError          a file cannot be read as a table
      ModelFileError     a model file is damaged, not a model file, or from a newer version
      OptionError        a parameter has an invalid value
      AdaptationFailed   an adaptation rule of a case base does not apply to a query

    CountwiseWarning (UserWarning)
      SlowKernelsWarning the compiled kernels are not available; results are the same
      DataWarning        a property of the data that the user should know

Each message says what is wrong and where; `hint` says what to do.
"""

from __future__ import annotations

import math
import re
import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

__all__ = [
    "AdaptationFailed",
    "CountwiseError",
    "CountwiseWarning",
    "DataWarning",
    "MixedNamesError",
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
    "own_warnings",
    "printable",
    "warn",
]


class CountwiseError(ValueError):
    """Base class of all errors of Countwise.

    Parameters
    ----------
    message : str
        What is wrong, and where.
    hint : str or None, default=None
        What to do about it. It is appended to the message.
    row : int or None, default=None
        Row number that the message contains. `at` replaces it.

    Attributes
    ----------
    message : str
        The message without the hint.
    hint : str or None
        The hint.
    row : int or None
        The row number.

    Examples
    --------
    >>> from countwise.errors import CountwiseError
    >>> print(CountwiseError("'wind' is missing.", hint="add the column."))
    'wind' is missing. Hint: add the column.
    """

    def __init__(self, message: str, hint: str | None = None, row: int | None = None) -> None:
        message, hint = printable(message), None if hint is None else printable(hint)
        super().__init__(message if hint is None else f"{message} Hint: {hint}")
        self.message = message
        self.hint = hint
        self.row = row

    def __reduce__(self) -> tuple[type[CountwiseError], tuple[str, str | None, int | None]]:
        return type(self), (self.message, self.hint, self.row)

    def at(self, row: int) -> CountwiseError:
        """Return the same error with another row number.

        A source that reads a file in chunks uses it to count rows from the start of the file.

        Parameters
        ----------
        row : int
            New row number.

        Returns
        -------
        CountwiseError
            A new error of the same class.

        Examples
        --------
        >>> from countwise.errors import TableError
        >>> print(TableError("'age' is infinite in row 3.", row=3).at(1003))
        'age' is infinite in row 1003.
        """
        return type(self)(self.message.replace(f"row {self.row}", f"row {row}", 1), self.hint, row)


class SchemaError(CountwiseError):
    """An attribute is declared wrongly, or a column has the wrong type.

    Examples
    --------
    >>> from countwise import Nominal
    >>> Nominal("wind", ["north", "north"])
    Traceback (most recent call last):
        ...
    countwise.errors.SchemaError: ...
    """


class UnseenValueError(SchemaError):
    """A value is outside the declared domain of its attribute."""


class MixedNamesError(SchemaError, TypeError):
    """Some names of columns are strings and others are not.

    It is also a TypeError, which scikit-learn raises for such a table.
    """


class TableError(CountwiseError):
    """The rows are invalid: their shape, an infinite value, the weights or the target.

    Examples
    --------
    >>> from countwise import NaiveBayesClassifier
    >>> NaiveBayesClassifier().fit({"age": [20.0, float("inf")]}, ["no", "yes"])
    Traceback (most recent call last):
        ...
    countwise.errors.TableError: ...
    """


class TooFewRows(TableError, AttributeError):  # noqa: N818 - a state that more rows can end
    """The rows are too few, or too similar, to learn from.

    `partial_fit` accepts such rows and waits for more. It is also an AttributeError, because the fitted attributes do
    not exist yet.
    """


class RowsRefused(CountwiseError):  # noqa: N818 - the hint names an alternative
    """A model needs the rows in memory, but the source does not provide them."""


class ReadError(CountwiseError):
    """A file cannot be read as a table.

    Examples
    --------
    >>> import countwise
    >>> countwise.read("missing.csv")
    Traceback (most recent call last):
        ...
    countwise.errors.ReadError: ...
    """


class ModelFileError(CountwiseError):
    """A file is not a model file, is damaged, or was written by a newer version of Countwise."""


class OptionError(CountwiseError):
    """A parameter has an invalid value.

    Examples
    --------
    >>> from countwise import TreeClassifier
    >>> TreeClassifier(criterion="ginni").fit({"wind": ["N", "E"]}, ["no", "yes"])
    Traceback (most recent call last):
        ...
    countwise.errors.OptionError: ...
    """


class AdaptationFailed(CountwiseError):  # noqa: N818 - a result of a rule, not a defect
    """An adaptation rule cannot adapt the solution of a case to a query; the case base tries the next case."""


class CountwiseWarning(UserWarning):
    """Base class of all warnings of Countwise."""


class SlowKernelsWarning(CountwiseWarning):
    """The compiled kernels are not available; the results are the same, but slower."""


class DataWarning(CountwiseWarning):
    """A property of the data that the user should know, such as a constant column."""


def warn(message: str, category: type[Warning] = DataWarning) -> None:
    """Issue a warning that points to the first calling line outside of Countwise.

    Parameters
    ----------
    message : str
        What the user should know.
    category : type of Warning, default=DataWarning
        Class of the warning.

    Examples
    --------
    >>> import warnings
    >>> from countwise.errors import warn
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     warn("'age' is constant.")
    >>> caught[0].category.__name__
    'DataWarning'
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "countwise":
        frame = frame.f_back
        level += 1
    warnings.warn(printable(message), category, stacklevel=level)


# Control characters (C0, C1, DEL), marks that change the direction of text, line separators and lone surrogates.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff]"
)


def printable(text: str, *, lines: bool = True) -> str:
    r"""Return a text with its control characters written as escapes, so that they cannot change a terminal.

    Parameters
    ----------
    text : str
        Any text.
    lines : bool, default=True
        Whether newlines and tabs are kept. If False, they are escaped too, for a cell of a table.

    Returns
    -------
    str
        The text; other characters are unchanged.

    Examples
    --------
    >>> from countwise.errors import printable
    >>> print(printable("red\x1b[31m"))
    red\x1b[31m
    """
    if text.isascii() and text.isprintable():
        return text
    text = _CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)
    return text if lines else text.replace("\n", r"\n").replace("\t", r"\t")


@contextmanager
def own_warnings() -> Iterator[None]:
    """Issue the warnings of other libraries as DataWarning.

    Yields
    ------
    None
        Within the context, warnings are collected; they are issued at its end.

    Examples
    --------
    >>> import warnings
    >>> from countwise.errors import own_warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     with own_warnings():
    ...         warnings.warn("overflow", RuntimeWarning)
    >>> caught[0].category.__name__
    'DataWarning'
    """
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        yield
    for note in seen:
        if issubclass(note.category, CountwiseWarning):
            warn(str(note.message), note.category)
        elif issubclass(note.category, UserWarning | RuntimeWarning):
            warn(str(note.message))
        else:  # for developers, such as a DeprecationWarning
            warnings.warn_explicit(note.message, note.category, note.filename, note.lineno)


def did_you_mean(word: object, known: Iterable[object]) -> str | None:
    """Return a hint with the known word that is most similar to a misspelled one.

    Parameters
    ----------
    word : object
        The misspelled word.
    known : iterable of object
        Valid words.

    Returns
    -------
    str or None
        The hint; None if no known word is similar.

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
    """Return values as a comma-separated list, with strings in quotes.

    Parameters
    ----------
    words : iterable of object
        The values.
    most : int, default=8
        Number of values to show. The others are counted.

    Returns
    -------
    str
        The list.

    Examples
    --------
    >>> from countwise.errors import listed
    >>> listed(["a", "b", "c"], most=2)
    "'a', 'b' and 1 more"
    """
    all_words = [_shortened(repr(w) if isinstance(w, str) else str(w)) for w in words]
    if len(all_words) <= most:
        return ", ".join(all_words)
    return ", ".join(all_words[:most]) + f" and {len(all_words) - most} more"


def _shortened(word: str, most: int = 200) -> str:
    """Return a long word without its middle."""
    return word if len(word) <= most else f"{word[: most // 2]}…{word[-most // 2 :]}"


@dataclass(frozen=True, slots=True)
class NumberIn:
    """Range of numbers that a parameter accepts, for `check_value` and `check_settings`.

    Parameters
    ----------
    least, most : float
        Limits of the range. By default -∞ and ∞.
    strict : bool, default=False
        Whether the limits themselves are excluded.
    whole : bool, default=False
        Whether only integers are accepted.
    words : tuple, default=()
        Values that are accepted beside numbers, such as 'auto' or None.

    Examples
    --------
    >>> from countwise.errors import NumberIn
    >>> str(NumberIn(1, whole=True, words=("loo",))), 2.5 in NumberIn(0, 1)
    ("an integer >= 1, or 'loo'", False)
    """

    least: float = -math.inf
    most: float = math.inf
    strict: bool = False
    whole: bool = False
    words: tuple[object, ...] = ()

    def __contains__(self, value: Any) -> bool:
        plain = type(value) is int or (type(value) is float and not self.whole)
        if plain and self.least < value < self.most and abs(value) <= sys.float_info.max:
            return True  # nearly always, and fast
        numbers: Any = Integral if self.whole else Real
        if isinstance(value, bool) or not isinstance(value, numbers):
            return _is_one_of(value, self.words)
        if _beyond_floats(value):
            return False
        value = value.item() if hasattr(value, "item") else value  # a number of NumPy may have few digits
        if self.strict and value in (self.least, self.most):
            return math.isinf(value)
        return bool(self.least <= value <= self.most)

    def __str__(self) -> str:
        text = _number_between(self.least, self.most, above=self.strict, below=self.strict, whole=self.whole)
        return f"{text}, or {_either(self.words)}" if self.words else text


SEED = NumberIn(0, whole=True, words=(None,))  # of a random number generator


def _beyond_floats(value: Any) -> bool:
    """Return whether an integer is so large that no computation can use it."""
    return isinstance(value, Integral) and int(abs(value)) > sys.float_info.max


def _number_between(least: float, most: float, *, above: bool, below: bool, whole: bool) -> str:
    """Return a range of numbers as text: ``an integer >= 1 and <= 9``."""
    limits = [f"{'>' if above else '>='} {least:g}"] * math.isfinite(least)
    limits += [f"{'<' if below else '<='} {most:g}"] * math.isfinite(most)
    return " ".join(["an integer" if whole else "a number", " and ".join(limits)]).strip()


def _either(words: Iterable[object]) -> str:
    """Return alternatives as text: ``'a', 'b' or None``."""
    *first, last = [repr(word) for word in words]
    return f"{', '.join(first)} or {last}" if first else last


def _is_one_of(value: object, words: Iterable[object]) -> bool:
    """Return whether a value is one of the words; True is not 1, and arrays are not compared."""
    return any(value is word or (isinstance(value, str) and value == word) for word in words)


def check_value(name: str, value: Any, allowed: tuple[object, ...] | NumberIn) -> None:
    """Raise an OptionError if a parameter does not have one of the allowed values.

    Parameters
    ----------
    name : str
        Name of the parameter.
    value : object
        Value of the parameter.
    allowed : tuple or NumberIn
        Allowed values, or the range of allowed numbers.

    Raises
    ------
    OptionError
        If the value is not allowed. The message lists the allowed values.

    Examples
    --------
    >>> from countwise.errors import NumberIn, check_value
    >>> check_value("radius", -1.5, NumberIn(0))
    Traceback (most recent call last):
        ...
    countwise.errors.OptionError: radius must be a number >= 0, not -1.5.
    """
    if type(value) is str and type(allowed) is tuple and value in allowed:  # the usual case, and the fastest
        return
    if isinstance(allowed, NumberIn):
        if value not in allowed:
            raise OptionError(f"{name} must be {allowed}, not {value!r}.")
    elif not _is_one_of(value, allowed):
        near = did_you_mean(value.lower(), allowed) if isinstance(value, str) else None
        raise OptionError(f"{name} must be {_either(allowed)}, not {value!r}.", hint=near)


def check_flag(name: str, value: Any) -> bool:
    """Return whether a parameter is true; raise an OptionError if it is neither true nor false, such as an array.

    Parameters
    ----------
    name : str
        Name of the parameter.
    value : object
        Value of the parameter.

    Returns
    -------
    bool
        The truth value.

    Examples
    --------
    >>> from countwise.errors import check_flag
    >>> check_flag("proba", True)
    True
    """
    try:
        return bool(value)
    except (TypeError, ValueError):
        raise OptionError(f"{name} must be True or False, not {value!r}.") from None


def check_settings(owner: object, **allowed: tuple[object, ...] | NumberIn) -> None:
    """Raise an OptionError if a parameter of an object does not have one of the allowed values.

    Parameters
    ----------
    owner : object
        Object whose attributes are checked, usually an estimator.
    **allowed : tuple or NumberIn
        For each parameter, the allowed values or the range of allowed numbers.

    Raises
    ------
    OptionError
        For the first parameter whose value is not allowed.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from countwise.errors import check_settings
    >>> check_settings(SimpleNamespace(divisor="N"), divisor=("n", "n-1"))
    Traceback (most recent call last):
        ...
    countwise.errors.OptionError: divisor must be 'n' or 'n-1', not 'N'. Hint: did you mean 'n'?
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
    """Raise an OptionError if a parameter is not a number within limits.

    Parameters
    ----------
    name : str
        Name of the parameter.
    value : object
        Value of the parameter.
    least : float
        Lower limit.
    most : float, default=inf
        Upper limit. It is included.
    none : bool, default=False
        Whether None is accepted.
    whole : bool, default=False
        Whether only integers are accepted; a float such as 2.0 is accepted too.
    above : bool, default=False
        Whether the lower limit is excluded.

    Raises
    ------
    OptionError
        If the value is not a number within the limits.

    Examples
    --------
    >>> from countwise.errors import check_number
    >>> check_number("max_depth", 0, 1, whole=True)
    Traceback (most recent call last):
        ...
    countwise.errors.OptionError: max_depth must be an integer >= 1, not 0.
    """
    if value is None and none:
        return
    number = isinstance(value, Real) and not isinstance(value, bool)
    good = number and not _beyond_floats(value) and (value > least if above else value >= least) and value <= most
    if good and whole:
        good = float(value).is_integer()
    if not good:
        allowed = _number_between(least, most, above=above, below=False, whole=whole) + ", or None" * none
        raise OptionError(f"{name} must be {allowed}, not {value!r}.")
