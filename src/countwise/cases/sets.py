"""Similarity of sets."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from countwise._typing import Floats
from countwise.cases.columns import Column
from countwise.cases.similarities import Similarity, quotient, similarity_of
from countwise.cases.values import Where, key_of
from countwise.errors import OptionError, TableError, check_settings
from countwise.working.numbers import number

__all__ = ["SetSimilarity"]

_LARGEST = 500  # largest set that is matched, because the time grows with the third power of the size


@dataclass(frozen=True)
class SetSimilarity(Similarity):
    """Similarity of sets by their common elements. A list is treated as the set of its elements.

    Two empty sets have similarity 1.

    Parameters
    ----------
    by : {'jaccard', 'covered', 'matching'}, default='jaccard'
        'jaccard': common elements / elements of the union. 'covered': common elements / elements of the query.
        'matching': each element is paired with at most one element of the other set, so that the sum of their
        similarities is largest; the sum is divided by the size of the larger set.
    elements : similarity or function, optional
        Similarity of two elements for 'matching'. By default it is 1 for equal elements and 0 for others.

    Examples
    --------
    >>> from countwise.cases import NumberSimilarity, SetSimilarity
    >>> SetSimilarity().between({"sun", "sea"}, {"sun", "sand", "sea"})
    0.6666666666666666
    >>> SetSimilarity("matching", NumberSimilarity(8)).between({1, 7}, {3, 9})
    0.75
    """

    by: str = "jaccard"
    elements: Any = None
    word: ClassVar[str] = "set"
    kinds: ClassVar[tuple[str, ...]] = ("set", "list")
    needed: ClassVar[str] = "a set or a list"

    def __post_init__(self) -> None:
        check_settings(self, by=("jaccard", "covered", "matching"))
        if self.elements is not None:
            if self.by != "matching":
                raise OptionError(f"elements cannot be combined with by={self.by!r}.", hint="use by='matching'.")
            object.__setattr__(self, "elements", similarity_of(self.elements, "elements"))

    def check(self, value: Any, where: Where) -> None:
        """Raise TableError if the value is no set or list, or too large for a matching."""
        super().check(value, where)
        if self.by == "matching" and len(value) > _LARGEST:
            raise TableError(
                f"{where} has {len(value)} elements; by='matching' compares at most {_LARGEST}.",
                hint="use by='jaccard'.",
            )
        if self.elements is not None:
            for element in value:
                self.elements.check(element, where)

    def fitted(self, column: Column) -> SetSimilarity:
        """Return a copy whose similarity of elements is fitted to all elements in a column."""
        return self if self.elements is None else replace(self, elements=self.elements.fitted(column.elements()))

    def between(self, asked: Any, found: Any) -> float:
        """Return the common elements divided by the size that `by` defines."""
        common, out_of = self._common(asked, found)
        return common / out_of if out_of else 1.0

    def _common(self, asked: Any, found: Any) -> tuple[float, int]:
        """Return the number of common elements, or the sum of a matching, and the divisor."""
        one, other = _by_key(asked), _by_key(found)
        if self.by == "matching" and self.elements is not None:
            return self._matched(list(one.values()), list(other.values())), max(len(one), len(other))
        common = sum(key in other for key in one)
        return common, int(self._out_of(len(one), len(other), common))

    def _out_of(self, asked: int, found: Any, common: Any) -> Any:
        """Return the divisor, given the sizes of the sets (or arrays of sizes)."""
        if self.by == "jaccard":
            return asked + found - common
        return asked + 0 * found if self.by == "covered" else np.maximum(asked, found)

    def _matched(self, one: list[Any], other: list[Any]) -> float:
        """Return the largest sum of similarities over all pairings of elements."""
        from scipy.optimize import linear_sum_assignment

        if not one or not other:
            return 0.0
        table = np.array([[self.elements.between(a, b) for b in other] for a in one])
        rows, columns = linear_sum_assignment(table, maximize=True)
        return math.fsum(table[rows, columns].tolist())

    def explain(self, asked: Any, found: Any) -> str:
        """Return the numerator and the denominator of the similarity."""
        common, out_of = self._common(asked, found)
        if not out_of:
            return "the query is empty" if len(found) else "both empty"
        if self.by == "covered":
            return f"{number(common)} of {out_of} in the query"
        return f"{number(common)} {'in common' if self.by == 'jaccard' else 'matched'} of {out_of}"

    def bounds(self, asked: Any, column: Column) -> Floats:
        """Return the exact similarities; for a matching with `elements`, bounds from the sizes of the sets."""
        common, sizes, mine = column.common("elements", _by_key, asked)
        if self.by == "matching" and self.elements is not None:
            common = np.minimum(sizes, mine)
        return quotient(common, self._out_of(mine, sizes, common))


def _by_key(value: Any) -> dict[Hashable, Any]:
    """Return the distinct elements by their key."""
    return {key_of(element): element for element in value}
