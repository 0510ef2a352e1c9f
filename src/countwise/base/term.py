"""Terms: a derived column and its distribution. A model is a list of terms; its answer is their sum."""

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
    """One term of a model: the column that it is about, and its distribution in each class."""

    derived: Derived
    distribution: Any
    of: Any = field(init=False, repr=False, compare=False)  # the attribute as the tally sees it
    key: str = field(init=False, repr=False, compare=False)  # the name of the tally and of the derived column
    columns: tuple[str, ...] = field(init=False, repr=False, compare=False)  # of the table, that it is made of
    as_given: bool = field(init=False, repr=False, compare=False)  # whether it is about a column as it is

    def __post_init__(self) -> None:
        derived = self.derived
        object.__setattr__(self, "of", derived.of)
        object.__setattr__(self, "key", derived.of.name)
        object.__setattr__(self, "columns", derived.columns)
        object.__setattr__(self, "as_given", type(derived) is AsGiven)


def make_terms(distributions: Sequence[tuple[Attribute, Any]], taken: Container[str]) -> list[Term]:
    """A term for each attribute; attributes that a distribution takes together share one, at the first's place."""
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
    """The schema, if every column of it is numeric, nominal or ordinal."""
    for a in schema.attributes:
        if not isinstance(a, Nominal | Numeric):
            raise TableError(
                f"{a.name!r} is {a.kind}; {what} takes numeric and nominal columns only.",
                hint="leave the column out.",
            )
    return schema


def requests_of(terms: Sequence[Term], target: Nominal) -> dict[str, Request]:
    """The requests of a model: the counts of the classes, and the tally of each term."""
    found = {target.name: Request(None, Counts((target,)))}
    for term in terms:
        rule = term.distribution
        shows = getattr(rule, "shows_infinity", False)
        found[term.key] = Request(term.derived, rule.blank(target, term.of), shows)
    return found


def blank_tallies(terms: Sequence[Term], target: Nominal) -> dict[str, Any]:
    """The blank tallies of a model, without the columns that they are about."""
    return {key: request.blank for key, request in requests_of(terms, target).items()}


def derive(table: Table, terms: Sequence[Term]) -> Table:
    """The table with the columns that the terms are about."""
    fresh = {term.key: term.derived.derive(table) for term in terms if not term.as_given}
    return Table({**table.columns, **fresh}, table.n_rows, table.weights) if fresh else table


def derive_checked(table: Table, terms: Sequence[Term]) -> Table:
    """The same, after a look for infinite numbers where the tally would not show them."""
    shows = {term.key: getattr(term.distribution, "shows_infinity", False) for term in terms}
    return derived_table(table, {term.key: Request(term.derived, None, shows[term.key]) for term in terms})
