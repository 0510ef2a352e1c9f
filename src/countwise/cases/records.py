"""Records: the weighted mean of the similarities of their attributes. The problems of a case base are records."""

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
    """What one attribute adds to the similarity of a query and a case.

    Parameters
    ----------
    attribute : str
        Its name; that of an attribute in a record in a record has dots.
    asked, found : value
        What the query asks for and what the case has; None if it has nothing.
    weight : float
        The attribute's weight.
    similarity : float or None
        The local similarity; None if the attribute is ignored.
    how : str
        How it came about.
    inner : tuple of RecordField
        The parts of a record.
    approximate : bool
        Whether the similarity may be too low: a greedy matching of graphs.
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
        """The part and those in it."""
        yield self
        for part in self.inner:
            yield from part.flat()


@dataclass(frozen=True)
class RecordSimilarity(Similarity):
    """The weighted mean of the similarities of attributes: sum of w s / sum of w, over what is asked.

    Attributes that are not asked for do not count.

    Parameters
    ----------
    similarities : mapping of attribute to similarity or function, optional
        Of attributes that are not named, by their values: numbers by their range, sets by Jaccard, records as
        records, graphs as graphs, all others by equality.
    weights : mapping of attribute to number, optional
        1 for attributes that are not named.
    missing : {"zero", "ignore"}, default="zero"
        What an attribute counts that is asked for and that the case does not have: 0, or nothing, so that the
        others are rescaled.

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
                raise OptionError(f"{name} is {given!r}; a mapping of attributes is needed.")
        given = {name: similarity_of(s, name) for name, s in (self.similarities or {}).items()}
        object.__setattr__(self, "similarities", given)
        weights = dict(self.weights or {})
        for name, weight in weights.items():
            if not is_number(weight) or not 0 <= weight < math.inf:
                raise OptionError(f"The weight of {name!r} is {weight!r}; a number that is not negative is needed.")
        object.__setattr__(self, "weights", weights)

    def local(self, name: str) -> Similarity:
        """The similarity of one attribute."""
        found = (self.similarities or {}).get(name)
        if found is None:
            known = self.similarities or {}
            hint = did_you_mean(name, known) or (f"known are {listed(known)}." if known else None)
            raise TableError(f"There is no attribute {name!r}.", hint=hint)
        return found

    def weight(self, name: str) -> float:
        """The weight of one attribute."""
        return float((self.weights or {}).get(name, 1.0))

    def check(self, value: Any, where: Where) -> None:
        """Refuse a record whose attributes cannot be compared; those that no similarity is given for may be all."""
        super().check(value, where)
        for name, inner in value.items():
            if name in (self.similarities or {}):
                self.local(name).check(inner, where.inside(name))

    def check_asked(self, asked: Any, where: Where) -> None:
        """Refuse a query of attributes that are not known, or that all weigh nothing."""
        super().check(asked, where)
        for name, value in asked.items():
            self.local(name).check_asked(value, where.inside(name))
        if not any(self.weight(name) for name in asked):
            raise OptionError(
                f"{where} asks only for what has the weight 0.", hint="give other weights, or ask for more."
            )

    def fitted(self, column: Column) -> RecordSimilarity:
        """With a similarity for every attribute."""
        return self.fitted_over(column.records())

    def fitted_over(self, records: RecordColumn) -> RecordSimilarity:
        """With a similarity for every attribute of these records, or declared."""
        declared = dict(self.similarities or {})
        for name in declared.keys() - records.columns.keys():
            declared[name] = declared[name].fitted(Column())
        for name, column in records.columns.items():
            declared[name] = (declared.get(name) or guessed(column)).fitted(column)
        return replace(self, similarities=declared)

    def between(self, asked: Any, found: Any) -> float:
        """The weighted mean."""
        counted = []
        for name, value in asked.items():
            other = found.get(name)
            if other is not None:
                counted.append((self.weight(name), self.local(name).between(value, other)))
            elif self.missing == "zero":
                counted.append((self.weight(name), 0.0))
        return _mean(counted)

    def parts(self, asked: Any, found: Any, path: str = "") -> tuple[RecordField, ...]:
        """What each attribute that is asked for adds."""
        return tuple(self._part(name, value, found.get(name), path) for name, value in asked.items())

    def _part(self, name: str, asked: Any, found: Any, path: str) -> RecordField:
        local, weight, whole = self.local(name), self.weight(name), f"{path}{name}"
        if found is None:
            ignored = self.missing == "ignore"
            how = "missing: ignored" if ignored else "missing: 0"
            return RecordField(whole, asked, None, weight, None if ignored else 0.0, how)
        share, how = local.between(asked, found), local.explain(asked, found)
        inner, greedy = local.parts(asked, found, f"{whole}."), local.approximate(asked, found)
        return RecordField(whole, asked, found, weight, share, how, inner, greedy)

    def explain(self, asked: Any, found: Any) -> str:
        """Its parts are explained one by one."""
        return "weighted mean of its attributes"

    def bounds(self, asked: Any, column: Column) -> Floats:
        """The weighted mean of bounds."""
        return self.bounds_over(asked, column.records())

    def bounds_over(self, asked: Mapping[str, Any], records: RecordColumn) -> Floats:
        """For each record a number that its similarity does not exceed."""
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
    """The weighted mean; 0 if nothing has a weight. The order of attributes does not change a digit."""
    whole = math.fsum(weight for weight, _ in counted)
    return math.fsum(weight * share for weight, share in counted) / whole if whole else 0.0


def guessed(column: Column) -> Similarity:
    """The similarity that the values of a column suggest."""
    if column.kinds == {"number"}:
        return NumberSimilarity()
    if column.kinds and column.kinds <= {"set", "list"}:
        return SetSimilarity()
    if column.kinds == {"record"}:
        return RecordSimilarity()
    return GraphSimilarity() if column.kinds == {"graph"} else EqualSimilarity()
