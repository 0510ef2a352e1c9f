"""Files of tables and networks: CSV, TSV, ARFF, BIF, Parquet and gzip, generated and damaged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import countwise as cw
from countwise.io.readers import attribute_hints, read_pieces

from ...strategies import bytes as files
from ...strategies.draw import Draw
from .guard import Guard

__all__ = ["case", "written"]

_OPTIONS: dict[str, list[Any]] = {
    "header": [False, True, None],
    "separator": [",", ";", "\t", "", ",,", None, 5, "\n", '"'],
    "names": [["a", "b", "y"], ["a"], ["a", "a", "y"], [], "aby", [1, 2, 3], None],
    "missing": [[], ["u"], "NA", [""], [None], 5],
    "quote": [None, "'", '"', "", "ab", ",", 5],
    "encoding": ["latin-1", "utf-16", "utf-8-sig", "ascii", "nonsense", "utf-8", 5, "base64", ""],
    "pieces": [1, 3, 0, -1, 2.5, "x", None],
    "weight_column": ["w", "a", "", 5],
}


def written(draw: Draw, kind: str | None = None, name: str = "t") -> Path:
    """Write a random file and return its path."""
    kind = kind or draw.pick(["csv", "arff", "parquet", "tsv"])
    make = {"csv": files.csv, "tsv": files.csv, "arff": files.arff, "parquet": files.parquet, "bif": files.bif}[kind]
    raw = make(draw)
    if draw.chance(25):
        raw = files.damaged(draw, raw)
    suffix, raw = files.packed(draw, raw)
    path = Path(f"{name}.{kind}{suffix}")
    path.write_bytes(raw)
    return path


def case(draw: Draw, guard: Guard) -> None:
    if draw.chance(15):
        networks(draw, guard)
        return
    path = written(draw)
    shown = f"{path.name} {path.read_bytes()[:1500]!r}"
    options = {name: draw.pick(values) for name, values in _OPTIONS.items() if draw.chance(6)}
    whole = guard(f"read({shown}, **{options!r})", lambda: cw.read(path, **options))
    pieces_given = options.pop("pieces", None)
    rows = draw.pick([1, 2, 5])
    pieces = guard(f"read_pieces(rows={rows})", lambda: list(read_pieces(path, rows=rows, **options)))
    if whole.ok and pieces.ok:
        guard.holds(
            _same(whole.value, pieces.value), "read and read_pieces differ", f"{whole.value} {pieces.value} {shown}"
        )
    elif whole.ok != pieces.ok and pieces_given is None:
        guard.holds(False, "only one of read and read_pieces refuses", f"{whole.error} {pieces.error} {shown}")
    guard("attribute_hints", lambda: attribute_hints(path))
    if whole.ok and "y" in whole.value:
        model = guard(
            "NaiveBayesClassifier().fit(of it, 'y')", lambda: cw.NaiveBayesClassifier().fit(whole.value, "y")
        )
        if model.ok:
            guard("predict_proba(of it)", lambda: model.value.predict_proba(whole.value))


def _same(whole: dict[str, Any], pieces: list[dict[str, Any]]) -> bool:
    """Whether the pieces are the whole: the same names and cells, and one type in all pieces."""
    if any(list(piece) != list(whole) for piece in pieces):
        return False
    for name, column in whole.items():
        joined = [cell for piece in pieces for cell in piece[name].tolist()]
        types = {np.asarray(piece[name]).dtype.kind for piece in pieces}
        if len(types) > 1 or repr(joined) != repr(column.tolist()):
            return False
    return True


def networks(draw: Draw, guard: Guard) -> None:
    path = written(draw, "bif")
    found = guard(f"read_bif({path.read_bytes()!r})", lambda: cw.BayesNetwork.read_bif(path))
    if found.ok:
        net = found.value
        guard("summary, tables", lambda: (net.summary(), [str(grid) for grid in net.tables().values()]))
        answer = guard("marginals()", lambda: net.marginals())
        if answer.ok:
            guard("str(marginals)", lambda: [str(a) for a in answer.value.values()])
        if guard("write_bif", lambda: net.write_bif("again.bif")).ok:
            again = guard("read_bif of what was written", lambda: cw.BayesNetwork.read_bif("again.bif"))
            guard.holds(again.ok, "a written BIF file does not load", f"{again.error}")
