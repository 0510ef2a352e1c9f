"""Names into numbers: nominal columns one-hot or as codes, ordinal ones as thresholds or number (000, 001)."""

from __future__ import annotations

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
from countwise.errors import OptionError, TableError, check_settings, listed, warn

__all__ = ["CategoricalEncoder"]

Columns = dict[str, NDArray[Any]]


@dataclass(eq=False, repr=False)
class CategoricalEncoder(TableTransformer):
    """Turn names into numbers: nominal columns one-hot or as codes, ordinal ones by choice.

    Parameters
    ----------
    nominal : {"onehot", "codes"}, default="onehot"
        A column of 0 and 1 for each value; or the number of the value, which gives the values an
        order and distances that they do not have: a warning says so.
    ordinal : {"thresholds", "number", "nominal"}, default="thresholds"
        A column of 0 and 1 for each step, ``temperature>cool``; the number of the value, as if
        the steps were equally long; or as if there were no order.
    drop : {None, "if_binary", "first"}, optional
        One-hot: leave out the column of the first value, of two-valued columns or of all.
    missing : {"keep", "zeros"}, default="keep"
        One-hot: a missing cell is missing in each of its columns, or 0 in each.
    types : mapping of column to kind, str or Schema, optional
        Declared column types; others follow from dtypes. An `Ordinal` also says in which order.
    unseen : {"ignore", "error"}, default="ignore"
        A value never met in training is none of those known (one-hot) and missing otherwise;
        or an error.

    Attributes
    ----------
    schema_ : Schema
        What each column is.
    expanded_ : dict
        The names of the columns that come of each attribute.

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

    def _needs_target(self) -> bool:
        return False

    def _infer_schema(self, frame: Frame) -> Schema:
        self._check_options()
        schema = Schema.kinds(frame, self.types)
        for a in schema.attributes:
            if not isinstance(a, Nominal | Numeric):
                raise TableError(
                    f"{a.name!r} is {a.kind}; it cannot be turned into one number or a few. "
                    "(A sparse matrix is numbers already.)"
                )
        return schema

    def _check_options(self) -> None:
        check_settings(
            self,
            nominal=("onehot", "codes"),
            ordinal=("thresholds", "number", "nominal"),
            drop=(None, "if_binary", "first"),
            missing=("keep", "zeros"),
            unseen=("ignore", "error"),
        )
        if self.missing == "zeros" and self.drop is not None:
            raise OptionError("missing='zeros' and drop would make the first value and a missing cell the same.")

    def _terms(self, schema: Schema, target: str) -> list[Term]:
        # counted so that a value of which no row is left can be forgotten
        return [Term(AsGiven(a), Categorical()) for a in schema.attributes if isinstance(a, Nominal)]

    def _estimate(self) -> None:
        refuse_duplicates(self.get_feature_names_out().tolist())
        coded = [a for a in self.schema_.attributes if self._way(a) == "codes" and len(a.values) > 2]  # type: ignore[attr-defined]
        if coded:
            first: Any = coded[0]
            codes = ", ".join(f"{code} {value}" for code, value in enumerate(first.values[:3]))
            warn(
                f"Codes give {listed([a.name for a in coded])} an order and distances that the values do not have "
                f"({first.name}: {codes}, ...): a learner that compares numbers will believe them. "
                "Hint: nominal='onehot', or declare an order by types={...: Ordinal(...)}."
            )

    def _way(self, a: Attribute) -> str:
        if isinstance(a, Ordinal) and self.ordinal != "nominal":
            return "codes of an order" if self.ordinal == "number" else "thresholds"
        if isinstance(a, Nominal):
            return self.nominal
        return "same"

    def transform(self, X: Any) -> Any:
        """Turn each column into numbers; missing stays missing (NaN in each column that comes of it)."""
        X, frame = self._matched(X)
        table = self.schema_.encode(frame, strict=self.unseen == "error")
        refuse_infinity({a.name: table[a.name] for a in self.schema_.attributes if isinstance(a, Numeric)})
        columns: dict[str, Column | None] = {}
        for a in self.schema_.attributes:
            columns.update(self._numbers(a, table[a.name]))
        return rebuilt(X, frame, columns, container_of(X, self._output_wanted()))

    def _numbers(self, a: Attribute, column: NDArray[Any]) -> Columns:
        way = self._way(a)
        if way == "same":
            return {a.name: column.astype(np.float64)}
        assert isinstance(a, Nominal)  # noqa: S101 - what is not a number has values
        missing = column >= a.missing  # or never met
        if way == "onehot":
            first = int(self.drop == "first" or (self.drop == "if_binary" and len(a.values) == 2))
            if (
                not first
            ):  # a value never met is 0 in each column; if the first value has none, that is the first value
                missing = column == a.missing
            nothing = np.nan if self.missing == "keep" else 0.0
            return {
                f"{a.name}={a.values[code]}": np.where(missing, nothing, (column == code).astype(np.float64))
                for code in range(first, len(a.values))
            }
        if way == "thresholds":
            return {
                f"{a.name}>{_upper(value)}": np.where(missing, np.nan, (column > code).astype(np.float64))
                for code, value in enumerate(a.values[:-1])
            }
        return {a.name: np.where(missing, np.nan, column.astype(np.float64))}

    @property
    def expanded_(self) -> dict[str, list[str]]:
        """The names of the columns that come of each attribute."""
        nothing = np.empty(0, dtype=np.uint8)
        return {a.name: list(self._numbers(a, nothing)) for a in self.schema_.attributes}

    def _tails(self) -> dict[str, list[str]]:
        return {name: [column[len(name) :] for column in columns] for name, columns in self.expanded_.items()}

    def inverse_transform(self, X: Any) -> Any:
        """The values behind the numbers."""
        X, frame = self._converted(X)
        waiting = list(frame.columns.values())
        columns: dict[str, Column | None] = {}
        for a in self.schema_.attributes:
            width = len(self.expanded_[a.name])
            own, waiting = waiting[:width], waiting[width:]
            columns[a.name] = self._value(a, [np.asarray(c, dtype=np.float64) for c in own], frame.n_rows)
        return rebuilt(X, frame, columns, container_of(X, self._output_wanted()))

    def _value(self, a: Attribute, columns: list[Floats], n_rows: int) -> Column:
        if not isinstance(a, Nominal):
            return columns[0]
        cells = np.stack(columns, axis=1) if columns else np.zeros((n_rows, 0))
        missing = np.isnan(cells).any(axis=1)
        cells = np.nan_to_num(cells)
        way = self._way(a)
        _refuse_strange(cells, a, way)
        if way == "onehot":
            first = len(a.values) - cells.shape[1]  # 1 if the first value has no column
            none = ~cells.any(axis=1)
            codes = np.argmax(cells, axis=1) + first if cells.shape[1] else np.zeros(n_rows, dtype=np.int64)
            codes = np.where(none, 0 if first else len(a.values), codes)
        elif way == "thresholds":
            codes = cells.sum(axis=1).astype(np.int64)
        else:
            codes = cells[:, 0].astype(np.int64)
        codes = np.where(missing, len(a.values), codes)
        return Coded(codes, a.values, declared=True, ordered=isinstance(a, Ordinal))


def _refuse_strange(cells: Floats, a: Nominal, way: str) -> None:
    """Numbers that `transform` never gives are an error."""
    if way in ("onehot", "thresholds"):
        wrong = ((cells != 0) & (cells != 1)).any(axis=1)
        wrong |= cells.sum(axis=1) > 1 if way == "onehot" else (np.diff(cells, axis=1) > 0).any(axis=1)
    else:
        wrong = ((cells != np.floor(cells)) | (cells < 0) | (cells >= max(len(a.values), 1))).any(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        known = "" if way in ("onehot", "thresholds") else f"; its codes are 0 to {len(a.values) - 1}"
        raise TableError(
            f"Row {row} is not what transform gives for {a.name!r}: {cells[row].tolist()}{known}.", row=row
        )


def _upper(value: Any) -> str:
    """What lies below a step: a value, or the upper edge where values are ranges such as ``(70.5, 77.5]``."""
    text = str(value)
    edge = re.fullmatch(r"<= (\S+)|\(\S+, (\S+)\]", text)
    return text if edge is None else edge[1] or edge[2]
