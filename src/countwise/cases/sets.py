"""Sets: how much of them is in common."""

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

_LARGEST = 500  # elements of a set that is matched one by one: the work grows with the third power


@dataclass(frozen=True)
class SetSimilarity(Similarity):
    """How much two sets have in common; a list is the set of its elements.

    Two empty sets have 1.

    Parameters
    ----------
    by : {"jaccard", "covered", "matching"}, default="jaccard"
        Jaccard: elements in both / elements in either. Covered: elements in both / elements asked for. Matching:
        elements are paired so that the sum of their similarities is largest; it is divided by the size of the
        larger set.
    elements : similarity or function, optional
        For matching: the similarity of two elements; by default 1 if they are equal.

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
                raise OptionError(f"elements has no meaning for by={self.by!r}.", hint="give by='matching'.")
            object.__setattr__(self, "elements", similarity_of(self.elements, "elements"))

    def check(self, value: Any, where: Where) -> None:
        """Sets, not too large to be matched."""
        super().check(value, where)
        if self.by == "matching" and len(value) > _LARGEST:
            raise TableError(
                f"{where} has {len(value)} elements; at most {_LARGEST} are matched one by one.",
                hint="use by='jaccard'.",
            )
        if self.elements is not None:
            for element in value:
                self.elements.check(element, where)

    def fitted(self, column: Column) -> SetSimilarity:
        """With the similarity of elements fitted to all elements of the base."""
        return self if self.elements is None else replace(self, elements=self.elements.fitted(column.elements()))

    def between(self, asked: Any, found: Any) -> float:
        """What is in common, over what there is."""
        common, out_of = self._share(asked, found)
        return common / out_of if out_of else 1.0

    def _share(self, asked: Any, found: Any) -> tuple[float, int]:
        one, other = _by_key(asked), _by_key(found)
        if self.by == "matching" and self.elements is not None:
            return self._matched(list(one.values()), list(other.values())), max(len(one), len(other))
        common = sum(key in other for key in one)
        return common, int(self._out_of(len(one), len(other), common))

    def _out_of(self, asked: int, found: Any, common: Any) -> Any:
        """What the common part is divided by, from sizes: of one set, or of an array of them."""
        if self.by == "jaccard":
            return asked + found - common
        return asked + 0 * found if self.by == "covered" else np.maximum(asked, found)

    def _matched(self, one: list[Any], other: list[Any]) -> float:
        """The largest sum of similarities of pairs."""
        from scipy.optimize import linear_sum_assignment

        if not one or not other:
            return 0.0
        table = np.array([[self.elements.between(a, b) for b in other] for a in one])
        rows, columns = linear_sum_assignment(table, maximize=True)
        return math.fsum(table[rows, columns].tolist())

    def explain(self, asked: Any, found: Any) -> str:
        """The parts of the fraction."""
        common, out_of = self._share(asked, found)
        if not out_of:
            return "no element is asked for" if len(found) else "both empty"
        if self.by == "covered":
            return f"{number(common)} of {out_of} asked for"
        return f"{number(common)} {'in common' if self.by == 'jaccard' else 'matched'} of {out_of}"

    def bounds(self, asked: Any, column: Column) -> Floats:
        """Exact by the elements in common; for a matching, by the sizes."""
        common, sizes, mine = column.common("elements", _by_key, asked)
        if self.by == "matching" and self.elements is not None:
            common = np.minimum(sizes, mine)
        return quotient(common, self._out_of(mine, sizes, common))


def _by_key(value: Any) -> dict[Hashable, Any]:
    """The distinct elements, by what equal ones have in common."""
    return {key_of(element): element for element in value}
