"""Reading and writing networks in the Bayesian Interchange Format (BIF)."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from countwise._typing import Floats
from countwise.errors import OptionError, ReadError
from countwise.filewriter import write_whole
from countwise.network.families import MOST_COMBINATIONS
from countwise.network.graph import Graph
from countwise.network.net import Net

__all__ = ["BifNetwork", "read_bif", "read_bif_file", "to_networkx", "write_bif", "write_bif_file"]

_TOKEN = re.compile(
    r"""\s+|//[^\n]*|/\*.*?\*/            # blanks and comments
    |(?P<string>"(?:[^"\\]|\\.)*")
    |(?P<mark>[{}()\[\];,|])
    |(?P<word>[^\s{}()\[\];,|"]+)""",
    re.VERBOSE | re.DOTALL,
)
_PLAIN = re.compile(r"[^\s{}()\[\];,|\"/]+")
_RESERVED = {"network", "variable", "probability", "property", "type", "discrete", "table", "default"}
_OFF = 1e-6  # the largest allowed deviation of the sum of a row from 1


@dataclass(frozen=True, eq=False)
class BifNetwork:
    """The content of a BIF file; variables are in the order of the file."""

    name: str  # of the network
    values: dict[str, tuple[str, ...]]
    parents: dict[str, tuple[str, ...]]
    tables: dict[str, Floats]  # P(variable | parents); one axis for each parent, the last axis for the variable


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    line: int
    quoted: bool = False


def read_bif(text: str, where: str = "The file") -> BifNetwork:
    """Parse the text of a BIF file.

    Rows of a table that sum to 1 within 1e-6 are normalized. Any other error in the file raises a ReadError with the
    line number and the name `where`.
    """
    return _BifReader(text, where).network()


class _BifReader:
    def __init__(self, text: str, where: str) -> None:
        self.where = where
        self.tokens = list(self._cut(text))
        self.at = 0
        self.name = "network"
        self.values: dict[str, tuple[str, ...]] = {}
        self.parents: dict[str, tuple[str, ...]] = {}
        self.tables: dict[str, Floats] = {}

    def _cut(self, text: str) -> Iterator[_Token]:
        place = line = 0
        while place < len(text):
            found = _TOKEN.match(text, place)
            if found is not None and found[0].startswith("/*") and not found[0].endswith("*/"):
                raise ReadError(f"{self.where}, line {line + 1}: a comment is never closed.")
            if found is None:
                raise ReadError(f"{self.where}, line {line + 1}: unexpected {text[place]!r}.")
            if found["string"] is not None:
                yield _Token(re.sub(r"\\(.)", r"\1", found["string"][1:-1]), line + 1, quoted=True)
            elif found["mark"] or found["word"]:
                yield _Token(found[0], line + 1)
            line += found[0].count("\n")
            place = found.end()

    # -- tokens ------------------------------------------------------------------------

    def _fail(self, what: str, token: _Token | None = None) -> ReadError:
        token = token or (self.tokens[min(self.at, len(self.tokens) - 1)] if self.tokens else _Token("", 1))
        return ReadError(f"{self.where}, line {token.line}: {what}")

    def _peek(self) -> _Token:
        if self.at >= len(self.tokens):
            raise self._fail("unexpected end of the file.")
        return self.tokens[self.at]

    def _next(self) -> _Token:
        token = self._peek()
        self.at += 1
        return token

    def _mark(self, wanted: str) -> None:
        token = self._next()
        if token.quoted or token.text != wanted:
            raise self._fail(f"expected {wanted!r}, found {token.text!r}.", token)

    def _is(self, mark: str) -> bool:
        token = self.tokens[self.at] if self.at < len(self.tokens) else None
        return token is not None and not token.quoted and token.text == mark

    def _word(self) -> str:
        token = self._next()
        if not token.quoted and token.text in "{}()[];,|":
            raise self._fail(f"expected a name, found {token.text!r}.", token)
        return token.text

    def _skip_property(self) -> None:
        while not self._is(";"):
            self._next()
        self._mark(";")

    # -- parts -------------------------------------------------------------------------

    def network(self) -> BifNetwork:
        parts = {"network": self._head, "variable": self._variable, "probability": self._probability}
        while self.at < len(self.tokens):
            word = self._next()
            if word.text not in parts:
                raise self._fail(f"expected 'network', 'variable' or 'probability', found {word.text!r}.", word)
            parts[word.text]()
        undefined = [name for name in self.values if name not in self.tables]
        if undefined:
            raise ReadError(f"{self.where}: variable {undefined[0]!r} has no probability table.")
        if not self.values:
            raise ReadError(f"{self.where}: the file declares no variables.")
        return BifNetwork(self.name, self.values, self.parents, self.tables)

    def _head(self) -> None:
        if not self._is("{"):
            self.name = self._word()
        self._mark("{")
        while not self._is("}"):
            self._skip_property()
        self._mark("}")

    def _variable(self) -> None:
        token = self._peek()
        name = self._word()
        if name in self.values:
            raise self._fail(f"variable {name!r} is declared twice.", token)
        self._mark("{")
        while not self._is("}"):
            word = self._word()
            if word == "property":
                self._skip_property()
                continue
            if word != "type":
                raise self._fail(f"expected 'type', found {word!r}.")
            self.values[name] = self._domain(name)
        self._mark("}")
        if name not in self.values:
            raise self._fail(f"variable {name!r} has no type.", token)

    def _domain(self, name: str) -> tuple[str, ...]:
        type_ = self._word()
        if type_ != "discrete":
            raise self._fail(f"variable {name!r} has the type {type_!r}; only 'discrete' is supported.")
        self._mark("[")
        token = self._peek()
        size = self._word()
        self._mark("]")
        self._mark("{")
        values = self._listed("}")
        self._mark(";")
        if not size.isdecimal() or len(size) > 9 or int(size) != len(values):
            raise self._fail(f"variable {name!r} is declared with {size} values but lists {len(values)}.", token)
        if len(set(values)) < len(values):
            raise self._fail(f"variable {name!r} lists a value twice.", token)
        return tuple(values)

    def _listed(self, end: str) -> list[str]:
        """Read names separated by commas, up to the mark `end`."""
        found = []
        while not self._is(end):
            found.append(self._word())
            if not self._is(end):
                self._mark(",")
        self._mark(end)
        return found

    def _probability(self) -> None:
        self._mark("(")
        token = self._peek()
        name = self._known(self._word(), token)
        above: list[str] = []
        if self._is("|"):
            self._mark("|")
            token = self._peek()
            above = [self._known(parent, token) for parent in self._listed(")")]
            if len(set(above)) < len(above) or name in above:
                raise self._fail(f"variable {name!r} has a parent twice, or is its own parent.", token)
        else:
            self._mark(")")
        if name in self.tables:
            raise self._fail(f"variable {name!r} has two probability tables.", token)
        self.parents[name] = tuple(above)
        self.tables[name] = self._table(name, above, token)

    def _known(self, name: str, token: _Token) -> str:
        if name not in self.values:
            raise self._fail(f"variable {name!r} is not declared.", token)
        return name

    def _table(self, name: str, above: list[str], head: _Token) -> Floats:
        sizes = [len(self.values[parent]) for parent in above]
        if math.prod(sizes) > MOST_COMBINATIONS:
            most = f"at most {MOST_COMBINATIONS:,} are supported"
            raise self._fail(
                f"the parents of {name!r} have {math.prod(sizes):,} combinations of values; {most}.", head
            )
        table = np.full([*sizes, len(self.values[name])], np.nan)
        default: list[float] | None = None
        self._mark("{")
        while not self._is("}"):
            token = self._peek()
            if self._is("("):
                self._mark("(")
                token = self._peek()
                place = self._place(above, self._listed(")"), token)
                self._fill(table, place, self._numbers(table.shape[-1], token), name, token)
                continue
            word = self._word()
            if word == "property":
                self._skip_property()
            elif word == "table":
                numbers = np.reshape(self._numbers(table.size, token), table.shape)
                self._fill(table, (), numbers, name, token)
            elif word == "default" and default is None:
                default = self._numbers(table.shape[-1], token)
            else:
                raise self._fail(f"expected a row of the table, found {word!r}.", token)
        self._mark("}")
        return self._summed(
            name, above, table if default is None else np.where(np.isnan(table), default, table), head
        )

    def _fill(self, table: Floats, place: tuple[int, ...], numbers: Any, name: str, token: _Token) -> None:
        """Set one row of a table, or all; a row must be given once."""
        if not np.isnan(table[place]).all():
            raise self._fail(f"a row of P({name} | ...) is given twice.", token)
        if np.isnan(numbers).any():
            raise self._fail(f"P({name} | ...) contains a number that is not a probability.", token)
        table[place] = numbers

    def _place(self, above: list[str], row: list[str], token: _Token) -> tuple[int, ...]:
        if len(row) != len(above):
            raise self._fail(f"expected {len(above)} parent values, found {len(row)}.", token)
        for parent, value in zip(above, row, strict=True):
            if value not in self.values[parent]:
                raise self._fail(f"variable {parent!r} has no value {value!r}.", token)
        return tuple(self.values[parent].index(value) for parent, value in zip(above, row, strict=True))

    def _numbers(self, count: int, head: _Token) -> list[float]:
        found = []
        while not self._is(";"):
            token = self._peek()
            word = self._word()
            try:
                found.append(float(word))
            except ValueError:
                raise self._fail(f"{word!r} is not a number.", token) from None
            if self._is(","):
                self._mark(",")
        self._mark(";")
        if len(found) != count:
            raise self._fail(f"expected {count} numbers, found {len(found)}.", head)
        return found

    def _summed(self, name: str, above: list[str], table: Floats, head: _Token) -> Floats:
        for row in itertools.product(*(range(n) for n in table.shape[:-1])):
            case = ", ".join(self.values[p][i] for p, i in zip(above, row, strict=True))
            what = f"P({name}{f' | {case}' if case else ''})"
            if np.isnan(table[row]).any():
                raise self._fail(f"{what} is missing.", head)
            if not (np.isfinite(table[row]).all() and (table[row] >= 0).all()):
                raise self._fail(f"{what} contains a number that is not a probability.", head)
            total = float(table[row].sum())
            if abs(total - 1.0) > _OFF:
                raise self._fail(f"{what} sums to {total:.9g}, not 1.", head)
            if total != 1.0 and abs(total - 1.0) > 4e-16 * table.shape[-1]:
                table[row] /= total
        return table


def write_bif(
    name: str,
    values: Mapping[str, tuple[Any, ...]],
    parents: Mapping[str, tuple[str, ...]],
    tables: Mapping[str, Floats],
) -> str:
    """Return the text of a BIF file; numbers are written so that reading them gives the same floats."""
    lines = [f"network {_quoted(name)} {{", "}"]
    for variable, domain in values.items():
        listed = ", ".join(_quoted(str(value)) for value in domain)
        lines += [f"variable {_quoted(variable)} {{", f"  type discrete [ {len(domain)} ] {{ {listed} }};", "}"]
    for variable in values:
        above = parents[variable]
        given = f" | {', '.join(map(_quoted, above))}" if above else ""
        lines.append(f"probability ( {_quoted(variable)}{given} ) {{")
        if not above:
            lines.append(f"  table {_numbers(tables[variable])};")
        for row in itertools.product(*(range(len(values[p])) for p in above)) if above else ():
            case = ", ".join(_quoted(str(values[p][i])) for p, i in zip(above, row, strict=True))
            lines.append(f"  ({case}) {_numbers(tables[variable][row])};")
        lines.append("}")
    return "\n".join(lines) + "\n"


def read_bif_file(place: Path) -> BifNetwork:
    """Read a network from a BIF file."""
    try:
        text = place.read_bytes().decode().removeprefix("\ufeff")  # carriage returns within quotes are kept
    except OSError as error:
        raise ReadError(f"The file {str(place)!r} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise ReadError(f"The file {str(place)!r} is not UTF-8 text, so it is not a BIF file.") from None
    except ValueError as error:  # a name that no file can have
        raise ReadError(f"The file {str(place)!r} cannot be read: {error}.") from None
    return read_bif(text, str(place))


def write_bif_file(place: Path, net: Net, name: str) -> None:
    """Write a network of nominal nodes to a BIF file."""
    numeric = [node for node in net.graph if node not in net.tables]
    if numeric:
        raise OptionError(
            f"Node {numeric[0]!r} is numeric; a BIF file can only hold nominal nodes.",
            hint="use countwise.save to write the network to a model file.",
        )
    values = {node: tuple(map(str, net.attributes[node].values)) for node in net.graph}  # type: ignore[attr-defined]
    for node, domain in values.items():
        if len(set(domain)) < len(domain):
            raise OptionError(f"Two values of {node!r} are written alike; a BIF file can only hold strings.")
    try:
        data = write_bif(name, values, net.graph.parents, net.tables).encode()
    except UnicodeEncodeError:
        raise OptionError("A name or value has a lone surrogate, which a BIF file cannot represent.") from None
    write_whole(place, data)


def to_networkx(net: Net | None, structure: Graph) -> Any:
    """Convert a network to a networkx graph; without parameters, only its structure."""
    try:
        import networkx
    except ImportError:
        raise OptionError(
            "to_networkx needs the package networkx.", hint="install it: pip install networkx."
        ) from None
    graph = networkx.DiGraph()
    for node in structure:
        more: dict[str, Any] = {}
        if net is not None:
            a: Any = net.attributes[node]
            more = {"values": a.values, "table": net.tables[node]} if node in net.tables else {"kind": a.kind}
        graph.add_node(node, **more, parents=structure.parents[node])
    graph.add_edges_from(structure.arcs)
    return graph


def _quoted(text: str) -> str:
    """Return a label, in quotes if it contains punctuation or blanks, or equals a keyword."""
    if _PLAIN.fullmatch(text) and text not in _RESERVED:
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _numbers(row: Floats) -> str:
    return ", ".join(repr(float(x)) for x in row)
