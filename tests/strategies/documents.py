"""Mutations of JSON documents."""

from __future__ import annotations

import copy
from typing import Any

from .draw import Draw

__all__ = ["mutated"]

_VALUES: list[Any] = [0, -1, 1, 0.5, 1e999, -1e308, 1e308, 5e-324, 2**63, 10**30, "", "x", "\x00", "\ud800", None,
                      True, False, [], {}, [[]], [0], [-1.0], {"@": "infinity"}, {"@": "x"}, {"@": "mapping",
                      "of": []}, [None], "a" * 2000, 1.5, "nan"]  # fmt: skip


def _places(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all parts of a document, at most 40 of a list."""
    found = [at] if at else []
    parts = value.items() if isinstance(value, dict) else enumerate(value[:40]) if isinstance(value, list) else ()
    for key, part in parts:
        found += _places(part, (*at, key))
    return found


def mutated(draw: Draw, document: Any) -> tuple[str, Any]:
    """Change one to three parts of a document in place; return what was done, and the document."""
    done = []
    for _ in range(draw.pick([1, 1, 2, 3])):
        places = _places(document)
        if not places:
            break
        *way, last = draw.pick(places)
        home = document
        for key in way:
            home = home[key]
        done.append(f"{[*way, last]}: {_changed(draw, home, last)}")
    return "; ".join(done), document


def _changed(draw: Draw, home: Any, key: Any) -> str:
    """Change one part; return what was done."""
    old, how = copy.deepcopy(home[key]), draw.below(6)
    if how == 0:
        del home[key]
        return "removed"
    if how == 1 and isinstance(old, int | float) and not isinstance(old, bool):
        home[key] = draw.pick([-old, old + 1, old * 1e300, old / 3, 1e308, float(old), str(old)])
    elif how == 2 and isinstance(old, list) and old:
        home[key] = draw.pick([old[:-1], old + old[-1:], old[::-1], [old], old[1:]])
    elif how == 3 and isinstance(home, list):
        home.insert(key, old)
        return "doubled"
    elif how == 4 and isinstance(home, dict):
        home[draw.pick(["x", "", *home])] = old
        return "copied to another key"
    else:
        home[key] = copy.deepcopy(draw.pick(_VALUES))
    return f"{old!r} to {home[key]!r}"[:200] if key in home or isinstance(home, list) else "changed"
