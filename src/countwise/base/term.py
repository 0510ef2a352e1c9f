"""Parts: which columns a term of the model is made of, and how they are derived."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.data.columns import narrowest, refuse_infinity
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.data.text import Bag, Block
from countwise.data.vectors import Vector, cells_of, numbers_of_codes
from countwise.distributions import Bernoulli, Categorical, Multinomial
from countwise.errors import TableError
from countwise.tallies import Counts

__all__ = ["Term", "blanks", "checked", "derive", "numbers_and_names", "presence", "terms_of_rules", "whole_row"]


@dataclass(frozen=True, slots=True)
class Term:
    """One term: an attribute and its law.

    Parameters
    ----------
    of : Attribute
        The attribute as the tally sees it; its name is the key of the tally.
    rule : Distribution
        Its law.
    columns : tuple of str
        The columns of the table that it is made of.
    how : {"same", "positive", "block", "missing", "numbers", "cells", "ranges", "latent"}
        As it is; whether a number is above 0; several counts as one block; whether the cell is missing;
        several columns as a list of numbers, names as 0 and 1; several columns as a matrix, names as codes; a number
        by the range that it lies in; never there at all.
    cell : int or None
        For "missing": the code of a missing cell in a column of codes.
    """

    of: Attribute
    rule: Any
    columns: tuple[str, ...]
    how: str = "same"
    cell: int | None = None

    @property
    def key(self) -> str:
        """The name of the tally and of the derived column."""
        return self.of.name


def free(name: str, taken: Container[str]) -> str:
    """A name for a derived column that no column of the user's has."""
    while name in taken:
        name = f"({name})"
    return name


def terms_of_rules(rules: Sequence[tuple[Attribute, Any]], taken: Container[str]) -> list[Term]:
    """A part for each attribute; counts that share an urn become one block."""
    parts: list[Term] = []
    urns: dict[str, list[tuple[Attribute, Any]]] = {}
    for attribute, rule in rules:
        if isinstance(rule, Multinomial) and isinstance(attribute, Numeric):
            if rule.block not in urns:
                urns[rule.block] = []
                parts.append(Term(Block(free(f"block {rule.block}".strip(), taken)), rule, (), "block"))
            urns[rule.block].append((attribute, rule))
        elif isinstance(rule, Bernoulli) and isinstance(attribute, Numeric):
            two = Nominal(free(f"{attribute.name} > 0", taken), (False, True))
            parts.append(Term(two, Categorical(rule.smoothing), (attribute.name,), "positive"))
        elif isinstance(rule, Bernoulli) and isinstance(attribute, Nominal):
            parts.append(Term(attribute, Categorical(rule.smoothing), (attribute.name,)))
        else:
            parts.append(Term(attribute, rule, (attribute.name,)))
    return [_filled_block(part, urns) if part.how == "block" else part for part in parts]


def _filled_block(part: Term, urns: dict[str, list[tuple[Attribute, Any]]]) -> Term:
    names = tuple(attribute.name for attribute, _ in urns[part.rule.block])
    return Term(Block(part.of.name, names), part.rule, names, "block")


def presence(attribute: Attribute, smoothing: Any, taken: Container[str]) -> Term:
    """The term for absence itself: whether the cell is missing."""
    of = Nominal(free(f"{attribute.name} missing", taken), (False, True))
    cell = attribute.missing if isinstance(attribute, Nominal) else None
    return Term(of, Categorical(smoothing), (attribute.name,), "missing", cell)


def numbers_and_names(schema: Schema, what: str) -> Schema:
    """The schema, if every column of it is numeric, nominal or ordinal."""
    for a in schema.attributes:
        if not isinstance(a, Nominal | Numeric):
            raise TableError(f"{a.name!r} is {a.kind}; {what} is of numbers and names.", hint="leave the column out.")
    return schema


def whole_row(attributes: Sequence[Attribute], rule: Any, how: str, taken: Container[str]) -> Term:
    """One term for all attributes together."""
    of = Vector(free("row", taken), tuple(attributes))
    return Term(of, rule, tuple(a.name for a in attributes), how)


def checked(table: Table, parts: Sequence[Term]) -> Table:
    """The derived table, after a look for infinities where no moments are taken that would show them."""
    names = {n for part in parts if not getattr(part.rule, "shows_infinity", False) for n in part.columns}
    refuse_infinity({n: table[n] for n in table.columns if n in names and _is_number(table[n])})
    return derive(table, parts)


def _is_number(column: Any) -> bool:
    return isinstance(column, np.ndarray) and column.dtype.kind == "f"


def derive(table: Table, parts: Sequence[Term]) -> Table:
    """The table with the columns that the parts are made of."""
    fresh: dict[str, Any] = {}
    for part in parts:
        if part.how == "positive":
            fresh[part.key] = _positive(table[part.columns[0]])
        elif part.how == "missing":
            fresh[part.key] = _absent(table[part.columns[0]], part)
        elif part.how == "block":
            fresh[part.key] = _block({name: table[name] for name in part.columns}, table.n_rows)
        elif part.how == "numbers":
            fresh[part.key] = _numbers(part.of, table)
        elif part.how == "ranges":
            fresh[part.key] = part.rule.codes(table[part.columns[0]])
        elif part.how == "latent":
            missing = part.of.missing  # type: ignore[attr-defined]
            fresh[part.key] = np.full(table.n_rows, missing, dtype=narrowest(missing + 2))
        elif part.how == "cells":
            fresh[part.key] = cells_of(part.of.attributes, [table[name] for name in part.columns])  # type: ignore[attr-defined]
    return Table({**table.columns, **fresh}, table.n_rows, table.weights) if fresh else table


def _numbers(of: Any, table: Table) -> list[Any]:
    numbers: list[Any] = []
    for a in of.attributes:
        numbers += numbers_of_codes(a, table[a.name]) if isinstance(a, Nominal) else [table[a.name]]
    return numbers


def _positive(column: Any) -> Any:
    with np.errstate(invalid="ignore"):
        codes = (column > 0).astype(np.uint8)
    if column.dtype.kind == "f":
        codes[np.isnan(column)] = 2
    return codes


def _absent(column: Any, part: Term) -> Any:
    if isinstance(column, Bag):
        missing = column.missing
        return np.zeros(len(column), dtype=np.uint8) if missing is None else missing.astype(np.uint8)
    if part.cell is not None:
        return (column == part.cell).astype(np.uint8)
    if column.dtype.kind == "f":
        return np.isnan(column).astype(np.uint8)
    return np.zeros(len(column), dtype=np.uint8)


def _block(columns: Mapping[str, Any], n_rows: int) -> Bag:
    """Columns of counts as one bag; a missing cell is a word that tells nothing."""
    dense = np.stack([np.asarray(c, dtype=np.float64) for c in columns.values()], axis=1)
    dense[np.isnan(dense)] = 0.0
    if (dense < 0).any():
        row, j = (int(place[0]) for place in np.nonzero(dense < 0))
        name = list(columns)[j]
        raise TableError(
            f"Negative values in data: {name!r} is {dense[row, j]:g} in row {row}; the multinomial law counts.",
            hint=f"use another law: distributions={{{name!r}: 'gaussian'}}.",
            row=row,
        )
    rows, words = np.nonzero(dense)
    indptr = np.zeros(n_rows + 1, dtype=np.int64)
    np.cumsum(np.bincount(rows, minlength=n_rows), out=indptr[1:])
    return Bag(indptr, words.astype(np.int32), dense[rows, words], len(columns))


def blanks(parts: list[Term], target: Nominal) -> dict[str, Any]:
    """The requests of a model: the counts of the classes, and the tally of each part."""
    return {target.name: Counts((target,)), **{part.key: part.rule.blank(target, part.of) for part in parts}}
