"""Attribute types: nominal, ordinal, numeric, date and count.

An attribute describes one column. It learns its domain from a column, encodes a column for the tallies, and parses
typed values. Missing values (None, NaN, NaT, NA) are recognized during encoding:

* Numeric and count columns keep their numbers; a missing value is NaN.
* Nominal and ordinal columns become codes. A domain of K values has the codes 0, ..., K - 1. The code K represents a
  missing value and K + 1 a value outside the domain.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise.data.columns import (
    distinct,
    factorized,
    in_order,
    narrowest,
    number_lookup,
    number_of,
    numbers_of,
    plain,
    remaining,
    seconds_of,
)
from countwise.data.frames import Coded, Column, is_missing, is_sparse
from countwise.data.values import date_from, iso_text, like, tidy
from countwise.errors import SchemaError, UnseenValueError, check_flag, did_you_mean, listed

__all__ = ["Attribute", "Count", "Date", "Nominal", "Numeric", "Ordinal"]


def _is_boolean(values: Sequence[Any]) -> bool:
    """Return whether the values of a domain are truth values; a domain has values of one type."""
    return len(values) > 0 and isinstance(values[0], bool)


def _alike(values: Sequence[Any]) -> Sequence[Any]:
    """Convert numbers to integers if all are whole, else to floats, so that 1 and 1.5 are of one type."""
    if float not in set(map(type, values)) or not all(type(v) in (int, float) and abs(v) < 2**53 for v in values):
        return values
    return [*map(int if all(v == int(v) for v in values) else float, values)]


@dataclass(frozen=True, slots=True)
class Attribute:
    """Base class of all attributes: a name and a type.

    Parameters
    ----------
    name : str
        Name of the column.
    """

    name: str
    kind: ClassVar[str] = "attribute"

    @property
    def field_type(self) -> str | None:
        """Type as which a CSV file is read for this attribute; None leaves it to the file."""
        return None

    def learn(self, column: Column) -> Attribute:
        """Return the attribute with the values of a column added to its domain.

        Parameters
        ----------
        column : array-like
            Values of the attribute. They are ignored by attributes without a domain.

        Returns
        -------
        Attribute
            The attribute itself if there is nothing to add.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import Numeric
        >>> Numeric("temp").learn(np.array([1.0, 2.0]))
        Numeric(name='temp')
        """
        return self

    def encode(self, column: Column, *, strict: bool = False) -> Any:
        """Return the column in the form that the tallies read."""
        raise NotImplementedError

    def parse(self, text: str) -> Any:
        """Convert typed text to a value of the attribute."""
        raise NotImplementedError

    def join(self, other: Attribute) -> Self:
        """Return the attribute whose domain is the union of both domains.

        Parameters
        ----------
        other : Attribute
            Attribute of the same type.

        Returns
        -------
        Attribute
            The joined attribute.

        Raises
        ------
        SchemaError
            If the types differ, or if a closed domain would have to grow.

        Examples
        --------
        >>> from countwise import Nominal
        >>> Nominal("wind", ("east",), grows=True).join(Nominal("wind", ("north",))).values
        ('east', 'north')
        """
        if type(self) is not type(other):
            raise SchemaError(f"{self.name!r} is {self.kind} in one part of the data and {other.kind} in the other.")
        return self._join(other)

    def _join(self, other: Self) -> Self:
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the attribute as plain data for the model file.

        Returns
        -------
        dict
            The type under "kind", and the fields of the attribute.

        Examples
        --------
        >>> from countwise import Numeric
        >>> Numeric("temp").to_dict()
        {'kind': 'numeric', 'name': 'temp'}
        """
        return {"kind": self.kind, **{f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init}}

    def as_setting(self) -> dict[str, Any]:
        """Return the attribute as plain data for the settings in a model file.

        Returns
        -------
        dict
            A marker under "@", and the result of `to_dict` under "of".

        Examples
        --------
        >>> from countwise import Numeric
        >>> Numeric("temp").as_setting()
        {'@': 'attribute', 'of': {'kind': 'numeric', 'name': 'temp'}}
        """
        return {"@": "attribute", "of": self.to_dict()}


@dataclass(frozen=True, slots=True)
class Nominal(Attribute):
    """Attribute with a finite set of unordered values.

    Parameters
    ----------
    name : str
        Name of the column.
    values : tuple, default=()
        Domain of the attribute: the values that it can take.
    grows : bool or None, default=None
        Whether `learn` adds new values to the domain. None means True if `values` is empty, else False: a declared
        domain is closed. A growing domain is sorted, and has both False and True if it has one of them.
    fixed : tuple, default=()
        Values that stay in a growing domain even if no training row has them, such as the categories of a pandas
        column or the `classes` passed to `partial_fit`. A domain of fixed values only has their order.

    Attributes
    ----------
    missing : int
        Code of a missing value.
    unseen : int
        Code of a value outside the domain.
    kind : str
        Type of the attribute: "nominal".

    Raises
    ------
    SchemaError
        If `values` contains a value twice.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise import Nominal
    >>> wind = Nominal("wind").learn(np.array(["north", "east", None], dtype=object))
    >>> wind.values
    ('east', 'north')
    >>> wind.encode(np.array(["north", None, "south"], dtype=object)).tolist()
    [1, 2, 3]
    """

    values: tuple[Hashable, ...] = ()
    grows: bool | None = None
    fixed: tuple[Hashable, ...] = ()
    missing: int = dataclasses.field(init=False, repr=False, compare=False)  # the code of a missing value
    unseen: int = dataclasses.field(init=False, repr=False, compare=False)  # the code of a value outside the domain
    kind: ClassVar[str] = "nominal"

    def __post_init__(self) -> None:
        for field in ("values", "fixed"):
            given: Any = getattr(self, field)
            try:
                object.__setattr__(self, field, tuple(given))
                distinct_values = len(set(given))
            except TypeError:
                message = f"{field} of {self.name!r} must be a list of values, not {given!r}."
                raise SchemaError(message) from None
            if field == "values" and distinct_values < len(self.values):
                raise SchemaError(f"The values of {self.name!r} contain duplicates: {listed(self.values)}.")
        object.__setattr__(self, "grows", not self.values if self.grows is None else check_flag("grows", self.grows))
        object.__setattr__(self, "missing", len(self.values))
        object.__setattr__(self, "unseen", len(self.values) + 1)

    @property
    def field_type(self) -> str | None:
        """Type as which a CSV file is read: that of the values; None without values."""
        types = set(map(type, self.values))
        if not types:
            return None
        return "boolean" if types == {bool} else "code" if types <= {int, float} else "text"

    def learn(self, column: Column, *, occurring: bool = False) -> Nominal:
        """Return the attribute with the values of a column added to a growing domain.

        The result does not depend on the order in which several columns are learned.

        Parameters
        ----------
        column : array-like
            Values of the attribute. Missing values are ignored.
        occurring : bool, default=False
            Whether only values that occur are added, as for a target: a class needs a row. If False, all categories
            of a pandas or Arrow column are added, and both False and True if one of them occurs.

        Returns
        -------
        Nominal
            The attribute itself if its domain is closed or already contains all values.

        Raises
        ------
        SchemaError
            If the column mixes types, such as strings and numbers, or if the values of an ordinal attribute are
            declared in two different orders.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import Nominal
        >>> Nominal("wind").learn(np.array(["north", None, "east"], dtype=object)).values
        ('east', 'north')
        >>> always = np.array([True, True])
        >>> Nominal("windy").learn(always).values, Nominal("windy").learn(always, occurring=True).values
        ((False, True), (True,))
        """
        if not self.grows:
            return self
        if isinstance(column, Coded) and column.declared and not occurring:
            return self._wider((), tuple(column.categories))
        found = distinct(column, self.name)
        return self._wider(found if occurring or not _is_boolean(found) else (False, True), ())

    def _join(self, other: Self) -> Self:
        """Return the union of both domains; a closed domain must already contain the other's values."""
        if self.grows and not self.values:
            return other
        known = set(self.values)
        new = [v for v in other.values if v not in known]
        if new and not self.grows:
            raise UnseenValueError(
                f"The declared values of {self.name!r} are {listed(self.values)}, "
                f"but the other part of the data also has {listed(new)}."
            )
        return self._wider(other.values, other.fixed)

    def _wider(self, values: Sequence[Any], fixed: tuple[Any, ...]) -> Self:
        """Return the attribute with more values, some of them fixed."""
        fixed = self._declared_by_both(fixed)
        new = {*values, *fixed}.difference(self.values)
        if not new and fixed == self.fixed:
            return self
        return dataclasses.replace(self, values=self._in_order([*self.values, *new], fixed), fixed=fixed)

    def _declared_by_both(self, fixed: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the fixed values of two declarations; two different ones have no common order."""
        if fixed == self.fixed or not fixed or not self.fixed:
            return fixed or self.fixed
        return in_order(list({*self.fixed, *fixed}), self.name)

    def _in_order(self, values: Sequence[Any], fixed: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the values of a growing domain in their order."""
        return fixed if len(fixed) == len(values) else in_order(_alike(values), self.name)

    def without(self, counts: NDArray[Any], *, occurring: bool = False) -> Nominal:
        """Return the attribute without the values whose count is zero.

        Parameters
        ----------
        counts : ndarray
            Count of each value.
        occurring : bool, default=False
            Whether only values that occur are kept, as for a target. If False, both False and True are kept if one
            of them occurs.

        Returns
        -------
        Nominal
            The attribute itself if its domain is closed or nothing is removed. Values in `fixed` are kept.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import Nominal
        >>> Nominal("wind", ("east", "north"), grows=True).without(np.array([3, 0])).values
        ('east',)
        """
        if not self.grows:
            return self
        kept = [v for v, known in zip(self.values, remaining(counts), strict=True) if known or v in self.fixed]
        if len(kept) == len(self.values) or (_is_boolean(kept) and not occurring):
            return self
        return dataclasses.replace(self, values=self._in_order(kept, self.fixed))

    def encode(self, column: Column, *, strict: bool = False) -> NDArray[Any]:
        """Return the code of each value, in the narrowest unsigned integer dtype.

        Parameters
        ----------
        column : array-like
            Values of the attribute.
        strict : bool, default=False
            If True, a value outside the domain raises an error. If False, it gets the code `unseen`.

        Returns
        -------
        ndarray
            Codes 0, ..., K - 1 of the K values of the domain, `missing` and `unseen`.

        Raises
        ------
        UnseenValueError
            If `strict` and a value is outside the domain.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import Nominal
        >>> Nominal("wind", ("east", "north")).encode(np.array(["north", None, "south"], dtype=object)).tolist()
        [1, 2, 3]
        """
        codes = self._codes(column)
        if strict and len(codes) and int(codes.max()) == self.unseen:
            row = int(np.argmax(codes == self.unseen))
            value = plain(column.categories[column.codes[row]] if isinstance(column, Coded) else column[row])
            raise UnseenValueError(
                f"{self.name!r} is {value!r} in row {row}, but its domain is {listed(self.values)}.",
                hint=did_you_mean(value, self.values)
                or "correct the value, or add it to the declared domain. In prediction, unseen='ignore' accepts such "
                "values.",
                row=row,
            )
        return codes

    def _codes(self, column: Column) -> NDArray[Any]:
        if not isinstance(column, Coded | np.ndarray) and is_sparse(column):
            raise SchemaError(f"{self.name!r} is a sparse matrix; it cannot be used as a single nominal column.")
        dtype = narrowest(len(self.values) + 2)
        if not isinstance(column, Coded) and column.dtype.kind in "iufb":
            if column.dtype.kind == "b" and number_lookup(self.values)[0] != "none":
                column = column.view(np.uint8)
            return self._codes_of_numbers(column, dtype)
        coded = column if isinstance(column, Coded) else factorized(column, self.name)
        if coded.all_used and tuple(coded.categories) == (*self.values, None):
            return coded.codes  # the codes already match this domain
        narrow = coded.declared and coded.codes.dtype == np.int8 and dtype == np.uint8
        if narrow and tuple(coded.categories) == self.values:  # the layout of pandas categories
            codes = coded.codes.view(np.uint8)
            if not len(codes) or int(codes.max()) < len(self.values):  # -1, a missing value, would be 255
                return codes
        index = {value: code for code, value in enumerate(self.values)}
        if set(map(type, coded.categories)) <= {str} and type(next(iter(index), "")) is str:
            lookup = [index.get(c, self.unseen) for c in coded.categories]
        else:
            lookup = [self.missing if is_missing(c) else self._code_of(plain(c), index) for c in coded.categories]
        table = np.array([self.missing, *lookup, self.missing], dtype=dtype)  # -1 is missing
        codes = np.empty(len(coded.codes), dtype=dtype)
        _kernels.encode_columns([coded.codes], [-1], [table], [self.missing], [codes])
        return codes

    def _code_of(self, value: Any, index: Mapping[Any, int]) -> int:
        """Return the code of a value, which may have another type than the domain: "12" for 12, 1 for True."""
        try:
            code = index.get(value)
        except TypeError:
            code = None  # not hashable
        if code is None:
            known = like(value, index)
            code = None if known is None else index[known]
        return self.unseen if code is None else code

    def _codes_of_numbers(self, column: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        kind, low, lookup = number_lookup(self.values)
        if kind == "lookup" and lookup is not None:
            codes = np.empty(len(column), dtype=dtype)
            _kernels.encode_columns([column], [low], [lookup], [self.unseen], [codes])
            return codes
        if kind == "search":
            domain = np.array(self.values)
            order = np.argsort(domain)
            place = order[np.minimum(np.searchsorted(domain, column, sorter=order), len(domain) - 1)]
            codes = np.where(domain[place] == column, place, self.unseen).astype(dtype)
        else:  # the domain has strings, or integers that NumPy does not compare exactly with floats
            found, places = np.unique(column, return_inverse=True)
            index = {value: code for code, value in enumerate(self.values)}
            table = [self._code_of(value, index) for value in found.tolist()] if index else [self.unseen] * len(found)
            codes = np.array(table, dtype=dtype)[places]
        if column.dtype.kind == "f":
            codes[np.isnan(column)] = self.missing
        return codes

    def decode(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Return the values that belong to codes.

        Parameters
        ----------
        codes : ndarray of int
            Codes from `encode`.

        Returns
        -------
        ndarray
            Values of the domain. The codes `missing` and `unseen` become None.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import Nominal
        >>> Nominal("wind", ("east", "north")).decode(np.array([1, 0, 2])).tolist()
        ['north', 'east', None]
        """
        kinds = {type(v) for v in self.values}
        if kinds <= {bool} or kinds <= {int} or kinds <= {float} or kinds <= {str}:
            domain = np.array(self.values)
            # NumPy drops trailing null characters of strings
            lossless = domain.dtype.kind != "U" or domain.tolist() == list(self.values)
            if lossless and (len(codes) == 0 or int(codes.max()) < len(self.values)):
                return domain[codes]
        padded = np.empty(len(self.values) + 2, dtype=object)
        padded[: len(self.values)] = self.values
        return padded[codes]

    def labels(self, kind: np.dtype[Any] | None) -> NDArray[Any]:
        """Return the domain as an array.

        Parameters
        ----------
        kind : dtype or None
            NumPy dtype of the user's column. If it is None or a string dtype, NumPy infers the dtype.

        Returns
        -------
        ndarray
            The values in the order of their codes.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import Nominal
        >>> Nominal("floors", (1, 2)).labels(np.dtype("int32"))
        array([1, 2], dtype=int32)
        """
        if kind is not None and kind.kind in "iufbOM":
            labels = np.empty(len(self.values), dtype=kind)
            labels[:] = list(self.values)
        else:
            labels = np.array(list(self.values))
        exact = labels.ndim == 1 and (labels.dtype.kind not in "iuf" or labels.tolist() == list(self.values))
        if exact:
            return labels
        labels = np.empty(len(self.values), dtype=object)  # tuples, or integers that floats cannot represent
        labels[:] = self.values
        return labels

    def parse(self, text: str) -> Any:
        """Return the value of the domain whose string form is `text`.

        Parameters
        ----------
        text : str
            Typed text. An exact match wins over a match that ignores case.

        Returns
        -------
        object
            The value, or `text` itself if no value matches.

        Examples
        --------
        >>> from countwise import Nominal
        >>> Nominal("wind", ("east", "north")).parse("North")
        'north'
        """
        written = {str(value): value for value in self.values}
        if text in written:
            return written[text]
        folded = {str(value).casefold(): value for value in self.values}
        return folded.get(text.casefold(), text)


@dataclass(frozen=True, slots=True)
class Ordinal(Nominal):
    """Nominal attribute whose values are ordered.

    The order of `values` is their order. The parameters and attributes are those of `Nominal`.

    Parameters
    ----------
    name : str
        Name of the column.
    values : tuple, default=()
        Domain of the attribute, from the lowest value to the highest.
    grows : bool or None, default=None
        Whether `learn` adds new values to the domain. None means True if `values` is empty, else False.
    fixed : tuple, default=()
        Values that stay in a growing domain even if no training row has them.

    Attributes
    ----------
    missing : int
        Code of a missing value.
    unseen : int
        Code of a value outside the domain.
    kind : str
        Type of the attribute: "ordinal".

    Examples
    --------
    >>> from countwise import Ordinal
    >>> Ordinal("temperature", ("Cool", "Mild", "Hot")).values
    ('Cool', 'Mild', 'Hot')
    """

    kind: ClassVar[str] = "ordinal"

    def _join(self, other: Self) -> Self:
        """Return the union of both domains; declared values must have the same order in both."""
        if not (self.grows and other.grows) and self.values and other.values and self.values != other.values:
            raise self._two_orders(self.values, other.values)
        return Nominal._join(self, other)

    def _declared_by_both(self, fixed: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the declared order; a different one is an error."""
        if fixed and self.fixed and fixed != self.fixed:
            raise self._two_orders(self.fixed, fixed)
        return fixed or self.fixed

    def _in_order(self, values: Sequence[Any], fixed: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the values in the declared order, if there is one; other values have no place in it."""
        new = [v for v in values if v not in fixed]
        if fixed and new:
            raise UnseenValueError(
                f"The declared values of {self.name!r} are {listed(fixed)}, without {listed(new)}."
            )
        return Nominal._in_order(self, values, fixed)

    def _two_orders(self, one: tuple[Any, ...], other: tuple[Any, ...]) -> SchemaError:
        return SchemaError(
            f"The values of {self.name!r} are ordered {listed(one)} in one part of the data and {listed(other)} in "
            "the other.",
            hint="use the same ordered categories in all parts.",
        )


@dataclass(frozen=True, slots=True)
class Numeric(Attribute):
    """Attribute with real values.

    NaN is a missing value. Models reject infinite values.

    Parameters
    ----------
    name : str
        Name of the column.

    Attributes
    ----------
    kind : str
        Type of the attribute: "numeric".

    Examples
    --------
    >>> import numpy as np
    >>> from countwise import Numeric
    >>> Numeric("temp").encode(np.array([1, None, 2.5], dtype=object)).tolist()
    [1.0, nan, 2.5]
    """

    kind: ClassVar[str] = "numeric"

    @property
    def field_type(self) -> str | None:
        """Type as which a CSV file is read: "numeric"."""
        return "numeric"

    def encode(self, column: Column, *, strict: bool = False) -> NDArray[Any]:
        """Return the column as an array of numbers.

        Parameters
        ----------
        column : array-like
            Values of the attribute. A column of a numeric dtype is returned without a copy. Dates become seconds
            since 1970-01-01 and durations become seconds.
        strict : bool, default=False
            Ignored. It exists for a common interface with nominal attributes.

        Returns
        -------
        ndarray
            Numbers, NaN where a value is missing.

        Raises
        ------
        SchemaError
            If a value cannot be converted to a number.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import Numeric
        >>> Numeric("temp").encode(np.array(["1.5", None], dtype=object)).tolist()
        [1.5, nan]
        """
        if isinstance(column, Coded):
            table = np.array([number_of(c, self.name, "the column") for c in column.categories] + [np.nan])
            return table[column.codes]
        if not isinstance(column, Coded | np.ndarray) and is_sparse(column):
            raise SchemaError(f"{self.name!r} is a sparse matrix; it cannot be used as a single numeric column.")
        if column.dtype.kind in "fiub":
            return column
        if column.dtype.kind in "mM":
            return seconds_of(column)
        return numbers_of(column, self.name)

    def parse(self, text: str) -> float:
        """Convert typed text to a number.

        Parameters
        ----------
        text : str
            Typed text. An empty string and "?" are missing values.

        Returns
        -------
        float
            The number, NaN if it is missing.

        Raises
        ------
        SchemaError
            If the text is not a number.

        Examples
        --------
        >>> from countwise import Numeric
        >>> Numeric("temp").parse("21.5"), Numeric("temp").parse("?")
        (21.5, nan)
        """
        if text.strip() in ("", "?"):
            return float("nan")
        try:
            return float(text)
        except ValueError:
            raise SchemaError(f"{self.name!r} is numeric, but {text!r} is not a number.") from None


@dataclass(frozen=True, slots=True)
class Date(Numeric):
    """Numeric attribute whose values are dates or times, counted in seconds since 1970-01-01, UTC.

    Columns of dates and times have this type. A time with a time zone is converted to UTC; a time without one is
    taken as UTC.

    Parameters
    ----------
    name : str
        Name of the column.

    Attributes
    ----------
    kind : str
        Type of the attribute: "date".

    Examples
    --------
    >>> import numpy as np
    >>> from countwise import Date
    >>> Date("day").encode(np.array(["1970-01-02", None], dtype=object)).tolist()
    [86400.0, nan]
    """

    kind: ClassVar[str] = "date"

    @property
    def field_type(self) -> str | None:
        """Type as which a CSV file is read: "date"."""
        return "date"

    def encode(self, column: Column, *, strict: bool = False) -> NDArray[Any]:
        """Return the column as seconds since 1970-01-01.

        Parameters
        ----------
        column : array-like
            Dates, times, their ISO texts, or numbers of seconds.
        strict : bool, default=False
            Ignored. It exists for a common interface with nominal attributes.

        Returns
        -------
        ndarray
            Seconds, NaN where a value is missing.

        Raises
        ------
        SchemaError
            If a value is not a date.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import Date
        >>> Date("day").encode(np.array(["1970-01-02", "NaT"], dtype="datetime64[D]")).tolist()
        [86400.0, nan]
        """
        if isinstance(column, Coded):
            seconds = [self._seconds(c, "the column", None) for c in column.categories]
            return np.array([*seconds, np.nan])[column.codes]
        if isinstance(column, np.ndarray) and column.dtype.kind in "OUS":
            column = tidy(column.astype(object), self.name)
            if column.dtype.kind == "O":
                return np.array([self._seconds(c, f"row {row}", row) for row, c in enumerate(column)])
        return Numeric.encode(self, column)

    def _seconds(self, value: Any, where: str, row: int | None) -> float:
        if is_missing(value):
            return float("nan")
        value = plain(value)
        if isinstance(value, int | float):
            return float(value)
        found = date_from(value) if isinstance(value, str) else None
        if found is None:
            raise SchemaError(
                f"{self.name!r} has dates, but {value!r} in {where} is not an ISO date such as 2024-02-29.",
                hint=f"use None for missing values, or train with types={{{self.name!r}: 'nominal'}}.",
                row=row,
            )
        return float(seconds_of(np.array([found], dtype="datetime64[us]"))[0])

    def parse(self, text: str) -> float:
        """Convert a typed ISO date to seconds since 1970-01-01.

        Parameters
        ----------
        text : str
            Typed text. An empty string and "?" are missing values.

        Returns
        -------
        float
            The seconds, NaN if the date is missing.

        Raises
        ------
        SchemaError
            If the text is not a date.

        Examples
        --------
        >>> from countwise import Date
        >>> Date("day").parse("1970-01-02")
        86400.0
        """
        if text.strip() in ("", "?"):
            return float("nan")
        found = date_from(text)
        return Numeric.parse(self, text) if found is None else self._seconds(iso_text(found), "the text", None)


@dataclass(frozen=True, slots=True)
class Count(Numeric):
    """Numeric attribute whose values are non-negative integers.

    Parameters
    ----------
    name : str
        Name of the column.

    Attributes
    ----------
    kind : str
        Type of the attribute: "count".

    Examples
    --------
    >>> import numpy as np
    >>> from countwise import Count
    >>> Count("job_years").encode(np.array([3, 4])).tolist()
    [3, 4]
    """

    kind: ClassVar[str] = "count"

    def encode(self, column: Column, *, strict: bool = False) -> NDArray[Any]:
        """Return the column as an array of numbers after checking that they are counts.

        Parameters
        ----------
        column : array-like
            Values of the attribute.
        strict : bool, default=False
            Ignored. It exists for a common interface with nominal attributes.

        Returns
        -------
        ndarray
            Non-negative integers, possibly of a float dtype. NaN where a value is missing.

        Raises
        ------
        SchemaError
            If a value is negative or not an integer.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import Count
        >>> Count("job_years").encode(np.array([3, 4])).tolist()
        [3, 4]
        """
        numbers = Numeric.encode(self, column)
        with np.errstate(invalid="ignore"):
            wrong = numbers < 0
            if numbers.dtype.kind == "f" and not wrong.any():
                wrong = (numbers != np.floor(numbers)) & ~np.isnan(numbers)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise SchemaError(
                f"{self.name!r} is {numbers[row]} in row {row}, but a count must be an integer >= 0.",
                hint=f"pass types={{{self.name!r}: 'numeric'}}.",
                row=row,
            )
        return numbers
