"""Case base files: JSON with a checksum, like model files. Functions are stored by name only and never imported."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from countwise.cases.case import Case
from countwise.cases.graphs import GraphSimilarity
from countwise.cases.records import RecordSimilarity
from countwise.cases.reuse import rules_of
from countwise.cases.sets import SetSimilarity
from countwise.cases.similarities import (
    EqualSimilarity,
    FunctionSimilarity,
    NumberSimilarity,
    Similarity,
    StringSimilarity,
    TableSimilarity,
    similarity_of,
)
from countwise.cases.taxonomy import TaxonomySimilarity
from countwise.cases.values import LabeledGraph
from countwise.errors import ModelFileError, OptionError, did_you_mean, listed
from countwise.filewriter import write_whole
from countwise.jsonfile import plain, read_checked, revived, sealed

if TYPE_CHECKING:
    from countwise.cases.base import CaseBase

__all__ = ["load_base", "save_base"]

_KIND = "CaseBase"
# Similarities that a file may contain, by the value of "@".
_SIMILARITIES: dict[str, type[Similarity]] = {
    cls.word: cls
    for cls in (
        EqualSimilarity,
        GraphSimilarity,
        NumberSimilarity,
        RecordSimilarity,
        SetSimilarity,
        StringSimilarity,
        TableSimilarity,
        TaxonomySimilarity,
    )
}
_VALUES: dict[str, Callable[..., Any]] = {
    "set": lambda of: frozenset(of),
    "graph": lambda nodes, edges, directed: LabeledGraph(dict(map(tuple, nodes)), edges, directed),
}
Functions = dict[str, Callable[[Any, Any], float]]


def save_base(base: CaseBase, path: str | os.PathLike[str]) -> None:
    """Write a case base to a file atomically."""
    place = Path(path)
    content = {
        "kind": _KIND,
        "similarity": plain(base._store.declared),
        "functions": dict(_functions(base._store.declared, "")),
        "rules": [rule.name for rule in base._rules],
        "cases": [plain([c.id, c.problem, c.solution, c.outcome, c.notes]) for c in base._store.cases.values()],
    }
    write_whole(place, sealed(content, place))


def load_base(
    cls: type[CaseBase], path: str | os.PathLike[str], rules: tuple[Any, ...], functions: Functions
) -> CaseBase:
    """Read a case base from a file; functions are passed in, because the file does not contain them."""
    place = Path(path)
    content = read_checked(place, hint="save a case base to this path first.")
    kind = content.get("kind") if isinstance(content, dict) else None
    if kind != _KIND:
        raise ModelFileError(
            f"{place} contains a model ({kind}), not a case base.", hint="use countwise.load to load a model."
        )
    with _damaged(place):
        needed = {str(where): str(name) for where, name in content["functions"].items()}
        named = [str(name) for name in content["rules"]]
    given = {rule.name: rule.function for rule in rules_of(rules)}
    _check_given(named, list(given), needed, functions, place)
    with _damaged(place):
        declared = _similarity(content["similarity"], "", functions)
        if not isinstance(declared, RecordSimilarity):
            raise ValueError("the similarity of problems is not a record similarity")
        base = cls(rules=[given[name] for name in named], **vars(declared))
        for name, *values, notes in content["cases"]:
            problem, solution, outcome = (revived(value, _VALUES) for value in values)
            base._store.keep(Case(problem, solution, name, outcome, notes))
    return base


@contextmanager
def _damaged(place: Path) -> Iterator[None]:
    """Report errors in the block as a damaged file."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"{place} is a damaged case base file: {type(error).__name__}: {error}.") from None


def _check_given(
    rules: list[str], given: list[str], needed: dict[str, str], functions: Functions, place: Path
) -> None:
    """Raise OptionError unless exactly the functions of the case base are given."""
    lost = [f"the rule {name!r}" for name in rules if name not in given]
    lost += [f"the similarity {name!r} of {where!r}" for where, name in needed.items() if where not in functions]
    if lost:
        hint = "pass them again: CaseBase.load(path, rules=[...], similarities={...})."
        raise OptionError(
            f"The case base in {place} needs functions that are not in the file: {', '.join(lost)}.", hint=hint
        )
    for where, function in functions.items():
        similarity_of(function, where)
    odd = [(f"rule {name!r}", name, "rules", rules) for name in given if name not in rules]
    odd += [
        (f"similarity function for {where!r}", where, "similarities", list(needed))
        for where in functions
        if where not in needed
    ]
    for what, name, parameter, known in odd:
        only = f"pass only {listed(known)} as {parameter}." if known else f"call CaseBase.load without {parameter}."
        raise OptionError(f"The case base in {place} has no {what}.", hint=did_you_mean(name, known) or only)


def _functions(similarity: Similarity, path: str) -> Iterator[tuple[str, str]]:
    """Yield the path of each attribute that is compared by a function, and the name of the function."""
    if isinstance(similarity, FunctionSimilarity):
        yield path, similarity.name
    elif isinstance(similarity, SetSimilarity) and similarity.elements is not None:
        yield from _functions(similarity.elements, path)
    elif isinstance(similarity, RecordSimilarity):
        for name, local in (similarity.similarities or {}).items():
            yield from _functions(local, f"{path}.{name}" if path else name)


def _similarity(written: Any, path: str, functions: Functions) -> Similarity:
    """Return the similarity that was saved; functions are looked up by the path of their attribute."""
    settings = dict(written)
    kind = settings.pop("@")
    if kind == "function":
        return similarity_of(functions[path], path)
    if kind == "record":
        inner = dict(settings["similarities"])
        settings["similarities"] = {
            name: _similarity(s, f"{path}.{name}" if path else name, functions) for name, s in inner.items()
        }
        settings["weights"] = dict(settings["weights"])
    elif kind == "number" and isinstance(settings["range"], list):
        settings["range"] = tuple(settings["range"])
    elif kind == "set" and settings["elements"] is not None:
        settings["elements"] = _similarity(settings["elements"], path, functions)
    elif kind == "table":
        triples = ((revived(a, _VALUES), revived(b, _VALUES), s) for a, b, s in settings["table"])
        settings["table"] = {(a, b): s for a, b, s in triples}
    return _SIMILARITIES[kind](**settings)
