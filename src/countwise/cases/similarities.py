"""Local similarities of two values of an attribute, from 0 (nothing in common) to 1 (as good as equal).

Each class computes the exact similarity of two values, a cheap upper bound for all values of a column, and a text
that explains a similarity. The first value is that of the query, the second that of the case.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np

from countwise._docstrings import inherit_sections
from countwise._typing import Floats
from countwise.cases.columns import Column
from countwise.cases.values import Where, checked, is_number, key_of, shown, type_of
from countwise.errors import OptionError, TableError, check_settings
from countwise.jsonfile import plain
from countwise.neighbors.edit_distance import edit_distance
from countwise.working.numbers import number

__all__ = [
    "EqualSimilarity",
    "FunctionSimilarity",
    "NumberSimilarity",
    "Similarity",
    "StringSimilarity",
    "TableSimilarity",
    "counted_tokens",
    "quotient",
    "similarity_of",
]

_LONGEST = 10_000  # characters of a string that is compared by edit distance


@dataclass(frozen=True)
class Similarity:
    """Base class of local similarities.

    Subclasses compute the similarity of a value in the query and a value in a case.

    Examples
    --------
    >>> from countwise.cases import NumberSimilarity, Similarity
    >>> isinstance(NumberSimilarity(50), Similarity)
    True
    """

    word: ClassVar[str] = ""  # name in case base files
    kinds: ClassVar[tuple[str, ...]] = ()  # types of values that can be compared; empty for all types
    needed: ClassVar[str] = ""  # description of these types in messages
    cheap: ClassVar[bool] = False  # whether the first stage of retrieval computes the exact similarity

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        inherit_sections(cls, Similarity)

    def __str__(self) -> str:
        return type(self).__name__

    def between(self, asked: Any, found: Any) -> float:
        """Return the similarity of a value in the query and a value in a case.

        Parameters
        ----------
        asked : value
            Value in the query.
        found : value
            Value in the case.

        Returns
        -------
        float
            Similarity from 0 to 1.
        """
        raise NotImplementedError

    def explain(self, asked: Any, found: Any) -> str:
        """Explain the similarity of two values in a few words.

        Parameters
        ----------
        asked : value
            Value in the query.
        found : value
            Value in the case.

        Returns
        -------
        str
            Explanation in a few words.
        """
        raise NotImplementedError

    def check(self, value: Any, where: Where) -> None:
        """Raise TableError if a value cannot be compared.

        Parameters
        ----------
        value : value
            Value of a query or a case.
        where : Where
            Location of the value, for the message.
        """
        if self.kinds and type_of(value) not in self.kinds:
            raise TableError(f"{where} is {shown(value)!r}; it must be {self.needed}.")

    def fitted(self, column: Column) -> Similarity:
        """Return a copy with the parameters that are estimated from the values of a case base.

        Parameters
        ----------
        column : Column
            Values of the attribute in the case base.

        Returns
        -------
        Similarity
            Fitted copy.
        """
        return self

    def as_setting(self) -> dict[str, Any]:
        """Return the similarity as plain data for the file of a case base.

        Returns
        -------
        dict
            Plain data that can be written as JSON.
        """
        return {"@": self.word, **{f.name: plain(getattr(self, f.name)) for f in fields(self) if f.init}}

    def bounds(self, asked: Any, column: Column) -> Floats:
        """Return an upper bound of the similarity to each distinct value of a column.

        Parameters
        ----------
        asked : value
            Value in the query.
        column : Column
            Values of the attribute in the case base.

        Returns
        -------
        ndarray
            One bound for each distinct value.
        """
        if self.cheap:
            return np.array([self.between(asked, value) for value in column.values])
        return np.ones(len(column.values))

    def approximate(self, asked: Any, found: Any) -> bool:
        """Return whether the computed similarity may be too low.

        Parameters
        ----------
        asked : value
            Value in the query.
        found : value
            Value in the case.

        Returns
        -------
        bool
            Whether the similarity is a lower bound.
        """
        return False

    def parts(self, asked: Any, found: Any, path: str = "") -> tuple[Any, ...]:
        """Return the contributions of the attributes of a record; empty for other values.

        Parameters
        ----------
        asked : value
            Value in the query.
        found : value
            Value in the case.
        path : str, default=""
            Prefix for the names of the attributes.

        Returns
        -------
        tuple of RecordField
            Contribution of each attribute.
        """
        return ()

    def check_asked(self, asked: Any, where: Where) -> None:
        """Raise an error if a value of a query cannot be compared.

        Parameters
        ----------
        asked : value
            Value in the query.
        where : Where
            Location of the value, for the message.
        """
        self.check(asked, where)


@dataclass(frozen=True)
class EqualSimilarity(Similarity):
    """Similarity by equality: 1 for equal values, 0 for different ones.

    Examples
    --------
    >>> from countwise.cases import EqualSimilarity
    >>> EqualSimilarity().between("red", "red"), EqualSimilarity().between("red", "blue")
    (1.0, 0.0)
    """

    word: ClassVar[str] = "equal"

    def between(self, asked: Any, found: Any) -> float:
        """Return 1 if the values are equal, otherwise 0."""
        return float(key_of(asked) == key_of(found))

    def explain(self, asked: Any, found: Any) -> str:
        """Return ``equal`` or ``not equal``."""
        return "equal" if self.between(asked, found) else "not equal"

    def bounds(self, asked: Any, column: Column) -> Floats:
        """Return the exact similarity to each distinct value of a column."""
        out = np.zeros(len(column.values))
        if (place := column.place(asked)) >= 0:
            out[place] = 1.0
        return out


@dataclass(frozen=True)
class NumberSimilarity(Similarity):
    """Similarity of numbers, which decreases linearly with their difference.

    .. math:: s(q, c) = max(0, 1 - |q - c| / range)

    Here q is the number in the query and c the number in the case.

    Parameters
    ----------
    range : float or (float, float), optional
        Difference at which the similarity is 0. A pair gives the range for a case with a smaller number than the
        query, and for one with a larger number. By default, a case base uses its largest minus its smallest value.
    wanted : {'equal', 'at least', 'at most'}, default='equal'
        Numbers with similarity 1. 'equal': only the number in the query. 'at least': also larger numbers.
        'at most': also smaller numbers.

    Examples
    --------
    >>> from countwise.cases import NumberSimilarity
    >>> NumberSimilarity(50).between(100, 120)
    0.6
    >>> NumberSimilarity(50, wanted="at most").between(100, 80)
    1.0
    """

    range: float | tuple[float, float] | None = None
    wanted: str = "equal"
    word: ClassVar[str] = "number"
    kinds: ClassVar[tuple[str, ...]] = ("number",)
    needed: ClassVar[str] = "a number"

    def __post_init__(self) -> None:
        check_settings(self, wanted=("equal", "at least", "at most"))
        pair = self.range if isinstance(self.range, tuple) else (self.range, self.range)
        if len(pair) != 2 or not all(r is None or (is_number(r) and 0 <= r < math.inf) for r in pair):
            raise OptionError(
                f"range must be a finite number >= 0, or a pair of them, not {self.range!r}.",
                hint="pass a number, or a pair (range below, range above).",
            )
        if isinstance(self.range, tuple) and None in self.range:
            raise OptionError(
                f"range must be a number or a pair of numbers, not {self.range!r}.", hint="pass both numbers."
            )

    @property
    def ranges(self) -> tuple[float, float]:
        """The ranges for smaller and for larger numbers than that of the query."""
        if self.range is None:
            raise OptionError(
                "The range of this NumberSimilarity is not known outside a case base.",
                hint="pass it: NumberSimilarity(range).",
            )
        less, more = self.range if isinstance(self.range, tuple) else (self.range, self.range)
        return float(less), float(more)

    def between(self, asked: Any, found: Any) -> float:
        """Return 1 minus the difference divided by the range, but at least 0."""
        difference, span = self._difference(asked, found)
        return max(0.0, 1 - difference / span) if span > 0 else float(difference == 0)

    def _difference(self, asked: float, found: float) -> tuple[float, float]:
        """Return the difference that counts, and the range by which it is divided."""
        less, more = self.ranges
        difference = float(found) - float(asked)
        if (difference > 0 and self.wanted == "at least") or (difference < 0 and self.wanted == "at most"):
            difference = 0.0
        return abs(difference), more if difference > 0 else less

    def explain(self, asked: Any, found: Any) -> str:
        """Return the formula with its numbers."""
        difference, span = self._difference(asked, found)
        if difference == 0:
            return "equal" if asked == found else f"{self.wanted} {shown(asked)}"
        if span == 0:
            return "not equal, and the range is 0"
        clipped = ", not below 0" if difference > span else ""
        return f"1 - {number(difference)} / {number(span)}{clipped}"

    def fitted(self, column: Column) -> NumberSimilarity:
        """Return a copy with the range of the values of a column, unless a range is given."""
        if self.range is not None:
            return self
        numbers = column.numbers()
        numbers = numbers[~np.isnan(numbers)]
        return replace(self, range=float(numbers.max() - numbers.min()) if len(numbers) else 0.0)

    def bounds(self, asked: Any, column: Column) -> Floats:
        """Return the exact similarities to the distinct values of a column."""
        less, more = self.ranges
        differences = column.numbers() - float(asked)
        if self.wanted != "equal":
            differences = np.minimum(differences, 0.0) if self.wanted == "at least" else np.maximum(differences, 0.0)
        spans = np.where(differences > 0, more, less)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            out = np.where(spans > 0, np.maximum(0.0, 1 - np.abs(differences) / spans), differences == 0)
        return np.nan_to_num(out, nan=1.0)


@dataclass(frozen=True)
class TableSimilarity(Similarity):
    """Similarity given by a table of pairs of values.

    Parameters
    ----------
    table : mapping of (query value, case value) to similarity, or nested mapping
        Similarity of each pair, from 0 to 1. Equal values have similarity 1 unless the table contains the pair.
    symmetric : bool, default=True
        Whether the similarity of (a, b) is also that of (b, a).
    default : float, default=0.0
        Similarity of different values whose pair is not in the table.

    Examples
    --------
    >>> from countwise.cases import TableSimilarity
    >>> colors = TableSimilarity({("red", "orange"): 0.7, ("red", "blue"): 0.1})
    >>> colors.between("orange", "red"), colors.between("orange", "blue")
    (0.7, 0.0)
    """

    table: Mapping[Any, Any]
    symmetric: bool = True
    default: float = 0.0
    word: ClassVar[str] = "table"
    cheap: ClassVar[bool] = True
    _pairs: dict[Hashable, float] = field(init=False, repr=False, compare=False, default_factory=dict)

    def __post_init__(self) -> None:
        _check_similarity(self.default, "default")
        object.__setattr__(self, "table", {(a, b): s for a, b, s in self.triples(self.table)})
        for (a, b), similarity in self.table.items():
            _check_similarity(similarity, f"The similarity of {a!r} and {b!r}")
            for pair in ((a, b), (b, a)) if self.symmetric else ((a, b),):
                pair_key = (key_of(pair[0]), key_of(pair[1]))
                if self._pairs.setdefault(pair_key, float(similarity)) != similarity:
                    raise OptionError(
                        f"The table has two different similarities of {a!r} and {b!r}.",
                        hint="remove one, or use symmetric=False.",
                    )

    def as_setting(self) -> dict[str, Any]:
        """Return the similarity as plain data, with the table as triples."""
        return {**super().as_setting(), "table": [[plain(a), plain(b), s] for (a, b), s in self.table.items()]}

    @staticmethod
    def triples(table: Any) -> Iterator[tuple[Any, Any, Any]]:
        """Iterate over the entries of a table of pairs or of a nested mapping.

        Parameters
        ----------
        table : mapping
            A mapping of pairs to similarities, or a nested mapping.

        Yields
        ------
        tuple
            Query value, case value and similarity.

        Examples
        --------
        >>> from countwise.cases import TableSimilarity
        >>> list(TableSimilarity.triples({"red": {"orange": 0.7, "blue": 0.1}}))
        [('red', 'orange', 0.7), ('red', 'blue', 0.1)]
        """
        if not isinstance(table, Mapping):
            raise OptionError(
                f"table must be a mapping, not {type(table).__name__}.", hint="pass {('red', 'orange'): 0.7}."
            )
        for key, similarity in table.items():
            if isinstance(similarity, Mapping):
                yield from ((key, other, s) for other, s in similarity.items())
            elif isinstance(key, tuple) and len(key) == 2:
                yield (*key, similarity)
            else:
                raise OptionError(
                    f"The key {key!r} of table is not a pair of values.", hint="pass {('red', 'orange'): 0.7}."
                )

    def between(self, asked: Any, found: Any) -> float:
        """Return the entry of the table, or 1 for equal values, or the default."""
        a, b = key_of(asked), key_of(found)
        return self._pairs.get((a, b), 1.0 if a == b else self.default)

    def explain(self, asked: Any, found: Any) -> str:
        """Return whether the pair is in the table."""
        a, b = key_of(asked), key_of(found)
        return "from the table" if (a, b) in self._pairs else "equal" if a == b else "not in the table"


@dataclass(frozen=True)
class StringSimilarity(Similarity):
    """Similarity of strings by edit distance (Levenshtein).

    .. math:: s(q, c) = 1 - edits(q, c) / max(length of q, length of c)

    Parameters
    ----------
    ignore_case : bool, default=False
        Whether uppercase and lowercase letters are equal.

    Examples
    --------
    >>> from countwise.cases import StringSimilarity
    >>> round(StringSimilarity().between("kitten", "sitting"), 4)
    0.5714
    """

    ignore_case: bool = False
    word: ClassVar[str] = "string"
    kinds: ClassVar[tuple[str, ...]] = ("name",)
    needed: ClassVar[str] = "a string"

    def check(self, value: Any, where: Where) -> None:
        """Raise TableError if the value is no string, or too long."""
        super().check(value, where)
        if len(value) > _LONGEST:
            raise TableError(f"{where} has {len(value)} characters; StringSimilarity compares at most {_LONGEST}.")

    def between(self, asked: Any, found: Any) -> float:
        """Return 1 minus the number of edits divided by the length of the longer string."""
        edits, longer = self._edits(asked, found)
        return 1 - edits / longer if longer else 1.0

    def _edits(self, asked: str, found: str) -> tuple[int, int]:
        if self.ignore_case:
            asked, found = asked.casefold(), found.casefold()
        return edit_distance(asked, found), max(len(asked), len(found))

    def explain(self, asked: Any, found: Any) -> str:
        """Return the formula with its numbers."""
        edits, longer = self._edits(asked, found)
        return f"1 - {edits} edits / {longer} characters" if edits else "equal"

    def bounds(self, asked: Any, column: Column) -> Floats:
        """Return bounds from the number of common characters, regardless of their order."""
        shared, sizes, mine = column.common(f"letters {self.ignore_case}", self._letters, asked)
        return quotient(shared, np.maximum(sizes, mine))

    def _letters(self, value: Any) -> Iterator[Hashable]:
        return counted_tokens(value.casefold() if self.ignore_case else value)


@dataclass(frozen=True)
class FunctionSimilarity(Similarity):
    """Similarity by a user-defined function, whose results are checked."""

    function: Callable[[Any, Any], float]  # takes query value and case value, returns a number from 0 to 1
    attribute: str = "?"  # name of the attribute in messages
    word: ClassVar[str] = "function"

    @property
    def name(self) -> str:
        """Name of the function."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def __str__(self) -> str:
        return f"by {self.name}"

    def as_setting(self) -> dict[str, Any]:
        """Return a placeholder, because files do not contain functions."""
        return {"@": self.word}

    def between(self, asked: Any, found: Any) -> float:
        """Return the result of the function; raise OptionError if it is not a number from 0 to 1."""
        similarity = self.function(asked, found)
        if isinstance(similarity, np.generic):
            similarity = similarity.item()
        if not isinstance(similarity, int | float) or not 0 <= similarity <= 1:
            raise OptionError(
                f"The similarity function {self.name!r} of {self.attribute!r} returned {similarity!r} for "
                f"{shown(asked)!r} and {shown(found)!r}.",
                hint="return a number from 0 to 1.",
            )
        return float(similarity)

    def explain(self, asked: Any, found: Any) -> str:
        """Return the name of the function."""
        return str(self)


def quotient(part: Floats, whole: Floats) -> Floats:
    """Divide elementwise; the result is 1 where the divisor is 0."""
    return np.divide(part, whole, out=np.ones(len(whole)), where=whole > 0)


def counted_tokens(values: Any) -> Iterator[Hashable]:
    """Yield each element with the number of equal elements before it, so that sets of tokens act as multisets."""
    before: Counter[Hashable] = Counter()
    for value in values:
        yield value, before[value]
        before[value] += 1


def similarity_of(given: Any, attribute: str) -> Similarity:
    """Return a Similarity, given a Similarity or a function."""
    if isinstance(given, Similarity):
        return given
    if isinstance(given, type) or not callable(given):
        example = given.__name__ if isinstance(given, type) else "NumberSimilarity"
        raise OptionError(
            f"The similarity of {attribute!r} must be a Similarity or a function, not {given!r}.",
            hint=f"pass an instance, such as {example}().",
        )
    return FunctionSimilarity(given, attribute)


def _check_similarity(value: Any, what: str) -> None:
    if not is_number(checked(value, Where(what))) or not 0 <= value <= 1:
        raise OptionError(f"{what} must be a number from 0 to 1, not {value!r}.")
