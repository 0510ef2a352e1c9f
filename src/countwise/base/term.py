"""Terms: a derived column and its distribution. A model is a list of terms; its log-joint is their sum."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field
from typing import Any

from countwise.data.attributes import Attribute, Nominal, Numeric
from countwise.data.derived import AsGiven, CountBlock, Derived
from countwise.data.schema import Schema
from countwise.data.table import Table
from countwise.errors import TableError
from countwise.tallies import Counts, Request, derived_table

__all__ = ["Term", "blank_tallies", "derive", "derive_checked", "make_terms", "numeric_and_nominal", "requests_of"]


@dataclass(frozen=True, slots=True)
class Term:
    """One term of a model: a derived column and its distribution in each class."""

    derived: Derived
    distribution: Any
    of: Any = field(init=False, repr=False, compare=False)  # the attribute as the tally sees it
    key: str = field(init=False, repr=False, compare=False)  # the name of the tally and of the derived column
    columns: tuple[str, ...] = field(
        init=False, repr=False, compare=False
    )  # the columns of the table that it is derived from
    as_given: bool = field(init=False, repr=False, compare=False)  # whether it is a column of the table, unchanged

    def __post_init__(self) -> None:
        derived = self.derived
        object.__setattr__(self, "of", derived.of)
        object.__setattr__(self, "key", derived.of.name)
        object.__setattr__(self, "columns", derived.columns)
        object.__setattr__(self, "as_given", type(derived) is AsGiven)


def make_terms(distributions: Sequence[tuple[Attribute, Any]], taken: Container[str]) -> list[Term]:
    """Make a term for each attribute; attributes modeled jointly share one term, at the position of the first."""
    blocks: dict[str, list[str]] = {}
    for attribute, distribution in distributions:
        block = distribution.block_of(attribute)
        if block is not None:
            blocks.setdefault(block, []).append(attribute.name)
    terms: list[Term] = []
    for attribute, distribution in distributions:
        block = distribution.block_of(attribute)
        if block is None:
            terms.append(Term(*distribution.derived(attribute, taken)))
        elif block in blocks:
            terms.append(Term(CountBlock.of_columns(block, blocks.pop(block), taken), distribution))
    return terms


def numeric_and_nominal(schema: Schema, what: str) -> Schema:
    """Return the schema if every column is numeric, nominal or ordinal; otherwise raise an error."""
    for a in schema.attributes:
        if not isinstance(a, Nominal | Numeric):
            raise TableError(
                f"{a.name!r} has type {a.kind}; {what} accepts only numeric and nominal columns.",
                hint="drop the column.",
            )
    return schema


def requests_of(terms: Sequence[Term], target: Nominal) -> dict[str, Request]:
    """Return the tallies that a model requests: the class counts, and one for each term."""
    found = {target.name: Request(None, Counts((target,)))}
    for term in terms:
        rule = term.distribution
        shows = getattr(rule, "shows_infinity", False)
        found[term.key] = Request(term.derived, rule.blank(target, term.of), shows)
    return found


def blank_tallies(terms: Sequence[Term], target: Nominal) -> dict[str, Any]:
    """Return the empty tallies of a model."""
    return {key: request.blank for key, request in requests_of(terms, target).items()}


def derive(table: Table, terms: Sequence[Term]) -> Table:
    """Add the derived columns of the terms to a table."""
    fresh = {term.key: term.derived.derive(table) for term in terms if not term.as_given}
    return Table({**table.columns, **fresh}, table.n_rows, table.weights) if fresh else table


def derive_checked(table: Table, terms: Sequence[Term]) -> Table:
    """Like `derive`, and raise an error for infinite values in columns whose tally would hide them."""
    shows = {term.key: getattr(term.distribution, "shows_infinity", False) for term in terms}
    return derived_table(table, {term.key: Request(term.derived, None, shows[term.key]) for term in terms})
