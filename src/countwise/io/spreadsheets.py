"""Tables for spreadsheets: CSV and Excel files.

In a CSV file, a text that a spreadsheet would run as a formula gets a leading apostrophe. An Excel file is a ZIP
archive of XML files (ECMA-376), with a sheet for each table; all numbers are numbers.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from countwise.errors import OptionError, TableError, did_you_mean, listed
from countwise.filewriter import write_whole
from countwise.working.grid import cell_width, shown
from countwise.working.markup import escape
from countwise.working.numbers import Worked

__all__ = ["CsvWriter", "guarded", "unguarded", "write_tables"]

_FORMULA = re.compile(r"'*[=+\-@\t\r].", re.DOTALL)
_SUSPECT = frozenset("'=+-@\t\r")  # how formulas begin
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def _is_formula(text: str) -> bool:
    """Return whether a spreadsheet may run a text; numbers, and signs alone, are harmless."""
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None


def guarded(text: str) -> str:
    """Return a text with an apostrophe before it if a spreadsheet would run it as a formula.

    Examples
    --------
    >>> from countwise.io.spreadsheets import guarded, unguarded
    >>> [guarded(text) for text in ("=1+1", "-5", "+", "'@x")]
    ["'=1+1", '-5', '+', "''@x"]
    >>> unguarded("'=1+1")
    '=1+1'
    """
    return f"'{text}" if _is_formula(text) else text


def unguarded(text: str) -> str:
    """Return the text that `guarded` was given."""
    return text[1:] if text.startswith("'") and _is_formula(text[1:]) else text


class CsvWriter:
    """Writer of CSV rows.

    A text that a spreadsheet would run as a formula gets a leading apostrophe, which the reader of Countwise removes;
    `raw` leaves it out. `note` is called with the first such text. A text with a carriage return is quoted, which the
    csv module of Python 3.12 does not do.
    """

    def __init__(self, out: Any, *, raw: bool = False, note: Callable[[str], None] | None = None) -> None:
        self._plain = csv.writer(out, lineterminator="\n")
        self._quoted = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_ALL)
        self._raw, self._note = raw, note

    def writerow(self, cells: Iterable[Any]) -> None:
        """Write one row."""
        row, quoted = [], False
        for cell in cells:
            if isinstance(cell, str):
                cell = self._guard(cell) if cell[:1] in _SUSPECT else cell
                quoted = quoted or "\r" in cell
            row.append(cell)
        (self._quoted if quoted else self._plain).writerow(row)

    def writerows(self, rows: Iterable[Iterable[Any]]) -> None:
        """Write several rows."""
        for row in rows:
            self.writerow(row)

    def _guard(self, text: str) -> str:
        found = text if self._raw else guarded(text)
        if found is not text and self._note is not None:
            self._note(text)
            self._note = None
        return found


# -- tables of a model -------------------------------------------------------------------


def write_tables(tables: Mapping[str, Mapping[str, Sequence[Any]]], path: Any, name: Any = None) -> None:
    """Write tables to a CSV file or an Excel file; see `countwise.base.protocol.write_tables`."""
    ending = os.path.splitext(_path(path))[1].lower()
    if ending not in (".csv", ".xlsx"):
        raise OptionError(
            f"{os.fspath(path)!r} is not a CSV or Excel file.", hint="use a name ending in .csv or .xlsx."
        )
    if name is not None and (not isinstance(name, str) or name not in tables):
        hint = did_you_mean(name, tables) or f"use one of {listed(tables)}."
        raise OptionError(f"The model has no table {name!r}.", hint=hint)
    chosen = {key: _plain_columns(table) for key, table in tables.items() if name in (None, key)}
    text = (
        _workbook(chosen)
        if ending == ".xlsx"
        else _csv(chosen, one=name is not None).encode(errors="backslashreplace")
    )
    write_whole(path, text)


def _path(path: Any) -> str:
    try:
        return os.fsdecode(path)
    except TypeError:
        raise OptionError(f"path must be the name of a file, not {path!r}.") from None


def _plain_columns(table: Mapping[str, Sequence[Any]]) -> dict[str, list[Any]]:
    """Return the columns as plain numbers and texts, with the counts before the relative frequencies."""
    counts = {name: [c.count if isinstance(c, Worked) else None for c in cells] for name, cells in table.items()}
    counts = {name: cells for name, cells in counts.items() if any(n is not None for n in cells)}
    titles = {"count" if len(counts) == 1 else f"count {name}": cells for name, cells in counts.items()}
    labels = {name: cells for name, cells in table.items() if name not in counts}
    columns = {
        **labels,
        **{name: c for name, c in titles.items() if name not in table},
        **{n: table[n] for n in counts},
    }
    return {name: list(map(_plain, cells)) for name, cells in columns.items()}


def _plain(cell: Any) -> Any:
    """Return a cell as an int, a float, a bool, a text, or None if it is empty."""
    if isinstance(cell, np.generic):
        cell = cell.item()
    if cell is None or isinstance(cell, bool):
        return cell
    if isinstance(cell, int):
        return int(cell)
    if not isinstance(cell, float):
        return shown(cell)
    cell = float(cell)
    if not math.isfinite(cell):
        return None if math.isnan(cell) else ("infinite" if cell > 0 else "-infinite")
    return int(cell) if cell.is_integer() and abs(cell) < 2**53 else cell


def _csv(tables: Mapping[str, Mapping[str, list[Any]]], *, one: bool) -> str:
    """Return one table as it is, or several with a line for each cell: table, row, column, value."""
    out = io.StringIO(newline="")
    writer = CsvWriter(out)
    if one:
        (table,) = tables.values()
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
        return out.getvalue()
    writer.writerow(("table", "row", "column", "value"))
    for name, table in tables.items():
        labels = _labels(table)
        for i, row in enumerate(zip(*table.values(), strict=True)):
            label = ", ".join(str(table[key][i]) for key in labels) or i + 1
            writer.writerows(
                (name, label, key, cell) for key, cell in zip(table, row, strict=True) if key not in labels
            )
    return out.getvalue()


def _labels(table: Mapping[str, list[Any]]) -> list[str]:
    """Return the columns of text at the left of a table that has others, which name its rows."""
    found: list[str] = []
    for name, cells in table.items():
        if not all(isinstance(cell, str) for cell in cells):
            return found
        found.append(name)
    return found[:1] if len(found) == len(table) and len(found) > 1 else []


# -- Excel -------------------------------------------------------------------------------

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>\n'
_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml"
_MOST_ROWS, _MOST_COLUMNS, _LONGEST = 1 << 20, 1 << 14, 32767
_CODE = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")  # an underscore that would begin a code of a character
_STYLES = (  # 0: plain, 1: the bold header
    f'{_XML}<styleSheet xmlns="{_MAIN}"><fonts count="2"><font><sz val="11"/><name val="Calibri"/></font>'
    '<font><b/><sz val="11"/><name val="Calibri"/></font></fonts>'
    '<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill>'
    '</fills><borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>'
    '<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>'
    '<cellXfs count="2"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>'
    '<xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/></cellXfs>'
    '<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>'
)


def _workbook(tables: Mapping[str, Mapping[str, list[Any]]]) -> bytes:
    """Return an Excel file with a sheet for each table."""
    import zipfile

    titles = _sheet_names(tables)
    numbers = range(1, len(titles) + 1)
    sheets = "".join(
        f'<sheet name="{_xml(t)}" sheetId="{i}" r:id="rId{i}"/>' for i, t in zip(numbers, titles, strict=True)
    )
    links = "".join(
        f'<Relationship Id="rId{i}" Type="{_OFFICE}/worksheet" Target="worksheets/sheet{i}.xml"/>' for i in numbers
    )
    overrides = "".join(
        f'<Override PartName="/xl/worksheets/sheet{i}.xml" ContentType="{_TYPE}.worksheet+xml"/>' for i in numbers
    )
    parts = {
        "[Content_Types].xml": f'{_XML}<Types xmlns="{_PACKAGE}/content-types">'
        '<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
        '<Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/xl/workbook.xml" ContentType="{_TYPE}.sheet.main+xml"/>'
        f'<Override PartName="/xl/styles.xml" ContentType="{_TYPE}.styles+xml"/>{overrides}</Types>',
        "_rels/.rels": f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">'
        f'<Relationship Id="rId1" Type="{_OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'{_XML}<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets>{sheets}</sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": f'{_XML}<Relationships xmlns="{_PACKAGE}/relationships">{links}'
        f'<Relationship Id="rId{len(titles) + 1}" Type="{_OFFICE}/styles" Target="styles.xml"/></Relationships>',
        "xl/styles.xml": _STYLES,
        **{f"xl/worksheets/sheet{i}.xml": _sheet(n, t) for i, (n, t) in zip(numbers, tables.items(), strict=True)},
    }
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():  # a fixed date: the same tables make the same file
            archive.writestr(zipfile.ZipInfo(name), text.encode(), zipfile.ZIP_DEFLATED)
    return out.getvalue()


def _sheet(name: str, table: Mapping[str, list[Any]]) -> str:
    """Return the XML of one sheet: the header in bold and frozen, columns as wide as their texts."""
    rows = [tuple(table), *zip(*table.values(), strict=True)]
    if len(rows) > _MOST_ROWS or len(table) > _MOST_COLUMNS:
        raise TableError(
            f"The table {name!r} has {len(rows) - 1} rows and {len(table)} columns; an Excel sheet has at most "
            f"{_MOST_ROWS - 1} rows and {_MOST_COLUMNS} columns.",
            hint="write a CSV file.",
        )
    widths = [
        min(max(cell_width(shown(cell)) for cell in (key, *cells[:1000])) + 2, 60) for key, cells in table.items()
    ]
    columns = "".join(
        f'<col min="{j}" max="{j}" width="{width}" customWidth="1"/>' for j, width in enumerate(widths, start=1)
    )
    lines = "".join(
        f'<row r="{i}">{"".join(_cell(cell, _column_name(j) + str(i), i == 1) for j, cell in enumerate(row))}</row>'
        for i, row in enumerate(rows, start=1)
    )
    frozen = (
        '<sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" '
        'state="frozen"/></sheetView></sheetViews>'
    )
    columns = f"<cols>{columns}</cols>" if columns else ""
    return f'{_XML}<worksheet xmlns="{_MAIN}">{frozen}{columns}<sheetData>{lines}</sheetData></worksheet>'


def _cell(cell: Any, place: str, header: bool) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return f'<c r="{place}" t="b"><v>{int(cell)}</v></c>'
    if isinstance(cell, int | float):
        return f'<c r="{place}"><v>{cell!r}</v></c>'
    style = ' s="1"' if header else ""
    text = _xml(cell[:_LONGEST])
    return f'<c r="{place}"{style} t="inlineStr"><is><t xml:space="preserve">{text}</t></is></c>'


def _xml(text: str) -> str:
    """Return a text as XML; control characters are shown as escapes."""
    return _CODE.sub("_x005F_", escape(text))


def _column_name(j: int) -> str:
    """Return the letters of a column: A, B, ..., Z, AA, ..."""
    name = ""
    j += 1
    while j:
        j, rest = divmod(j - 1, 26)
        name = chr(65 + rest) + name
    return name


def _sheet_names(names: Iterable[str]) -> list[str]:
    """Return distinct names that Excel accepts: at most 31 characters, none of ``[]:*?/\\``, no apostrophe around."""
    found: dict[str, str] = {}
    for name in names:
        plain = re.sub(r"[\[\]:*?/\\\x00-\x1f]", "_", str(name)).strip("' ") or "table"
        plain = f"{plain}_" if plain.casefold() == "history" else plain
        title, k = plain[:31].rstrip("' "), 1
        while title.casefold() in found:
            k += 1
            title = f"{plain[: 28 - len(str(k))]} ({k})"
        found[title.casefold()] = title
    return list(found.values())
