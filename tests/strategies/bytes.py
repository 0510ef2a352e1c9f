"""Bytes of files: generated ones with hostile dialects, and damaged copies of sound ones."""

from __future__ import annotations

import gzip
from typing import Any

from .draw import Draw

__all__ = ["arff", "bif", "csv", "damaged", "encoded", "packed", "parquet"]

_FIELDS = ["1", "2.5", "u", "v", "", "?", "NA", "-3e5", "1,5", "007", "1e999", "nan", "inf", "true", "False", '"q"',
           '"a,b"', '"a\nb"', '"', "'", "\t", " u ", "1 000", "0x1F", "1_000", "2024-02-30", "2024-02-28",
           "2024-02-28T12:00:00Z", "=1+1", "\x1b[1m", "\x00", "ü", "日本", "\ufeff", "a;b", "12345678901234567890",
           "1" * 400, "x" * 5000, "--", "+", ".", "1.", ".5", "١٢", "1e", "\u2028", "#", "@data",
           "{1 2}"]  # fmt: skip
_HEADS = ["a", "b", "y", "", "a", " a ", '"b"', "ü", "1", "n" * 500, "a\nb", "weight", "y,z", "\ufeffa", "\x00"]


def csv(draw: Draw) -> bytes:
    """A CSV file; mostly of two columns a, b and a target y."""
    separator = draw.often(30, [",", ";", "\t"], ["|", " ", ":", "§"])
    end = draw.often(15, ["\n", "\r\n"], ["\r", "\n\n", "\n\r"])
    width = draw.often(15, [3], [1, 2, 5, 60])
    odd = draw.pick([0, 5, 40])
    head = ["a", "b", "y", "c", "d", *(f"c{j}" for j in range(60))][:width]
    lines = [[draw.pick(_HEADS) if draw.chance(odd // 2) else name for name in head]]
    for _ in range(draw.integer(0, 20)):
        row = [_field(draw, j, odd) for j in range(width)]
        if odd and draw.chance(4):
            row = row[:-1] if draw.chance(50) else [*row, "1"]
        lines.append(row)
    text = end.join(separator.join(row) for row in lines)
    return encoded(draw, text + end if draw.chance(80) else text)


def _field(draw: Draw, column: int, odd: int) -> str:
    if draw.chance(odd):
        return draw.pick(_FIELDS)
    if column == 0:
        return str(draw.below(40) / 4)
    return draw.pick(["u", "v", "w"]) if column == 1 else draw.pick(["p", "q"]) if column == 2 else str(draw.below(9))


def encoded(draw: Draw, text: str) -> bytes:
    """A text in a random encoding; characters that it does not have are replaced."""
    kind = draw.often(25, ["utf-8"], ["utf-8-sig", "utf-16", "utf-16-le", "latin-1", "cp1252", "utf-32", "utf-7"])
    return text.encode(kind, errors="replace")


_ARFF_TYPES = ["numeric", "{u,v,w}", "{p,q}", "real", "integer", "string", "date", "date yyyy-MM-dd", "{}", "{u,u}",
               "{'a b',\"c\"}", "relational", "nonsense", "{u,v", "date 'nonsense'", "{?}", "NUMERIC"]  # fmt: skip
_ARFF_LINES = ["% comment", "", "@relation r", "@attribute", "@attribute x", "@data", "@end x", "{0 1}", "{1 u, 0 3}",
               "1,u,p,{5}", "1,u,p,{-1}", "1,u,p,{x}", "'1','u','p'", "1,u", "1,u,p,q", "?,?,?", "1 u p", "\t1\tu\tp",
               "{", "}", "1,z,p", "x,u,p", "{0 1, 0 2}", "{99 1}", "{-1 1}", "1,'u,p", "@ATTRIBUTE z numeric",
               "1,u,p % comment", "\\", "1e999,u,p", "@attribute 'a b' numeric", "\x00", "1,u,\\'p"]  # fmt: skip


def arff(draw: Draw) -> bytes:
    """An ARFF file with attributes a, b and y."""
    odd = draw.pick([0, 8, 40])
    lines = ["@relation r"]
    for name, kind in (("a", "numeric"), ("b", "{u,v,w}"), ("y", "{p,q}")):
        lines.append(f"@attribute {name} {draw.pick(_ARFF_TYPES) if draw.chance(odd) else kind}")
    lines.append("@data")
    lines += [",".join(_field(draw, j, odd // 2) for j in range(3)) for _ in range(draw.integer(0, 15))]
    for _ in range(draw.below(4) if odd else 0):
        lines.insert(draw.below(len(lines) + 1), draw.pick(_ARFF_LINES))
    return encoded(draw, draw.often(10, ["\n"], ["\r\n", "\r"]).join(lines) + "\n")


_BIF_PARTS = ["0.5", "1.5", "-0.5", "nan", "1e999", "0", "1", "t", "f", "A", "B", "table", "(t)", "{", "}", ";", ",",
              "|", "[ 2 ]", "[ 999999999 ]", "discrete", "continuous", "default 0.5, 0.5;", '"', "//", "/*",
              "property x ;", "network", "variable", "probability", "( A | B )", "( B | A, A )", "( Z )", "ü", "\x00",
              "type discrete [ 1 ] { t };"]  # fmt: skip


def bif(draw: Draw) -> bytes:
    """A BIF file of two nodes, with some parts replaced."""
    text = (
        "network n { }\n"
        "variable A { type discrete [ 2 ] { t , f } ; }\n"
        "variable B { type discrete [ 2 ] { t , f } ; }\n"
        "probability ( A ) { table 0.25 , 0.75 ; }\nprobability ( B | A ) { (t) 0.5 , 0.5 ; (f) 0.125 , 0.875 ; }\n"
    )
    parts = text.split(" ")
    for _ in range(draw.below(4)):
        place = draw.below(len(parts))
        how = draw.below(3)
        if how == 0:
            parts[place] = draw.pick(_BIF_PARTS)
        elif how == 1:
            del parts[place]
        else:
            parts.insert(place, parts[draw.below(len(parts))])
    return encoded(draw, " ".join(parts))


def parquet(draw: Draw) -> bytes:
    """A Parquet file of a random table."""
    import io

    import pyarrow as pa
    import pyarrow.parquet as pq

    from .containers import arrow_typed
    from .tables import Table

    table = Table.drawn(draw, most=12)
    try:
        rows = arrow_typed(draw, table.names, table.columns)
        rows = pa.Table.from_batches([rows]) if isinstance(rows, pa.RecordBatch) else rows
        rows = rows.append_column(
            "y", pa.array([draw.pick(["p", "q", None]) for _ in range(table.rows)], pa.string())
        )
        out = io.BytesIO()
        pq.write_table(rows, out, row_group_size=draw.pick([100, 1, 3]))
    except Exception:  # pyarrow refuses these cells
        out = io.BytesIO()
        pq.write_table(pa.table({"a": [1.0, 2.0], "y": ["p", "q"]}), out)
    return out.getvalue()


def damaged(draw: Draw, raw: bytes) -> bytes:
    """Bytes that are changed at some places, cut, or packed."""
    found = bytearray(raw)
    for _ in range(draw.integer(1, 4)):
        place = draw.below(max(1, len(found)))
        how = draw.below(6)
        if how == 0:
            found[place : place + 1] = bytes([draw.below(256)])
        elif how == 1:
            del found[place : place + draw.integer(1, 20)]
        elif how == 2:
            found = found[:place]
        elif how == 3:
            found[place:place] = found[max(0, place - 30) : place]
        elif how == 4:
            found[place:place] = draw.pick(
                [b"\x00", b"\xff\xfe", b"\r", b'"', b"\xef\xbb\xbf", b"{", b"}" * 40, b"\n\n"]
            )
        else:
            found[place : place + 4] = draw.pick([b"\xff\xff\xff\xff", b"\x00\x00\x00\x00", b"\xff\xff\xff\x7f"])
    return bytes(found)


def packed(draw: Draw, raw: bytes) -> tuple[str, bytes]:
    """The bytes as they are, or compressed by gzip; with the suffix of the file's name."""
    how: Any = draw.often(15, ["plain"], ["gzip", "gzip twice", "not gzip"])
    if how == "gzip":
        return ".gz", gzip.compress(raw, mtime=0)
    if how == "gzip twice":
        return ".gz", gzip.compress(raw, mtime=0) + gzip.compress(raw, mtime=0)
    return (".gz", raw) if how == "not gzip" else ("", raw)
