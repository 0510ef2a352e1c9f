"""Numbers cut into ranges, as a query."""

from __future__ import annotations

from collections.abc import Sequence

from countwise.quoting import Dialect, number
from countwise.terms import Ranges

__all__ = ["range_query"]


def range_query(ranges: Ranges, table: str, dialect: str = "duckdb", *, keep: Sequence[str] = ()) -> str:
    """The columns of training, those that are cut as ranges; and others to be kept as they are."""
    d = Dialect(dialect)
    lines = [d.identifier(name) for name in keep if name not in ranges.columns]
    for name in ranges.columns:
        lines += _columns(ranges, name, d) if name in ranges.edges else [d.identifier(name)]
    return "SELECT\n  " + ",\n  ".join(lines) + f"\nFROM {d.table(table)}"


def _columns(ranges: Ranges, name: str, d: Dialect) -> list[str]:
    x, labels = d.cast(d.identifier(name), "double"), ranges.labels[name]
    if ranges.encode == "onehot":
        return [
            f"{_case(ranges, name, d, x, ['1' if j == i else '0' for j in range(len(labels))])} AS "
            f"{d.identifier(f'{name} {label}')}"
            for i, label in enumerate(labels)
        ]
    cells = (
        [d.literal(label) for label in labels] if ranges.encode == "labels" else list(map(str, range(len(labels))))
    )
    return [f"{_case(ranges, name, d, x, cells)} AS {d.identifier(name)}"]


def _case(ranges: Ranges, name: str, d: Dialect, x: str, cells: Sequence[str]) -> str:
    """The cell of the range that a number lies in; NULL where there is none."""
    whens = [
        f"WHEN {x} <= {number(float(e))} THEN {cell}" for e, cell in zip(ranges.edges[name], cells, strict=False)
    ]
    inner = "\n    ".join(["CASE", *whens, f"ELSE {cells[-1]} END"]) if whens else cells[-1]
    gap = " ELSE 0" if ranges.encode == "onehot" and not ranges.keep else ""
    return f"CASE WHEN {d.finite(x)} THEN {inner}{gap} END"
