"""Text columns and sparse matrices of counts: attributes with many counts per row.

A `Text` attribute is a column of documents. A `Block` attribute is a sparse matrix of counts. Both are encoded as a
`Bag`: a matrix of word counts in compressed sparse row (CSR) format, and a mask of the rows whose text is missing.
"""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Flags
from countwise.data.attributes import Attribute, Nominal
from countwise.data.columns import remaining
from countwise.data.frames import Coded, Column, is_missing, is_sparse
from countwise.errors import NumberIn, SchemaError, TableError, check_flag

__all__ = ["Bag", "Block", "Text", "holds_sentences", "text_if_named"]

_MOST_READ = 1000  # values that are read to find out whether a column holds sentences

_TWO_OR_MORE, _ONE_OR_MORE = r"(?u)\b\w\w+\b", r"(?u)\b\w+\b"


@dataclass(frozen=True, slots=True, eq=False)
class Bag:
    """Word counts of each row in CSR format, as in SciPy; `indptr` may be a slice of a longer array."""

    indptr: NDArray[Any]
    indices: NDArray[Any]
    data: NDArray[Any]
    n_words: int
    missing: Flags | None = None  # mask of the rows whose text is missing; None if there are none

    def __len__(self) -> int:
        return len(self.indptr) - 1

    def __getitem__(self, rows: slice | NDArray[Any]) -> Bag:
        """Return a slice of rows without copying, or a copy of selected rows."""
        missing = None if self.missing is None else self.missing[rows]
        if isinstance(rows, slice):
            return Bag(self.indptr[rows.start : rows.stop + 1], self.indices, self.data, self.n_words, missing)
        from scipy.sparse import csr_array

        part = csr_array((self.data, self.indices, self.indptr), shape=(len(self), self.n_words))[rows]
        return Bag(part.indptr, part.indices, part.data, self.n_words, missing)

    def row(self, i: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the word indices and the counts of one row."""
        part = slice(self.indptr[i], self.indptr[i + 1])
        return self.indices[part], self.data[part]


@dataclass(frozen=True, slots=True)
class Block(Attribute):
    """Sparse matrix of counts; each column is a word.

    Parameters
    ----------
    name : str
        Name of the attribute.
    words : tuple of str, default=()
        Names of the columns of the matrix.
    binary : bool, default=False
        Whether the matrix is boolean: a word occurs or not, and is not counted.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from countwise.data.text import Block
    >>> Block("x").learn(csr_array([[1, 0], [0, 2]])).words
    ('x0', 'x1')
    """

    words: tuple[str, ...] = ()
    binary: bool = False
    kind: ClassVar[str] = "block"

    def learn(self, column: Column) -> Block:
        """Return the attribute with generated names for the columns of the first matrix."""
        if self.words or not is_sparse(column):
            return self
        return dataclasses.replace(self, words=tuple(f"{self.name}{j}" for j in range(column.shape[1])))

    def encode(self, column: Column, *, strict: bool = False) -> Bag:
        """Return the matrix as a `Bag` after checking that its values are counts."""
        if isinstance(column, Bag):
            return column
        if not is_sparse(column):
            raise SchemaError(f"{self.name!r} must be a sparse matrix, as in training.")
        if column.shape[1] != len(self.words):
            raise TableError(
                f"X has {column.shape[1]} features, but countwise is expecting {len(self.words)} features as input."
            )
        if column.data.size and not (column.data.min() >= 0 and np.isfinite(column.data.max())):
            raise self._not_a_count(column)
        return Bag(column.indptr, column.indices, column.data, column.shape[1])

    def _join(self, other: Self) -> Self:
        """Return the attribute itself; both matrices must have the same columns."""
        if self.words != other.words:
            raise TableError(
                f"The sparse matrices have {len(self.words)} and {len(other.words)} columns, "
                "but they must have the same columns.",
                hint="merge only models that were trained on the same columns.",
            )
        return self

    def _not_a_count(self, column: Any) -> TableError:
        """Return the error for a value that is negative, NaN or infinite."""
        with np.errstate(invalid="ignore"):
            place = int(np.argmax(~((column.data >= 0) & np.isfinite(column.data))))
        row, word = int(np.searchsorted(column.indptr, place, side="right")) - 1, self.words[column.indices[place]]
        value = column.data[place]
        what = (
            "Negative values in data" if value < 0 else f"Input X contains {'NaN' if value != value else 'infinity'}"
        )
        return TableError(
            f"{what}: {word!r} is {value} in row {row}, but the values of a sparse matrix are counts: "
            "they must be >= 0 and finite (no inf or NaN).",
            hint="pass X.toarray() to treat its columns as numeric attributes.",
            row=row,
        )


@dataclass(frozen=True, slots=True)
class Text(Attribute):
    """Text attribute, represented by the counts of its words (bag of words).

    Documents are split into words as by scikit-learn's `CountVectorizer`. The vocabulary contains every word of the
    training documents; a model may use a part of it.

    Parameters
    ----------
    name : str
        Name of the column.
    words : tuple of str, default=()
        Vocabulary. A declared vocabulary is kept whole, also words that no training document contains.
    grows : bool or None, default=None
        Whether `learn` adds new words to the vocabulary. None means True if `words` is empty, else False.
    lowercase : bool, default=True
        Whether documents are converted to lower case first.
    pattern : str, default=r"(?u)\\b\\w\\w+\\b"
        Regular expression that matches one word. The default matches two or more letters, digits or underscores, or
        one if a declared vocabulary has such words. If it has a capturing group, the group is the word.
    ngrams : tuple of int, default=(1, 1)
        Smallest and largest n of the n-grams that are counted. ``(1, 2)`` counts single words and pairs of
        consecutive words.
    stop_words : tuple of str, default=()
        Words that are ignored.

    Attributes
    ----------
    kind : str
        Type of the attribute: "text".

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
    pattern: str = _TWO_OR_MORE
    ngrams: tuple[int, int] = (1, 1)
    stop_words: tuple[str, ...] = ()
    kind: ClassVar[str] = "text"

    @property
    def field_type(self) -> str | None:
        """Type as which a CSV file is read: "text"."""
        return "text"

    def __post_init__(self) -> None:
        for field in ("words", "ngrams", "stop_words"):
            given = getattr(self, field)
            if isinstance(given, str) or not isinstance(given, Iterable):
                what = "two integers" if field == "ngrams" else "a list of words"
                raise SchemaError(f"{field} of {self.name!r} must be {what}, not {given!r}.")
            object.__setattr__(self, field, tuple(given))
        if (
            len(self.ngrams) != 2
            or self.ngrams[0] not in NumberIn(1, whole=True)
            or self.ngrams[1] not in NumberIn(self.ngrams[0], whole=True)
        ):
            raise SchemaError(f"ngrams of {self.name!r} must be two integers from 1, not {self.ngrams!r}.")
        if not all(issubclass(kind, str) for kind in {*map(type, self.words), *map(type, self.stop_words)}):
            raise SchemaError(f"words and stop_words of {self.name!r} must be strings.")
        try:
            re.compile(self.pattern)
        except (re.error, TypeError, RecursionError, OverflowError) as error:
            raise SchemaError(
                f"pattern of {self.name!r} is not a regular expression: {self.pattern!r} ({error})."
            ) from None
        object.__setattr__(self, "grows", not self.words if self.grows is None else check_flag("grows", self.grows))
        if (
            not self.grows
            and self.pattern == _TWO_OR_MORE
            and any(len(w) == 1 for t in self.words for w in t.split())
        ):
            object.__setattr__(self, "pattern", _ONE_OR_MORE)

    def learn(self, column: Column) -> Text:
        """Return the attribute with the words of a column added to a growing vocabulary.

        Parameters
        ----------
        column : array-like of str
            Documents. Missing values are ignored.

        Returns
        -------
        Text
            The attribute itself if its vocabulary is closed or already contains all words.

        Raises
        ------
        SchemaError
            If a value is neither a string nor missing.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import Text
        >>> Text("mail").learn(np.array(["send us", None], dtype=object)).words
        ('send', 'us')
        """
        if not self.grows:
            return self
        found: set[str] = set(self.words)
        before = len(found)
        split = self.analyzer()
        for text in _texts(column, self.name):
            found.update(() if text is None else split(text))
        if len(found) == before:
            return self
        return dataclasses.replace(self, words=tuple(sorted(found)))

    def _join(self, other: Self) -> Self:
        """Return the union of both vocabularies."""
        if self.words == other.words or not self.grows:
            return self
        return dataclasses.replace(self, words=tuple(sorted({*self.words, *other.words})))

    def without(self, counts: NDArray[Any]) -> Text:
        """Return the attribute without the words whose count is zero.

        Parameters
        ----------
        counts : ndarray
            Count of each word.

        Returns
        -------
        Text
            The attribute itself if its vocabulary is closed or nothing is removed.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import Text
        >>> Text("mail", ("send", "us"), grows=True).without(np.array([0, 2])).words
        ('us',)
        """
        if not self.grows:
            return self
        kept = tuple(w for w, known in zip(self.words, remaining(counts), strict=True) if known)
        return self if len(kept) == len(self.words) else dataclasses.replace(self, words=kept)

    def encode(self, column: Column, *, strict: bool = False) -> Bag:
        """Count the words of each document.

        Parameters
        ----------
        column : array-like of str
            Documents. Words outside the vocabulary are ignored.
        strict : bool, default=False
            Ignored. It exists for a common interface with nominal attributes.

        Returns
        -------
        Bag
            Counts in CSR format: arrays `indptr`, `indices` and `data` as in SciPy, and `missing`, a mask of the
            missing documents or None.

        Raises
        ------
        SchemaError
            If a value is neither a string nor missing.

        Examples
        --------
        >>> import numpy as np
        >>> from countwise import Text
        >>> bag = Text("mail", ("send", "us")).encode(np.array(["us or us", "send"], dtype=object))
        >>> bag.indices.tolist(), bag.data.tolist()
        ([1, 0], [2, 1])
        """
        index = _word_index(self.words)
        split = self.analyzer()
        indptr, indices, data = [0], list[int](), list[int]()
        texts = _texts(column, self.name)
        for text in texts:
            words = [] if text is None else split(text)
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
        """Return the words of a document that are not in the vocabulary.

        Parameters
        ----------
        text : str
            The document.

        Returns
        -------
        list of str
            Distinct words in order of first occurrence.

        Examples
        --------
        >>> from countwise import Text
        >>> Text("mail", ("send", "us")).unknown("send us money")
        ['money']
        """
        index = _word_index(self.words)
        return list(dict.fromkeys(w for w in self.analyzer()(text) if w not in index))

    def analyzer(self) -> Callable[[str], list[str]]:
        """Return the function that splits a document into words.

        Returns
        -------
        callable
            Function from a string to the list of its words and n-grams.

        Examples
        --------
        >>> from countwise import Text
        >>> Text("mail", ngrams=(1, 2)).analyzer()("Send us money")
        ['send', 'us', 'money', 'send us', 'us money']
        """
        return _analyzer(self.lowercase, self.pattern, self.ngrams, self.stop_words)

    def parse(self, text: str) -> str:
        """Return the text unchanged.

        Parameters
        ----------
        text : str
            Typed text.

        Returns
        -------
        str
            The same text.

        Examples
        --------
        >>> from countwise import Text
        >>> Text("mail").parse("send us money")
        'send us money'
        """
        return text


@lru_cache(maxsize=8)
def _word_index(words: tuple[str, ...]) -> dict[str, int]:
    return {word: i for i, word in enumerate(words)}


@lru_cache(maxsize=8)
def _analyzer(
    lowercase: bool, pattern: str, ngrams: tuple[int, int], stop_words: tuple[str, ...]
) -> Callable[[str], list[str]]:
    """Return a function that splits documents like CountVectorizer: lower case, pattern, stop words, n-grams."""
    tokens = re.compile(pattern)
    if tokens.groups > 1:
        raise SchemaError(
            f"pattern={pattern!r} has {tokens.groups} capturing groups; at most one is allowed.",
            hint="use non-capturing groups, (?:...).",
        )
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
    """Return the documents, None where missing; any other value is an error."""
    if is_sparse(column):
        raise SchemaError(f"{name!r} is declared as text, but the column is a sparse matrix.")
    values = (column.objects() if isinstance(column, Coded) else column).tolist()
    for row, value in enumerate(values):
        if not isinstance(value, str) and not is_missing(value):
            raise SchemaError(
                f"{name!r} is declared as text, but its value in row {row} is {value!r}.",
                hint="convert every value to a string, and use None for missing values.",
                row=row,
            )
    return [value if isinstance(value, str) else None for value in values]


def text_if_named(attribute: Attribute, *, named: bool) -> Attribute:
    """Return a text attribute if `named` and the column is nominal without known values; else the attribute."""
    untyped = isinstance(attribute, Nominal) and attribute.grows and not attribute.values
    return Text(attribute.name) if named and untyped else attribute


def holds_sentences(column: Column) -> bool:
    """Return whether the first values of a column are texts of two or more words that seldom repeat.

    Declared categories are no text.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise.data.text import holds_sentences
    >>> holds_sentences(np.array(["send us your password", "review us", "send us review"], dtype=object))
    True
    >>> holds_sentences(np.array(["very good", "very bad", "very good", "very good"], dtype=object))
    False
    """
    if is_sparse(column) or (isinstance(column, Coded) and column.declared):
        return False
    first = column[:_MOST_READ]
    values = first.objects() if isinstance(first, Coded) else np.asarray(first)
    if values.dtype.kind not in "OU":
        return False
    texts = [value for value in values.tolist() if isinstance(value, str)]
    distinct = set(texts)
    if len(distinct) < 3 or 2 * len(distinct) < len(texts):
        return False
    return sum(len(text.split()) for text in distinct) >= 2 * len(distinct)
