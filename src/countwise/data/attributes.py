"""Attribute types: nominal, ordinal, numeric and count.

An attribute describes one column. It learns its domain from a column, encodes a column for the tallies, and parses
typed values. Missing values (None, NaN, NaT, NA) are recognized during encoding:

* Numeric and count columns keep their numbers; a missing value is NaN.
* Nominal and ordinal columns become codes. A domain of K values has the codes 0, ..., K - 1. The code K represents a
  missing value and K + 1 a value outside the domain.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable
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
    seconds_of,
)
from countwise.data.frames import Coded, Column, is_missing, is_sparse
from countwise.errors import SchemaError, UnseenValueError, did_you_mean, listed

__all__ = ["Attribute", "Count", "Nominal", "Numeric", "Ordinal"]


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
        domain is closed.
    fixed : tuple, default=()
        Values that stay in a growing domain even if no training row has them, such as the categories of a pandas
        column or the `classes` passed to `partial_fit`.

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
        object.__setattr__(self, "values", tuple(self.values))
        object.__setattr__(self, "fixed", tuple(self.fixed))
        if self.grows is None:
            object.__setattr__(self, "grows", not self.values)
        if len(set(self.values)) < len(self.values):
            raise SchemaError(f"The values of {self.name!r} contain duplicates: {listed(self.values)}.")
        object.__setattr__(self, "missing", len(self.values))
        object.__setattr__(self, "unseen", len(self.values) + 1)

    def learn(self, column: Column) -> Nominal:
        """Return the attribute with the values of a column added to a growing domain.

        Parameters
        ----------
        column : array-like
            Values of the attribute. Missing values are ignored.

        Returns
        -------
        Nominal
            The attribute itself if its domain is closed or already contains all values.

        Raises
        ------
        SchemaError
            If the column mixes types, such as strings and numbers.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import Nominal
        >>> Nominal("wind").learn(np.array(["north", None, "east"], dtype=object)).values
        ('east', 'north')
        """
        if not self.grows:
            return self
        if isinstance(column, Coded) and column.declared and not self.values:
            declared = tuple(plain(c) for c in column.categories)
            return dataclasses.replace(self, values=declared, fixed=declared)
        found = distinct(column, self.name)
        known = set(self.values)
        new = [v for v in found if v not in known]
        if not new:
            return self
        return dataclasses.replace(self, values=in_order((*self.values, *new), self.name))

    def _join(self, other: Self) -> Self:
        """Return the union of both domains; a closed domain must already contain the other's values."""
        fixed = tuple(dict.fromkeys((*self.fixed, *other.fixed)))
        known = set(self.values)
        new = [v for v in other.values if v not in known]
        if not new:
            return self if fixed == self.fixed else dataclasses.replace(self, fixed=fixed)
        if not self.grows:
            raise UnseenValueError(
                f"The declared values of {self.name!r} are {listed(self.values)}, "
                f"but the other part of the data also has {listed(new)}."
            )
        return dataclasses.replace(self, values=in_order((*self.values, *new), self.name), fixed=fixed)

    def without(self, counts: NDArray[Any]) -> Nominal:
        """Return the attribute without the values whose count is zero.

        Parameters
        ----------
        counts : ndarray
            Count of each value.

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
        kept = [v for v, n in zip(self.values, counts, strict=True) if n > 1e-9 or v in self.fixed]
        return self if len(kept) == len(self.values) else dataclasses.replace(self, values=tuple(kept))

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
            if column.dtype.kind == "b":
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
        if set(map(type, coded.categories)) <= {str}:
            lookup = [index.get(c, self.unseen) for c in coded.categories]
        else:
            lookup = [self.missing if is_missing(c) else index.get(plain(c), self.unseen) for c in coded.categories]
        table = np.array([self.missing, *lookup, self.missing], dtype=dtype)  # -1 is missing
        codes = np.empty(len(coded.codes), dtype=dtype)
        _kernels.encode_columns([coded.codes], [-1], [table], [self.missing], [codes])
        return codes

    def _codes_of_numbers(self, column: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
        kind, low, lookup = number_lookup(self.values)
        if kind == "lookup" and lookup is not None:
            codes = np.empty(len(column), dtype=dtype)
            _kernels.encode_columns([column], [low], [lookup], [self.unseen], [codes])
            return codes
        codes = np.full(len(column), self.unseen, dtype=dtype)  # the result if the domain has no numbers
        if kind == "search":
            domain = np.array(self.values)
            order = np.argsort(domain)
            place = order[np.minimum(np.searchsorted(domain, column, sorter=order), len(domain) - 1)]
            codes = np.where(domain[place] == column, place, self.unseen).astype(dtype)
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
            return labels
        return np.array(list(self.values))

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
