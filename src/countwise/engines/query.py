"""narwhals, imported when the first expression is written: ``from countwise.engines import query as nw``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

__all__ = ["col", "flag", "lit", "total", "when"]


def __getattr__(name: str) -> Any:
    if name.startswith("__"):  # asked by Python about the module
        raise AttributeError(name)
    import narwhals.stable.v2 as nw

    return getattr(nw, name)


def col(*names: str) -> Any:
    """Columns."""
    return __getattr__("col")(*names)


def lit(value: Any, dtype: Any = None) -> Any:
    """A constant."""
    return __getattr__("lit")(value, dtype)


def when(*conditions: Any) -> Any:
    """The beginning of a choice: ``when(c).then(a).otherwise(b)``."""
    return __getattr__("when")(*conditions)


def flag(condition: Any) -> Any:
    """1.0 where a condition holds, else 0.0."""
    return when(condition).then(1.0).otherwise(0.0)


def total(terms: Sequence[Any]) -> Any:
    """A sum of many, no deeper than it must be: engines walk expressions by recursion."""
    half = len(terms) // 2
    return total(terms[:half]) + total(terms[half:]) if half else terms[0]
