"""Encoder of nominal and ordinal columns as numbers: one-hot columns, thresholds or codes."""

from __future__ import annotations

import hashlib
import re
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countwise._typing import Floats
from countwise.base.term import Term
from countwise.base.transformer import TableTransformer
from countwise.data.attributes import Attribute, Nominal, Numeric, Ordinal
from countwise.data.columns import refuse_infinity
from countwise.data.derived import AsGiven
from countwise.data.frames import Coded, Column, Frame, refuse_duplicates
from countwise.data.output import container_of, rebuilt
from countwise.data.schema import Schema
from countwise.distributions import Categorical
from countwise.errors import NumberIn, OptionError, TableError, check_settings, listed, warn

__all__ = ["CategoricalEncoder"]

Columns = dict[str, NDArray[Any]]


@dataclass(eq=False, repr=False)
class CategoricalEncoder(TableTransformer):
    """Encode nominal and ordinal columns as numbers.

    Numeric columns are passed through. Missing values stay missing.

    Parameters
    ----------
    nominal : {'onehot', 'codes', 'random'}, default='onehot'
        The encoding of nominal columns: 'onehot' is a column of 0 and 1 for each value, 'codes' the index of the
        value in the order of the domain (usually the alphabet), 'random' an index in an order drawn at random. Codes
        have an order and distances that the values do not have; a warning says so.
    ordinal : {'thresholds', 'number', 'nominal'}, default='thresholds'
        The encoding of ordinal columns: 'thresholds' is a column of 0 and 1 for each step, such as
        ``temperature>cool``; 'number' is the index of the value, as if all steps were equal; 'nominal' ignores the
        order and uses the encoding of nominal columns.
    drop : {None, 'if_binary', 'first'}, default=None
        The one-hot column to drop: 'first' drops that of the first value of every nominal column, 'if_binary' only
        for columns with two values, None drops none.
    missing : {'keep', 'zeros'}, default='keep'
        The one-hot columns of a missing value: 'keep' makes them missing (NaN), 'zeros' sets them to 0.
    types : mapping, str, Schema or None, default=None
        The types of columns; an `Ordinal` also gives the order of the values. By default the type follows from the
        dtype.
    unseen : {'ignore', 'error'}, default='ignore'
        The encoding of a value never seen in training. 'ignore' sets all its one-hot columns to 0; in other
        encodings, and if a one-hot column is dropped, the value is missing. 'error' raises an error.
    random_state : int, default=0
        The seed of nominal='random'. The codes depend on it, on the name of the column and on its values only.

    Attributes
    ----------
    schema_ : Schema
        The type and the values of each column.
    expanded_ : dict of str to list of str
        The names of the output columns of each input column.

    Examples
    --------
    >>> from countwise import CategoricalEncoder, Ordinal, samples
    >>> tennis = samples.load("tennis")
    >>> X = {name: tennis.X[name] for name in ("temperature", "wind")}
    >>> coder = CategoricalEncoder(types={"temperature": Ordinal("temperature", ("Cool", "Mild", "Hot"))}).fit(X)
    >>> coder.get_feature_names_out().tolist()
    ['temperature>Cool', 'temperature>Mild', 'wind=Strong', 'wind=Weak']
    >>> coder.transform(X)["temperature>Cool"].tolist()[:5]
    [1.0, 1.0, 1.0, 1.0, 0.0]
    """

    nominal: str = "onehot"
    _: KW_ONLY
    ordinal: str = "thresholds"
    drop: str | None = None
    missing: str = "keep"
    types: Any = None
    unseen: str = "ignore"
    random_state: int = 0

    def _needs_target(self) -> bool:
        return False

    def _infer_schema(self, frame: Frame) -> Schema:
        self._check_options()
        schema = Schema.kinds(frame, self.types)
        for a in schema.attributes:
            if not isinstance(a, Nominal | Numeric):
                raise TableError(
                    f"{a.name!r} has type {a.kind}; only nominal, ordinal and numeric columns can be encoded.",
                    hint="drop the column; a sparse matrix is numeric already.",
                )
        return schema

    def _check_options(self) -> None:
        check_settings(
            self,
            nominal=("onehot", "codes", "random"),
            ordinal=("thresholds", "number", "nominal"),
            drop=(None, "if_binary", "first"),
            missing=("keep", "zeros"),
            unseen=("ignore", "error"),
            random_state=NumberIn(0, 2**32 - 1, whole=True),
        )
        if self.missing == "zeros" and self.drop is not None:
            raise OptionError(
                "missing='zeros' cannot be combined with drop: missing values and the first value would be equal."
            )

    def _terms(self, schema: Schema, target: str) -> list[Term]:
        # counted so that `forget` can remove a value that no row has
        return [Term(AsGiven(a), Categorical()) for a in schema.attributes if isinstance(a, Nominal)]

    def _estimate(self) -> None:
        refuse_duplicates(self.get_feature_names_out().tolist())
        schema: Any = self.schema_
        coded = [a for a in schema.attributes if self._encoding(a) in ("codes", "random") and len(a.values) > 2]
        if coded:
            first = coded[0]
            codes = ", ".join(f"{self._order(first)[code]} {value}" for code, value in enumerate(first.values[:3]))
            warn(
                f"The codes of {listed([a.name for a in coded])} have an order and distances that the values do not "
                f"have ({first.name}: {codes}, ...), and a numeric learner will use them. "
                "Hint: use nominal='onehot', or declare an order with types={...: Ordinal(...)}."
            )

    def _encoding(self, a: Attribute) -> str:
        if isinstance(a, Ordinal) and self.ordinal != "nominal":
            return "codes of an order" if self.ordinal == "number" else "thresholds"
        if isinstance(a, Nominal):
            return self.nominal
        return "same"

    def transform(self, X: Any) -> Any:
        """Encode each column as numbers; a missing value is NaN in each of its columns, unless `missing` is 'zeros'.

        Examples
        --------
        >>> from countwise import CategoricalEncoder
        >>> coder = CategoricalEncoder().fit({"wind": ["north", "east", "south"]})
        >>> {name: column.tolist() for name, column in coder.transform({"wind": ["east", None]}).items()}
        {'wind=east': [1.0, nan], 'wind=north': [0.0, nan], 'wind=south': [0.0, nan]}
        """
        self._check_options()  # they can be changed after fit
        X, frame = self._matched(X)
        table = self.schema_.encode(frame, strict=self.unseen == "error")
        refuse_infinity({a.name: table[a.name] for a in self.schema_.attributes if isinstance(a, Numeric)})
        columns: dict[str, Column | None] = {}
        for a in self.schema_.attributes:
            columns.update(self._numbers(a, table[a.name]))
        return rebuilt(X, frame, columns, container_of(X, self._output_wanted()))

    def _numbers(self, a: Attribute, column: NDArray[Any]) -> Columns:
        encoding = self._encoding(a)
        if encoding == "same":
            return {a.name: column.astype(np.float64)}
        assert isinstance(a, Nominal)  # noqa: S101 - every other column is nominal
        missing = column >= a.missing  # or unseen
        if encoding == "onehot":
            first = int(self.drop == "first" or (self.drop == "if_binary" and len(a.values) == 2))
            if not first:  # an unseen value is 0 in each column; with a dropped column that would be the first value
                missing = column == a.missing
            nothing = np.nan if self.missing == "keep" else 0.0
            return {
                f"{a.name}={a.values[code]}": np.where(missing, nothing, (column == code).astype(np.float64))
                for code in range(first, len(a.values))
            }
        if encoding == "thresholds":
            return {
                f"{a.name}>{_upper(value)}": np.where(missing, np.nan, (column > code).astype(np.float64))
                for code, value in enumerate(a.values[:-1])
            }
        numbers = np.append(self._order(a), [0, 0])[np.minimum(column, len(a.values))]
        return {a.name: np.where(missing, np.nan, numbers.astype(np.float64))}

    def _order(self, a: Nominal) -> NDArray[np.int64]:
        """Return the number of each value of a column that is encoded by codes."""
        if self._encoding(a) != "random":
            return np.arange(len(a.values))
        name = int.from_bytes(hashlib.sha256(a.name.encode("utf-8", "surrogatepass")).digest()[:8], "big")
        return np.random.default_rng([int(self.random_state), name]).permutation(len(a.values))

    @property
    def expanded_(self) -> dict[str, list[str]]:
        """Names of the output columns of each input column."""
        self._check_options()  # they can be changed after fit
        nothing = np.empty(0, dtype=np.uint8)
        return {a.name: list(self._numbers(a, nothing)) for a in self.schema_.attributes}

    def _tails(self) -> dict[str, list[str]]:
        return {name: [column[len(name) :] for column in columns] for name, columns in self.expanded_.items()}

    def inverse_transform(self, X: Any) -> Any:
        """Return the values that the numbers encode.

        Examples
        --------
        >>> from countwise import CategoricalEncoder
        >>> X = {"wind": ["north", "east", "south"]}
        >>> coder = CategoricalEncoder().fit(X)
        >>> coder.inverse_transform(coder.transform(X))["wind"].tolist()
        ['north', 'east', 'south']
        """
        X, frame = self._converted(X)
        waiting = list(frame.columns.values())
        columns: dict[str, Column | None] = {}
        expanded = self.expanded_
        for a in self.schema_.attributes:
            width = len(expanded[a.name])
            own, waiting = waiting[:width], waiting[width:]
            columns[a.name] = self._value(a, [np.asarray(c, dtype=np.float64) for c in own], frame.n_rows)
        return rebuilt(X, frame, columns, container_of(X, self._output_wanted()))

    def _value(self, a: Attribute, columns: list[Floats], n_rows: int) -> Column:
        if not isinstance(a, Nominal):
            return columns[0]
        cells = np.stack(columns, axis=1) if columns else np.zeros((n_rows, 0))
        missing = np.isnan(cells).any(axis=1)
        cells = np.nan_to_num(cells)
        encoding = self._encoding(a)
        _refuse_invalid(cells, a, encoding)
        if encoding == "onehot":
            first = len(a.values) - cells.shape[1]  # 1 if the first value has no column
            none = ~cells.any(axis=1)
            codes = np.argmax(cells, axis=1) + first if cells.shape[1] else np.zeros(n_rows, dtype=np.int64)
            codes = np.where(none, 0 if first else len(a.values), codes)
        elif encoding == "thresholds":
            codes = cells.sum(axis=1).astype(np.int64)
        else:
            codes = np.append(np.argsort(self._order(a)), 0)[cells[:, 0].astype(np.int64)]
        codes = np.where(missing, len(a.values), codes)
        return Coded(codes, a.values, declared=True, ordered=isinstance(a, Ordinal))


def _refuse_invalid(cells: Floats, a: Nominal, encoding: str) -> None:
    """Raise an error for numbers that `transform` never returns."""
    if encoding in ("onehot", "thresholds"):
        wrong = ((cells != 0) & (cells != 1)).any(axis=1)
        wrong |= cells.sum(axis=1) > 1 if encoding == "onehot" else (np.diff(cells, axis=1) > 0).any(axis=1)
    else:
        wrong = ((cells != np.floor(cells)) | (cells < 0) | (cells >= max(len(a.values), 1))).any(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        codes = "" if encoding in ("onehot", "thresholds") else f"; its codes are 0 to {len(a.values) - 1}"
        raise TableError(f"{cells[row].tolist()} in row {row} is not a valid encoding of {a.name!r}{codes}.", row=row)


def _upper(value: Any) -> str:
    """Return the value below a threshold, or its upper edge if values are bins such as ``(70.5, 77.5]``."""
    text = str(value)
    edge = re.fullmatch(r"<= (\S+)|\(\S+, (\S+)\]", text)
    return text if edge is None else edge[1] or edge[2]
