"""Words: how often each word of a block stands in the rows of each class."""

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
from countwise.tallies._base import ClassTally, Progress, refuse_negative, relaid, taken

__all__ = ["Words"]


@dataclass(frozen=True, slots=True, eq=False)
class Words(ClassTally):
    """Totals of a block of counts in each class.

    Parameters
    ----------
    given : Nominal
        The class.
    of : Text or Block
        The block, from one bag column or from the dense columns that `Block.words` names.
    present : bool
        Count the rows in which a word stands (Bernoulli) instead of how often it stands (multinomial).
    n : ndarray, shape (classes,)
        Rows whose block is not missing.
    cells : ndarray, shape (classes, words)
        The totals. None: blank.

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
        """Rows and totals; zeros while blank."""
        if self.n is None or self.cells is None:
            classes = len(self.given.values)
            return np.zeros(classes, dtype=np.int64), np.zeros((classes, len(self.of.words)), dtype=np.int64)
        return self.n, self.cells

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
        sure = self.present or bag.data.dtype.kind in "iub"
        whole = n.dtype.kind == "i" and (sure or bool((cells == np.floor(cells)).all()))
        return replace(self, n=n, cells=cells.astype(np.int64) if whole else cells)

    def __add__(self, other: Self) -> Self:
        return self._combine(other, np.add)

    def __sub__(self, other: Self) -> Self:
        result = self._combine(other, taken)
        for part in result.filled:
            refuse_negative(part, f"a count of words of {self.of.name!r}")
        return result

    def _combine(self, other: Self, operation: Any) -> Self:
        given, of = self._joined(other)
        return self._with(given, of, map(operation, self._over(given, of), other._over(given, of)))

    def _over(self, given: Nominal, of: Text | Block) -> tuple[NDArray[Any], NDArray[Any]]:
        n, cells = (relaid(part, 0, self.given, given) for part in self.filled)
        return n, relaid(cells, 1, self.of, of)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any], attributes: Mapping[str, Any]) -> Self:
        """The tally that `to_dict` wrote."""
        given, of = attributes[data["given"]], attributes[data["of"]]
        n, cells = np.array(data["n"]), np.array(data["cells"])
        if cells.shape != (len(given.values), len(of.words)) or n.shape != (len(given.values),):
            raise ValueError(f"the words of {of.name!r} do not fit their vocabulary")
        return cls(given, of, bool(data["present"]), n, cells)
