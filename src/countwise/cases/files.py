"""Case bases as plain JSON, in the same checked files as models. Functions are kept by name and never looked up."""

from __future__ import annotations

import json
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
from countwise.jsonfile import MAX_BYTES, enveloped, limit_depth, plain, read_checked, revived, write_whole

if TYPE_CHECKING:
    from countwise.cases.base import CaseBase

__all__ = ["load_base", "save_base"]

_KIND = "CaseBase"
# What a file may hold, by the word "@"; no other word is known.
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
    """Write a base to a file, whole or not at all."""
    place = Path(path)
    content = {
        "kind": _KIND,
        "similarity": plain(base._store.declared),
        "functions": dict(_functions(base._store.declared, "")),
        "rules": [rule.name for rule in base._rules],
        "cases": [plain([c.id, c.problem, c.solution, c.outcome, c.notes]) for c in base._store.cases.values()],
    }
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        data = enveloped(body)
    except UnicodeEncodeError:
        raise ModelFileError("A string of the case base cannot be written to a file (a lone surrogate).") from None
    if len(data) > MAX_BYTES:
        raise ModelFileError("The case base is too large for a file.", hint="forget some cases.")
    limit_depth(data.decode(), place)
    write_whole(place, data)


def load_base(
    cls: type[CaseBase], path: str | os.PathLike[str], rules: tuple[Any, ...], functions: Functions
) -> CaseBase:
    """Read a base from a file, with the functions that it does not hold."""
    place = Path(path)
    content = read_checked(place, hint="save a case base there.")
    kind = content.get("kind") if isinstance(content, dict) else None
    if kind != _KIND:
        raise ModelFileError(f"{place} holds a model ({kind}) and no case base.", hint="countwise.load reads models.")
    with _sound(place):
        needed = {str(where): str(name) for where, name in content["functions"].items()}
        named = [str(name) for name in content["rules"]]
    given = {rule.name: rule.function for rule in rules_of(rules)}
    _check_given(named, list(given), needed, functions, place)
    with _sound(place):
        declared = _similarity(content["similarity"], "", functions)
        if not isinstance(declared, RecordSimilarity):
            raise ValueError("problems are not compared as records")
        base = cls(rules=[given[name] for name in named], **vars(declared))
        for name, *values, notes in content["cases"]:
            problem, solution, outcome = (revived(value, _VALUES) for value in values)
            base._store.keep(Case(problem, solution, name, outcome, notes))
    return base


@contextmanager
def _sound(place: Path) -> Iterator[None]:
    """Report whatever is wrong within as a damaged file."""
    try:
        yield
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError, RecursionError) as error:
        raise ModelFileError(f"{place} is not a sound case base: {type(error).__name__}: {error}.") from None


def _check_given(
    rules: list[str], given: list[str], needed: dict[str, str], functions: Functions, place: Path
) -> None:
    """Refuse to load without the functions that the base had, or with others."""
    lost = [f"the rule {name!r}" for name in rules if name not in given]
    lost += [f"the similarity {name!r} of {where!r}" for where, name in needed.items() if where not in functions]
    if lost:
        hint = "give them again: load(path, rules=[...], similarities={...})."
        raise OptionError(f"{place} needs functions that files do not hold: {', '.join(lost)}.", hint=hint)
    for where, function in functions.items():
        similarity_of(function, where)
    odd = [(name, rules) for name in given if name not in rules]
    odd += [(where, list(needed)) for where in functions if where not in needed]
    for word, known in odd:
        hint = did_you_mean(word, known) or (f"it has {listed(known)}." if known else "it has none.")
        raise OptionError(f"The base in {place} had no function for {word!r}.", hint=hint)


def _functions(similarity: Similarity, path: str) -> Iterator[tuple[str, str]]:
    """Where a base compares by functions, and their names."""
    if isinstance(similarity, FunctionSimilarity):
        yield path, similarity.name
    elif isinstance(similarity, SetSimilarity) and similarity.elements is not None:
        yield from _functions(similarity.elements, path)
    elif isinstance(similarity, RecordSimilarity):
        for name, local in (similarity.similarities or {}).items():
            yield from _functions(local, f"{path}.{name}" if path else name)


def _similarity(written: Any, path: str, functions: Functions) -> Similarity:
    """The similarity that was written; functions are given again, by the path of their attribute."""
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
        pairs = ((revived(a, _VALUES), revived(b, _VALUES), share) for a, b, share in settings["table"])
        settings["table"] = {(a, b): share for a, b, share in pairs}
    return _SIMILARITIES[kind](**settings)
