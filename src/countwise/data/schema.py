"""The schema: what each column of a table is.

A schema is declared, or inferred from dtypes alone; never from how many
distinct values a sample happens to have. It is immutable; `a | b` joins the
domains of two parts of one table.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import is_
from typing import Any

import numpy as np

from countwise import _kernels
from countwise.data.attributes import Attribute, Count, Nominal, Numeric, Ordinal
from countwise.data.columns import factorized
from countwise.data.frames import Coded, Column, Frame, frame_of, is_missing, is_sparse, lacks
from countwise.data.matrices import encode_together, encoded_by_guess, grows_from, is_interleaved, small_domains
from countwise.data.table import Table, threads_for
from countwise.data.text import Block, Text
from countwise.errors import SchemaError, TableError, did_you_mean, listed

__all__ = ["Count", "Nominal", "Numeric", "Ordinal", "Schema", "Text"]

_KINDS: dict[str, type[Attribute]] = {
    "nominal": Nominal,
    "ordinal": Ordinal,
    "numeric": Numeric,
    "count": Count,
    "text": Text,
    "block": Block,
}
_WORDS = {"categorical": "nominal", "category": "nominal", "number": "numeric", "float": "numeric", "int": "numeric"}


class Schema(Mapping[str, Attribute]):
    """An ordered, immutable set of attributes.

    Parameters
    ----------
    attributes : iterable of Attribute
        In the order of the columns.

    Examples
    --------
    >>> from countwise import Nominal, Numeric, Schema
    >>> Schema([Nominal("wind", ("east", "north")), Numeric("temp")])
    Schema(wind: nominal (2 values), temp: numeric)
    >>> import numpy as np
    >>> Schema.infer({"wind": np.array(["north", "east"]), "temp": np.array([32.1, 18.4])})
    Schema(wind: nominal (2 values), temp: numeric)
    """

    def __init__(self, attributes: Iterable[Attribute] = ()) -> None:
        self._attributes: dict[str, Attribute] = {}
        for attribute in attributes:
            if attribute.name in self._attributes:
                raise SchemaError(f"Two attributes are named {attribute.name!r}.", hint="rename one of them.")
            self._attributes[attribute.name] = attribute
        self.attributes = tuple(self._attributes.values())  # in order
        self.names = tuple(self._attributes)

    def __getitem__(self, name: str) -> Attribute:
        try:
            return self._attributes[name]
        except KeyError:
            raise SchemaError(
                f"There is no attribute {name!r}.",
                hint=did_you_mean(name, self._attributes) or f"there are {listed(self._attributes)}.",
            ) from None

    def __contains__(self, name: object) -> bool:
        return name in self._attributes

    def __iter__(self) -> Iterator[str]:
        return iter(self._attributes)

    def __len__(self) -> int:
        return len(self._attributes)

    def __repr__(self) -> str:
        def one(a: Attribute) -> str:
            values = getattr(a, "values", None)
            size = f" ({len(values)} values)" if isinstance(values, tuple) else ""
            return f"{a.name}: {a.kind}{size}"

        shown = [one(a) for a in list(self._attributes.values())[:12]]
        rest = len(self) - len(shown)
        return f"Schema({', '.join(shown)}{f', and {rest} more' if rest > 0 else ''})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and list(self.attributes) == list(other.attributes)

    def __hash__(self) -> int:
        return hash(self.attributes)

    def __or__(self, other: object) -> Schema:
        if not isinstance(other, Schema):
            return NotImplemented
        if set(self) != set(other):
            odd = sorted(set(self) ^ set(other))
            raise SchemaError(f"The two parts do not have the same columns: {listed(odd)} only in one.")
        joined = [a.join(other[a.name]) for a in self.attributes]
        return self if all(a is b for a, b in zip(joined, self.attributes, strict=True)) else Schema(joined)

    @classmethod
    def infer(
        cls, X: Any, types: Mapping[str, Any] | str | Schema | None = None, categorical_features: Any = None
    ) -> Schema:
        """Say what each column is, from its dtype unless the user declares it, and learn the domains.

        Parameters
        ----------
        X : any table
            See `countwise.data.frames.frame_of`.
        types : mapping, str or Schema, optional
            ``{"age": "numeric", "body": "text"}``; an `Attribute` in place of a word
            declares the domain too; one word declares all columns.
        categorical_features : array-like, optional
            scikit-learn's way to declare nominal columns: names, positions or a mask.

        Returns
        -------
        Schema
        """
        frame = frame_of(X)
        return cls.kinds(frame, types, categorical_features).learn(frame)

    @classmethod
    def kinds(cls, frame: Frame, types: Any = None, categorical_features: Any = None) -> Schema:
        """The attributes of a frame with their domains still to be learned."""
        declared = _declared(frame, types)
        for name in _categorical(frame, categorical_features):
            declared.setdefault(name, Nominal(name))
        return cls([declared.get(name) or _by_dtype(name, column) for name, column in frame.columns.items()])

    def learn(self, frame: Frame) -> Schema:
        """The schema with all domains widened to what the frame holds."""
        interleaved = {a.name: frame.columns[a.name] for a in self.attributes if grows_from(a, frame)}
        found = small_domains(interleaved, frame.n_rows)

        def one(a: Attribute) -> Attribute:
            return a.learn(found.get(a.name, frame.columns[a.name]))

        # threads are for columns that must be looked through; the others have nothing to learn
        heavy = [
            a
            for a in self.attributes
            if isinstance(a, Nominal | Text) and a.grows and a.name not in found
            if not getattr(frame.columns[a.name], "declared", False)
        ]
        wider = _kernels.over_items(heavy, one, threads_for(frame.n_rows))
        learned = dict(zip((a.name for a in heavy), wider, strict=True))
        wide = [learned[a.name] if a.name in learned else one(a) for a in self.attributes]
        return self if all(map(is_, wide, self.attributes)) else Schema(wide)

    def coded(self, frame: Frame) -> Frame:
        """The frame with columns of objects as codes, so that learning and encoding need look at each object once."""
        coded: dict[str, Column] = {
            a.name: factorized(column, a.name)
            for a in self.attributes
            if isinstance(a, Nominal) and isinstance(column := frame.columns[a.name], np.ndarray)
            if column.dtype.kind in "OUS"
        }
        fresh = {
            a.name: frame.columns[a.name]
            for a in self.attributes
            if isinstance(a, Nominal) and not a.values and grows_from(a, frame)
        }
        coded.update(encoded_by_guess(fresh, frame.n_rows))
        return Frame({**frame.columns, **coded}, frame.n_rows, frame.named) if coded else frame

    def match(self, frame: Frame) -> Frame:
        """The frame's columns in the schema's order; extra columns are left out."""
        if not frame.named:
            return self._match_by_place(frame)
        lost = [name for name in self.names if name not in frame.columns]
        if lost and frame.partial:
            return self._completed(frame, lost)
        if lost:
            raise lacks("table", lost, frame.columns)
        if self.names == tuple(frame.columns):
            return frame
        return Frame({name: frame.columns[name] for name in self}, frame.n_rows, named=True)

    def _completed(self, frame: Frame, lost: list[str]) -> Frame:
        """Rows given as dicts with the keys that they lack as missing cells; a misspelled key is an error."""
        for odd in frame.columns:
            hint = did_you_mean(odd, lost) if odd not in self else None
            if hint is not None:
                raise TableError(f"There is no attribute {odd!r}.", hint=hint)
        gaps = np.full(frame.n_rows, None, dtype=object)
        return Frame({name: frame.columns.get(name, gaps) for name in self}, frame.n_rows, named=True)

    def _match_by_place(self, frame: Frame) -> Frame:
        frame = self._dense_or_sparse(frame)
        if len(frame.columns) != len(self):
            raise TableError(
                f"X has {len(frame.columns)} features, but countwise is expecting {len(self)} features as input.",
                hint=f"the columns are {listed(self)}.",
            )
        return Frame(dict(zip(self, frame.columns.values(), strict=True)), frame.n_rows, named=False)

    def _dense_or_sparse(self, frame: Frame) -> Frame:
        """A matrix in the form, dense or sparse, in which the schema met it."""
        block = self.attributes[0] if len(self) == 1 else None
        columns = list(frame.columns.values())
        if isinstance(block, Block) and len(columns) == len(block.words) and isinstance(columns[0], np.ndarray):
            from scipy.sparse import csr_array

            return Frame({block.name: csr_array(np.stack(columns, axis=1))}, frame.n_rows, named=False)
        if len(columns) == 1 and is_sparse(columns[0]) and not isinstance(block, Block):
            dense = columns[0].toarray()
            return Frame({f"x{j}": dense[:, j] for j in range(dense.shape[1])}, frame.n_rows, named=False)
        return frame

    def encode(self, X: Any, weights: Any = None, *, strict: bool = False) -> Table:
        """Encode a table; strict refuses values outside a declared domain.

        Parameters
        ----------
        X : any table
            Columns are found by name, or by place in an array.
        weights : ndarray, optional
            A weight for each row.
        strict : bool, default=False
            Whether a value outside the domain is an error (else it is marked unseen).

        Returns
        -------
        Table
        """
        frame = self.match(frame_of(X))
        interleaved = [a for a in self.attributes if isinstance(a, Nominal) and is_interleaved(frame.columns[a.name])]
        columns = encode_together(interleaved, frame, strict=strict) if interleaved else {}

        def work(a: Attribute) -> Any:
            return a.encode(frame.columns[a.name], strict=strict)

        heavy = [a for a in self.attributes if a.name not in columns and isinstance(a, Nominal | Text)]
        encoded = _kernels.over_items(heavy, work, threads_for(frame.n_rows))
        columns.update(zip((a.name for a in heavy), encoded, strict=True))
        columns.update({a.name: work(a) for a in self.attributes if a.name not in columns})
        return Table({name: columns[name] for name in self.names}, frame.n_rows, weights)

    def opened(self, X: Any) -> Frame:
        """A table matched to the schema, with sparse blocks looked at once, ready to be encoded in slices."""
        frame = frame_of(X)
        if frame.n_rows == 0:
            raise TableError("Found array with 0 sample(s): the table is empty. At least one row is needed.")
        frame = self.match(frame)
        blocks = {a.name: a.encode(frame.columns[a.name]) for a in self.attributes if isinstance(a, Block)}
        return Frame({**frame.columns, **blocks}, frame.n_rows, frame.named) if blocks else frame

    def to_dict(self) -> list[dict[str, Any]]:
        """Plain data, for the model file."""
        return [attribute.to_dict() for attribute in self.attributes]

    def as_setting(self) -> dict[str, Any]:
        """Plain data, where the schema is a setting."""
        return {"@": "schema", "of": self.to_dict()}

    @classmethod
    def from_dict(cls, data: Sequence[Mapping[str, Any]]) -> Schema:
        """The schema that `to_dict` wrote."""
        return cls(attribute_from(entry) for entry in data)


def attribute_from(entry: Mapping[str, Any]) -> Attribute:
    """An attribute from plain data: a kind that is known, and its fields."""
    fields = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items() if k != "kind"}
    kind: Any = _KINDS[str(entry["kind"])]
    return kind(**fields)


def _declared(frame: Frame, types: Any) -> dict[str, Attribute]:
    if types is None:
        return {}
    if isinstance(types, str):
        types = dict.fromkeys(frame.columns, types)
    if not isinstance(types, Mapping):
        raise SchemaError(f"types must map column names to kinds, not {types!r}.")
    declared: dict[str, Attribute] = {}
    for name, word in types.items():
        if name not in frame.columns:
            raise SchemaError(
                f"types names {name!r}, which the table does not have.",
                hint=did_you_mean(name, frame.columns) or f"it has {listed(frame.columns)}.",
            )
        declared[name] = _attribute(name, word, frame.columns[name])
    return declared


def _attribute(name: str, word: Any, column: Column) -> Attribute:
    if isinstance(word, Attribute):
        if word.name != name:
            raise SchemaError(f"The column {name!r} is declared by an attribute named {word.name!r}.")
        return word
    if is_sparse(column):
        if word not in ("count", "boolean", "bool", "binary"):
            raise SchemaError(
                f"A sparse matrix cannot be declared as {word!r}.",
                hint="its columns are of type 'count' or 'boolean'; X.toarray() makes them columns of any kind.",
            )
        return Block(name, binary=word != "count")
    if word in ("boolean", "bool", "binary"):
        two = isinstance(column, np.ndarray) and column.dtype.kind in "iuf"
        return Nominal(name, (0, 1) if two else (False, True))
    kind = _WORDS.get(word, word) if isinstance(word, str) else None
    if kind not in _KINDS or kind == "block":
        known = ["nominal", "ordinal", "numeric", "count", "text", "boolean"]
        raise SchemaError(
            f"{word!r} is not a kind of attribute (column {name!r}).",
            hint=did_you_mean(word, known) or f"kinds are {listed(known)}.",
        )
    return _KINDS[kind](name)


def _categorical(frame: Frame, features: Any) -> list[str]:
    if features is None or (isinstance(features, str) and features == "from_dtype"):
        return []
    chosen = np.atleast_1d(np.asarray(features))
    names = list(frame.columns)
    if chosen.dtype.kind == "b":
        if len(chosen) != len(names):
            raise SchemaError(f"categorical_features marks {len(chosen)} columns; the table has {len(names)}.")
        return [name for name, marked in zip(names, chosen, strict=True) if marked]
    picked: list[str] = []
    for one in chosen.tolist():
        if isinstance(one, str):
            if one not in frame.columns:
                raise SchemaError(
                    f"categorical_features names {one!r}, which the table does not have.",
                    hint=did_you_mean(one, names) or f"it has {listed(names)}.",
                )
            picked.append(one)
        elif -len(names) <= one < len(names):
            picked.append(names[int(one)])
        else:
            raise SchemaError(f"categorical_features names column {one}; the table has {len(names)}.")
    return picked


def _by_dtype(name: str, column: Column) -> Attribute:
    """The kind that a dtype implies; objects are told by the kinds of the cells in them."""
    if isinstance(column, Coded):
        return Ordinal(name, tuple(column.categories)) if column.ordered else Nominal(name)
    if not isinstance(column, np.ndarray):
        return Block(name, binary=column.dtype.kind == "b")
    if column.dtype.kind == "b":
        return Nominal(name, (False, True))
    if column.dtype.kind in "iufmM":
        return Numeric(name)
    if column.dtype.kind == "O":
        return _by_cells(name, column)
    return Nominal(name)


def _by_cells(name: str, column: Any) -> Attribute:
    if str in set(map(type, column[:100])):  # one string makes a nominal column: mostly it is near
        return Nominal(name)
    kinds = set(map(type, column))
    if str in kinds:
        return Nominal(name)
    cells = [kind for kind in kinds if not issubclass(kind, type(None))]
    if cells and all(issubclass(kind, bool | np.bool_) for kind in cells):
        return Nominal(name, (False, True))
    present = {type(cell) for cell in column if not is_missing(cell)}
    if present and all(issubclass(kind, bool | np.bool_) for kind in present):
        return Nominal(name, (False, True))
    numbers = (int, float, np.integer, np.floating, datetime.date)
    if present and all(issubclass(kind, numbers) and not issubclass(kind, bool) for kind in present):
        return Numeric(name)
    return Nominal(name)
