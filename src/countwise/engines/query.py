"""Lazy import of narwhals: ``from countwise.engines import query as nw`` imports it on first use."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

__all__ = ["flag", "total"]

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

else:

    @cache
    def __getattr__(name):
        if name.startswith("__"):  # Python looks up attributes of the module
            raise AttributeError(name)
        import narwhals.stable.v2 as nw

        return getattr(nw, name)


def flag(condition: Any) -> Any:
    """Return the expression that is 1.0 where a condition holds, else 0.0."""
    import narwhals.stable.v2 as nw

    return nw.when(condition).then(1.0).otherwise(0.0)


def total(terms: Sequence[Any]) -> Any:
    """Sum expressions as a balanced tree; engines traverse expressions recursively."""
    half = len(terms) // 2
    return total(terms[:half]) + total(terms[half:]) if half else terms[0]
