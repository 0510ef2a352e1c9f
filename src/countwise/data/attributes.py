"""What an attribute is: nominal, ordinal, numeric, a count, a text, or a block of counts.

An attribute is plain data. It can *learn* its domain from a column, *encode* a
column for the tallies, and *parse* what a person typed. Missing cells (None,
NaN, NaT, NA) are recognized here and nowhere later:

* numeric and count columns stay as they are, with NaN for missing;
* nominal and ordinal columns become codes 0 .. K-1, with K for missing and
  K + 1 for a value that the domain does not have.
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
    """What all attributes have: a name and a kind."""

    name: str
    kind: ClassVar[str] = "attribute"

    def learn(self, column: Column) -> Attribute:
        """The attribute with its domain widened to what the column holds."""
        return self

    def encode(self, column: Column, *, strict: bool = False) -> Any:
        """The column as the tallies want it."""
        raise NotImplementedError

    def parse(self, text: str) -> Any:
        """A value that a person typed."""
        raise NotImplementedError

    def join(self, other: Attribute) -> Self:
        """The attribute that has both domains."""
        if type(self) is not type(other):
            raise SchemaError(f"{self.name!r} is {self.kind} in one part and {other.kind} in the other.")
        return self._join(other)

    def _join(self, other: Self) -> Self:
        return self

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for the model file."""
        return {"kind": self.kind, **{f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.init}}

    def as_setting(self) -> dict[str, Any]:
        """Plain data, where the attribute is a setting."""
        return {"@": "attribute", "of": self.to_dict()}


@dataclass(frozen=True, slots=True)
class Nominal(Attribute):
    """An attribute with a finite set of unordered values.

    Parameters
    ----------
    name : str
        The attribute's name.
    values : tuple, default=()
        Its domain.
    grows : bool, optional
        Whether values met in training join the domain. By default they do when
        no domain was declared; a declared domain is closed.
    fixed : tuple, default=()
        Values that belong to a domain that grows whether or not they are met: the categories
        of a pandas column, the classes that were announced.

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
            raise SchemaError(f"{self.name!r} lists a value twice: {listed(self.values)}.")
        object.__setattr__(self, "missing", len(self.values))
        object.__setattr__(self, "unseen", len(self.values) + 1)

    def learn(self, column: Column) -> Nominal:
        """Add the values of a column to a domain that grows."""
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
        """The domain of both; a closed domain must already hold the other's values."""
        fixed = tuple(dict.fromkeys((*self.fixed, *other.fixed)))
        known = set(self.values)
        new = [v for v in other.values if v not in known]
        if not new:
            return self if fixed == self.fixed else dataclasses.replace(self, fixed=fixed)
        if not self.grows:
            raise UnseenValueError(
                f"{self.name!r} is declared as {listed(self.values)}; the other part also has {listed(new)}."
            )
        return dataclasses.replace(self, values=in_order((*self.values, *new), self.name), fixed=fixed)

    def without(self, counts: NDArray[Any]) -> Nominal:
        """The domain less the values that nothing is left of, if it is one that grew to have them."""
        if not self.grows:
            return self
        kept = [v for v, n in zip(self.values, counts, strict=True) if n > 1e-9 or v in self.fixed]
        return self if len(kept) == len(self.values) else dataclasses.replace(self, values=tuple(kept))

    def encode(self, column: Column, *, strict: bool = False) -> NDArray[Any]:
        """Codes in the narrowest unsigned type; see the module for missing and unseen."""
        codes = self._codes(column)
        if strict and len(codes) and int(codes.max()) == self.unseen:
            row = int(np.argmax(codes == self.unseen))
            value = plain(column.categories[column.codes[row]] if isinstance(column, Coded) else column[row])
            raise UnseenValueError(
                f"{self.name!r} is {value!r} in row {row}; its values are {listed(self.values)}.",
                hint=did_you_mean(value, self.values) or "declare the value, or let the domain grow.",
                row=row,
            )
        return codes

    def _codes(self, column: Column) -> NDArray[Any]:
        if not isinstance(column, Coded | np.ndarray) and is_sparse(column):
            raise SchemaError(f"{self.name!r} is a sparse block; it cannot be read as one nominal column.")
        dtype = narrowest(len(self.values) + 2)
        if not isinstance(column, Coded) and column.dtype.kind in "iufb":
            if column.dtype.kind == "b":
                column = column.view(np.uint8)
            return self._codes_of_numbers(column, dtype)
        coded = column if isinstance(column, Coded) else factorized(column, self.name)
        if coded.all_used and tuple(coded.categories) == (*self.values, None):
            return coded.codes  # already laid out as this domain has it
        narrow = coded.declared and coded.codes.dtype == np.int8 and dtype == np.uint8
        if narrow and tuple(coded.categories) == self.values:  # as pandas keeps categories
            codes = coded.codes.view(np.uint8)
            if not len(codes) or int(codes.max()) < len(self.values):  # nothing is missing, which would be -1
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
        codes = np.full(len(column), self.unseen, dtype=dtype)  # all that there is if the domain is not of numbers
        if kind == "search":
            domain = np.array(self.values)
            order = np.argsort(domain)
            place = order[np.minimum(np.searchsorted(domain, column, sorter=order), len(domain) - 1)]
            codes = np.where(domain[place] == column, place, self.unseen).astype(dtype)
        if column.dtype.kind == "f":
            codes[np.isnan(column)] = self.missing
        return codes

    def decode(self, codes: NDArray[Any]) -> NDArray[Any]:
        """Values of codes; missing and unseen become None."""
        kinds = {type(v) for v in self.values}
        if kinds <= {bool} or kinds <= {int} or kinds <= {float} or kinds <= {str}:
            domain = np.array(self.values)
            whole = domain.dtype.kind != "U" or domain.tolist() == list(self.values)  # NumPy drops zeros at the end
            if whole and (len(codes) == 0 or int(codes.max()) < len(self.values)):
                return domain[codes]
        padded = np.empty(len(self.values) + 2, dtype=object)
        padded[: len(self.values)] = self.values
        return padded[codes]

    def labels(self, kind: np.dtype[Any] | None) -> NDArray[Any]:
        """The values as an array, in the dtype in which a user keeps them."""
        if kind is not None and kind.kind in "iufbOM":
            labels = np.empty(len(self.values), dtype=kind)
            labels[:] = list(self.values)
            return labels
        return np.array(list(self.values))

    def parse(self, text: str) -> Any:
        """The value whose written form is `text`; the text itself if there is none."""
        written = {str(value): value for value in self.values}
        if text in written:
            return written[text]
        folded = {str(value).casefold(): value for value in self.values}
        return folded.get(text.casefold(), text)


@dataclass(frozen=True, slots=True)
class Ordinal(Nominal):
    """A nominal attribute whose values have an order: the order in which they are listed.

    Examples
    --------
    >>> from countwise import Ordinal
    >>> Ordinal("temperature", ("Cool", "Mild", "Hot")).values
    ('Cool', 'Mild', 'Hot')
    """

    kind: ClassVar[str] = "ordinal"


@dataclass(frozen=True, slots=True)
class Numeric(Attribute):
    """A number on a scale. NaN is missing; infinity is an error.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise import Numeric
    >>> Numeric("temp").encode(np.array([1, None, 2.5], dtype=object)).tolist()
    [1.0, nan, 2.5]
    """

    kind: ClassVar[str] = "numeric"

    def encode(self, column: Column, *, strict: bool = False) -> NDArray[Any]:
        """The same numbers, without a copy where they already are numbers."""
        if isinstance(column, Coded):
            table = np.array([number_of(c, self.name, "its categories") for c in column.categories] + [np.nan])
            return table[column.codes]
        if not isinstance(column, Coded | np.ndarray) and is_sparse(column):
            raise SchemaError(f"{self.name!r} is a sparse block; it cannot be read as one number a row.")
        if column.dtype.kind in "fiub":
            return column
        if column.dtype.kind in "mM":
            return seconds_of(column)
        return numbers_of(column, self.name)

    def parse(self, text: str) -> float:
        """A number that a person typed; `?` and nothing at all are missing."""
        if text.strip() in ("", "?"):
            return float("nan")
        try:
            return float(text)
        except ValueError:
            raise SchemaError(f"{self.name!r} is a number; {text!r} is not.") from None


@dataclass(frozen=True, slots=True)
class Count(Numeric):
    """A whole number from zero upwards: how many.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise import Count
    >>> Count("job_years").encode(np.array([3, 4])).tolist()
    [3, 4]
    """

    kind: ClassVar[str] = "count"

    def encode(self, column: Column, *, strict: bool = False) -> NDArray[Any]:
        """The same numbers, after a look that they are counts."""
        numbers = Numeric.encode(self, column)
        with np.errstate(invalid="ignore"):
            wrong = numbers < 0
            if numbers.dtype.kind == "f" and not wrong.any():
                wrong = (numbers != np.floor(numbers)) & ~np.isnan(numbers)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise SchemaError(
                f"{self.name!r} is {numbers[row]} in row {row}; a count is a whole number from 0 upwards.",
                hint=f"declare {self.name!r} as numeric.",
                row=row,
            )
        return numbers
