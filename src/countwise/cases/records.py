"""Similarity of records, such as the problems of a case base: the weighted mean over their attributes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from countwise._typing import Floats
from countwise.cases.columns import Column, RecordColumn
from countwise.cases.graphs import GraphSimilarity
from countwise.cases.sets import SetSimilarity
from countwise.cases.similarities import EqualSimilarity, NumberSimilarity, Similarity, similarity_of
from countwise.cases.values import Where, is_number
from countwise.errors import OptionError, TableError, check_settings, did_you_mean, listed

__all__ = ["RecordField", "RecordSimilarity", "guessed"]


@dataclass(frozen=True)
class RecordField:
    """Contribution of one attribute to the similarity of a query and a case.

    Parameters
    ----------
    attribute : str
        Name of the attribute. Attributes of nested records are written with dots.
    asked : value
        Value in the query.
    found : value
        Value in the case; None if it is missing.
    weight : float
        Weight of the attribute.
    similarity : float or None
        Local similarity; None if the attribute is ignored.
    how : str
        Explanation of the local similarity.
    inner : tuple of RecordField, default=()
        Contributions of the attributes of a nested record.
    approximate : bool, default=False
        Whether the similarity may be too low, because graphs were matched by a greedy algorithm.

    Examples
    --------
    >>> from countwise import CaseBase
    >>> match = CaseBase([({"hours": 900}, "bearing"), ({"hours": 100}, "seal")]).retrieve({"hours": 700})[0]
    >>> match.parts[0].attribute, match.parts[0].how
    ('hours', '1 - 200 / 800')
    """

    attribute: str
    asked: Any
    found: Any
    weight: float
    similarity: float | None
    how: str
    inner: tuple[RecordField, ...] = ()
    approximate: bool = False

    def flat(self) -> Iterator[RecordField]:
        """Iterate over this contribution and those of nested attributes.

        Yields
        ------
        RecordField

        Examples
        --------
        >>> from countwise import CaseBase
        >>> match = CaseBase([({"hotel": {"stars": 4}}, "u")]).retrieve({"hotel": {"stars": 4}})[0]
        >>> [part.attribute for part in match.parts[0].flat()]
        ['hotel', 'hotel.stars']
        """
        yield self
        for part in self.inner:
            yield from part.flat()


@dataclass(frozen=True)
class RecordSimilarity(Similarity):
    """Similarity of records: the weighted mean of the local similarities of their attributes.

    .. math:: s(q, c) = Σ_a w_a s_a(q_a, c_a) / Σ_a w_a

    The sums are over the attributes a of the query q. Attributes that only the case c has are ignored.

    Parameters
    ----------
    similarities : mapping of attribute to similarity or function, optional
        Local similarities. In a case base, the type of the values decides for attributes not in the mapping:
        `NumberSimilarity` for numbers, `SetSimilarity` for sets and lists, `RecordSimilarity` for mappings,
        `GraphSimilarity` for graphs, and `EqualSimilarity` for all others.
    weights : mapping of attribute to number, optional
        Weights, which must be at least 0. Attributes not in the mapping have weight 1.
    missing : {'zero', 'ignore'}, default='zero'
        Treatment of an attribute of the query that the case does not have. 'zero' counts it with similarity 0.
        'ignore' leaves it out of both sums.

    Examples
    --------
    >>> from countwise.cases import NumberSimilarity, RecordSimilarity
    >>> hotel = RecordSimilarity({"stars": NumberSimilarity(4)}, weights={"stars": 3})
    >>> hotel.between({"stars": 4}, {"stars": 3})
    0.75
    """

    similarities: Mapping[str, Any] | None = None
    weights: Mapping[str, float] | None = None
    missing: str = "zero"
    word: ClassVar[str] = "record"
    kinds: ClassVar[tuple[str, ...]] = ("record",)
    needed: ClassVar[str] = "a mapping"

    def __post_init__(self) -> None:
        check_settings(self, missing=("zero", "ignore"))
        for name, given in (("similarities", self.similarities), ("weights", self.weights)):
            if given is not None and not isinstance(given, Mapping):
                raise OptionError(f"{name} must be a mapping by attribute, not {given!r}.")
        given = {name: similarity_of(s, name) for name, s in (self.similarities or {}).items()}
        object.__setattr__(self, "similarities", given)
        weights = dict(self.weights or {})
        for name, weight in weights.items():
            if not is_number(weight) or not 0 <= weight < math.inf:
                raise OptionError(f"The weight of {name!r} must be a finite number >= 0, not {weight!r}.")
        object.__setattr__(self, "weights", weights)

    def local(self, name: str) -> Similarity:
        """Return the local similarity of an attribute.

        Parameters
        ----------
        name : str
            Name of the attribute.

        Returns
        -------
        Similarity
            Similarity used for the attribute.

        Raises
        ------
        TableError
            If no similarity is known for the attribute.

        Examples
        --------
        >>> from countwise.cases import EqualSimilarity, RecordSimilarity
        >>> RecordSimilarity({"board": EqualSimilarity()}).local("board")
        EqualSimilarity()
        """
        found = (self.similarities or {}).get(name)
        if found is None:
            known = self.similarities or {}
            hint = did_you_mean(name, known) or (f"use one of {listed(known)}." if known else None)
            raise TableError(f"There is no attribute {name!r} to compare.", hint=hint)
        return found

    def weight(self, name: str) -> float:
        """Return the weight of an attribute.

        Parameters
        ----------
        name : str
            Name of the attribute.

        Returns
        -------
        float
            Weight, at least 0.

        Examples
        --------
        >>> from countwise.cases import RecordSimilarity
        >>> RecordSimilarity(weights={"stars": 3}).weight("stars")
        3.0
        """
        return float((self.weights or {}).get(name, 1.0))

    def check(self, value: Any, where: Where) -> None:
        """Raise TableError if the value is no record, or if one of its attributes cannot be compared."""
        super().check(value, where)
        for name, inner in value.items():
            if name in (self.similarities or {}):
                self.local(name).check(inner, where.inside(name))

    def check_asked(self, asked: Any, where: Where) -> None:
        """Raise an error if the query has an unknown attribute, or if all its weights are 0."""
        super().check(asked, where)
        for name, value in asked.items():
            self.local(name).check_asked(value, where.inside(name))
        if not any(self.weight(name) for name in asked):
            raise OptionError(
                f"{where} has only attributes with weight 0.",
                hint="use other weights, or add attributes to the query.",
            )

    def fitted(self, column: Column) -> RecordSimilarity:
        """Return a copy with a fitted similarity for every attribute."""
        return self.fitted_over(column.records())

    def fitted_over(self, records: RecordColumn) -> RecordSimilarity:
        """Return a copy with a similarity for every attribute, fitted to records.

        Parameters
        ----------
        records : RecordColumn
            Records, stored by column.

        Returns
        -------
        RecordSimilarity
            Fitted copy.
        """
        declared = dict(self.similarities or {})
        for name in declared.keys() - records.columns.keys():
            declared[name] = declared[name].fitted(Column())
        for name, column in records.columns.items():
            declared[name] = (declared.get(name) or guessed(column)).fitted(column)
        return replace(self, similarities=declared)

    def between(self, asked: Any, found: Any) -> float:
        """Return the weighted mean of the local similarities."""
        counted = []
        for name, value in asked.items():
            other = found.get(name)
            if other is not None:
                counted.append((self.weight(name), self.local(name).between(value, other)))
            elif self.missing == "zero":
                counted.append((self.weight(name), 0.0))
        return _mean(counted)

    def parts(self, asked: Any, found: Any, path: str = "") -> tuple[RecordField, ...]:
        """Return the contribution of each attribute of the query."""
        return tuple(self._part(name, value, found.get(name), path) for name, value in asked.items())

    def _part(self, name: str, asked: Any, found: Any, path: str) -> RecordField:
        local, weight, whole = self.local(name), self.weight(name), f"{path}{name}"
        if found is None:
            ignored = self.missing == "ignore"
            how = "missing: ignored" if ignored else "missing: 0"
            return RecordField(whole, asked, None, weight, None if ignored else 0.0, how)
        similarity, how = local.between(asked, found), local.explain(asked, found)
        inner, greedy = local.parts(asked, found, f"{whole}."), local.approximate(asked, found)
        return RecordField(whole, asked, found, weight, similarity, how, inner, greedy)

    def explain(self, asked: Any, found: Any) -> str:
        """Return a fixed text; `parts` explains the attributes."""
        return "weighted mean of its attributes"

    def bounds(self, asked: Any, column: Column) -> Floats:
        """Return the weighted means of the local bounds."""
        return self.bounds_over(asked, column.records())

    def bounds_over(self, asked: Mapping[str, Any], records: RecordColumn) -> Floats:
        """Return an upper bound of the similarity to each record.

        Parameters
        ----------
        asked : mapping of attribute to value
            The query.
        records : RecordColumn
            Records, stored by column.

        Returns
        -------
        ndarray of shape (n_records,)
            Upper bounds.
        """
        total, weight = np.zeros(records.n), np.zeros(records.n)
        for name, value in asked.items():
            w, column = self.weight(name), records.columns.get(name)
            codes = np.full(records.n, -1) if column is None else column.codes()
            known = codes >= 0
            if column is not None and column.values:
                total[known] += w * self.local(name).bounds(value, column)[codes[known]]
            weight += w * known if self.missing == "ignore" else w
        return np.divide(total, weight, out=np.zeros(records.n), where=weight > 0)


def _mean(counted: list[tuple[float, float]]) -> float:
    """Return the weighted mean of (weight, similarity); 0 without weights. The order does not change the result."""
    whole = math.fsum(weight for weight, _ in counted)
    return math.fsum(weight * similarity for weight, similarity in counted) / whole if whole else 0.0


def guessed(column: Column) -> Similarity:
    """Return the default similarity for the type of the values of a column."""
    if column.types == {"number"}:
        return NumberSimilarity()
    if column.types and column.types <= {"set", "list"}:
        return SetSimilarity()
    if column.types == {"record"}:
        return RecordSimilarity()
    return GraphSimilarity() if column.types == {"graph"} else EqualSimilarity()
