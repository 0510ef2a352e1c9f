"""Local similarities: how alike two values of one attribute are, from 0 (not at all) to 1 (as good as equal).

Each is a small class with the exact similarity of two values, a cheap upper bound for all values of a column, and the
words that explain a similarity. The first value is what the query asks for, the second what a case has.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar

import numpy as np

from countwise._typing import Floats
from countwise.cases.columns import Column
from countwise.cases.values import Where, checked, is_number, key_of, kind_of, shown
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

_LONGEST = 10_000  # letters of a string that is compared letter by letter


@dataclass(frozen=True)
class Similarity:
    """What all local similarities have."""

    word: ClassVar[str] = ""  # what case base files call it
    kinds: ClassVar[tuple[str, ...]] = ()  # the kinds of values that can be compared; none stands for all
    needed: ClassVar[str] = ""
    cheap: ClassVar[bool] = False  # whether the first stage of a search computes it exactly

    def __str__(self) -> str:
        return type(self).__name__

    def between(self, asked: Any, found: Any) -> float:
        """The similarity of what is asked and what is found."""
        raise NotImplementedError

    def explain(self, asked: Any, found: Any) -> str:
        """How it came about."""
        raise NotImplementedError

    def check(self, value: Any, where: Where) -> None:
        """Refuse a value that cannot be compared."""
        if self.kinds and kind_of(value) not in self.kinds:
            raise TableError(f"{where} is {shown(value)!r}; {self.needed} is needed.")

    def fitted(self, column: Column) -> Similarity:
        """The same, with what it takes from the base filled in."""
        return self

    def as_setting(self) -> dict[str, Any]:
        """Plain data, for the file of a case base."""
        return {"@": self.word, **{f.name: plain(getattr(self, f.name)) for f in fields(self) if f.init}}

    def bounds(self, asked: Any, column: Column) -> Floats:
        """For each distinct value of a column a number that its similarity does not exceed."""
        if self.cheap:
            return np.array([self.between(asked, value) for value in column.values])
        return np.ones(len(column.values))

    def approximate(self, asked: Any, found: Any) -> bool:
        """Whether the similarity may be too low."""
        return False

    def parts(self, asked: Any, found: Any, path: str = "") -> tuple[Any, ...]:
        """What each attribute of a record that is asked for adds; other values have no parts."""
        return ()

    def check_asked(self, asked: Any, where: Where) -> None:
        """Refuse a value of a query that cannot be compared."""
        self.check(asked, where)


@dataclass(frozen=True)
class EqualSimilarity(Similarity):
    """1 for equal values, 0 for others.

    Examples
    --------
    >>> from countwise.cases import EqualSimilarity
    >>> EqualSimilarity().between("red", "red"), EqualSimilarity().between("red", "blue")
    (1.0, 0.0)
    """

    word: ClassVar[str] = "equal"

    def between(self, asked: Any, found: Any) -> float:
        """1 or 0."""
        return float(key_of(asked) == key_of(found))

    def explain(self, asked: Any, found: Any) -> str:
        """Equal or not."""
        return "equal" if self.between(asked, found) else "not equal"

    def bounds(self, asked: Any, column: Column) -> Floats:
        """Exact: only one value can be equal."""
        out = np.zeros(len(column.values))
        if (place := column.place(asked)) >= 0:
            out[place] = 1.0
        return out


@dataclass(frozen=True)
class NumberSimilarity(Similarity):
    """1 - |asked - found| / range, and not below 0.

    Parameters
    ----------
    range : float or (float, float), optional
        The difference at which nothing is alike any more. Two of them: for a case that has less than is asked,
        and for one that has more. By default the range of the base, its largest value less its smallest.
    wanted : {"equal", "at least", "at most"}, default="equal"
        Whether a case may have more (or less) than is asked and still be as good as equal.

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
            raise OptionError(f"range={self.range!r} is no range.", hint="give a number, or one for less and more.")
        if isinstance(self.range, tuple) and None in self.range:
            raise OptionError(f"range={self.range!r} is incomplete.", hint="give both numbers, or none.")

    @property
    def ranges(self) -> tuple[float, float]:
        """For less than is asked, and for more."""
        if self.range is None:
            raise OptionError("The range of a NumberSimilarity is not known outside a case base.", hint="give range.")
        return self.range if isinstance(self.range, tuple) else (self.range, self.range)

    def between(self, asked: Any, found: Any) -> float:
        """1 less the difference over the range."""
        difference, span = self._difference(asked, found)
        return max(0.0, 1 - difference / span) if span > 0 else float(difference == 0)

    def _difference(self, asked: float, found: float) -> tuple[float, float]:
        """The difference that counts, and over what."""
        less, more = self.ranges
        difference = float(found) - float(asked)
        if (difference > 0 and self.wanted == "at least") or (difference < 0 and self.wanted == "at most"):
            difference = 0.0
        return abs(difference), more if difference > 0 else less

    def explain(self, asked: Any, found: Any) -> str:
        """The formula with its numbers."""
        difference, span = self._difference(asked, found)
        if difference == 0:
            return "equal" if asked == found else f"{self.wanted} {shown(asked)}"
        if span == 0:
            return "not equal, and the range is 0"
        clipped = ", not below 0" if difference > span else ""
        return f"1 - {number(difference)} / {number(span)}{clipped}"

    def fitted(self, column: Column) -> NumberSimilarity:
        """With the range of the base."""
        if self.range is not None:
            return self
        numbers = column.numbers()
        numbers = numbers[~np.isnan(numbers)]
        return replace(self, range=float(numbers.max() - numbers.min()) if len(numbers) else 0.0)

    def bounds(self, asked: Any, column: Column) -> Floats:
        """Exact."""
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
    """Similarities given by hand.

    Parameters
    ----------
    table : mapping of (asked, found) to similarity, or nested mapping
        For each pair a number from 0 to 1. Equal values have 1 unless the table says otherwise.
    symmetric : bool, default=True
        Whether a pair counts the other way round as well.
    default : float, default=0.0
        The similarity of pairs that are not in the table.

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
        _share(self.default, "default")
        object.__setattr__(self, "table", {(a, b): s for a, b, s in self.triples(self.table)})
        for (a, b), share in self.table.items():
            _share(share, f"The similarity of {a!r} and {b!r}")
            for pair in ((a, b), (b, a)) if self.symmetric else ((a, b),):
                pair_key = (key_of(pair[0]), key_of(pair[1]))
                if self._pairs.setdefault(pair_key, float(share)) != share:
                    raise OptionError(f"The similarity of {a!r} and {b!r} is given twice.", hint="symmetric=False?")

    def as_setting(self) -> dict[str, Any]:
        """Plain data, with the table as triples."""
        return {**super().as_setting(), "table": [[plain(a), plain(b), s] for (a, b), s in self.table.items()]}

    @staticmethod
    def triples(table: Any) -> Iterator[tuple[Any, Any, Any]]:
        """The entries of a table in either of its forms."""
        if not isinstance(table, Mapping):
            raise OptionError("A table of similarities is a mapping.", hint="give {('red', 'orange'): 0.7}.")
        for key, share in table.items():
            if isinstance(share, Mapping):
                yield from ((key, other, s) for other, s in share.items())
            elif isinstance(key, tuple) and len(key) == 2:
                yield (*key, share)
            else:
                raise OptionError(f"{key!r} is no pair of values.", hint="give {('red', 'orange'): 0.7}.")

    def between(self, asked: Any, found: Any) -> float:
        """What the table says."""
        a, b = key_of(asked), key_of(found)
        return self._pairs.get((a, b), 1.0 if a == b else self.default)

    def explain(self, asked: Any, found: Any) -> str:
        """Where it stands."""
        a, b = key_of(asked), key_of(found)
        return "by the table" if (a, b) in self._pairs else "equal" if a == b else "not in the table"


@dataclass(frozen=True)
class StringSimilarity(Similarity):
    """1 - edits / letters of the longer string (Levenshtein).

    Parameters
    ----------
    ignore_case : bool, default=False
        Whether large and small letters are the same.

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
        """Strings, and not books."""
        super().check(value, where)
        if len(value) > _LONGEST:
            raise TableError(f"{where} has {len(value)} letters; at most {_LONGEST} are compared letter by letter.")

    def between(self, asked: Any, found: Any) -> float:
        """1 less the share of letters that must be changed."""
        edits, longer = self._edits(asked, found)
        return 1 - edits / longer if longer else 1.0

    def _edits(self, asked: str, found: str) -> tuple[int, int]:
        if self.ignore_case:
            asked, found = asked.casefold(), found.casefold()
        return edit_distance(asked, found), max(len(asked), len(found))

    def explain(self, asked: Any, found: Any) -> str:
        """The formula with its numbers."""
        edits, longer = self._edits(asked, found)
        return f"1 - {edits} edits / {longer} letters" if edits else "equal"

    def bounds(self, asked: Any, column: Column) -> Floats:
        """By the letters in common, however they are ordered: at least the others must be changed."""
        shared, sizes, mine = column.common(f"letters {self.ignore_case}", self._letters, asked)
        return quotient(shared, np.maximum(sizes, mine))

    def _letters(self, value: Any) -> Iterator[Hashable]:
        return counted_tokens(value.casefold() if self.ignore_case else value)


@dataclass(frozen=True)
class FunctionSimilarity(Similarity):
    """A function of one's own: what it returns is checked."""

    function: Callable[[Any, Any], float]  # of the value asked for and the value found; from 0 to 1
    attribute: str = "?"  # for messages
    word: ClassVar[str] = "function"

    @property
    def name(self) -> str:
        """The function's name."""
        return str(getattr(self.function, "__name__", type(self.function).__name__))

    def __str__(self) -> str:
        return f"by {self.name}"

    def as_setting(self) -> dict[str, Any]:
        """That it is a function: files hold none."""
        return {"@": self.word}

    def between(self, asked: Any, found: Any) -> float:
        """What the function says, if that is a similarity."""
        share = self.function(asked, found)
        if isinstance(share, np.generic):
            share = share.item()
        if not isinstance(share, int | float) or not 0 <= share <= 1:
            raise OptionError(
                f"The similarity {self.name!r} of {self.attribute!r} is {share!r} for {shown(asked)!r} and "
                f"{shown(found)!r}.",
                hint="return a number from 0 to 1.",
            )
        return float(share)

    def explain(self, asked: Any, found: Any) -> str:
        """The function's name."""
        return str(self)


def quotient(part: Floats, whole: Floats) -> Floats:
    """What is in common, over what there is; 1 where there is nothing."""
    return np.divide(part, whole, out=np.ones(len(whole)), where=whole > 0)


def counted_tokens(values: Any) -> Iterator[Hashable]:
    """Each element with how many like it came before: what two such lists share is what two bags share."""
    before: Counter[Hashable] = Counter()
    for value in values:
        yield value, before[value]
        before[value] += 1


def similarity_of(given: Any, attribute: str) -> Similarity:
    """A similarity as the user gives it: one of the classes, or a function."""
    if isinstance(given, Similarity):
        return given
    if isinstance(given, type) or not callable(given):
        hint = f"{given.__name__}(), with brackets." if isinstance(given, type) else "give NumberSimilarity(), say."
        raise OptionError(f"{given!r} is no similarity for {attribute!r}.", hint=hint)
    return FunctionSimilarity(given, attribute)


def _share(value: Any, what: str) -> None:
    if not is_number(checked(value, Where(what))) or not 0 <= value <= 1:
        raise OptionError(f"{what} is {value!r}; a similarity is a number from 0 to 1.")
