"""Expressions of a query, as engines take them; narwhals is imported when the first one is written."""

from __future__ import annotations

from typing import Any

__all__ = ["col", "lit", "when"]


def col(name: str) -> Any:
    """A column."""
    import narwhals.stable.v2 as nw

    return nw.col(name)


def lit(value: Any) -> Any:
    """A constant."""
    import narwhals.stable.v2 as nw

    return nw.lit(value)


def when(condition: Any) -> Any:
    """The beginning of a choice: ``when(c).then(a).otherwise(b)``."""
    import narwhals.stable.v2 as nw

    return nw.when(condition)
