"""Names and texts that programs take for something else: quotes, escapes, reserved words, names of a query's own."""

from __future__ import annotations

import numpy as np

NAMES = (
    "a", "B", "x y", "a.b", 'quo"te', "back`tick", "it's", "back\\slash", "line\nbreak", "tab\t", "per%cent%s",
    "SELECT", "from", "table", "group", "null", "rowid2", "ü", "é", "e\u0301", "名前", "🙂", "\u200b", "1", "1.5",
    "?", ":p", "$1", "{x}", "[b]", "(c)", "*", "x; DROP TABLE t; --", "/* c */", "-- c", " lead", "trail ",
    "\\1", "t a",
    "cw a", "x" * 60, "ß", "İ", "\u2028", "CASE WHEN", "true", "date", "value", "v", "l0", "p0", "leaf",
    "answer", "y", "cw_a0",
)  # fmt: skip
# what queries of our own call their steps and columns; none may be mistaken for a column of the table
OWN = (
    "cw_row", "cw_rows", "cw_cells", "cw_sums", "cw_l0", "cw_l1", "cw_top", "cw_e0", "cw_t0", "cw_gap",
    "cw_leaf", "cw_p0", "cw_a1", "cw_b0", "cw_rule", "cw_answer", "cw_n0", "cw_y0_0", "cw a 2", "cw",
    "t cw_l0", "oid",
    "_rowid_", "rowid", "cw_rowid",
)  # fmt: skip
TEXTS = (
    "a", "A", "á", "O'Brien\"; DROP TABLE x; --", "12", "1.0", "\u00e9", "e\u0301", "", "select", "back\\slash\\",
    "\\n", "line\nbreak\t%_", " a", "a ", "NULL", "nan", "true", "007", "🙂", "{0}", "\\'", "''", "$$",
    "2020-01-01x", "\u00a0",
)  # fmt: skip


def hostile(rng: np.random.Generator, n: int, source: tuple[str, ...] = NAMES) -> list[str]:
    """Return different names, half of them of two hostile parts; none differ by case only."""
    found: dict[str, str] = {}
    while len(found) < n:
        name = str(rng.choice(source))
        if rng.random() < 0.3:
            name += str(rng.choice(source))
        if name.lower() not in ("no", "") and len(name.encode()) <= 63:
            found.setdefault(name.lower(), name)
    return list(found.values())
