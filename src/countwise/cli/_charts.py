"""How charts and numbers come out of the commands that judge models."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

__all__ = ["chart_look", "plain", "rows_of_grid", "shown"]


def chart_look() -> dict[str, Any]:
    """The width of charts, and whether the terminal can write their marks."""
    from countwise.cli._common import terminal_width
    from countwise.working.charts import speaks_unicode

    width = terminal_width()
    return {"width": min(width or 72, 72), "unicode": speaks_unicode(sys.stdout.encoding)}


def plain(value: Any) -> Any:
    """What has a place in JSON: an unknown number is null, an infinite one "inf"."""
    if isinstance(value, Mapping):
        return {str(name): plain(cell) for name, cell in value.items()}
    if isinstance(value, list | tuple):
        return [plain(cell) for cell in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value


def rows_of_grid(grid: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    """A table as a list of rows for JSON."""
    return [dict(zip(grid, (plain(cell) for cell in row), strict=True)) for row in zip(*grid.values(), strict=True)]


def shown(cell: Any) -> Any:
    """Four figures are enough to judge by; what is undefined is said to be."""
    from countwise.working.numbers import number

    if not isinstance(cell, float):
        return cell
    if math.isnan(cell):
        return "undefined"
    if math.isinf(cell):
        return "infinite" if cell > 0 else "-infinite"
    return number(float(f"{cell:.4g}")) if abs(cell) > 1e-12 else "0"  # less is a rest of rounding
