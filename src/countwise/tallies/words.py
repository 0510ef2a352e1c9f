"""Words: counts of the words of documents in each class."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from countwise import _kernels
from countwise.data.attributes import Nominal
from countwise.data.table import Table
from countwise.data.text import Block, Text
from countwise.data.weights import MOST_EXACT
from countwise.jsonfile import numbers
from countwise.tallies._base import ClassTally, Progress, added, refuse_negative, relaid, subtracted

__all__ = ["Words"]


@dataclass(frozen=True, slots=True, eq=False)
class Words(ClassTally):
    """Counts of the words of a text column or a block of count columns in each class.

    Parameters
    ----------
    given : Nominal
        Class.
    of : Text or Block
        Text column, sparse matrix or block of count columns.
    present : bool
        If True, count the rows in which a word occurs (Bernoulli model). If False, count the occurrences (multinomial
        model).
    n : ndarray of shape (classes,) or None, default=None
        Weight of the rows whose text is not missing. None means blank.
    cells : ndarray of shape (classes, words) or None, default=None
        Counts. None means blank.

    Examples
    --------
    >>> import numpy as np
    >>> from countwise import Nominal, Text
    >>> from countwise.data.table import Table
    >>> from countwise.tallies import Words
    >>> mail = Text("mail", ("send", "us"))
    >>> rows = Table({"spam": np.array([1, 0], np.uint8),
    ...               "mail": mail.encode(np.array(["us us", "send us"], dtype=object))}, 2)
    >>> Words(Nominal("spam", (False, True)), mail, present=False).fill(rows).cells.tolist()
    [[1, 1], [0, 2]]
    """

    present: bool
    n: NDArray[Any] | None = None
    cells: NDArray[Any] | None = None
    _settings: ClassVar[tuple[str, ...]] = ("present",)
    _parts: ClassVar[tuple[str, ...]] = ("n", "cells")

    @property
    def filled(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """`n` and `cells`; zeros if the tally is blank."""
        if self.n is None or self.cells is None:
            classes = len(self.given.values)
            return np.zeros(classes, dtype=np.int64), np.zeros((classes, len(self.of.words)), dtype=np.int64)
        return self.n, self.cells

    @property
    def of_classes(self) -> NDArray[Any]:
        """Weight of the rows in each class whose text is not missing."""
        return self.filled[0]

    def _has_values(self, name: str) -> bool:
        """Return whether rows have been counted; a missing count is 0."""
        return bool(self.filled[0].any())

    def _filled(self, table: Table, progress: Progress | None) -> Self:
        codes, classes = table[self.given.name], len(self.given.values)
        bag = table[self.of.name]
        if bag.missing is not None:
            codes = np.where(bag.missing, classes, codes).astype(codes.dtype)
        zeros = np.zeros(len(codes), dtype=np.uint8)
        n = _kernels.count_codes(codes, zeros, table.weights, classes, 1)[0]
        weights = None if table.weights is None else np.asarray(table.weights, dtype=np.float64)
        cells = _kernels.csr_class_sums(
            bag.indptr, bag.indices, bag.data, codes, weights, classes, bag.n_words, self.present
        )
        known = self.present or bag.data.dtype.kind in "iub"
        integral = n.dtype.kind == "i" and (known or bool((cells == np.floor(cells)).all()))
        integral = integral and float(cells.max(initial=0.0)) <= MOST_EXACT
        return replace(self, n=n, cells=cells.astype(np.int64) if integral else cells)

    def __add__(self, other: Self) -> Self:
        return self._combine(other, added)

    def __sub__(self, other: Self) -> Self:
        result = self._combine(other, subtracted)
        for part in result.filled:
            refuse_negative(part, f"a word count of {self.of.name!r}")
        return result

    def _combine(self, other: Self, operation: Any) -> Self:
        given, of = self._joined(other)
        return self._with(given, of, map(operation, self._over(given, of), other._over(given, of)))

    def _over(self, given: Nominal, of: Text | Block) -> tuple[NDArray[Any], NDArray[Any]]:
        n, cells = (relaid(part, 0, self.given, given) for part in self.filled)
        return n, relaid(cells, 1, self.of, of)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], attributes: Mapping[str, Any]) -> Self:
        """Return the tally that `to_dict` described.

        Parameters
        ----------
        data : mapping
            Result of `to_dict`.
        attributes : mapping of str to Attribute
            The class and the text or block by name.

        Returns
        -------
        Words
            The tally.

        Examples
        --------
        >>> from countwise import Nominal, Text
        >>> from countwise.tallies import Words
        >>> spam, mail = Nominal("spam", (False, True)), Text("mail", ("send", "us"))
        >>> data = Words(spam, mail, present=False).to_dict()
        >>> Words.from_dict(data, {"spam": spam, "mail": mail}).cells.tolist()
        [[0, 0], [0, 0]]
        """
        given, of = attributes[data["given"]], attributes[data["of"]]
        what, classes = f"the word counts of {of.name!r}", len(given.values)
        n = numbers(data["n"], what, (classes,), least=0)
        cells = numbers(data["cells"], what, (classes, len(of.words)), least=0)
        if data["present"] and (cells > n[:, None] * (1 + 1e-6)).any():
            raise ValueError(f"a word of {of.name!r} occurs in more rows than there are")
        return cls(given, of, bool(data["present"]), n, cells)
