"""ARFF files: a header that declares the attributes, then dense or sparse rows.

The functions expect decompressed and decoded lines.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise.errors import ReadError, did_you_mean, listed
from countwise.io.paths import distinct_names
from countwise.io.pieces import Columns, Options, first_duplicate, named, objects, same_columns
from countwise.io.text_files import lines

__all__ = ["ArffAttribute", "ArffPiece", "arff_pieces", "date_parser", "has_weights", "hints", "pieces"]

QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_VALUE = re.compile(rf"\s*(?:({QUOTED})|([^,]*?))\s*(,|$)", re.DOTALL)
_WORD = re.compile(rf"\s*(?:({QUOTED})|(\S+))()", re.DOTALL)
# A quotation mark opens a string only where a value may begin: the one in "it's" does not.
STRING = rf"((?:(?<=[\s,{{}}])|^)(?:{QUOTED}))"
_COMMENT = re.compile(STRING + r"|(?:(?<=[\s,}])|^)%", re.DOTALL)
_COMMA = re.compile(STRING + "|,", re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"t": "\t", "n": "\n", "r": "\r"}

Value = str | None


def parts_of(text: str) -> list[str]:
    """Split at the commas outside quotes; the parts are not changed."""
    found: list[str] = []
    start = 0
    for match in _COMMA.finditer(text):
        if match[1] is None:
            found.append(text[start : match.start()])
            start = match.end()
    return [*found, text[start:]]


def values_of(text: str, width: int, wrong: Callable[[str, str], ReadError]) -> list[Value]:
    """Split a row at commas, or at white space if it has several attributes and no comma.

    `wrong` creates an error with the number of the line.
    """
    pattern = _VALUE
    if width != 1 and len(parts_of(text)) == 1:
        pattern = _WORD
    found: list[Value] = []
    at = 0
    while True:
        match = pattern.match(text, at)
        if match is None or (match[1] is None and match[2][:1] in ("'", '"')):
            raise wrong(
                "a quotation mark is not closed, or text follows the closing one.",
                "write a quotation mark within a value as \\', for example 'it\\'s'.",
            )
        if match[1] is None and not match[2]:
            raise wrong("a value is empty.", "write ? for a missing value, or '' for an empty string.")
        plain = None if match[2] == "?" else match[2]
        found.append(plain if match[1] is None else unquoted(match[1]))
        at = match.end()
        if match[3] == "," and at == len(text):
            raise wrong("the row ends with a comma.", "write ? for a missing value.")
        if match[3] == "" and not text[at:].strip():
            return found


def uncommented(text: str) -> str:
    """Remove the comment of a line: a percent sign outside quotes, where a value may begin, and what follows."""
    for match in _COMMENT.finditer(text) if "%" in text else ():
        if match[1] is None:
            return text[: match.start()].strip()
    return text.strip()


def unquoted(text: str) -> str:
    """Remove the quotation marks of a text, if it has any, and replace the escape sequences between them."""
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return _ESCAPE.sub(lambda match: _ESCAPED.get(match[1], match[1]), text[1:-1])
    return text


_MONTHS = [name.lower() for name in calendar.month_abbr]
_NAMES = ("year", "month", "day", "hour", "hour12", "minute", "second", "milli", "half", "weekday", *["zone"] * 3)
_FIELDS = dict(zip("yMdHhmsSaEZXz", _NAMES, strict=True))
_ZONE = r"Z|UTC|GMT|[+-]\d\d(?::?\d\d)?"


def date_parser(pattern: str) -> Callable[[str], float | None]:
    """Return a function that converts a date in Java's pattern to seconds since 1970, and any other text to None."""
    parts = re.findall(r"'((?:[^']|'')*)'|(([A-Za-z])\3*)|([^A-Za-z'])", pattern)
    expression = ""
    for i, (literal, run, letter, other) in enumerate(parts):
        if letter:
            following = parts[i + 1][2] if i + 1 < len(parts) else ""
            part = _date_field(letter, len(run), following in "yMdHhmsS" and following != "")
            if f"(?P<{_FIELDS[letter]}>" in expression:
                raise ValueError(f"two fields for the {_FIELDS[letter]}")
            expression += part
        else:
            expression += re.escape(other or literal.replace("''", "'") or "'")
    regex = re.compile(expression, re.IGNORECASE | re.ASCII)

    def parse(text: str) -> float | None:
        match = regex.fullmatch(text)
        return _seconds(match.groupdict()) if match else None

    return parse


def _date_field(letter: str, count: int, exact: bool) -> str:
    """Return the regular expression of one field; its number of digits is fixed only if another number follows."""
    if letter not in _FIELDS:
        raise ValueError(f"the unknown field {letter * count!r}")
    if letter in "ZXz":
        body = _ZONE
    elif letter == "a":
        body = "AM|PM"
    elif letter == "E" or (letter == "M" and count > 2):
        body = r"[A-Za-z]+"
    elif exact:
        body = rf"\d{{{count}}}"
    else:
        body = {"y": r"\d{4}" if count > 2 else r"\d{2,4}", "S": r"\d{1,3}"}.get(letter, r"\d{1,2}")
    return f"(?P<{_FIELDS[letter]}>{body})"


def _seconds(parts: dict[str, str | None]) -> float | None:
    get = {name: text for name, text in parts.items() if text is not None}
    month = get.get("month", "1").lower()
    year = int(get.get("year", "1970"))
    if len(get.get("year", "1970")) == 2:  # the century of POSIX; that of Java depends on the current date
        year += 1900 if year >= 69 else 2000
    by_name = _MONTHS.index(month[:3]) if month[:3] in _MONTHS else 0
    number = int(month) if month.isdigit() else by_name
    day, minute, second = int(get.get("day", "1")), int(get.get("minute", "0")), int(get.get("second", "0"))
    hour = int(get.get("hour", "0"))
    if "hour12" in get:
        hour = int(get["hour12"]) % 12 + (12 if get.get("half", "AM").upper() == "PM" else 0)
    if not (1 <= number <= 12 and year >= 1 and hour < 24 and minute < 60 and second < 60):
        return None
    if not 1 <= day <= calendar.monthrange(year, number)[1]:
        return None
    whole = calendar.timegm((year, number, day, hour, minute, second))
    return whole + int(get.get("milli", "0")) / 1000 - _offset(get.get("zone", "Z"))


def _offset(zone: str) -> int:
    if zone[0] not in "+-":
        return 0
    digits = zone[1:].replace(":", "").ljust(4, "0")
    return (-1 if zone[0] == "-" else 1) * (int(digits[:2]) * 3600 + int(digits[2:]) * 60)


_ATTRIBUTE = re.compile(rf"@attribute\s+({QUOTED}|[^\s{{'\"][^\s{{]*)\s*(.*)$", re.IGNORECASE | re.DOTALL)
_SPARSE_VALUE = re.compile(r"\s*(\d+)\s+(.*)", re.DOTALL)
_BRACE = re.compile(STRING + r"|\}", re.DOTALL)
_WEIGHT = re.compile(r"(.*?)[\s,]*\{([^{}'\"]*)\}$", re.DOTALL)
_AFTER_SPARSE = re.compile(r"(?:[\s,]*\{([^{}'\"]*)\})?$")
_RANGE = re.compile(r"(?:\[[^\]]*\])?$")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|nan|NaN|-?(?:inf|Inf|Infinity)")
_PLAIN = frozenset("'\"%{}")
_DEFAULT_DATE = "yyyy-MM-dd'T'HH:mm:ss"


@dataclass(frozen=True, slots=True)
class ArffAttribute:
    """Declaration of one attribute.

    Parameters
    ----------
    name : str
        Name of the attribute.
    kind : {'nominal', 'numeric', 'text', 'date'}
        Type of the attribute.
    detail : tuple of str, str or None, default=None
        Values of a nominal attribute, or format of a date.

    Examples
    --------
    >>> from countwise.io.arff import ArffAttribute
    >>> ArffAttribute("windy", "nominal", ("TRUE", "FALSE")).omitted
    'TRUE'
    """

    name: str
    kind: str
    detail: Any = None

    @property
    def omitted(self) -> Any:
        """Value of the attribute in a sparse row that omits it: zero, the first value or an empty string."""
        if self.kind == "nominal":
            return self.detail[0] if self.detail else None
        return "" if self.kind == "text" else np.datetime64(0, "us") if self.kind == "date" else 0.0


@dataclass(slots=True)
class ArffPiece:
    """Chunk of rows: the columns by name, and the weight of each row (1 by default).

    Examples
    --------
    >>> from countwise.io.arff import pieces
    >>> piece, = pieces(["@attribute x numeric", "@data", "1, {5}", "2"], "x.arff", 10)
    >>> piece.weights
    array([5., 1.])
    """

    columns: dict[str, NDArray[Any]]
    weights: NDArray[Any]


def hints(lines: Iterable[str], where: str) -> dict[str, tuple[str, Any]]:
    """Return the type and the detail of each declared attribute by name; see `ArffAttribute`.

    Examples
    --------
    >>> from countwise.io.arff import hints
    >>> hints(["@attribute 'wind speed' REAL", "@attribute wind {weak, 'very strong'}", "@data"], "x.arff")
    {'wind speed': ('numeric', None), 'wind': ('nominal', ('weak', 'very strong'))}
    """
    return {a.name: (a.kind, a.detail) for a in _ArffReader(lines, where).attributes}


def pieces(lines: Iterable[str], where: str, rows: int) -> Iterator[ArffPiece]:
    """Read chunks of at most `rows` rows; a file without rows yields one empty chunk.

    Numeric attributes become float64 arrays, dates datetime64 arrays (in UTC), others object arrays of str.

    Examples
    --------
    >>> from countwise.io.arff import pieces
    >>> lines = ["@attribute x numeric", "@attribute c {no, yes}", "@data", "{0 2.5}", "?, yes"]
    >>> piece, = pieces(lines, "x.arff", 10)
    >>> piece.columns["x"], piece.columns["c"]
    (array([2.5, nan]), array(['no', 'yes'], dtype=object))
    """
    reader = _ArffReader(lines, where)
    block: list[_Row] = []
    any_chunk = False
    for row in reader.rows():
        block.append(row)
        if len(block) == rows:
            yield reader.chunk(block)
            block, any_chunk = [], True
    if block or not any_chunk:
        yield reader.chunk(block)


@dataclass(slots=True)
class _Row:
    line: int
    values: Sequence[Value] | dict[int, Value]
    weight: float | None = None


class _ArffReader:
    """Reader of one file; it knows the number of the current line for error messages."""

    def __init__(self, lines: Iterable[str], where: str) -> None:
        self.lines = enumerate(lines, 1)
        self.where = where
        self.line = 0
        self.attributes = self._header()

    def wrong(self, message: str, hint: str | None = None, line: int | None = None) -> ReadError:
        return ReadError(f"Line {line or self.line} of {self.where!r}: {message}", hint=hint)

    # ---------------------------------------------------------------- header

    def _header(self) -> list[ArffAttribute]:
        found: dict[str, ArffAttribute] = {}
        for line, raw in self.lines:
            self.line = line
            text = uncommented(raw)
            word = text.split(maxsplit=1)[0].lower() if text else ""
            if word == "@attribute":
                attribute = self._attribute(text)
                if attribute.name in found:
                    raise self.wrong(f"attribute {attribute.name!r} is declared twice.", "rename one of them.")
                found[attribute.name] = attribute
            elif word == "@data":
                if not found:
                    raise self.wrong("no attribute is declared before @data.", "write @attribute name type.")
                return list(found.values())
            elif word and word != "@relation":
                known = did_you_mean(word, ["@relation", "@attribute", "@data"])
                raise self.wrong(
                    f"{word!r} is not one of the declarations @relation, @attribute and @data.",
                    known or "check that this is an ARFF file.",
                )
        raise ReadError(
            f"{self.where!r} has no @data line.", hint="check that the file is complete and that it is an ARFF file."
        )

    def _attribute(self, text: str) -> ArffAttribute:
        match = _ATTRIBUTE.match(text)
        if not match:
            raise self.wrong("the attribute has no name or no type.", "write, for example, @attribute name numeric.")
        name, rest = unquoted(match[1]), match[2].strip()
        if rest.startswith("{"):
            return self._nominal(name, rest)
        word, _, rest = rest.partition(" ") if " " in rest else rest.partition("\t")
        kind = word.lower()
        rest = rest.strip()
        if kind in ("numeric", "real", "integer") and _RANGE.match(rest):
            return ArffAttribute(name, "numeric")
        if kind == "string" and not rest:
            return ArffAttribute(name, "text")
        if kind == "date":
            pattern = unquoted(rest) if rest else _DEFAULT_DATE
            self._dates(pattern)  # reports an invalid format before any row is read
            return ArffAttribute(name, "date", pattern)
        if kind == "relational":
            raise self.wrong(
                f"attribute {name!r} is relational (each value is a table), which is not supported.",
                "replace it with attributes of other types.",
            )
        known = did_you_mean(kind, ["numeric", "real", "integer", "string", "date"])
        shown = f"{word} {rest}".strip()
        raise self.wrong(
            f"attribute {name!r} has the unknown type {shown!r}.",
            known or "use numeric, real, integer, string, date or a list of values {a, b, c}.",
        )

    def _nominal(self, name: str, text: str) -> ArffAttribute:
        if not text.endswith("}"):
            raise self.wrong(
                f"the list of the values of {name!r} has no closing brace.", "write {a, b, c} in one line."
            )
        inner = text[1:-1].strip()
        values = [value if value is not None else "?" for value in values_of(inner, 0, self.wrong)] if inner else []
        duplicate = first_duplicate(values)
        if duplicate is not None:
            raise self.wrong(f"{name!r} declares the value {duplicate!r} twice.", "remove one of them.")
        return ArffAttribute(name, "nominal", tuple(values))

    # ---------------------------------------------------------------- rows

    def rows(self) -> Iterator[_Row]:
        width = len(self.attributes)
        for line, raw in self.lines:
            self.line = line
            text = raw.strip()
            if not text or text[0] == "%":
                continue
            if "," in text and _PLAIN.isdisjoint(text):  # nearly every row: nothing to unquote
                values: list[Value] = [None if v == "?" else v for v in map(str.strip, text.split(","))]
                row = _Row(line, values_of(text, width, self.wrong) if "" in values else values)
            else:
                row = self._parsed(uncommented(text), width)
            if not isinstance(row.values, dict) and len(row.values) != width:
                n = len(row.values)
                message = f"the row has {n} value{'s' * (n != 1)}, but {width} attributes are declared."
                raise self.wrong(message, "quote values that contain a comma or a space.")
            yield row

    def weighted(self) -> bool:
        """Return whether any row has a weight; only rows that end with a brace are parsed."""
        for line, raw in self.lines:
            self.line = line
            text = uncommented(raw)
            if text.endswith("}") and self._parsed(text, len(self.attributes)).weight is not None:
                return True
        return False

    def _parsed(self, text: str, width: int) -> _Row:
        """Parse a row that may be sparse, weighted or quoted."""
        if text.startswith("{"):
            end = next((found.start() for found in _BRACE.finditer(text) if found[1] is None), len(text))
            match = _AFTER_SPARSE.match(text, end + 1)
            if end == len(text) or not match:
                message = "the sparse row has no closing brace."
                raise self.wrong(message, "write {index value, index value}.")
            return _Row(self.line, self._sparse(text[1:end], width), self._weight(match[1]))
        match = _WEIGHT.match(text) if text.endswith("}") else None
        if match:
            return _Row(self.line, values_of(match[1], width, self.wrong), self._weight(match[2]))
        return _Row(self.line, values_of(text, width, self.wrong))

    def _weight(self, text: str | None) -> float | None:
        if text is None:
            return None
        if not _NUMBER.fullmatch(text.strip()) or not 0 <= float(text) < np.inf:
            raise self.wrong(
                f"the weight {text.strip()!r} is not a number >= 0.", "write the weight in braces, for example {2.5}."
            )
        return float(text)

    def _sparse(self, text: str, width: int) -> dict[int, Value]:
        values: dict[int, Value] = {}
        for part in parts_of(text) if text.strip() else ():
            match = _SPARSE_VALUE.match(part)
            if not match or int(match[1]) >= width:
                message = f"{part.strip()!r} is not an index from 0 to {width - 1} followed by a value."
                raise self.wrong(message, "write {index value, index value}; the first attribute has index 0.")
            index, value = int(match[1]), match[2].strip()
            if index in values:
                raise self.wrong(f"index {index} occurs twice.", "write one value for each attribute.")
            values[index] = None if value == "?" else unquoted(value)
        return values

    # ---------------------------------------------------------------- columns

    def chunk(self, block: list[_Row]) -> ArffPiece:
        """Convert rows to columns."""
        weights = np.array([1.0 if row.weight is None else row.weight for row in block], dtype=np.float64)
        sparse = any(isinstance(row.values, dict) for row in block)
        transposed = list(zip(*(row.values for row in block), strict=True)) if block and not sparse else []
        columns = {
            a.name: self._convert(a, transposed[i], block) if transposed else self._filled(a, i, block)
            for i, a in enumerate(self.attributes)
        }
        return ArffPiece(columns, weights)

    def _filled(self, attribute: ArffAttribute, index: int, block: list[_Row]) -> NDArray[Any]:
        """Convert a column in which sparse rows omit values."""
        present = np.array([not isinstance(row.values, dict) or index in row.values for row in block], dtype=bool)
        given = [row for row, known in zip(block, present, strict=True) if known]
        values = self._convert(attribute, [row.values[index] for row in given], given)
        out = np.full(len(block), attribute.omitted, dtype=values.dtype)
        out[present] = values
        return out

    def _convert(self, attribute: ArffAttribute, texts: Sequence[Value], rows: list[_Row]) -> NDArray[Any]:
        """Convert the values of a column to an array; an invalid value is an error."""
        if attribute.kind == "text":
            return objects(texts)
        values: list[Any]
        if attribute.kind == "nominal":
            known: dict[Value, Value] = {value: value for value in attribute.detail}
            values = [known.get(text) for text in texts]
        elif attribute.kind == "date":
            parse = self._dates(attribute.detail)
            values = [None if text is None else parse(text) for text in texts]
        else:
            number = _NUMBER.fullmatch
            values = [None if text is None or not number(text) else float(text) for text in texts]
        if None in values:
            for text, value, row in zip(texts, values, rows, strict=True):
                if value is None and text is not None:
                    raise self._invalid(attribute, text, row.line)
        if attribute.kind == "date":
            micros = [None if value is None else np.datetime64(round(value * 1e6), "us") for value in values]
            return np.array(micros, dtype="datetime64[us]")
        return objects(values) if attribute.kind == "nominal" else np.array(values, dtype=np.float64)

    def _invalid(self, attribute: ArffAttribute, text: str, line: int) -> ReadError:
        hint = "write ? for a missing value."
        if attribute.kind == "nominal":
            expected = f"one of the declared values {listed(attribute.detail)}"
            hint = (
                did_you_mean(text, attribute.detail) or "add it to the declaration, or write ? for a missing value."
            )
        else:
            expected = "a number" if attribute.kind == "numeric" else f"a date in the format {attribute.detail!r}"
        return self.wrong(f"{attribute.name!r} is {text!r}, which is not {expected}.", hint, line)

    def _dates(self, pattern: str) -> Callable[[str], float | None]:
        try:
            return date_parser(pattern)
        except ValueError as error:
            hint = "use the fields yyyy MM dd HH hh mm ss SSS a E Z X z, and text in single quotes."
            raise self.wrong(f"the date format {pattern!r} has {error}.", hint) from None


def has_weights(paths: Iterable[Path], encoding: str | None = None) -> bool:
    """Return whether a row of some file has an instance weight."""
    return any(_ArffReader(lines(path, encoding), path.name).weighted() for path in paths)


def arff_pieces(paths: list[Path], rows: int, options: Options) -> Iterator[Columns]:
    """Read the rows of all files in chunks; instance weights, if there are any, become a column."""
    heads = [hints(lines(path, options.encoding), path.name) for path in paths]
    names = named(list(heads[0]), options, paths[0])
    for path, head in zip(paths, heads, strict=True):
        same_columns(list(heads[0]), list(head), (paths[0], path))
        differs = next((name for name in head if head[name][0] != heads[0][name][0]), None)
        if differs is not None:
            one, other = distinct_names(paths[0], path)
            message = f"{differs!r} is {heads[0][differs][0]} in {one!r}, but {head[differs][0]} in {other!r}."
            raise ReadError(message, hint="read files with different attributes separately.")
    weighted = has_weights(paths, options.encoding)
    if weighted and options.weight_column in names:
        message = (
            f"{paths[0].name!r} has instance weights, but the name of their column, "
            f"{options.weight_column!r}, is also the name of an attribute."
        )
        raise ReadError(message, hint="pass another name as weight_column.")
    for path in paths:
        for piece in pieces(lines(path, options.encoding), path.name, rows):
            frame = {name: piece.columns[own] for name, own in zip(names, heads[0], strict=True)}
            if weighted:
                frame[options.weight_column] = piece.weights
            yield frame
