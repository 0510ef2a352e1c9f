"""Local distances: the distance between two values of one attribute.

Each local distance is either a difference of numbers or a lookup in a table of codes. The search uses only these two
forms. The tables of strings and documents are computed for the rows at hand.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags, Floats, Indices
from countwise.data.attributes import Attribute, Nominal
from countwise.data.columns import narrowest
from countwise.data.frames import Column
from countwise.data.text import Bag, Text
from countwise.neighbors.edit_distance import edit_distances
from countwise.working.numbers import number

__all__ = [
    "HOW",
    "Difference",
    "Edits",
    "LocalCells",
    "LocalDistance",
    "LookupDistance",
    "Overlap",
    "WordDistance",
    "string_of",
]

HOW = ("cosine", "jaccard", "bag_jaccard")  # similarities of documents


@dataclass(frozen=True, slots=True, eq=False)
class LocalCells:
    """The values of one attribute in the layout of the search: numbers, or codes with their values."""

    column: NDArray[Any]  # numbers with NaN for missing values, or codes
    values: Any = None  # the values that the codes refer to: a tuple of strings, or a Bag of documents
    new: tuple[str, ...] = ()  # words never seen in training; in the bag they follow the known words

    def slice(self, start: int, stop: int) -> LocalCells:
        """Return rows start to stop, with only the values that occur in them."""
        if isinstance(self.values, Bag):
            return _texts(self.values[start:stop], self.new)
        return self._of(self.column[start:stop])

    def take(self, rows: Indices) -> LocalCells:
        """Return the rows with the given indices, in that order, with only the values that occur in them."""
        if isinstance(self.values, Bag):
            return _texts(self.values[rows], self.new)
        return self._of(self.column[rows])

    def _of(self, column: NDArray[Any]) -> LocalCells:
        if self.values is None:
            return LocalCells(column)
        used, codes = np.unique(column, return_inverse=True)
        kept = tuple(self.values[c] for c in used.tolist() if c < len(self.values))
        codes = np.where(column >= len(self.values), len(kept), codes)
        return LocalCells(codes.astype(narrowest(len(kept) + 1)), kept)


@dataclass(frozen=True, slots=True, eq=False)
class LocalDistance:
    """Base class of local distances."""

    of: Attribute
    weight: float  # factor on d^p
    most: float  # distance of a missing value to any other: the largest distance between training values
    numbers: ClassVar[bool] = False
    label: ClassVar[str] = ""

    def lay(self, column: Any, given: Column) -> LocalCells:
        """Return a column in the layout of the search, from its encoded and its original form."""
        raise NotImplementedError

    def n_known(self, cells: LocalCells) -> int:
        """Return the number of codes of known values; higher codes are missing or unseen values."""
        return len(cells.values)

    def unknown(self, cells: LocalCells) -> Flags:
        """Return which values are missing or unseen."""
        return np.asarray(cells.column >= self.n_known(cells))

    def codes(self, queries: LocalCells, rows: LocalCells) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the codes of the queries and of the rows."""
        return queries.column, rows.column

    def between(self, queries: LocalCells, rows: LocalCells) -> Floats | float:
        """Return the distances between values, with a last row and column for missing ones; or one number for all."""
        known = self._between(queries, rows)
        whole = np.full((known.shape[0] + 1, known.shape[1] + 1), self.most)
        whole[:-1, :-1] = known
        return whole

    def _between(self, queries: LocalCells, rows: LocalCells) -> Floats:
        """Return the distances between known values."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True, eq=False)
class Difference(LocalDistance):
    """The scaled difference of two numbers, or of the ranks of two ordinal values."""

    scale: float
    how: str
    origin: float = 0.0  # the number that is scaled to 0: the minimum, or the mean
    numbers: ClassVar[bool] = True

    def lay(self, column: Any, given: Column) -> LocalCells:
        """Return the numbers, with NaN for missing values."""
        cells = np.asarray(column, dtype=np.float64)
        if isinstance(self.of, Nominal):
            cells = np.where(column >= self.of.missing, np.nan, cells)
        return LocalCells(cells)

    def unknown(self, cells: LocalCells) -> Flags:
        """Return which numbers are NaN."""
        return np.isnan(cells.column)

    @property
    def label(self) -> str:  # type: ignore[override]
        """The name of the distance in workings."""
        what = "steps" if isinstance(self.of, Nominal) else "difference"
        return what if self.how == "none" else f"{what} / {number(1 / self.scale)}" if self.scale else f"{what} × 0"


@dataclass(frozen=True, slots=True, eq=False)
class Overlap(LocalDistance):
    """The overlap metric (Hamming): 0 for equal values, 1 for different values."""

    label: ClassVar[str] = "overlap"

    def lay(self, column: Any, given: Column) -> LocalCells:
        """Return the codes; missing values have the first code after the domain, unseen values the second."""
        return LocalCells(column)

    def n_known(self, cells: LocalCells) -> int:
        """Return the number of values in the domain."""
        assert isinstance(self.of, Nominal)  # noqa: S101 - only nominal attributes use the overlap metric
        return len(self.of.values)

    def codes(self, queries: LocalCells, rows: LocalCells) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return codes in which missing and unseen values equal no other value, not even each other."""
        k = self.n_known(rows)
        return np.where(queries.column >= k, k + 1, queries.column), np.where(rows.column >= k, k, rows.column)

    def between(self, queries: LocalCells, rows: LocalCells) -> float:
        """Return the distance between any two different values."""
        return 1.0


@dataclass(frozen=True, slots=True, eq=False)
class LookupDistance(LocalDistance):
    """The modified value difference metric (MVDM) Σ_c |P(c | v) - P(c | w)|, looked up in a table.

    Values with equal class probabilities share one row of the table. Numbers are discretized first.
    """

    table: Floats  # (places, places): distances
    place: NDArray[Any]  # row in the table of each value or bin; `len(table)` if no training row has it
    counts: NDArray[Any]  # (values or bins, classes): training rows
    classes: tuple[Any, ...]
    edges: Floats | None = None
    label: ClassVar[str] = "value difference"

    def lay(self, column: Any, given: Column) -> LocalCells:
        """Return the row in the table of each value; `len(table)` for a missing value."""
        size = len(self.table)
        return LocalCells(np.append(self.place, size).astype(narrowest(size + 1))[self.values(column)])

    def values(self, column: Any) -> NDArray[Any]:
        """Return the value or bin of each cell of an encoded column; `len(place)` for a missing value."""
        last = len(self.place)
        if self.edges is None:
            return np.minimum(column, last)
        numbers = np.asarray(column, dtype=np.float64)
        return np.where(np.isnan(numbers), last, np.searchsorted(self.edges, numbers))

    def n_known(self, cells: LocalCells) -> int:
        """Return the number of rows of the table."""
        return len(self.table)

    def _between(self, queries: LocalCells, rows: LocalCells) -> Floats:
        return self.table


@dataclass(frozen=True, slots=True, eq=False)
class Edits(LocalDistance):
    """The scaled Levenshtein edit distance between strings."""

    scale: float

    @property
    def label(self) -> str:  # type: ignore[override]
        """The name of the distance in workings."""
        return "edit distance" if self.scale == 1 else f"edit distance / {number(1 / self.scale)}"

    def lay(self, column: Any, given: Column) -> LocalCells:
        """Return the codes of the strings, including strings never seen in training."""
        mine = Nominal(self.of.name, grows=True).learn(given)
        return LocalCells(mine.encode(given), tuple(map(string_of, mine.values)))

    def _between(self, queries: LocalCells, rows: LocalCells) -> Floats:
        return np.asarray(edit_distances(queries.values, rows.values) * self.scale, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class WordDistance(LocalDistance):
    """The distance between documents as bags of words."""

    how: str

    @property
    def label(self) -> str:  # type: ignore[override]
        """The name of the distance in workings."""
        return f"1 - {self.how}"

    def lay(self, column: Any, given: Column) -> LocalCells:
        """Return one code for each row, because documents rarely repeat; unseen words follow the known words."""
        return _texts(*_with_unknown(self.of, column, given)) if isinstance(self.of, Text) else _texts(column)

    def _between(self, queries: LocalCells, rows: LocalCells) -> Floats:
        return _bag_distances(_as_in(queries, rows), rows.values, self.how)


def string_of(value: Any) -> str:
    """Return a value as a string; integers have no decimal point, whatever their type."""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _texts(bag: Bag, new: tuple[str, ...] = ()) -> LocalCells:
    """Return one code for each document, and one further code for missing documents."""
    codes = np.arange(len(bag), dtype=np.uint32)
    return LocalCells(codes if bag.missing is None else np.where(bag.missing, np.uint32(len(bag)), codes), bag, new)


def _with_unknown(of: Text, column: Bag, given: Any) -> tuple[Bag, tuple[str, ...]]:
    """Return a bag that counts unseen words too, and these words; a declared vocabulary is not extended."""
    if not of.grows or isinstance(given, Bag):  # a bag from a model file has only the training vocabulary
        return column, ()
    wider = replace(of, words=(), grows=True).learn(given)
    place = {word: i for i, word in enumerate(of.words)}
    new = tuple(word for word in wider.words if word not in place)
    if not new:
        return column, ()
    places = np.array([place.get(word, -1) for word in wider.words])
    places[places < 0] = len(of.words) + np.arange(len(new))
    bag = wider.encode(given)
    indices = places[bag.indices].astype(np.int32)
    return Bag(bag.indptr, indices, bag.data, len(of.words) + len(new), bag.missing), new


def _as_in(texts: LocalCells, others: LocalCells) -> Bag:
    """Return the documents with their new words at the columns that `others` uses, or after all of its columns."""
    bag: Bag = texts.values
    if not (texts.new and others.new) or texts.new is others.new:
        return bag
    known = bag.n_words - len(texts.new)
    place = {word: known + i for i, word in enumerate(others.new)}
    for word in texts.new:
        place.setdefault(word, known + len(place))
    places = np.concatenate([np.arange(known), [place[word] for word in texts.new]])
    return Bag(bag.indptr, places[bag.indices].astype(np.int32), bag.data, known + len(place), bag.missing)


def _bag_distances(a: Bag, b: Bag, how: str) -> Floats:
    """Return 1 - similarity of each pair of documents over one vocabulary; two empty documents are equal.

    The similarity is the cosine of the counts; the words in both documents over the words in either (Jaccard); or the
    sum of the smaller counts over the sum of the larger counts (Jaccard of bags).
    """
    width = max(a.n_words, b.n_words)
    left, right = _matrix(a, width), _matrix(b, width)
    if how == "cosine":
        return _one_less(_dot(left, right), np.sqrt(np.outer(_squares(left), _squares(right))), left, right)
    if how == "jaccard":
        left.data[:], right.data[:] = 1.0, 1.0
    common = _dot(left, right) if how == "jaccard" else _smaller(left, right)
    sizes = left.sum(axis=1)[:, None] + right.sum(axis=1)[None, :]
    return _one_less(common, sizes - common, left, right)


def _matrix(bag: Bag, width: int) -> Any:
    from scipy.sparse import csr_array

    part = slice(int(bag.indptr[0]), int(bag.indptr[-1]))  # the bag may be a slice of a longer one
    data = bag.data[part].astype(np.float64)
    return csr_array((data, bag.indices[part], bag.indptr - bag.indptr[0]), shape=(len(bag), width))


def _dot(left: Any, right: Any) -> Floats:
    return np.asarray((left @ right.T).toarray())


def _squares(matrix: Any) -> Floats:
    return np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel()


def _smaller(left: Any, right: Any) -> Floats:
    """Return Σ min(count, count) over all words, level by level: counts are usually small integers."""
    total = np.zeros((left.shape[0], right.shape[0]))
    deepest = min(left.data.max(initial=0), right.data.max(initial=0))
    if left.data.size and right.data.size and not _whole(left, right):
        return _smaller_of_rows(left, right)
    for layer in range(1, int(deepest) + 1):
        total += _dot(_at_least(left, layer), _at_least(right, layer))
    return total


def _whole(left: Any, right: Any) -> bool:
    return all(bool((m.data == np.floor(m.data)).all()) and m.data.max(initial=0) <= 64 for m in (left, right))


def _smaller_of_rows(left: Any, right: Any) -> Floats:
    """Return the same sums row by row, for counts that are not small integers."""
    total = np.zeros((left.shape[0], right.shape[0]))
    for i in range(left.shape[0]):
        row = np.zeros(left.shape[1])
        part = slice(left.indptr[i], left.indptr[i + 1])
        row[left.indices[part]] = left.data[part]
        common = right.copy()
        common.data = np.minimum(common.data, row[common.indices])
        total[i] = np.asarray(common.sum(axis=1)).ravel()
    return total


def _at_least(matrix: Any, layer: int) -> Any:
    copy = matrix.copy()
    copy.data = (copy.data >= layer).astype(np.float64)
    return copy


def _one_less(common: Floats, whole: Floats, left: Any, right: Any) -> Floats:
    """Return 1 - common / whole; two empty documents are equal, and rounding errors near 0 become 0."""
    likeness = np.divide(common, whole, out=np.zeros_like(common), where=whole > 0)
    likeness[np.ix_(np.diff(left.indptr) == 0, np.diff(right.indptr) == 0)] = 1.0
    found = np.clip(1.0 - likeness, 0.0, 1.0)
    found[found < 1e-15] = 0.0
    return np.asarray(found)
