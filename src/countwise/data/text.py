"""Texts and other blocks of counts: many columns that are one attribute.

A `Text` becomes a bag of words; a sparse matrix is a `Block` of counts that
somebody else has made. Encoded, both are a `Bag`: compressed rows, and a mark
for the rows in which the whole text is missing.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags
from countwise.data.attributes import Attribute, Nominal
from countwise.data.frames import Coded, Column, is_missing, is_sparse
from countwise.errors import SchemaError, TableError

__all__ = ["Bag", "Block", "Text", "text_if_named"]


@dataclass(frozen=True, slots=True, eq=False)
class Bag:
    """Counts of many words, row by row, as SciPy's CSR format has them; `indptr` may be a slice of a longer one."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    data: NDArray[Any]
    n_words: int
    missing: Flags | None = None  # rows whose whole text is missing

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, rows: slice | NDArray[Any]) -> Bag:
        """Rows start to stop, sharing memory, or some rows, copied."""
        missing = None if self.missing is None else self.missing[rows]
        if isinstance(rows, slice):
            return Bag(self.indptr[rows.start : rows.stop + 1], self.indices, self.data, self.n_words, missing)
        from scipy.sparse import csr_array

        part = csr_array((self.data, self.indices, self.indptr), shape=(len(self), self.n_words))[rows]
        return Bag(part.indptr, part.indices, part.data, self.n_words, missing)

    def row(self, i: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Word numbers and counts of one row."""
        part = slice(self.indptr[i], self.indptr[i + 1])
        return self.indices[part], self.data[part]


@dataclass(frozen=True, slots=True)
class Block(Attribute):
    """A block of counts that came as a sparse matrix, each column a word.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from countwise.data.text import Block
    >>> Block("x").learn(csr_array([[1, 0], [0, 2]])).words
    ('x0', 'x1')
    """

    words: tuple[str, ...] = ()  # the names of the columns
    binary: bool = False  # whether a word is only there or not, rather than there so many times
    kind: ClassVar[str] = "block"

    def learn(self, column: Column) -> Block:
        """Name the columns of the first matrix met."""
        if self.words or not is_sparse(column):
            return self
        return dataclasses.replace(self, words=tuple(f"{self.name}{j}" for j in range(column.shape[1])))

    def encode(self, column: Column, *, strict: bool = False) -> Bag:
        """The matrix as it is, after a look that it holds counts."""
        if isinstance(column, Bag):
            return column
        if not is_sparse(column):
            raise SchemaError(f"{self.name!r} was a sparse matrix in training; this is not one.")
        if column.shape[1] != len(self.words):
            raise TableError(
                f"X has {column.shape[1]} features, but countwise is expecting {len(self.words)} features as input."
            )
        if column.data.size and not (column.data.min() >= 0 and np.isfinite(column.data.max())):
            raise self._no_count(column)
        return Bag(column.indptr, column.indices, column.data, column.shape[1])

    def _join(self, other: Self) -> Self:
        """Blocks of one width only."""
        if self.words != other.words:
            raise TableError(
                f"The sparse matrices have {len(self.words)} and {len(other.words)} columns.",
                hint="models are merged over the same columns.",
            )
        return self

    def _no_count(self, column: Any) -> TableError:
        """The error for a cell that is negative, NaN or infinite."""
        with np.errstate(invalid="ignore"):
            place = int(np.argmax(~((column.data >= 0) & np.isfinite(column.data))))
        row, word = int(np.searchsorted(column.indptr, place, side="right")) - 1, self.words[column.indices[place]]
        value = column.data[place]
        what = (
            "Negative values in data" if value < 0 else f"Input X contains {'NaN' if value != value else 'infinity'}"
        )
        return TableError(
            f"{what}: {word!r} is {value} in row {row}; a sparse matrix (no inf or NaN) is read as counts of words.",
            hint="X.toarray() makes its columns numeric attributes.",
            row=row,
        )


@dataclass(frozen=True, slots=True)
class Text(Attribute):
    """A text, read as a bag of words.

    Words are cut by scikit-learn's `CountVectorizer`. The vocabulary is every
    word met in training; how many of them a model uses is the model's affair.

    Parameters
    ----------
    name : str
        The attribute's name.
    words : tuple of str, default=()
        The vocabulary, in order.
    grows : bool, optional
        Whether words met in training join the vocabulary; by default when none was given.
    lowercase : bool, default=True
        Whether upper and lower case are the same word.
    pattern : str
        What a word is, as a regular expression.
    ngrams : tuple of int, default=(1, 1)
        The shortest and longest run of words that counts as one.
    stop_words : tuple of str, default=()
        Words to leave out.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise import Text
    >>> mail = Text("mail").learn(np.array(["send us your password", "review us"], dtype=object))
    >>> mail.words
    ('password', 'review', 'send', 'us', 'your')
    """

    words: tuple[str, ...] = ()
    grows: bool | None = None
    lowercase: bool = True
    pattern: str = r"(?u)\b\w\w+\b"
    ngrams: tuple[int, int] = (1, 1)
    stop_words: tuple[str, ...] = ()
    kind: ClassVar[str] = "text"

    def __post_init__(self) -> None:
        for field in ("words", "ngrams", "stop_words"):
            object.__setattr__(self, field, tuple(getattr(self, field)))
        if self.grows is None:
            object.__setattr__(self, "grows", not self.words)

    def learn(self, column: Column) -> Text:
        """Add the words of a column to a vocabulary that grows."""
        if not self.grows:
            return self
        found: set[str] = set(self.words)
        before = len(found)
        cut = self.analyzer()
        for text in _texts(column, self.name):
            found.update(() if text is None else cut(text))
        if len(found) == before:
            return self
        return dataclasses.replace(self, words=tuple(sorted(found)))

    def _join(self, other: Self) -> Self:
        """The vocabulary of both."""
        if self.words == other.words or not self.grows:
            return self
        return dataclasses.replace(self, words=tuple(sorted({*self.words, *other.words})))

    def without(self, counts: NDArray[Any]) -> Text:
        """The vocabulary less the words that nothing is left of, if it is one that grew to have them."""
        if not self.grows:
            return self
        kept = tuple(w for w, n in zip(self.words, counts, strict=True) if n > 1e-9)
        return self if len(kept) == len(self.words) else dataclasses.replace(self, words=kept)

    def encode(self, column: Column, *, strict: bool = False) -> Bag:
        """Count the known words of each text; unknown words are left out."""
        index = _word_index(self.words)
        cut = self.analyzer()
        indptr, indices, data = [0], list[int](), list[int]()
        texts = _texts(column, self.name)
        for text in texts:
            words = [] if text is None else cut(text)
            counts = Counter(index[word] for word in words if word in index)
            known = sorted(counts)
            indices.extend(known)
            data.extend(counts[k] for k in known)
            indptr.append(len(indices))
        missing = np.array([text is None for text in texts], dtype=bool)
        return Bag(
            np.array(indptr, dtype=np.int64),
            np.array(indices, dtype=np.int32),
            np.array(data, dtype=np.int64),
            len(self.words),
            missing if missing.any() else None,
        )

    def unknown(self, text: str) -> list[str]:
        """The words of a text that the vocabulary does not have."""
        index = _word_index(self.words)
        return list(dict.fromkeys(w for w in self.analyzer()(text) if w not in index))

    def analyzer(self) -> Callable[[str], list[str]]:
        """The function that cuts a text into words."""
        return _analyzer(self.lowercase, self.pattern, self.ngrams, self.stop_words)

    def parse(self, text: str) -> str:
        """The text itself."""
        return text


@lru_cache(maxsize=8)
def _word_index(words: tuple[str, ...]) -> dict[str, int]:
    return {word: i for i, word in enumerate(words)}


@lru_cache(maxsize=8)
def _analyzer(
    lowercase: bool, pattern: str, ngrams: tuple[int, int], stop_words: tuple[str, ...]
) -> Callable[[str], list[str]]:
    """Cut a text into words as scikit-learn's CountVectorizer does: lower case, pattern, stop words, n-grams."""
    tokens = re.compile(pattern)
    if tokens.groups > 1:
        raise SchemaError("The pattern of a word has more than one capturing group.", hint="use (?:...).")
    shortest, longest = ngrams
    stopped = frozenset(stop_words)

    def words(text: str) -> list[str]:
        found = [w for w in tokens.findall(text.lower() if lowercase else text) if w not in stopped]
        if longest == 1:
            return found
        runs = range(shortest, min(longest, len(found)) + 1)
        return [" ".join(found[i : i + n]) for n in runs for i in range(len(found) - n + 1)]

    return words


def _texts(column: Column, name: str) -> list[str | None]:
    """The texts, None where missing; anything else is an error."""
    if is_sparse(column):
        raise SchemaError(f"{name!r} is declared as text; the column is a sparse matrix.")
    cells = (column.objects() if isinstance(column, Coded) else column).tolist()
    for row, cell in enumerate(cells):
        if not isinstance(cell, str) and not is_missing(cell):
            raise SchemaError(
                f"{name!r} is declared as text; row {row} holds {cell!r}.",
                hint="make every cell a string, or None where it is missing.",
                row=row,
            )
    return [cell if isinstance(cell, str) else None for cell in cells]


def text_if_named(attribute: Attribute, *, named: bool) -> Attribute:
    """A text, if the user gives a column of strings a distribution of words by name; else the attribute as it is."""
    return Text(attribute.name) if named and isinstance(attribute, Nominal) and attribute.grows else attribute
