"""Case bases as plain JSON, in the same checked files as models. Functions are kept by name and never looked up."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import fields
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
from countwise.cases.values import LabeledGraph, kind_of
from countwise.errors import ModelFileError, OptionError, did_you_mean, listed
from countwise.jsonfile import MAX_BYTES, enveloped, limit_depth, read_checked, write_whole

if TYPE_CHECKING:
    from countwise.cases.base import CaseBase

__all__ = ["load_base", "save_base"]

_KIND = "CaseBase"
# The similarities that a file may hold; no other name is ever looked up.
_SIMILARITIES: dict[str, type[Similarity]] = {
    "equal": EqualSimilarity,
    "number": NumberSimilarity,
    "table": TableSimilarity,
    "taxonomy": TaxonomySimilarity,
    "string": StringSimilarity,
    "set": SetSimilarity,
    "record": RecordSimilarity,
    "graph": GraphSimilarity,
}
_NAMES = {cls: name for name, cls in _SIMILARITIES.items()}
Functions = dict[str, Callable[[Any, Any], float]]


def save_base(base: CaseBase, path: str | os.PathLike[str]) -> None:
    """Write a base to a file, whole or not at all."""
    place = Path(path)
    content = {
        "kind": _KIND,
        "similarity": _plain_similarity(base._store.declared),
        "functions": dict(_functions(base._store.declared, "")),
        "rules": [rule.name for rule in base._rules],
        "cases": [_plain_case(case) for case in base._store.cases.values()],
    }
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    try:
        data = enveloped(body)
    except UnicodeEncodeError:
        raise ModelFileError(
            "A string of the case base is no text that a file can hold (a lone surrogate)."
        ) from None
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
    _check_given(named, [rule.name for rule in rules_of(rules)], needed, functions, place)
    with _sound(place):
        declared = _similarity(content["similarity"], "", functions)
        if not isinstance(declared, RecordSimilarity):
            raise ValueError("problems are not compared as records")
        settings = {field.name: getattr(declared, field.name) for field in fields(declared)}
        base = cls(rules=_in_order(named, rules), **settings)
        for one in content["cases"]:
            base._store.keep(_case(one))
    return base


@contextmanager
def _sound(place: Path) -> Iterator[None]:
    """Whatever is wrong within is the file's fault."""
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


def _in_order(names: list[str], rules: tuple[Any, ...]) -> list[Any]:
    """Rules in the order in which the base applied them."""
    by_name = {rule.name: rule.function for rule in rules_of(rules)}
    return [by_name[name] for name in names]


def _functions(similarity: Similarity, path: str) -> Iterator[tuple[str, str]]:
    """Where a base compares by functions, and their names."""
    if isinstance(similarity, FunctionSimilarity):
        yield path, similarity.name
    elif isinstance(similarity, SetSimilarity) and similarity.elements is not None:
        yield from _functions(similarity.elements, path)
    elif isinstance(similarity, RecordSimilarity):
        for name, local in (similarity.similarities or {}).items():
            yield from _functions(local, f"{path}.{name}" if path else name)


def _plain_similarity(similarity: Similarity) -> Any:
    """A similarity as plain data."""
    if isinstance(similarity, FunctionSimilarity):
        return {"@": "function"}
    settings = {f.name: getattr(similarity, f.name) for f in fields(similarity) if f.init}
    if isinstance(similarity, RecordSimilarity):
        settings["similarities"] = [[n, _plain_similarity(s)] for n, s in (similarity.similarities or {}).items()]
        settings["weights"] = [[name, weight] for name, weight in (similarity.weights or {}).items()]
    elif isinstance(similarity, SetSimilarity):
        settings["elements"] = None if similarity.elements is None else _plain_similarity(similarity.elements)
    elif isinstance(similarity, TableSimilarity):
        settings["table"] = [[_plain(a), _plain(b), share] for (a, b), share in similarity.table.items()]
    elif isinstance(similarity, TaxonomySimilarity):
        settings["tree"] = list(similarity.parents.items())
    return {"@": _NAMES[type(similarity)], **settings}


def _similarity(plain: Any, path: str, functions: Functions) -> Similarity:
    """The similarity that `_plain_similarity` wrote."""
    settings = dict(plain)
    kind = settings.pop("@")
    if kind == "function":
        return similarity_of(functions[path], path)
    if kind == "record":
        settings["similarities"] = {
            name: _similarity(s, f"{path}.{name}" if path else name, functions)
            for name, s in settings["similarities"]
        }
        settings["weights"] = dict(settings["weights"])
    elif kind == "number" and isinstance(settings["range"], list):
        settings["range"] = tuple(settings["range"])
    elif kind == "set" and settings["elements"] is not None:
        settings["elements"] = _similarity(settings["elements"], path, functions)
    elif kind == "table":
        settings["table"] = {(_revived(a), _revived(b)): share for a, b, share in settings["table"]}
    return _SIMILARITIES[kind](**settings)


def _plain_case(case: Case) -> list[Any]:
    return [case.id, _plain(case.problem), _plain(case.solution), _plain(case.outcome), case.notes]


def _case(plain: Any) -> Case:
    name, problem, solution, outcome, notes = plain
    return Case(_revived(problem), _revived(solution), name, _revived(outcome), notes)


def _plain(value: Any) -> Any:
    """A value as plain data: sets and graphs are marked as what they are."""
    if isinstance(value, AbstractSet):
        return {"@": "set", "of": sorted(value, key=lambda element: (kind_of(element), element))}
    if isinstance(value, LabeledGraph):
        edges = [list(edge) for edge in value.edges]
        return {"@": "graph", "nodes": list(value.nodes.items()), "edges": edges, "directed": value.directed}
    if isinstance(value, Mapping):
        plain = {name: _plain(v) for name, v in value.items()}
        return {"@": "record", "of": plain} if "@" in plain else plain
    return [_plain(v) for v in value] if isinstance(value, list) else value


def _revived(plain: Any) -> Any:
    """The value that `_plain` wrote."""
    if isinstance(plain, list):
        return [_revived(v) for v in plain]
    if not isinstance(plain, dict):
        return plain
    kind = plain.get("@")
    if kind == "set":
        return frozenset(plain["of"])
    if kind == "graph":
        return LabeledGraph(dict(map(tuple, plain["nodes"])), plain["edges"], plain["directed"])
    if "@" in plain and kind != "record":
        raise ValueError(f"a value of unknown kind {kind!r}")
    return {name: _revived(v) for name, v in (plain["of"] if kind == "record" else plain).items()}
