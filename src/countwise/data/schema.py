"""Schema: the type and domain of each column of a table.

Types are declared or inferred from dtypes, never from the number of distinct values. A schema is immutable; `a | b`
joins the domains of two parts of one table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import is_
from typing import Any

import numpy as np

from countwise import _kernels
from countwise.data.attributes import Attribute, Count, Date, Nominal, Numeric, Ordinal
from countwise.data.columns import factorized
from countwise.data.frames import Coded, Column, Frame, frame_of, is_missing, is_sparse, missing_columns
from countwise.data.matrices import encode_together, encoded_by_guess, grows_from, is_interleaved, small_domains
from countwise.data.table import Table, threads_for
from countwise.data.text import Block, Text
from countwise.errors import SchemaError, TableError, did_you_mean, listed, printable, warn

__all__ = ["Count", "Date", "Nominal", "Numeric", "Ordinal", "Schema", "Text", "field_types"]

_TYPES: dict[str, type[Attribute]] = {
    "nominal": Nominal,
    "ordinal": Ordinal,
    "numeric": Numeric,
    "date": Date,
    "count": Count,
    "text": Text,
    "block": Block,
}
_SYNONYMS = {
    "categorical": "nominal",
    "category": "nominal",
    "number": "numeric",
    "float": "numeric",
    "int": "numeric",
}


class Schema(Mapping[str, Attribute]):
    """Immutable mapping from column names to attributes, in the order of the columns.

    ``a | b`` is the schema whose domains are the unions of those of `a` and `b`.

    Parameters
    ----------
    attributes : iterable of Attribute, default=()
        `Nominal`, `Ordinal`, `Numeric`, `Count` and `Text` attributes, in the order of the columns.

    Attributes
    ----------
    attributes : tuple of Attribute
        The attributes in order.
    names : tuple of str
        Their names in order.

    Raises
    ------
    SchemaError
        If two attributes have the same name.

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
        for attribute in attributes if isinstance(attributes, Iterable) else [attributes]:
            if not isinstance(attribute, Attribute):
                raise SchemaError(
                    f"A schema consists of attributes; {attribute!r} is none.",
                    hint="use objects such as Nominal('color'), or types={'color': 'nominal'} in a model.",
                )
            if attribute.name in self._attributes:
                raise SchemaError(f"Two attributes are named {attribute.name!r}.", hint="rename one of them.")
            self._attributes[attribute.name] = attribute
        self.attributes = tuple(self._attributes.values())  # in order
        self.names = tuple(self._attributes)

    def __getitem__(self, name: str) -> Attribute:
        try:
            return self._attributes[name]
        except (KeyError, TypeError):
            raise SchemaError(
                f"The schema has no attribute {name!r}.",
                hint=did_you_mean(name, self._attributes) or f"use one of {listed(self._attributes)}.",
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
        return printable(f"Schema({', '.join(shown)}{f', and {rest} more' if rest > 0 else ''})", lines=False)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Schema) and list(self.attributes) == list(other.attributes)

    def __hash__(self) -> int:
        return hash(self.attributes)

    def __or__(self, other: object) -> Schema:
        if not isinstance(other, Schema):
            return NotImplemented
        if set(self) != set(other):
            different = sorted(set(self) ^ set(other))
            raise SchemaError(
                f"Both parts of the data must have the same columns, but only one of them has {listed(different)}."
            )
        joined = [a.join(other[a.name]) for a in self.attributes]
        return self if all(a is b for a, b in zip(joined, self.attributes, strict=True)) else Schema(joined)

    @classmethod
    def infer(
        cls, X: Any, types: Mapping[str, Any] | str | Schema | None = None, categorical_features: Any = None
    ) -> Schema:
        """Infer the schema of a table: types from `types` or the dtypes, domains from the values.

        Integers and floats are numeric; dates and times are dates; booleans, strings and categories are nominal;
        ordered categories are ordinal. A sparse matrix is one block of counts.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, mapping of columns or list of dicts
            The table.
        types : mapping, str or Schema, optional
            Types of columns that the dtype should not determine, for example ``{"zip": "nominal", "body": "text"}``.
            A type is "nominal", "ordinal", "numeric", "date", "count", "text" or "boolean". An attribute such as
            ``Nominal("zip", (10115, 10117))`` declares the domain too. A single string applies to all columns.
        categorical_features : array-like, optional
            Columns to treat as nominal, as in scikit-learn: names, positions or a boolean mask.

        Returns
        -------
        Schema
            The schema, with the domains of its nominal attributes and the vocabularies of its texts.

        Raises
        ------
        SchemaError
            If a type is invalid, a declared column does not exist or a column has mixed types.

        Examples
        --------
        >>> from countwise import Schema
        >>> Schema.infer({"floors": [1, 2, 1], "area": [80.5, 120.0, 95.0]}, types={"floors": "nominal"})
        Schema(floors: nominal (2 values), area: numeric)
        """
        frame = frame_of(X)
        return cls.kinds(frame, types, categorical_features).learn(frame)

    @classmethod
    def kinds(cls, frame: Frame, types: Any = None, categorical_features: Any = None) -> Schema:
        """Return the attributes of a table before their domains are learned.

        Parameters
        ----------
        frame : Frame
            The table, as returned by `countwise.data.frames.frame_of`.
        types : mapping, str or Schema, optional
            Declared types; see `infer`.
        categorical_features : array-like, optional
            Columns to treat as nominal; see `infer`.

        Returns
        -------
        Schema
            The schema, whose growing domains are empty.

        Examples
        --------
        >>> from countwise import Schema
        >>> from countwise.data.frames import frame_of
        >>> Schema.kinds(frame_of({"wind": ["north", "east"], "temp": [32.1, 18.4]}))
        Schema(wind: nominal (0 values), temp: numeric)
        """
        declared = _declared(frame, types)
        for name in _categorical(frame, categorical_features):
            declared.setdefault(name, Nominal(name))
        return cls([declared.get(name) or _by_dtype(name, column) for name, column in frame.columns.items()])

    def learn(self, frame: Frame) -> Schema:
        """Return the schema with the values of a table added to all growing domains.

        Parameters
        ----------
        frame : Frame
            The table, as returned by `countwise.data.frames.frame_of`.

        Returns
        -------
        Schema
            The schema itself if no domain changes.

        Examples
        --------
        >>> from countwise import Nominal, Schema
        >>> from countwise.data.frames import frame_of
        >>> Schema([Nominal("wind")]).learn(frame_of({"wind": ["north", "east"]}))["wind"].values
        ('east', 'north')
        """
        interleaved = {a.name: frame.columns[a.name] for a in self.attributes if grows_from(a, frame)}
        found = small_domains(interleaved, frame.n_rows)

        def one(a: Attribute) -> Attribute:
            return a.learn(found.get(a.name, frame.columns[a.name]))

        # only columns whose values must be scanned are worth threads
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
        """Encode the object columns of a table once, for both `learn` and `encode`.

        Parameters
        ----------
        frame : Frame
            The table, as returned by `countwise.data.frames.frame_of`.

        Returns
        -------
        Frame
            The table, with nominal columns of objects, strings or small integers encoded.

        Examples
        --------
        >>> from countwise import Nominal, Schema
        >>> from countwise.data.frames import frame_of
        >>> Schema([Nominal("wind")]).coded(frame_of({"wind": ["north", "east"]})).columns["wind"].codes.tolist()
        [0, 1]
        """
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
        """Return the columns of a table in the order of the schema, without extra columns.

        Parameters
        ----------
        frame : Frame
            The table, as returned by `countwise.data.frames.frame_of`. Its columns are matched by name, or by
            position if they have no names.

        Returns
        -------
        Frame
            The matched table.

        Raises
        ------
        TableError
            If a column is missing.

        Examples
        --------
        >>> from countwise import Numeric, Schema
        >>> from countwise.data.frames import frame_of
        >>> Schema([Numeric("a"), Numeric("b")]).match(frame_of({"c": [1], "b": [2], "a": [3]})).names
        ('a', 'b')
        """
        if not frame.named:
            return self._match_by_position(frame)
        absent = [name for name in self.names if name not in frame.columns]
        if absent and frame.partial:
            return self._completed(frame, absent)
        if absent:
            raise missing_columns(absent, frame.columns)
        if self.names == tuple(frame.columns):
            return frame
        return Frame({name: frame.columns[name] for name in self}, frame.n_rows, named=True)

    def _completed(self, frame: Frame, absent: list[str]) -> Frame:
        """Fill in missing values for the keys that rows given as dicts omit; a misspelled key is an error."""
        for key in frame.columns:
            hint = did_you_mean(key, absent) if key not in self else None
            if hint is not None:
                raise TableError(f"The rows have a key {key!r}, but the schema has no such attribute.", hint=hint)
        missing = np.full(frame.n_rows, None, dtype=object)
        return Frame({name: frame.columns.get(name, missing) for name in self}, frame.n_rows, named=True)

    def _match_by_position(self, frame: Frame) -> Frame:
        frame = self._dense_or_sparse(frame)
        if len(frame.columns) != len(self):
            raise TableError(
                f"X has {len(frame.columns)} features, but countwise is expecting {len(self)} features as input.",
                hint=f"pass the columns {listed(self)}.",
            )
        return Frame(dict(zip(self, frame.columns.values(), strict=True)), frame.n_rows, named=False)

    def _dense_or_sparse(self, frame: Frame) -> Frame:
        """Convert a matrix to the format of the training data, dense or sparse."""
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
        """Encode a table for the tallies.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, mapping of columns or list of dicts
            The table. Columns are matched by name, or by position in an array. Extra columns are ignored.
        weights : ndarray, optional
            Weight of each row. By default each row has weight 1.
        strict : bool, default=False
            If True, a value outside the domain of its attribute raises an error. If False, it is encoded as unseen.

        Returns
        -------
        Table
            Encoded columns by name.

        Raises
        ------
        TableError
            If a column is missing.
        UnseenValueError
            If `strict` and a value is outside the domain of its attribute.

        Examples
        --------
        >>> from countwise import Nominal, Numeric, Schema
        >>> schema = Schema([Nominal("wind", ("east", "north")), Numeric("temp")])
        >>> schema.encode({"temp": [32.1, None], "wind": ["north", "east"]})["wind"].tolist()
        [1, 0]
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
        """Match a table to the schema and check its sparse matrices, so that slices of it can be encoded.

        Parameters
        ----------
        X : array-like, sparse matrix, data frame, mapping of columns or list of dicts
            The table.

        Returns
        -------
        Frame
            The matched table.

        Raises
        ------
        TableError
            If the table has no row or a column is missing.

        Examples
        --------
        >>> from countwise import Numeric, Schema
        >>> Schema([Numeric("a")]).opened({"a": [1, 2], "b": [3, 4]}).names
        ('a',)
        """
        frame = frame_of(X)
        if frame.n_rows == 0:
            raise TableError("Found array with 0 sample(s): the table is empty. At least one row is needed.")
        frame = self.match(frame)
        blocks = {a.name: a.encode(frame.columns[a.name]) for a in self.attributes if isinstance(a, Block)}
        return Frame({**frame.columns, **blocks}, frame.n_rows, frame.named) if blocks else frame

    def to_dict(self) -> list[dict[str, Any]]:
        """Return the schema as plain data for the model file.

        Returns
        -------
        list of dict
            One dict for each attribute.

        Examples
        --------
        >>> from countwise import Numeric, Schema
        >>> Schema([Numeric("temp")]).to_dict()
        [{'kind': 'numeric', 'name': 'temp'}]
        """
        return [attribute.to_dict() for attribute in self.attributes]

    def as_setting(self) -> dict[str, Any]:
        """Return the schema as plain data for the settings in a model file.

        Returns
        -------
        dict
            A marker under "@", and the result of `to_dict` under "of".

        Examples
        --------
        >>> from countwise import Numeric, Schema
        >>> Schema([Numeric("temp")]).as_setting()
        {'@': 'schema', 'of': [{'kind': 'numeric', 'name': 'temp'}]}
        """
        return {"@": "schema", "of": self.to_dict()}

    @classmethod
    def from_dict(cls, data: Sequence[Mapping[str, Any]]) -> Schema:
        """Return the schema that `to_dict` described.

        Parameters
        ----------
        data : sequence of dict
            Result of `to_dict`.

        Returns
        -------
        Schema
            The schema.

        Examples
        --------
        >>> from countwise import Schema
        >>> Schema.from_dict([{"kind": "numeric", "name": "temp"}])
        Schema(temp: numeric)
        """
        return cls(attribute_from(entry) for entry in data)


def field_types(types: Any) -> dict[str, str]:
    """Return the types as which the columns of a CSV file are read, from a schema or from declared types.

    Columns that are declared nominal by name only are not in it: the file shows whether they have numbers.

    Examples
    --------
    >>> from countwise import Nominal, Numeric, Schema
    >>> from countwise.data.schema import field_types
    >>> field_types(Schema([Nominal("zip", (10115, 10117)), Numeric("temp"), Nominal("wind", ("east", "north"))]))
    {'zip': 'code', 'temp': 'numeric', 'wind': 'text'}
    >>> field_types({"temp": "numeric", "wind": "nominal", "day": "date"})
    {'temp': 'numeric', 'day': 'date'}
    """
    found = {}
    for name, given in types.items() if isinstance(types, Mapping) else ():
        kind = _TYPES.get(_SYNONYMS.get(given, given)) if isinstance(given, str) else None
        attribute = given if isinstance(given, Attribute) else kind(name) if kind is not None else None
        if attribute is not None and attribute.field_type is not None:
            found[name] = attribute.field_type
    return found


def attribute_from(entry: Mapping[str, Any]) -> Attribute:
    """Return the attribute that `Attribute.to_dict` described."""
    fields = {k: tuple(v) if isinstance(v, list) else v for k, v in entry.items() if k != "kind"}
    kind: Any = _TYPES[str(entry["kind"])]
    return kind(**fields)


def _declared(frame: Frame, types: Any) -> dict[str, Attribute]:
    if types is None:
        return {}
    if isinstance(types, str):
        types = dict.fromkeys(frame.columns, types)
    if not isinstance(types, Mapping):
        raise SchemaError(f"types must map column names to types, such as {{'age': 'numeric'}}, not {types!r}.")
    declared: dict[str, Attribute] = {}
    for name, given in types.items():
        if name not in frame.columns:
            raise SchemaError(
                f"types refers to column {name!r}, but the table has no such column.",
                hint=did_you_mean(name, frame.columns) or f"use one of {listed(frame.columns)}.",
            )
        declared[name] = _attribute(name, given, frame.columns[name])
    return declared


def _attribute(name: str, given: Any, column: Column) -> Attribute:
    if isinstance(given, Attribute):
        if not isinstance(given.name, str) or given.name != name:
            raise SchemaError(
                f"types declares column {name!r} with an attribute named {given.name!r}.",
                hint="use the same name for both.",
            )
        return Date(name) if type(given) is Numeric and _has_dates(column) else given
    if is_sparse(column):
        if given not in ("count", "boolean", "bool", "binary"):
            raise SchemaError(
                f"A sparse matrix cannot be declared as {given!r}; its type must be 'count' or 'boolean'.",
                hint="pass X.toarray() to give its columns any other type.",
            )
        return Block(name, binary=given != "count")
    if given in ("boolean", "bool", "binary"):
        two = isinstance(column, np.ndarray) and column.dtype.kind in "iuf"
        return Nominal(name, (0, 1) if two else (False, True))
    kind = _SYNONYMS.get(given, given) if isinstance(given, str) else None
    if kind not in _TYPES or kind == "block":
        known = ["nominal", "ordinal", "numeric", "date", "count", "text", "boolean"]
        raise SchemaError(
            f"The type of column {name!r} must be one of {listed(known)}, not {given!r}.",
            hint=f"values in order are declared by Ordinal({name!r}, {tuple(given)!r})."
            if isinstance(given, list | tuple)
            else did_you_mean(given, known),
        )
    if kind == "count" and _has_dates(column):
        raise SchemaError(
            f"{name!r} has dates, which are not counts.", hint=f"pass types={{{name!r}: 'date'}}, or 'nominal'."
        )
    if kind == "ordinal" and _has_strings(column):
        warn(
            f"{name!r} is ordinal, but the order of its values is not declared: the alphabetical order is used. "
            f"Hint: pass types={{{name!r}: Ordinal({name!r}, (lowest, ..., highest))}}."
        )
    return Date(name) if kind == "numeric" and _has_dates(column) else _TYPES[kind](name)


def _has_strings(column: Column) -> bool:
    """Return whether a column has strings without a declared order."""
    if isinstance(column, Coded):
        return not column.declared and str in set(map(type, column.categories))
    return isinstance(column, np.ndarray) and column.dtype.kind in "OU" and any(isinstance(v, str) for v in column)


def _has_dates(column: Column) -> bool:
    """Return whether a column has dates or times; a numeric attribute of them is a date."""
    return isinstance(column, np.ndarray) and column.dtype.kind == "M"


def _are_columns(chosen: Any) -> bool:
    """Return whether all elements are names or positions of columns."""
    return all(isinstance(one, str | int) or (isinstance(one, float) and one.is_integer()) for one in chosen.tolist())


def _categorical(frame: Frame, features: Any) -> list[str]:
    if features is None or (isinstance(features, str) and features == "from_dtype"):
        return []
    names = list(frame.columns)
    try:
        chosen = np.atleast_1d(np.asarray(features))
    except (TypeError, ValueError):
        chosen = np.empty((0, 0))
    if chosen.ndim > 1 or not (chosen.dtype.kind in "biuU" or _are_columns(chosen)):
        raise SchemaError(
            f"categorical_features must be names or positions of columns, or a mask, not {features!r}.",
            hint="pass a list such as ['color'] or [0].",
        )
    if chosen.dtype.kind == "b":
        if len(chosen) != len(names):
            raise SchemaError(
                f"categorical_features is a mask of {len(chosen)} columns, but the table has {len(names)}."
            )
        return [name for name, marked in zip(names, chosen, strict=True) if marked]
    picked: list[str] = []
    for one in chosen.tolist():
        if isinstance(one, str):
            if one not in frame.columns:
                raise SchemaError(
                    f"categorical_features refers to column {one!r}, but the table has no such column.",
                    hint=did_you_mean(one, names) or f"use one of {listed(names)}.",
                )
            picked.append(one)
        elif isinstance(one, int | float) and -len(names) <= one < len(names) and one == int(one):
            picked.append(names[int(one)])
        else:
            raise SchemaError(
                f"categorical_features refers to column {one!r}, but the table has {len(names)} columns, "
                "numbered from 0."
            )
    return picked


def _by_dtype(name: str, column: Column) -> Attribute:
    """Return the attribute type that a dtype implies; for objects, the types of the values decide."""
    if isinstance(column, Coded):
        return Ordinal(name, tuple(column.categories)) if column.ordered else Nominal(name)
    if not isinstance(column, np.ndarray):
        return Block(name, binary=column.dtype.kind == "b")
    if column.dtype.kind == "b":
        return Nominal(name, (False, True), grows=True)
    if column.dtype.kind in "iufmM":
        return Date(name) if column.dtype.kind == "M" else Numeric(name)
    if column.dtype.kind == "O":
        return _by_values(name, column)
    return Nominal(name)


def _by_values(name: str, column: Any) -> Attribute:
    if str in set(map(type, column[:100])):  # one string makes a column nominal, and usually comes early
        return Nominal(name)
    types = set(map(type, column))
    if str in types or types == {type(None)}:
        return Nominal(name)
    if types <= {bool, np.bool_, type(None)}:
        return Nominal(name, (False, True), grows=True)
    present = {type(value) for value in column if not is_missing(value)}
    numeric = (int, float, np.integer, np.floating)
    if present and all(issubclass(t, numeric) and not issubclass(t, bool) for t in present):
        return Numeric(name)
    return Nominal(name)
